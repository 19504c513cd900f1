"""How a function of centers is trained: by conjugate gradients or by EigenPro's steps, in which batches, how long."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import arrays, gram, kernels, spectrum
from ..arrays import Array
from ..gram import fused, rectangular
from ..gram.rectangular import KeptStrips
from ..kernels import Kernel
from ..models.centring import TrainingRows
from ..ranks import Alone
from ..solvers.least_squares import nystrom_conjugate_gradients, projection
from ..solvers.least_squares.batch_steps import SMALL_FLOOR
from ..solvers.least_squares.nystrom_conjugate_gradients import NystromConjugateGradients, NystromProblem
from ..solvers.least_squares.projected import CentresProblem, ProjectedEigenPro, certificate, step_size
from ..solvers.least_squares.projection import Projection
from ..solvers.settings import Settings, count, positive, setting, share
from ..spectrum import Preconditioner
from .center_points import Centers
from .choices import Choices
from .machine import SMALL
from .rows_ahead import RowsAhead

BATCHES_IN_MEMORY = 5
"""Batches of points in memory at a time: one in use, the next, and copies while it is read."""

STRIP_BYTES = 2**26
"""Bytes that strips of the kernel matrix may take where they are not kept; more is no faster."""

FEWEST_PASSES, TIMED_ROWS = 3, 2048
"""solver="auto" takes EigenPro's steps where ``max_seconds`` end before so many passes of conjugate gradients over the
rows, as products with so many rows tell. After three passes these err no more than after three epochs of the steps."""

LEAST_FIRST, MOST_KEPT = 0.1, 0.7
"""Before all rows conjugate gradients learn those whose kernel values are kept, and at least this share of the rows;
not where more are kept than `MOST_KEPT`. They then need 7 to 10 passes over all rows in the place of 15 to 18."""

ROWS_AT_A_TIME = 20_000
"""Training rows whose outputs are computed at a time."""


@dataclass(frozen=True)
class StepSettings(Settings):
    """What a user may set of EigenPro's steps; the names are those of the estimator's parameters."""

    rank: int | None = setting(count(0))
    n_subsample: int | None = setting(count())
    batch_size: int | None = setting(count())
    step_size: float | None = setting(positive())
    damping: float = setting(share(1.0))

    @property
    def given(self) -> list[str]:
        """Those that the user has set."""
        names = [name for name in ("rank", "n_subsample", "batch_size", "step_size") if getattr(self, name) is not None]
        return names + (["damping"] if self.damping != 1.0 else [])


@dataclass(frozen=True)
class BatchPlan:
    """The batches of conjugate gradients."""

    batch_size: int


@dataclass(frozen=True)
class StepPlan:
    """The batches and steps of EigenPro in the span of the centers.

    Attributes
    ----------
    batch_size : int
    step_size : float
    preconditioner : Preconditioner
        Whose subsample is the first centers.
    projection : Projection
        Onto the functions of the centers.
    top_eigenvalue, largest_diagonal : float
        λ and β of the operator of a batch, see `SpanCertificate`.
    """

    batch_size: int
    step_size: float
    preconditioner: Preconditioner
    projection: Projection
    top_eigenvalue: float
    largest_diagonal: float


@dataclass(frozen=True)
class CentersMatrix:
    """The kernel matrix of the training points with the centers, whose rows processes divide."""

    kernel: Kernel
    centers: Array  # (p, d + 2)
    rows: TrainingRows
    n_outputs: int  # Of the model, whose coefficients are the first columns
    budget: int
    ranks: Alone

    def training_scores(self, state: Any) -> np.ndarray:
        """Outputs at all training points in the order of the fit, shape (n, c), on the host."""
        a = state.coefficients[:, : self.n_outputs]
        out = arrays.namespace(a).zeros((len(self.rows), a.shape[1]), dtype=a.dtype)
        for k, batch in enumerate(arrays.blocks(len(self.rows), ROWS_AT_A_TIME)):
            if k % self.ranks.size == self.ranks.rank:
                points = self.rows(batch)[:, :-2]
                out[batch, :] = gram.cross_product(self.kernel, points, self.centers, a, budget=self.budget)
        return arrays.to_numpy(self.ranks.sum(out))


def seconds_of_passes(
    centers: Centers, kernel: Any, bandwidth: Any, kernel_params: Any, n_outputs: int, seed: int, budget: int
) -> float:
    """Seconds of `FEWEST_PASSES` over all rows, by a product with some rows, which are read anew."""
    n, points = len(centers.rows), centers.of_model
    width = None if isinstance(bandwidth, str) else bandwidth
    made = kernels.choose(kernel, width, kernel_params, points[:TIMED_ROWS, :], seed, all_equal=False)
    a = arrays.namespace(points).zeros((centers.n, n_outputs), dtype=points.dtype)
    seconds = 0.0
    for rows in arrays.blocks(min(n, 2 * TIMED_ROWS), TIMED_ROWS):  # The first pays for what is there once.
        began = time.perf_counter()
        product, _ = rectangular.forward_and_back(
            made, centers.rows(rows), points, a, lambda scores, _: (scores, 0.0), budget=STRIP_BYTES
        )
        arrays.synchronise(product)
        seconds = (time.perf_counter() - began) * n / (rows.stop - rows.start)
    kept = min(1.0, budget / (2.0 * n * centers.n * points.dtype.itemsize))
    return seconds * (1.0 + (FEWEST_PASSES - 1) * (1.0 - kept))


def largest_batch(rows: TrainingRows, batch_size: int, room: int) -> int:
    """The batch, or what of it takes a small part of the memory, also while the next is read."""
    if rows.held_bytes:
        return batch_size
    return min(batch_size, max(16, room // (4 * BATCHES_IN_MEMORY * rows.row_bytes)))


def plan_training(
    centers: Centers,
    kernel: Kernel,
    choices: Choices,
    weights: Array | None,
    steps: StepSettings | None,
    seed: int,
    room: int,
    ranks: Alone,
    *,
    all_equal: bool,
) -> BatchPlan | StepPlan:
    """The batches of conjugate gradients, all rows or as many as the memory holds; the plan of ``steps`` if given."""
    if steps is not None:
        return plan_steps(centers, kernel, choices, weights, steps, seed, room, ranks, all_equal=all_equal)
    n = len(centers.rows)
    return BatchPlan(n if all_equal else largest_batch(centers.rows, n, room))


def plan_steps(
    centers: Centers,
    kernel: Kernel,
    choices: Choices,
    weights: Array | None,
    steps: StepSettings,
    seed: int,
    room: int,
    ranks: Alone,
    *,
    all_equal: bool,
) -> StepPlan:
    """The preconditioner, the batches and the step of EigenPro, with what is not set chosen from the points."""
    n, p, points, fresh = len(centers.rows), centers.n, centers.of_model, centers.fresh
    xp, ridge = arrays.namespace(points), choices.regularisation
    n_subsample = min(p, steps.n_subsample or max(6000, 2 * (steps.rank or 0)))
    of_subsample = of_fresh = None
    if weights is not None:
        of_subsample = weights[:n_subsample]
        if not centers.sampled:
            of_subsample = xp.ones_like(points[:n_subsample, -1]) * weights.mean()
        of_fresh = weights[centers.fresh_rows]
    rank, smallest, smallest_share = rank_and_floor(steps.rank, n_subsample, n, ridge)
    made = spectrum.make_preconditioner(
        kernel,
        xp.concat([points[:n_subsample, :], fresh]),
        rank=rank,
        n_subsample=n_subsample,
        seed=seed,
        damping=steps.damping,
        weights=None if weights is None else xp.concat([of_subsample, of_fresh]),
        smallest=smallest,
        smallest_share=smallest_share,
        known=choices.eigensystem() if n_subsample == n else None,
        resolves_more=ridge > 0,
    )
    onto = projection.make_projection(kernel, points)
    found = certificate(kernel, points, onto, made, fresh, of_fresh, seed)
    batch_size = steps.batch_size
    if batch_size is None:
        # A batch of up to half of the critical size costs no progress. Twice p keeps the solve with p² numbers near
        # a tenth of the time of a step; with 4p/3 it was a sixth, and the loss after some epochs about the same.
        # Where an epoch then had few batches, progress counts more.
        batch_size = n if n <= SMALL else max(16, min(2 * p, n // 5), int(found.critical_batch_size / 2))
        batch_size = largest_batch(centers.rows, batch_size, room)
    batch_size = min(n, batch_size)
    step = steps.step_size or 1.0 / (1.0 / step_size(found, batch_size) + ridge * batch_size / n)
    plan = StepPlan(batch_size, step, made, onto, found.eigenvalue(batch_size), found.largest_diagonal)
    plan = agreed(plan, points, ranks)
    if all_equal and steps.batch_size is None and steps.step_size is None:
        # Where all points are equal, all that can be learned is the mean of the targets, in one step.
        plan = replace(plan, batch_size=n, step_size=1.0 / (n * plan.top_eigenvalue))
    return plan


def rank_and_floor(rank: int | None, n_subsample: int, n: int, ridge: float) -> tuple[int, float, float]:
    """The rank of the preconditioner, and below which eigenvalue, and share of the largest, it flattens nothing."""
    smallest, smallest_share = ridge / n, 0.0
    if rank is None:
        # As in `EigenProClassifier`: in a small problem every batch holds all rows, and in a large one directions
        # below 1/n are not preconditioned.
        rank = n_subsample if n <= SMALL else n_subsample // 4
        smallest, smallest_share = (0.0, SMALL_FLOOR) if n <= SMALL and not ridge else ((ridge or 1.0) / n, 0.0)
    return min(rank, n_subsample - 1), smallest, smallest_share


def agreed(plan: StepPlan, like: Array, ranks: Alone) -> StepPlan:
    """The plan of the first process: eigenvectors that another machine computes may differ in sign."""
    if ranks.size == 1:
        return plan
    p = plan.preconditioner
    held = {name: arrays.to_numpy(getattr(p, name)) for name in ("eigenvalues", "vectors")}
    numbers = {name: value for name, value in vars(p).items() if isinstance(value, float)}
    sizes = {name: value for name, value in vars(plan).items() if isinstance(value, (int, float))}
    held, numbers, sizes = ranks.from_first((held, numbers, sizes))
    held = {name: arrays.like(array, like) for name, array in held.items()}
    return replace(plan, preconditioner=replace(p, **held, **numbers), **sizes)


def bytes_of_steps(plan: BatchPlan | StepPlan, centers: Centers, n_outputs: int, itemsize: int) -> int:
    """Bytes that a step and what it needs take, without kernel values."""
    p, rows = centers.n, centers.rows
    of_points = rows.held_bytes or BATCHES_IN_MEMORY * plan.batch_size * rows.row_bytes
    of_solver = 2 * p * p + 12 * p * n_outputs
    if isinstance(plan, StepPlan):
        made = plan.preconditioner
        of_solver = p * p + made.n_subsample * made.rank + 8 * p * n_outputs
    return of_points + itemsize * of_solver


def make_problem(
    centers: Centers,
    kernel: Kernel,
    plan: BatchPlan | StepPlan,
    targets: Array,
    weights: Array | None,
    regularisation: float,
    budget: int,
    ranks: Alone,
    *,
    passes: int,
) -> tuple[CentresProblem | NystromProblem, int]:
    """The problem of the solver that the plan is for, with what the other arrays leave of the budget; and the batch."""
    points, n = arrays.contiguous(centers.of_model), len(centers.rows)
    strips = min(STRIP_BYTES if arrays.device_of(points).kind == "cpu" else 2**32, max(2**20, budget))
    # A single epoch would not find again what it has kept, and fused products make no block that could be kept.
    keeps = passes > 1 and not fused.applies(kernel, points, targets)
    kept = KeptStrips(n, points, 3 * (budget - strips) // 4 if keeps else 0)
    rows = centers.rows
    rows = rows if rows.held_bytes else RowsAhead(rows, arrays.device_of(points), ranks.piece)
    if isinstance(plan, StepPlan):
        onto = plan.projection, plan.preconditioner
        given = kernel, points, rows, targets, *onto, weights, regularisation, strips, kept
        return CentresProblem(*given, ranks=ranks), plan.batch_size
    of_centers, xp = None, arrays.namespace(points)
    if weights is not None:
        of_centers = weights[: centers.n, 0]
        if not centers.sampled:
            of_centers = xp.ones_like(points[:, -1]) * xp.mean(weights[:, 0])
    made = nystrom_conjugate_gradients.make_preconditioner(
        *(kernel, points, n, regularisation, of_centers),
        of_all_points=centers.sampled and centers.n == n,
    )
    batch_size, n_first = ranks.from_first(first_rows_to_learn(n, centers.n, kept.n_rows, plan.batch_size))
    given = kernel, points, rows, targets, made, weights, regularisation, strips, kept
    return NystromProblem(*given, n_first, batch_size, ranks), batch_size


def first_rows_to_learn(n: int, n_centers: int, n_kept: int, batch_size: int) -> tuple[int, int]:
    """The batch, and how many rows conjugate gradients learn before all of them; 0 if that saves nothing."""
    first = max(n_kept, int(LEAST_FIRST * n))
    if n_kept > MOST_KEPT * n or first < n_centers:
        return batch_size, 0
    batch_size = min(batch_size, first)
    return batch_size, first // batch_size * batch_size


def make_stepper(plan: BatchPlan | StepPlan, n: int) -> NystromConjugateGradients | ProjectedEigenPro:
    """The solver that the plan is for."""
    if isinstance(plan, BatchPlan):
        return NystromConjugateGradients()
    return ProjectedEigenPro(float(plan.step_size), average=plan.batch_size < n)


def in_order(batches: Any, problem: CentresProblem | NystromProblem) -> Any:
    """Batches, announced to rows that are read ahead."""
    return problem.points.following(batches) if isinstance(problem.points, RowsAhead) else batches
