"""What EigenPro on centres does in a fit, for classes and for values alike: parameters, plan and solver."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import arrays, kernels, spectrum, streams
from ...arrays import Array
from ...errors import ShallowsError
from ...kernels import Kernel
from ...solvers.least_squares import projection
from ...solvers.least_squares.projected import CentresProblem, ProjectedEigenPro, certificate, step_size
from .. import precomputed
from ..base import SMALL
from ..centring import Centring, TrainingRows
from ..kernel_checks import check_scale
from ..leave_one_out_choice import AUTO, number_of_rows
from ..rows_ahead import RowsAhead
from . import given_centres
from .centres_matrix import CentresMatrix
from .kernel_least_squares import Plan
from .preconditioning import SMALL_FLOOR, check_preconditioning

N_FRESH = 3000
"""Points beside the centres on which λ and β are measured, from which the step follows."""

BATCHES_IN_MEMORY = 5
"""As many batches of points take the memory of one that is in use and of the next, with the copies of its reading."""

LEAST_FRESH = 500
"""So many at least, and fewer than `N_FRESH` only where their matrices would take over half of the memory."""

STRIP_BYTES = 2**26
"""Bytes that strips of the kernel matrix may take; more is no faster."""


class EigenProCentresFit:
    """Parameters, plan and solver of EigenPro on centres, for classes and for values."""

    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        *,
        centres: int | Any = 2000,
        bandwidth: float | str | None = "auto",
        kernel_params: Mapping[str, Any] | None = None,
        regularisation: float | str = "auto",
        calibration: str | None = "auto",
        rank: int | None = None,
        n_subsample: int | None = None,
        batch_size: int | None = None,
        step_size: float | None = None,
        damping: float = 1.0,
        max_epochs: int = 10,
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
    ):
        self.kernel = kernel
        self.centres = centres
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.regularisation = regularisation
        self.calibration = calibration
        self.rank = rank
        self.n_subsample = n_subsample
        self.batch_size = batch_size
        self.step_size = step_size
        self.damping = damping
        self.max_epochs = max_epochs
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_preconditioning(self)
        given_centres.check(self.centres)
        if not isinstance(self.centres, numbers.Integral):
            precomputed.refuse(self, "Centres that are given are points; with a matrix, centres is a number.")

    # ------------------------------------------------------------------------------- points and centres

    def _check_memory(self, X: Any, n_outputs: int, dtype: np.dtype, device: arrays.Device) -> None:
        """Nothing here: data that do not fit are read batch by batch, and too many centres are told of elsewhere."""

    def _prepare_points(self, X: Any, order: np.ndarray, device: arrays.Device, dtype: np.dtype) -> Array:
        """Return the centres and, after them, points for measuring the step; all others are read batch by batch."""
        n, d = X.shape
        given = None if isinstance(self.centres, numbers.Integral) else given_centres.as_points(self.centres, d)
        self._p = min(int(self.centres), n) if given is None else len(given)
        budget = self._working_budget(device)
        n_fresh = fresh_points(n, budget, dtype.itemsize)
        # The factor, the centres and the certificate's matrices, of fresh points with the centres and each other.
        half = d + 1.5 * n_fresh
        needed = dtype.itemsize * (self._p * (self._p + 2 * half) + 2 * n_fresh**2)
        if needed > budget:
            fitting = int(math.sqrt(half**2 + max(0, budget / dtype.itemsize - 2 * n_fresh**2)) - half)
            raise self._too_many_centres(needed, fitting, budget, device)
        kind = kernels.kind(self.kernel)
        kind.check_inputs(d)
        self._centring = Centring.of(
            X, centred=kind.shift_invariant, without_constants=kind.of_distance and given is None
        )
        # Half of what is left may hold the points; else they are read anew in every epoch.
        held = (budget - needed) // 2 > n * (d + 2) * dtype.itemsize
        self._rows = TrainingRows(X, order, self._centring, device, dtype, held=held)
        first = 0 if given is not None else self._p
        fresh = slice(first, min(n, first + n_fresh))
        if fresh.stop - fresh.start < max(1, n_fresh // 2):
            fresh = slice(0, min(n, n_fresh + first))
        self._fresh = fresh
        fresh = self._rows(fresh)
        if given is None:
            centres = self._rows(slice(0, self._p))
        else:
            here = streams.permutation(0, "given centres", 0, self._p)
            centres = self._centring.training_points(given, here, device, dtype)
        check_scale(centres, dtype, may_vanish=not kind.shift_invariant)
        return arrays.namespace(centres).concat([centres, fresh])

    def _too_many_centres(self, needed: float, fitting: int, budget: int, device: arrays.Device) -> ShallowsError:
        """The error that says how many centres fit into the memory, if any do, and how much memory these need."""
        # A budget for the process counts what it holds already (`Estimator._working_budget`), which grows a little.
        beside = arrays.resident_memory() + 2**26 if device.kind == "cpu" else 0
        enough = f'memory="{math.ceil(1.1 * (needed + beside) / 1e6)}MB"'
        fewer_help = fitting >= 1 and isinstance(self.centres, numbers.Integral)
        return ShallowsError(
            f"{self._p:,} centres take {needed / 1e9:.2g} GB (their kernel matrix is factored, and the step is "
            f"measured on other points), and the budget leaves {budget / 1e9:.2g} GB. "
            f"Use {f'centres={fitting} at most, or ' if fewer_help else ''}{enough}."
        )

    # -------------------------------------------------------------------------------------------- plan

    def _choice_rows(self, points: Array, targets: Array, weights: Any) -> tuple[Array, Array, Any]:
        rows, first = slice(0, self._p), 0
        if not isinstance(self.centres, numbers.Integral) or self._p < number_of_rows(len(self._rows)):
            rows, first = self._fresh, self._p
        n = rows.stop - rows.start
        return points[first : first + n, :], targets[rows, :], None if weights is None else weights[rows]

    def _look_at_all(self, points: Array, targets: Array, weights: Any, kernel: Any, seed: int, budget: int) -> None:
        n = len(self._rows)
        wanted = self.regularisation == AUTO or self._calibrates
        every_point = n == self._p and isinstance(self.centres, numbers.Integral)
        if wanted and every_point and 2 < n <= SMALL and not self._centring.all_equal:
            self._choices.look_at_all(self, lambda x: kernels.matrix(kernel, x), points[:n, :], targets, weights)

    @staticmethod
    def _rows_to_keep(plan: Plan) -> int:
        return 0

    def _make_plan(self, points: Array, weights: Any, kernel: Kernel, seed: int, budget: int) -> Plan:
        xp = arrays.namespace(points)
        n, p = len(self._rows), self._p
        centres, fresh = points[:p, :], points[p:, :]
        n_subsample = min(p, self.n_subsample or max(6000, 2 * (self.rank or 0)))
        ridge = self._choices.regularisation
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
            sampled = isinstance(self.centres, numbers.Integral)
            of_subsample = weights[:n_subsample] if sampled else xp.ones_like(centres[:n_subsample, 0]) * weights.mean()
            of_fresh = weights[self._fresh]
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
            known=self._choices.eigensystem() if n_subsample == n else None,
            resolves_more=ridge > 0,
        )
        self._projection = projection.make_projection(kernel, centres)
        found = certificate(kernel, centres, self._projection, made, fresh, of_fresh, seed)
        batch_size = self.batch_size
        if batch_size is None:
            # A batch of up to half of the critical size costs no progress. Twice p keeps the solve with p² numbers near
            # a tenth of the time of a step; with 4p/3 it was a sixth, and the loss after some epochs about the same.
            # Where an epoch then had few batches, progress counts more.
            batch_size = n if n <= SMALL else max(16, min(2 * p, n // 5), int(found.critical_batch_size / 2))
            if not self._rows.held_bytes:
                # What is read batch by batch should take a small part of the memory, also while the next is read.
                batch_size = min(batch_size, max(16, budget // (4 * BATCHES_IN_MEMORY * self._rows.row_bytes)))
        batch_size = min(n, batch_size)
        step = self.step_size or 1.0 / (
            1.0 / step_size(found, batch_size) + self._choices.regularisation * batch_size / n
        )
        return Plan(
            kernel,
            made,
            batch_size,
            step,
            found.eigenvalue(batch_size),
            found.largest_diagonal,
        )

    def _make_problem(self, plan: Plan, points: Array, targets: Array, weights: Any, budget: int) -> CentresProblem:
        centres = arrays.contiguous(points[: self._p, :])
        strips = min(STRIP_BYTES if arrays.device_of(points).kind == "cpu" else 2**32, max(2**20, budget))
        self._gram = CentresMatrix(plan.kernel, centres, self._rows, strips)
        self._ahead = self._rows if self._rows.held_bytes else RowsAhead(self._rows, arrays.device_of(points))
        made = CentresProblem(
            plan.kernel,
            centres,
            self._ahead,
            targets,
            self._projection,
            plan.preconditioner,
            weights,
            self._choices.regularisation,
            strips,
        )
        self._averaged = plan.batch_size < len(self._rows)
        del self._projection, self._rows, self._fresh
        return made

    def _announced(self, batches: Any) -> Any:
        ahead = vars(self).pop("_ahead")
        return ahead.following(batches) if isinstance(ahead, RowsAhead) else batches

    def _step_bytes(self, plan: Plan, n_outputs: int, itemsize: int) -> int:
        p, made = self._p, plan.preconditioner
        of_points = self._rows.held_bytes or BATCHES_IN_MEMORY * plan.batch_size * self._rows.row_bytes
        return of_points + itemsize * (p * p + made.n_subsample * made.rank + 8 * p * n_outputs)

    def _make_solver(self, step_size: float) -> ProjectedEigenPro:
        return ProjectedEigenPro(step_size, average=self._averaged)

    def _store_model(self, state: Any, plan: Plan, points: Array, rows: np.ndarray) -> None:
        super()._store_model(state, plan, points[: self._p, :], rows[: self._p])
        if not isinstance(self.centres, numbers.Integral):
            self.support_ = None

    def _model_parameters(self, plan: Plan) -> dict[str, Any]:
        return super()._model_parameters(plan) | {"n_centres": self._p}


def fresh_points(n: int, budget: int, itemsize: int) -> int:
    """On how many of n points the step is measured: two matrices of them take half of the budget at most."""
    return min(n, N_FRESH, max(LEAST_FRESH, math.isqrt(max(0, budget) // (4 * itemsize))))
