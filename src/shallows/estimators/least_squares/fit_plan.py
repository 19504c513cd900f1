"""What a fit of kernel ridge regression will need: its solver, seconds, bytes and error, from fits to a few rows."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ... import streams
from ...arrays.user_arrays import to_host
from ...errors import ShallowsError
from ...fitting import narrower_bandwidth
from ...fitting.center_points import MOST_CENTERS
from ...fitting.choices import held_out_spans
from ...fitting.kernel_centers import operations_of_pair
from ...fitting.least_squares import SPARE_BYTES
from ...fitting.rows import TrainingSet, with_every_class
from ...fitting.solver_choice import choose_for_rows
from ...kernels import precomputed
from ...solvers.least_squares import KERNEL_RIDGE_SOLVERS
from ...solvers.least_squares.kernel_problem import DIRECT_BYTES
from ...spectrum.kernel_ridge_choice import is_automatic, number_of_rows
from ...utils.checks import is_positive, is_whole

FIRST_ROWS = 2000
"""Rows of the first fit, which also loads compiled code; each further fit has twice as many."""

GROWTH = 2.0
"""A third fit, or a further one, is tried if this multiple of the seconds of the last one is left."""

FEWEST_ROWS = 50
"""Fewer rows say nothing about the error of more."""

MOST_ASIDE = 2000
"""Rows that measure the error of the fits, at most a fifth of all."""

OF_PREPARATION, OF_CHOICE, OF_EIGENSYSTEM = 0.5, 0.85, 1.3
"""Powers with which seconds grow from 2,500 to 20,000 rows: the first and the last of the rows, the other of the matrix
that a narrower bandwidth is looked for with. A preparation is a choice of components, on some rows, and copies."""

STEEPEST = 0.5
"""The largest power of the rows with which an error is taken to fall."""

SPREAD = 2.0
"""Factor of the range of seconds. Of 9 plans for 1,500 to 40,000 rows of Friedman 1 and Covertype, 8 were within it, in
processor seconds; the largest unknown is the number of epochs that a training needs."""


@dataclass(frozen=True)
class FitPlan:
    """What a fit will need.

    Parameters
    ----------
    solver : str
    n_rows : int
    n_centers : int or None
        None if all rows are centers.
    seconds : float
        Of the fit on this machine, if nothing else runs on it.
    seconds_range : tuple of float
        Range of the seconds, if the training needs about as many epochs as usual.
    memory : int
        Bytes in addition to those of X and y, at most those that the options allow.
    error : float
        Expected on new rows: 1 − accuracy of a classifier, 1 − R² of a regressor.
    error_range : tuple of float
        From the error expected if it falls twice as fast as in the pilot fits, to the error of the largest pilot
        fit; two standard errors wider at both ends.
    pilot_rows : int
        Rows of the largest fit that was tried.
    pilot_seconds : float
    """

    solver: str
    n_rows: int
    n_centers: int | None
    seconds: float
    seconds_range: tuple[float, float]
    memory: int
    error: float
    error_range: tuple[float, float]
    pilot_rows: int
    pilot_seconds: float

    def __str__(self) -> str:
        centers = "" if self.n_centers is None else f" on {self.n_centers:,} centers"
        return (
            f"{self.n_rows:,} rows with {self.solver}{centers}: {self.seconds:.2g} seconds "
            f"({self.seconds_range[0]:.2g} to {self.seconds_range[1]:.2g}), {self.memory / 1e6:,.0f} MB, error "
            f"{self.error:.3g} ({self.error_range[0]:.3g} to {self.error_range[1]:.3g}), from {self.pilot_rows:,} rows "
            f"in {self.pilot_seconds:.2g} seconds"
        )


@dataclass(frozen=True)
class Pilot:
    """A fit to m rows."""

    m: int
    width: int  # Inputs or components
    n_centers: int | None
    n_epochs: int
    phases: dict[str, float]  # Seconds
    seconds: float  # Of the fit and its predictions
    error: float
    standard_error: float


def plan_fit(estimator: Any, X: Any, y: Any, sample_weight: Any, seconds: float) -> FitPlan:
    """See `KernelRidgeMachine.plan`."""
    precomputed.refuse(estimator, "A plan fits to a part of the rows of X; fit to a part of the matrix yourself.")
    if not is_positive(seconds):
        raise ShallowsError(f"seconds must be a positive number, got {seconds!r}.")
    estimator = clone(estimator)
    estimator._check_parameters()
    if estimator.leaf_size is not None:
        raise ShallowsError("A plan is for one function of all rows. Set leaf_size=None, or measure a fit to one leaf.")
    rows = estimator._validated_training_set(X, y, sample_weight)
    weights = None if sample_weight is None else np.asarray(to_host(sample_weight))[rows.rows]
    rows = rows._replace(weights=weights)  # Without class weights, which the fits apply themselves.
    n, began = len(rows.rows), time.perf_counter()
    if n < FEWEST_ROWS:
        raise ShallowsError(
            f"A plan needs at least {FEWEST_ROWS} rows, got {n}. A fit to so few takes no time: call fit."
        )
    solver, n_aside = full_solver(estimator, rows), min(MOST_ASIDE, n // 5)
    m, pilots = min(FIRST_ROWS, (n - n_aside) // 2), list[Pilot]()
    order = streams.permutation(estimator._seed(), "plan", 0, n)
    numeric = estimator._y_is_numeric
    if not numeric and rows.y.ndim == 1:
        order = with_every_class(order, np.unique(rows.y, return_inverse=True)[1], slice(0, m))
    aside = rows.take(order[n - n_aside :])
    # The error needs two numbers of rows.
    while len(pilots) < 2 or GROWTH * pilots[-1].seconds <= seconds - (time.perf_counter() - began):
        pilots.append(
            try_fit(estimator, solver, rows.take(order[:m]), aside, np.var(rows.y, axis=0) if numeric else 1.0)
        )
        if m == n - n_aside:
            break
        m = min(n - n_aside, 2 * m)
    first, last = pilots[0], pilots[-1]
    slope = math.log(max(first.error, 1e-12) / max(last.error, 1e-12)) / math.log(last.m / first.m)
    slope, chance = min(max(slope, 0.0), STEEPEST), 2.0 * last.standard_error
    p = None if last.n_centers is None else min(MOST_CENTERS, round(last.n_centers * math.sqrt(n / last.m)))
    if is_whole(estimator.centers):
        p = min(estimator.centers, n)
    memory, kept = bytes_of_fit(estimator, solver, rows, p, last.width)
    expected = seconds_of_fit(estimator, solver, rows, p, kept, last)
    limit = estimator._options().max_seconds or math.inf
    return FitPlan(
        next(name for name, kind in KERNEL_RIDGE_SOLVERS.items() if isinstance(solver, kind)),
        n,
        p,
        min(expected, limit),
        (min(expected / SPREAD, limit), min(expected * SPREAD, limit)),
        memory,
        last.error * (n / last.m) ** -slope,
        (max(0.0, last.error * (n / last.m) ** (-2.0 * slope) - chance), last.error + chance),
        last.m,
        time.perf_counter() - began,
    )


def full_solver(estimator: Any, rows: TrainingSet) -> Any:
    """The settings of the solver of a fit to all rows."""
    solver, in_epochs = estimator._settings(), estimator.early_stopping is not False
    if solver is None and not estimator._is_on_centers(None):
        choice = {"of_classes": not estimator._y_is_numeric, "in_epochs": in_epochs}
        solver = choose_for_rows(rows, estimator._options(), all_points=estimator.centers is None, **choice)
    steps = estimator.alpha == 0 and not is_automatic(estimator.alpha)
    return solver or KERNEL_RIDGE_SOLVERS["projected_eigenpro" if steps else "nystrom_conjugate_gradients"]()


def try_fit(estimator: Any, solver: Any, rows: TrainingSet, aside: TrainingSet, variance: Any) -> Pilot:
    """Fit to some rows with the solver of the whole fit, and measure the error at others, in units of the variance."""
    model, began = clone(estimator).set_params(solver=solver, warm_start=False), time.perf_counter()
    m = len(rows.rows)
    if solver.on_centers and is_whole(model.centers):
        model.set_params(centers=min(model.centers, m))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows.X, rows.y, rows.weights)
    whole = time.perf_counter() - began
    phases = dict(model.report_["timings"])
    phases["other"] = max(0.0, whole - sum(phases.values()))
    predicted = model.predict(aside.X)
    if estimator._y_is_numeric:
        losses = (np.asarray(aside.y, dtype=np.float64) - predicted) ** 2
        losses = (losses / np.where(variance > 0, variance, 1.0)).reshape(len(losses), -1).mean(axis=1)
    else:
        losses = (predicted != aside.y).reshape(len(predicted), -1).any(axis=1).astype(np.float64)
    width, centers = model._model.points.shape[1] - 2, len(model.dual_coef_) if solver.on_centers else None
    error = float(losses.mean()), float(losses.std() / math.sqrt(len(losses)))
    return Pilot(m, width, centers, model.n_epochs_, phases, time.perf_counter() - began, *error)


def rows_looked_at(n: int) -> tuple[int, int]:
    """The rows and centers with which a narrower bandwidth is looked for; see `narrower_bandwidth.narrower`."""
    own = narrower_bandwidth
    m = min(n, max(own.ALL_ROWS, min(own.MOST_ROWS, n // own.SHARE)))
    return m, min(max(own.LEAST_CENTERS, m // own.CENTERS_SHARE), m // 2, own.MOST_CENTERS)


def sizes_of(estimator: Any, rows: TrainingSet) -> tuple[int, int]:
    """The numbers of rows and of outputs, with the further outputs of a calibration."""
    n, c = len(rows.rows), rows.y.shape[1] if rows.y.ndim == 2 else 1
    if not estimator._y_is_numeric and rows.y.ndim == 1:
        c = len(np.unique(rows.y))
        c = c if c > 2 else 1
    return n, c * (1 + (0 if estimator.calibration is None else len(held_out_spans(n, 0, c))))


def bytes_of_fit(estimator: Any, solver: Any, rows: TrainingSet, p: int | None, width: int) -> tuple[int, float]:
    """The bytes of the largest arrays of a fit at one time, and the share of the kernel matrix that is kept."""
    options, (n, c) = estimator._options(), sizes_of(estimator, rows)
    budget, is_direct = options.budget(options.fit_device()), p is None and solver.is_direct
    size = 8 if is_direct and options.dtype == "auto" else options.precision(n).itemsize
    points, states = size * n * (width + 2), size * c * 6 * n
    if is_direct:
        matrix, room = DIRECT_BYTES / 8 * size * n * n, math.inf
    elif p is not None:
        matrix, room = float(size) * n * p, 0.75 * (budget - points)
        states += 2 * size * p * p
    else:
        rounds = size == 4 and n > narrower_bandwidth.ALL_ROWS and (is_automatic(estimator.alpha) or estimator.alpha)
        matrix, room = 0.5 * n * n * (2 if rounds else size), float(budget - points - states)
    kept = min(1.0, max(room, 0.0) / matrix)
    m, q = rows_looked_at(n)
    looks = n >= narrower_bandwidth.FEWEST_ROWS and is_automatic(estimator.bandwidth)
    looked_at = size * (2 * m * q + 4 * q * q + 6 * m * (width + 2)) if looks else 0
    return int(min(budget, SPARE_BYTES // 3 + points + max(looked_at, states + kept * matrix))), kept


def seconds_of_fit(estimator: Any, solver: Any, rows: TrainingSet, p: int | None, kept: float, pilot: Pilot) -> float:
    """Seconds of a fit to all rows: each phase of the pilot, times the growth of its operations."""
    n, c = sizes_of(estimator, rows)
    ratio, epochs = n / pilot.m, pilot.n_epochs
    pairs = matrix = ratio**2
    if p is not None and pilot.n_centers:
        pairs, matrix = ratio * p / pilot.n_centers, (p / pilot.n_centers) ** 3  # A factor of the centers' matrix
    elif solver.is_direct:
        pairs = ratio**3
    pairs *= operations_of_pair(epochs, kept, pilot.width, c) / operations_of_pair(epochs, 1.0, pilot.width, c)
    chosen = (number_of_rows(n) / number_of_rows(pilot.m)) ** 3
    if n >= narrower_bandwidth.FEWEST_ROWS and is_automatic(estimator.bandwidth):
        chosen = (math.prod(rows_looked_at(n)) / math.prod(rows_looked_at(pilot.m))) ** OF_CHOICE
    growth = {
        "preparation": ratio**OF_PREPARATION,
        "selection": chosen,
        "eigensystem": ratio**OF_EIGENSYSTEM,
        "kernel_matrix": matrix,
        "training": pairs,
        "evaluation": pairs,
    }
    return sum(seconds * growth.get(phase, ratio) for phase, seconds in pilot.phases.items())
