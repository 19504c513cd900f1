"""How a function of centers is trained: by conjugate gradients or by EigenPro's steps, in which batches, how long."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays, gram, kernels
from ..arrays import Array
from ..gram import fused, rectangular
from ..gram.rectangular import KeptStrips
from ..kernels import Kernel
from ..models.centring import TrainingRows
from ..ranks import Alone
from ..solvers.least_squares import nystrom_conjugate_gradients
from ..solvers.least_squares.nystrom_conjugate_gradients import NystromConjugateGradients, NystromProblem
from ..solvers.least_squares.projected import CentresProblem, ProjectedEigenPro, ProjectedEigenProStepper, ProjectedPlan
from ..solvers.least_squares.step_rules import agreed_plan
from .center_points import Centers
from .choices import Choices
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
class BatchPlan:
    """The batches of conjugate gradients."""

    batch_size: int


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
    steps: ProjectedEigenPro | None,
    seed: int,
    room: int,
    ranks: Alone,
    *,
    all_equal: bool,
) -> BatchPlan | ProjectedPlan:
    """The batches of conjugate gradients, all rows or as many as the memory holds; the plan of ``steps`` if given."""
    n, points = len(centers.rows), centers.of_model
    if steps is None:
        return BatchPlan(n if all_equal else largest_batch(centers.rows, n, room))
    of_centers = of_fresh = None
    if weights is not None:
        of_fresh, of_centers = weights[centers.fresh_rows], weights[: centers.n]
        if not centers.sampled:
            of_centers = arrays.namespace(points).ones_like(points[:, -1]) * weights.mean()
    plan = steps.plan(
        *(kernel, points, centers.fresh, of_centers, of_fresh, n, largest_batch(centers.rows, n, room), seed),
        ridge=choices.regularisation,
        eigensystem=choices.eigensystem(),
        all_equal=all_equal,
    )
    return agreed_plan(plan, ranks, points)


def bytes_of_steps(plan: BatchPlan | ProjectedPlan, centers: Centers, n_outputs: int, itemsize: int) -> int:
    """Bytes that a step and what it needs take, without kernel values."""
    p, rows = centers.n, centers.rows
    of_points = rows.held_bytes or BATCHES_IN_MEMORY * plan.batch_size * rows.row_bytes
    of_solver = 2 * p * p + 12 * p * n_outputs
    if isinstance(plan, ProjectedPlan):
        made = plan.preconditioner
        of_solver = p * p + made.n_subsample * made.rank + 8 * p * n_outputs
    return of_points + itemsize * of_solver


def make_problem(
    centers: Centers,
    kernel: Kernel,
    plan: BatchPlan | ProjectedPlan,
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
    if isinstance(plan, ProjectedPlan):
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


def make_stepper(plan: BatchPlan | ProjectedPlan, n: int) -> NystromConjugateGradients | ProjectedEigenProStepper:
    """The solver that the plan is for."""
    if isinstance(plan, BatchPlan):
        return NystromConjugateGradients()
    return ProjectedEigenProStepper(float(plan.step_size), average=plan.batch_size < n)


def in_order(batches: Any, problem: CentresProblem | NystromProblem) -> Any:
    """Batches, announced to rows that are read ahead."""
    return problem.points.following(batches) if isinstance(problem.points, RowsAhead) else batches
