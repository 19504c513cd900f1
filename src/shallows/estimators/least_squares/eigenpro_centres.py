"""EigenPro for models with fewer centres than data, for classes and for values."""

from __future__ import annotations

import math
import numbers
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from ... import arrays, gram, kernels, spectrum, streams
from ...arrays import Array
from ...errors import ShallowsError
from ...fitting.choices import Sample, choose_on_all_rows
from ...fitting.machine import SMALL
from ...fitting.parameter_checks import MOST, check_choice, is_whole
from ...fitting.preconditioning import SMALL_FLOOR, check_preconditioning
from ...gram import fused, rectangular
from ...gram.rectangular import KeptStrips
from ...kernels import Kernel
from ...models import precomputed
from ...models.centring import Centring, TrainingRows
from ...models.kernel_checks import check_scale, chosen_kernel
from ...solvers.least_squares import nystrom_conjugate_gradients, projection
from ...solvers.least_squares.nystrom_conjugate_gradients import NystromConjugateGradients, NystromProblem
from ...solvers.least_squares.projected import CentresProblem, ProjectedEigenPro, certificate, step_size
from ...spectrum.kernel_ridge_choice import AUTO, LEAST_ROWS, number_of_rows
from ..base import native
from ..constructors import stores_parameters, with_parameters
from ..rows_ahead import RowsAhead
from .kernel_least_squares import LeastSquaresClassifier, LeastSquaresFit, LeastSquaresRegressor, Plan

N_FRESH = 3000
"""Points beside the centres on which λ and β are measured, from which the step follows."""

BATCHES_IN_MEMORY = 5
"""Batches of points in memory at a time: one in use, the next, and copies while it is read."""

LEAST_FRESH = 500
"""The fewest such points; below `N_FRESH` only where their matrices would take over half of the memory."""

STRIP_BYTES = 2**26
"""Bytes that strips of the kernel matrix may take where they are not kept; more is no faster."""

CENTRES_PER_ROOT, MOST_CENTRES = 40.0, 12_500
"""centres="auto" takes so many times √n, and at most so many: from 100,000 rows on the time of a fit grows like n."""

CENTRES_PER_DIMENSION, LEAST_CENTRES = 10.0, 1000
"""And no more than so many times the effective dimension of the problem, but at least so many."""

FEWEST_PASSES, TIMED_ROWS = 3, 2048
"""solver="auto" takes EigenPro's steps where ``max_seconds`` end before so many passes of conjugate gradients over the
rows, as products with so many rows tell. After three passes these err no more than after three epochs of the steps."""

ROWS_PER_CENTRE = 50
"""And only where there are so many rows for each centre. With fewer, an epoch has few batches, and the decomposition
for the steps takes as long as some epochs."""

LEAST_FIRST, MOST_KEPT = 0.1, 0.7
"""Before all rows conjugate gradients learn those whose kernel values are kept, and at least this share of the rows;
not where more are kept than `MOST_KEPT`. They then need 7 to 10 passes over all rows in the place of 15 to 18."""

EIGENPRO, CONJUGATE_GRADIENTS = "eigenpro", "conjugate_gradients"


@dataclass
class EigenProCentresFit(LeastSquaresFit):
    """The fit of EigenPro on centres, whose ``points`` are the centres and, after them, points for measuring the step.

    Attributes
    ----------
    n_centres : int
    takes_steps : bool
        Whether EigenPro trains the model; else conjugate gradients do.
    rows : TrainingRows
        All training points, in memory or read batch by batch.
    fresh : slice
        Which rows the points after the centres are.
    projection
        Onto the functions of the centres.
    predicted_seconds : float or None
        Of the passes over the rows that ``max_seconds`` must suffice for, where some rows were timed.
    """

    n_centres: int = 0
    takes_steps: bool = False
    predicted_seconds: float | None = None
    rows: Any = None
    fresh: Any = None
    projection: Any = None


@dataclass
class CentresMatrix:
    """The kernel matrix of the training points with the centres, as the base class uses its Gram matrix."""

    kernel: Kernel
    points: Array  # (p, d + 2): the centres
    rows: TrainingRows
    budget: int
    kept: KeptStrips | None = None

    @property
    def kept_fraction(self) -> float:
        """Share of the rows whose values are kept."""
        return 0.0 if self.kept is None else self.kept.kept_fraction

    def dot(self, a: Array) -> Array:
        """``k(X, Z) @ a`` for all training points in the order of the fit, shape (n, c)."""
        xp = arrays.namespace(a)
        parts = [
            gram.cross_product(self.kernel, self.rows(batch)[:, :-2], self.points, a, budget=self.budget)
            for batch in arrays.blocks(len(self.rows), 20_000)
        ]
        return xp.concat(parts)


class EigenProCentresMethod:
    """Parameters, plan and solver of EigenPro on centres, for classes and for values."""

    _context = EigenProCentresFit

    @stores_parameters
    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        *,
        centres: int | str | Any = "auto",
        bandwidth: float | str | None = "auto",
        kernel_params: Mapping[str, Any] | None = None,
        n_components: int | str | None = "auto",
        regularisation: float | str = "auto",
        calibration: str | None = "auto",
        solver: str = "auto",
        rank: int | None = None,
        n_subsample: int | None = None,
        batch_size: int | None = None,
        step_size: float | None = None,
        damping: float = 1.0,
        max_epochs: int = 20,
        max_seconds: float | None = None,
        tol: float = 5e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ): ...

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_preconditioning(self)
        check_choice(self, solver=(AUTO, CONJUGATE_GRADIENTS, EIGENPRO))
        if self.solver == CONJUGATE_GRADIENTS and self._of_eigenpro:
            raise ShallowsError(
                f'{" and ".join(self._of_eigenpro)}: of solver="eigenpro" alone, and solver is "conjugate_gradients".'
            )
        if np.ndim(self.centres) == 0 and not is_whole(self.centres) and not self._counts_centres:
            raise ShallowsError(
                f"centres must be 'auto', a whole number from 1 to {MOST:,}, how many training points to take, or an "
                f"array of points; got {self.centres!r}."
            )
        if not self._samples_centres:
            precomputed.refuse(self, "Centres that are given are points; with a matrix, centres is a number.")

    # ------------------------------------------------------------------------------- points and centres

    @property
    def _of_eigenpro(self) -> list[str]:
        """Parameters of EigenPro's steps that the user has set."""
        given = [name for name in ("rank", "n_subsample", "batch_size", "step_size") if getattr(self, name) is not None]
        return given + (["damping"] if self.damping != 1.0 else [])

    @property
    def _counts_centres(self) -> bool:
        """Whether the number of centres follows from the data."""
        return isinstance(self.centres, str) and self.centres == AUTO

    @property
    def _samples_centres(self) -> bool:
        """Whether the centres are training points; else the user gives them."""
        return isinstance(self.centres, numbers.Integral) or self._counts_centres

    def _check_memory(self, fit: EigenProCentresFit) -> None:
        """Only warn: data that do not fit are read batch by batch, and `_prepare_points` sees to the centres."""
        self._warn_of_too_little_memory(fit.device)

    def _prepare_points(self, fit: EigenProCentresFit) -> Array:
        kind = kernels.kind(self.kernel)
        kind.check_inputs(fit.inputs.shape[1])
        self._centring = Centring.of(
            fit.inputs,
            centred=kind.shift_invariant,
            without_constants=kind.of_distance and self._samples_centres,
            may_stay_sparse=kind.takes_sparse_points,
        )
        # Where all points are equal, one step of EigenPro is the mean of the targets.
        suits = bool(self._of_eigenpro) or self.regularisation == 0 or self._centring.all_equal
        fit.takes_steps = self.solver == EIGENPRO or (self.solver == AUTO and suits)
        points = self._centres_and_fresh_points(fit)
        may_change = self.solver == AUTO and not fit.takes_steps and fit.n >= ROWS_PER_CENTRE * fit.n_centres
        if self.max_seconds is None or not may_change or fit.data.matrix is not None:
            return points
        fit.predicted_seconds = self._iteration_seconds(fit, points)
        if fit.predicted_seconds > self.max_seconds:
            fit.takes_steps = True
            points = self._centres_and_fresh_points(fit)
        return points

    def _iteration_seconds(self, fit: EigenProCentresFit, points: Array) -> float:
        """Seconds of `FEWEST_PASSES` over all rows, by a product with some rows, which are read anew."""
        n, centres = fit.n, points[: fit.n_centres, :]
        given = self.kernel, None if isinstance(self.bandwidth, str) else self.bandwidth, self.kernel_params
        kernel = chosen_kernel(*given, centres[:TIMED_ROWS, :], fit.seed, all_equal=False)
        a = arrays.namespace(centres).zeros((fit.n_centres, fit.n_outputs), dtype=centres.dtype)
        seconds = 0.0
        for rows in arrays.blocks(min(n, 2 * TIMED_ROWS), TIMED_ROWS):  # The first pays for what is there once.
            began = time.perf_counter()
            product, _ = rectangular.forward_and_back(
                kernel, fit.rows(rows), centres, a, lambda scores, _: (scores, 0.0), budget=STRIP_BYTES
            )
            arrays.synchronise(product)
            seconds = (time.perf_counter() - began) * n / (rows.stop - rows.start)
        kept = min(1.0, fit.budget / (2.0 * n * fit.n_centres * centres.dtype.itemsize))
        return seconds * (1.0 + (FEWEST_PASSES - 1) * (1.0 - kept))

    def _centres_and_fresh_points(self, fit: EigenProCentresFit) -> Array:
        """The centres, whose number is chosen here, and after them points on which the step is measured."""
        X, n, dtype, device = fit.inputs, fit.n, fit.dtype, fit.device
        given = None if self._samples_centres else self._model_inputs(points_of(self.centres, self.n_features_in_))
        kind, budget = kernels.kind(self.kernel), self._working_budget(device)
        n_fresh = fresh_points(n, budget, dtype.itemsize) if fit.takes_steps else number_of_rows(n)
        row_bytes = self._row_bytes(fit)
        room = RoomForCentres(row_bytes // dtype.itemsize - 2, fit.n_outputs, dtype.itemsize, n_fresh, fit.takes_steps)
        if self._counts_centres:
            wanted = max(LEAST_CENTRES, int(CENTRES_PER_ROOT * math.sqrt(n)))
            fit.n_centres = max(1, min(n, wanted, MOST_CENTRES, room.fitting(budget // 2)))
        else:
            fit.n_centres = min(int(self.centres), n) if given is None else given.shape[0]
        p, needed = fit.n_centres, room.bytes_of(fit.n_centres)
        if needed > budget:
            raise self._too_many_centres(p, needed, room.fitting(budget), budget, device)
        # Half of what is left may hold the points; else they are read anew in every epoch.
        held = (budget - needed) // 2 > n * row_bytes
        fit.rows = TrainingRows(X, fit.order, self._centring, device, dtype, held=held)
        first = 0 if given is not None else p
        fit.fresh = slice(first, min(n, first + n_fresh))
        if fit.fresh.stop - fit.fresh.start < max(1, n_fresh // 2):
            fit.fresh = slice(0, min(n, n_fresh + first))
        fresh = fit.rows(fit.fresh)
        if given is None:
            centres = fit.rows(slice(0, p))
        else:
            here = streams.permutation(0, "given centres", 0, p)
            centres = self._centring.training_points(given, here, device, dtype)
        check_scale(centres, dtype, may_vanish=not kind.shift_invariant)
        return arrays.namespace(centres).concat([centres, fresh])

    def _row_bytes(self, fit: EigenProCentresFit) -> int:
        """Bytes of a point."""
        if self._centring.sparse and fit.device.kind == "cpu":
            return self._centring.row_bytes(fit.inputs, fit.dtype)
        return (fit.inputs.shape[1] + 2) * fit.dtype.itemsize

    def _too_many_centres(
        self, p: int, needed: float, fitting: int, budget: int, device: arrays.Device
    ) -> ShallowsError:
        """The error that says how many centres fit into the memory, if any do, and how much memory these need."""
        # A budget for the process counts what it holds already (`Estimator._working_budget`), which grows a little.
        beside = arrays.resident_memory() + 2**26 if device.kind == "cpu" else 0
        enough = f'memory="{math.ceil(1.1 * (needed + beside) / 1e6)}MB"'
        fewer_help = fitting >= 1 and self._samples_centres
        return ShallowsError(
            f"{p:,} centres take {needed / 1e9:.2g} GB (their kernel matrix is factored), and the budget leaves "
            f"{budget / 1e9:.2g} GB. "
            f"Use {f'centres={fitting} at most, or ' if fewer_help else ''}{enough}."
        )

    # -------------------------------------------------------------------------------------------- plan

    def _choice_rows(self, fit: EigenProCentresFit) -> tuple[Array, Array, Any]:
        rows, first = slice(0, fit.n_centres), 0
        if not self._samples_centres or fit.n_centres < number_of_rows(fit.n):
            rows, first = fit.fresh, fit.n_centres
        n, weights = rows.stop - rows.start, fit.weights
        return fit.points[first : first + n, :], fit.targets[rows, :], None if weights is None else weights[rows]

    def _choosing_span(self, fit: EigenProCentresFit) -> slice:
        # The first of the centres choose, and where the centres are too few the rows after them.
        span = super()._choosing_span(fit)
        few = self.centres if not self._counts_centres and self._samples_centres else 0
        return slice(few, few + span.stop) if few < span.stop and few else slice(0, min(span.stop, LEAST_ROWS))

    def _leaves_out_in_closed_form(self, n: int) -> bool:
        all_are_centres = self._counts_centres or (self._samples_centres and self.centres >= n)
        return all_are_centres and super()._leaves_out_in_closed_form(n)

    def _first_rows(self, fit: EigenProCentresFit, m: int) -> tuple[Array, Array, Any]:
        return fit.rows(slice(0, m)), fit.targets[:m, :], None if fit.weights is None else fit.weights[:m]

    def _n_units(self, fit: EigenProCentresFit) -> float:
        return fit.n_centres

    def _choose_on_all_rows(self, fit: EigenProCentresFit) -> None:
        n = fit.n
        wanted = self.regularisation == AUTO or self._calibrates
        if wanted and n == fit.n_centres and self._samples_centres and 2 < n <= SMALL and not self._centring.all_equal:
            sample = Sample(fit.points[:n, :], fit.targets, fit.weights)
            matrix_of = lambda x: kernels.matrix(fit.kernel, x)  # noqa: E731
            fit.choices = choose_on_all_rows(self._request(), fit.choices, matrix_of, sample)

    @staticmethod
    def _rows_to_keep(plan: Plan) -> int:
        return 0

    def _centres_of_use(self, fit: EigenProCentresFit) -> int:
        """The number of centres; where the data choose it, bounded by their effective dimension."""
        dimension = effective_dimension(fit.choices, fit.n) if self._counts_centres else math.inf
        if not CENTRES_PER_DIMENSION * dimension < fit.n_centres:
            return fit.n_centres
        return min(fit.n_centres, max(LEAST_CENTRES, math.ceil(CENTRES_PER_DIMENSION * dimension)))

    def _make_plan(self, fit: EigenProCentresFit) -> Plan:
        before, fit.n_centres = fit.n_centres, self._centres_of_use(fit)
        if fit.n_centres < before:
            parts = fit.points[: fit.n_centres, :], fit.points[before:, :]
            fit.points = arrays.namespace(fit.points).concat(parts)
        if not fit.takes_steps:
            return Plan(fit.kernel, None, self._largest_batch(fit, fit.n), 1.0, 1.0, 1.0)
        points, weights, kernel, seed = fit.points, fit.weights, fit.kernel, fit.seed
        xp = arrays.namespace(points)
        n, p = fit.n, fit.n_centres
        centres, fresh = points[:p, :], points[p:, :]
        n_subsample = min(p, self.n_subsample or max(6000, 2 * (self.rank or 0)))
        ridge = fit.choices.regularisation
        smallest, smallest_share = ridge / n, 0.0
        rank = self.rank
        if rank is None:
            # As in `EigenProClassifier`: in a small problem every batch holds all rows, and in a large one directions
            # below 1/n are not preconditioned.
            rank = n_subsample if n <= SMALL else n_subsample // 4
            smallest, smallest_share = (0.0, SMALL_FLOOR) if n <= SMALL and not ridge else ((ridge or 1.0) / n, 0.0)
        rank = min(rank, n_subsample - 1)
        of_subsample = of_fresh = None
        if weights is not None:
            sampled = self._samples_centres
            of_subsample = (
                weights[:n_subsample] if sampled else xp.ones_like(centres[:n_subsample, -1]) * weights.mean()
            )
            of_fresh = weights[fit.fresh]
        made = spectrum.make_preconditioner(
            kernel,
            xp.concat([centres[:n_subsample, :], fresh]),
            rank=rank,
            n_subsample=n_subsample,
            seed=seed,
            damping=self.damping,
            weights=None if weights is None else xp.concat([of_subsample, of_fresh]),
            smallest=smallest,
            smallest_share=smallest_share,
            known=fit.choices.eigensystem() if n_subsample == n else None,
            resolves_more=ridge > 0,
        )
        fit.projection = projection.make_projection(kernel, centres)
        found = certificate(kernel, centres, fit.projection, made, fresh, of_fresh, seed)
        batch_size = self.batch_size
        if batch_size is None:
            # A batch of up to half of the critical size costs no progress. Twice p keeps the solve with p² numbers near
            # a tenth of the time of a step; with 4p/3 it was a sixth, and the loss after some epochs about the same.
            # Where an epoch then had few batches, progress counts more.
            batch_size = n if n <= SMALL else max(16, min(2 * p, n // 5), int(found.critical_batch_size / 2))
            batch_size = self._largest_batch(fit, batch_size)
        batch_size = min(n, batch_size)
        step = self.step_size or 1.0 / (1.0 / step_size(found, batch_size) + ridge * batch_size / n)
        return Plan(kernel, made, batch_size, step, found.eigenvalue(batch_size), found.largest_diagonal)

    @staticmethod
    def _largest_batch(fit: EigenProCentresFit, batch_size: int) -> int:
        """The batch, or what of it takes a small part of the memory, also while the next is read."""
        if fit.rows.held_bytes:
            return batch_size
        return min(batch_size, max(16, fit.room // (4 * BATCHES_IN_MEMORY * fit.rows.row_bytes)))

    def _make_problem(self, fit: EigenProCentresFit, budget: int) -> CentresProblem | NystromProblem:
        centres = arrays.contiguous(fit.points[: fit.n_centres, :])
        strips = min(STRIP_BYTES if arrays.device_of(fit.points).kind == "cpu" else 2**32, max(2**20, budget))
        fit.gram = CentresMatrix(fit.plan.kernel, centres, fit.rows, strips)
        # A single epoch would not find again what it has kept, and fused products make no block that could be kept.
        keeps = self.max_epochs > 1 and not fused.applies(fit.plan.kernel, centres, fit.targets)
        fit.gram.kept = KeptStrips(fit.n, centres, 3 * (budget - strips) // 4 if keeps else 0)
        points = fit.rows if fit.rows.held_bytes else RowsAhead(fit.rows, arrays.device_of(fit.points))
        given = fit.plan.kernel, centres, points, fit.targets
        last = fit.weights, fit.choices.regularisation, strips, fit.gram.kept
        if fit.takes_steps:
            return CentresProblem(*given, fit.projection, fit.plan.preconditioner, *last)
        of_centres, xp = None, arrays.namespace(centres)
        if fit.weights is not None:
            of_centres = fit.weights[: fit.n_centres, 0]
            if not self._samples_centres:
                of_centres = xp.ones_like(centres[:, -1]) * xp.mean(fit.weights[:, 0])
        made = nystrom_conjugate_gradients.make_preconditioner(
            fit.plan.kernel,
            centres,
            fit.n,
            fit.choices.regularisation,
            of_centres,
            of_all_points=self._samples_centres and fit.n_centres == fit.n,
        )
        n_first = self._first_rows_to_learn(fit)
        return NystromProblem(*given, made, *last, n_first=n_first, batch_size=fit.plan.batch_size)

    @staticmethod
    def _first_rows_to_learn(fit: EigenProCentresFit) -> int:
        """How many rows, some batches, conjugate gradients learn before all of them; 0 if that saves nothing."""
        n, kept = fit.n, fit.gram.kept.n_rows
        first = max(kept, int(LEAST_FIRST * n))
        if kept > MOST_KEPT * n or first < fit.n_centres:
            return 0
        fit.plan.batch_size = min(fit.plan.batch_size, first)
        return first // fit.plan.batch_size * fit.plan.batch_size

    def _batches(self, fit: EigenProCentresFit) -> Any:
        batches, rows = super()._batches(fit), fit.problem.points
        return rows.following(batches) if isinstance(rows, RowsAhead) else batches

    def _step_bytes(self, fit: EigenProCentresFit) -> int:
        p, made, rows, n_outputs = fit.n_centres, fit.plan.preconditioner, fit.rows, fit.targets.shape[1]
        of_points = rows.held_bytes or BATCHES_IN_MEMORY * fit.plan.batch_size * rows.row_bytes
        of_solver = 2 * p * p + 12 * p * n_outputs
        if fit.takes_steps:
            of_solver = p * p + made.n_subsample * made.rank + 8 * p * n_outputs
        return of_points + fit.dtype.itemsize * of_solver

    def _has_own_threads(self, fit: EigenProCentresFit) -> bool:
        return True

    def _make_solver(self, fit: EigenProCentresFit) -> ProjectedEigenPro | NystromConjugateGradients:
        if not fit.takes_steps:
            return NystromConjugateGradients()
        return ProjectedEigenPro(float(fit.plan.step_size), average=fit.plan.batch_size < fit.n)

    def _report_of_steps(self, fit: EigenProCentresFit) -> dict[str, Any]:
        timed = {} if fit.predicted_seconds is None else {"predicted_seconds": fit.predicted_seconds}
        if fit.takes_steps:
            return super()._report_of_steps(fit) | {"solver": EIGENPRO} | timed
        return {"batch_size": fit.plan.batch_size, "solver": CONJUGATE_GRADIENTS} | timed

    def _store_model(self, fit: EigenProCentresFit, state: Any) -> None:
        self.dual_coef_ = arrays.to_numpy(state.coefficients[:, : fit.n_outputs])
        self.support_ = fit.rows_of_points[: fit.n_centres] if self._samples_centres else None
        self._points = arrays.to_numpy(fit.points[: fit.n_centres, :])
        self._kernel, self.bandwidth_ = precomputed.without_matrix(fit.plan.kernel), fit.plan.kernel.bandwidth

    def _model_parameters(self, fit: EigenProCentresFit) -> dict[str, Any]:
        return super()._model_parameters(fit) | {"n_centres": fit.n_centres}


@dataclass(frozen=True)
class RoomForCentres:
    """Bytes that centres take in a fit: themselves, the factors of their matrix, and what the step is measured with."""

    d: int
    n_outputs: int
    itemsize: int
    n_fresh: int  # Points beside the centres
    takes_steps: bool

    @property
    def _terms(self) -> tuple[float, float, float]:
        """a, b and c of a p² + b p + c numbers for p centres."""
        if self.takes_steps:
            # The factor, the centres and the certificate's matrices, of fresh points with the centres and each other.
            return 1.0, 2 * self.d + 3.0 * self.n_fresh, 2.0 * self.n_fresh**2
        return 2.0, self.d + 2 + 12.0 * self.n_outputs, self.n_fresh * (self.d + 2.0)

    def bytes_of(self, p: int) -> float:
        """What p centres take."""
        a, b, c = self._terms
        return self.itemsize * (a * p * p + b * p + c)

    def fitting(self, budget: float) -> int:
        """The most centres that fit."""
        a, b, c = self._terms
        return int((math.sqrt(b * b + 4 * a * max(0.0, budget / self.itemsize - c)) - b) / (2 * a))


def effective_dimension(choices: Any, n: int) -> float:
    """Σᵢ μᵢ/(μᵢ + λ) over the eigenvalues of the kernel matrix of all n points, estimated on the rows that chose λ.

    Infinite where it is a third of these rows or more, or where more rows chose a narrower bandwidth: then they are too
    few to estimate it.
    """
    if choices.found is None or choices.found.narrowing is not None or not choices.regularisation:
        return math.inf
    values = choices.found.path.values
    dimension = float(np.sum(values / (values + choices.regularisation * len(values) / n)))
    return dimension if dimension < len(values) / 3 else math.inf


def fresh_points(n: int, budget: int, itemsize: int) -> int:
    """On how many of n points the step is measured: two matrices of them take half of the budget at most."""
    return min(n, N_FRESH, max(LEAST_FRESH, math.isqrt(max(0, budget) // (4 * itemsize))))


def points_of(centres: Any, d: int) -> Any:
    """Centres as points of d features, float32 or float64, shape (p, d); sparse ones as CSR.

    Raises
    ------
    ShallowsError
        If they are no such points, or not finite.
    """
    made = centres if scipy.sparse.issparse(centres) else np.asarray(centres)
    if made.dtype.kind not in "fiub" or made.ndim != 2 or 0 in made.shape:
        raise ShallowsError(f"centres must be a number or an array of shape (p, {d}), got {made!r:.80}.")
    made = native(made)
    if made.shape[1] != d:
        raise ShallowsError(f"centres have {made.shape[1]} features and X has {d}.")
    made = made.astype(np.float32 if made.dtype == np.float32 else np.float64)
    if not np.isfinite(made.data if scipy.sparse.issparse(made) else made).all():
        raise ShallowsError("centres hold NaN or infinity.")
    return made


class EigenProCentresClassifier(EigenProCentresMethod, LeastSquaresClassifier):
    """Kernel classification by EigenPro with fewer centres than data: least squares on ±1 targets.

    The function is Σⱼ αⱼ k(zⱼ, ·) over p centres: p numbers for each output whatever the data's size, so that
    prediction and memory do not grow with it. Training goes through all data in every pass, and keeps as much of the
    kernel matrix of points and centres as the memory holds.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or "precomputed": X is then
        the kernel matrix in a fit, and the values of new points with all training points in a prediction.
    centres : int, "auto" or array of shape (p, n_features), default="auto"
        How many training points, drawn at random, are the centres, or the centres themselves. "auto" takes 40 √n, at
        least 1,000 and at most 12,500; fewer where ten times the effective dimension at λ, or half of the memory, are
        less.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points times powers of two, the one with the smallest leave-one-out error of kernel ridge regression on 400
        to 1,000 training rows, and from 2,000 rows (and 560 centres or features) on a narrower one where half of
        the rows (at most 30,000) show that it is better; "median" and None take the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    n_components : int, "auto" or None, default="auto"
        Take so many leading principal components in the place of the inputs; they are a part of the model. "auto"
        compares all inputs with 200, 100 and 50 components by leave-one-out errors, where the bandwidth is chosen so,
        the points are dense and have enough inputs, and takes components that are better, or surely as good. None takes
        the inputs.
    regularisation : float or "auto", default="auto"
        λ, for the sum of the losses over all points: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the λ with
        the smallest leave-one-out error on the rows that the bandwidth is chosen with. With 0 nothing regularises but
        an end of the training before its limit.
    calibration : {"auto", None}, default="auto"
        How outputs become probabilities, and decide between several classes. "auto" learns a sigmoid, or a linear map
        and the softmax for several classes, from outputs at training rows of functions that were fitted without them.
        None leaves the outputs as they are. Regressors have it so that one configuration serves both, without effect.
    solver : {"auto", "conjugate_gradients", "eigenpro"}, default="auto"
        How the objective is minimised.

        - "auto": "eigenpro" where one of its parameters is set, λ is 0, or ``max_seconds`` end before three passes of
          conjugate gradients over the rows and there are fifty rows for each centre; else "conjugate_gradients".
        - "conjugate_gradients": on the equations of the centres, preconditioned with what the centres alone would give,
          as in Falkon. An epoch is one iteration with all rows; training ends with an iteration that lowers the
          objective by less than a thousandth. Where memory keeps less than 0.7 of the kernel matrix, it begins at the
          solution for the rows that are kept, or a tenth of all, in the first epoch. Memory holds 2 p² numbers.
        - "eigenpro": preconditioned gradients of batches, each projected onto the span of the centres, and the average
          of the iterates. Memory holds p² numbers. ``rank``, ``n_subsample``, ``batch_size``, ``step_size`` and
          ``damping`` are its parameters.
    rank : int, optional
        q, the number of eigendirections that the preconditioner flattens. None takes a quarter of the subsample, or
        fewer where the spectrum falls below λ/n; up to 1,000 points, all directions above λ/n (without λ: 1/n, and up
        to 1,000 points 1/200 of the largest eigenvalue). A given rank is a limit: directions whose eigenvalues lie
        below λ/n are left as they are.
    n_subsample : int, optional
        M, the number of centres from which the eigensystem is computed. None takes 6,000, or twice the rank if that is
        more, and all if there are fewer.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/μ in the span of the centres, and at least 2p or a fifth of the
        rows, whichever is less, so that the projection's share of the time stays small; all rows of up to 1,000. β is
        the largest value of the preconditioned kernel's diagonal, μ its largest eigenvalue.
    step_size : float, optional
        η, for a sum over the batch. None takes 2/(β + (m − 1)μ) and at most 1/(mμ), shortened for λ (1/η grows by
        λm/n), with μ and β measured in the span of the centres on training points that are no centres; an epoch in
        which training diverges is then repeated with half of it.
    damping : float, default=1.0
        τ: the flattened eigenvalues become τ λ_{q+1}.
    max_epochs : int, default=20
        The most passes over the training data. The first pass of conjugate gradients makes their right-hand side.
    max_seconds : float, optional
        The most seconds of the fit, the choice of parameters and the preconditioner included. Where these take longer,
        the training ends as soon as there is a model.
    tol : float, default=5e-3
        Stop after an epoch whose training loss is at most this share of the zero function's loss.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the training rows (of each class alike), and stop when their score has not
        become better for ``n_iter_no_change`` epochs. The model of the best epoch is the one that is kept.
    validation_fraction : float, default=0.1
        The share of the training rows that early stopping holds out.
    n_iter_no_change : int, default=3
        Epochs without a better validation score after which early stopping ends the training.
    warm_start : bool, default=False
        Go on where the fit before ended, if data, ``random_state`` and all parameters are the same but those that say
        when to stop (``max_epochs``, ``tol``); else begin anew.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: the order of the rows, subsamples, random features and held-out rows. The same
        int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "2GB", that the process (on a GPU: the fit) may use. None takes a share of what is
        free. The data are kept in the precision of the fit if they fit, else read anew in every epoch.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    dual_coef_ : ndarray, shape (n_centres, n_outputs)
        Coefficients of the kernel functions at the centres.
    support_ : ndarray of int, shape (n_centres,), or None
        Numbers of the training rows that are the centres; None if the centres were given (in an order of the fit's
        own).
    bandwidth_ : float
    step_size_ : float or None
        η of EigenPro.
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss. EigenPro measures each batch before its own
        step and on the iterate; the average that is the model has a lower one.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device. ``selection`` says how the bandwidth and λ were chosen, and which ones are as good within a standard
        error; ``calibration`` the log-loss on the rows that it was learnt on. ``predicted_seconds`` are those of three
        passes over the rows, by products with some rows that were timed, where ``max_seconds`` could change the solver.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    A. Rudi, L. Carratino and L. Rosasco (2017), "FALKON: an optimal large scale kernel method", NeurIPS.
    A. Abedsoltan, M. Belkin and P. Pandit (2023), "Toward large kernel models", ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import EigenProCentresClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = EigenProCentresClassifier(centres=300, bandwidth=20.0, random_state=0).fit(X[:1200], y[:1200])
    >>> model.dual_coef_.shape, bool(model.score(X[1200:], y[1200:]) > 0.93)
    ((300, 10), True)
    """

    __init__ = with_parameters(EigenProCentresMethod.__init__, class_weight=None)


class EigenProCentresRegressor(EigenProCentresMethod, LeastSquaresRegressor):
    """Kernel regression by EigenPro with fewer centres than data: least squares about the mean of the targets.

    The function is Σⱼ αⱼ k(zⱼ, ·) over p centres: p numbers for each output whatever the data's size, so that
    prediction and memory do not grow with it. Training goes through all data in every pass, and keeps as much of the
    kernel matrix of points and centres as the memory holds.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or "precomputed": X is then
        the kernel matrix in a fit, and the values of new points with all training points in a prediction.
    centres : int, "auto" or array of shape (p, n_features), default="auto"
        How many training points, drawn at random, are the centres, or the centres themselves. "auto" takes 40 √n, at
        least 1,000 and at most 12,500; fewer where ten times the effective dimension at λ, or half of the memory, are
        less.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points times powers of two, the one with the smallest leave-one-out error of kernel ridge regression on 400
        to 1,000 training rows, and from 2,000 rows (and 560 centres or features) on a narrower one where half of
        the rows (at most 30,000) show that it is better; "median" and None take the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    n_components : int, "auto" or None, default="auto"
        Take so many leading principal components in the place of the inputs; they are a part of the model. "auto"
        compares all inputs with 200, 100 and 50 components by leave-one-out errors, where the bandwidth is chosen so,
        the points are dense and have enough inputs, and takes components that are better, or surely as good. None takes
        the inputs.
    regularisation : float or "auto", default="auto"
        λ, for the sum of the losses over all points: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the λ with
        the smallest leave-one-out error on the rows that the bandwidth is chosen with. With 0 nothing regularises but
        an end of the training before its limit.
    calibration : {"auto", None}, default="auto"
        How outputs become probabilities, and decide between several classes. "auto" learns a sigmoid, or a linear map
        and the softmax for several classes, from outputs at training rows of functions that were fitted without them.
        None leaves the outputs as they are. Regressors have it so that one configuration serves both, without effect.
    solver : {"auto", "conjugate_gradients", "eigenpro"}, default="auto"
        How the objective is minimised.

        - "auto": "eigenpro" where one of its parameters is set, λ is 0, or ``max_seconds`` end before three passes of
          conjugate gradients over the rows and there are fifty rows for each centre; else "conjugate_gradients".
        - "conjugate_gradients": on the equations of the centres, preconditioned with what the centres alone would give,
          as in Falkon. An epoch is one iteration with all rows; training ends with an iteration that lowers the
          objective by less than a thousandth. Where memory keeps less than 0.7 of the kernel matrix, it begins at the
          solution for the rows that are kept, or a tenth of all, in the first epoch. Memory holds 2 p² numbers.
        - "eigenpro": preconditioned gradients of batches, each projected onto the span of the centres, and the average
          of the iterates. Memory holds p² numbers. ``rank``, ``n_subsample``, ``batch_size``, ``step_size`` and
          ``damping`` are its parameters.
    rank : int, optional
        q, the number of eigendirections that the preconditioner flattens. None takes a quarter of the subsample, or
        fewer where the spectrum falls below λ/n; up to 1,000 points, all directions above λ/n (without λ: 1/n, and up
        to 1,000 points 1/200 of the largest eigenvalue). A given rank is a limit: directions whose eigenvalues lie
        below λ/n are left as they are.
    n_subsample : int, optional
        M, the number of centres from which the eigensystem is computed. None takes 6,000, or twice the rank if that is
        more, and all if there are fewer.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/μ in the span of the centres, and at least 2p or a fifth of the
        rows, whichever is less, so that the projection's share of the time stays small; all rows of up to 1,000. β is
        the largest value of the preconditioned kernel's diagonal, μ its largest eigenvalue.
    step_size : float, optional
        η, for a sum over the batch. None takes 2/(β + (m − 1)μ) and at most 1/(mμ), shortened for λ (1/η grows by
        λm/n), with μ and β measured in the span of the centres on training points that are no centres; an epoch in
        which training diverges is then repeated with half of it.
    damping : float, default=1.0
        τ: the flattened eigenvalues become τ λ_{q+1}.
    max_epochs : int, default=20
        The most passes over the training data. The first pass of conjugate gradients makes their right-hand side.
    max_seconds : float, optional
        The most seconds of the fit, the choice of parameters and the preconditioner included. Where these take longer,
        the training ends as soon as there is a model.
    tol : float, default=5e-3
        Stop after an epoch whose training loss is at most this share of the zero function's loss.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the training rows (of each class alike), and stop when their score has not
        become better for ``n_iter_no_change`` epochs. The model of the best epoch is the one that is kept.
    validation_fraction : float, default=0.1
        The share of the training rows that early stopping holds out.
    n_iter_no_change : int, default=3
        Epochs without a better validation score after which early stopping ends the training.
    warm_start : bool, default=False
        Go on where the fit before ended, if data, ``random_state`` and all parameters are the same but those that say
        when to stop (``max_epochs``, ``tol``); else begin anew.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: the order of the rows, subsamples, random features and held-out rows. The same
        int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "2GB", that the process (on a GPU: the fit) may use. None takes a share of what is
        free. The data are kept in the precision of the fit if they fit, else read anew in every epoch.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    dual_coef_ : ndarray, shape (n_centres, n_outputs)
        Coefficients of the kernel functions at the centres.
    support_ : ndarray of int, shape (n_centres,), or None
        Numbers of the training rows that are the centres; None if the centres were given (in an order of the fit's
        own).
    bandwidth_ : float
    step_size_ : float or None
        η of EigenPro.
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss. EigenPro measures each batch before its own
        step and on the iterate; the average that is the model has a lower one.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device. ``selection`` says how the bandwidth and λ were chosen, and which ones are as good within a standard
        error; ``calibration`` the log-loss on the rows that it was learnt on. ``predicted_seconds`` are those of three
        passes over the rows, by products with some rows that were timed, where ``max_seconds`` could change the solver.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    A. Rudi, L. Carratino and L. Rosasco (2017), "FALKON: an optimal large scale kernel method", NeurIPS.
    A. Abedsoltan, M. Belkin and P. Pandit (2023), "Toward large kernel models", ICML.
    """
