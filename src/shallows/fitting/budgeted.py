"""The fits of machines of bounded size, which visit one example at a time: budgeted SVMs, and several hyperplanes."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from .. import arrays, kernels, streams, training
from ..arrays import Device
from ..errors import ShallowsError
from ..models.centering import check_scores, some_points
from ..models.host_functions import GaussianSum, Hyperplanes
from ..solvers.budgeted.sparse_rows import SparseRows, sparse_rows
from ..spectrum.kernel_ridge_choice import choose_kernel_ridge, is_automatic
from ..spectrum.leave_one_out import RidgeChoice, report_of_choice
from ..utils.checks import warn_user
from . import column_scales, leave_one_out_choice
from .fit_call import FitCall
from .machine import Phases
from .targets import Machines

BATCH = 4096
"""Rows between two readings of the clock, and of a block of predictions. It changes no result."""

LARGE_LOSS = 3.0
"""A loss this many times the loss of the zero function, after several epochs, means that scales of columns differ."""

OF_A_STREAM = 1e-4
"""λ if the number of rows is not known."""

DEFAULT_BUDGET = 100


@dataclass(frozen=True)
class FittedBudgeted:
    """The result of a fit, from which the next call of ``partial_fit`` continues."""

    model: Any  # GaussianSum or Hyperplanes
    ridge: float  # λ
    n_steps: int  # examples that were visited
    n_epochs: int
    report: dict[str, Any]  # entries of ``report_``
    seconds: dict[str, float]  # of each phase


def fit_budgeted_svm(
    X: Any,
    y: np.ndarray,
    weights: np.ndarray | None,
    *,
    targets: Machines,
    solver: Any,
    bandwidth: float | str | None,
    regularization: float | str,
    streamed: bool,
    before: FittedBudgeted | None,
    call: FitCall,
) -> FittedBudgeted:
    """Train a `BudgetedSGD` for some epochs; with ``streamed``, visit the rows once, starting from the fit before."""
    phases, n, seed = Phases(), len(y), call.seed
    offsets = column_scales.far_offsets(X) if before is None else before.model.offsets
    X = column_scales.shift_columns(X, offsets)
    rows = make_rows(X, targets.numbers(y), weights, len(targets.classes), streamed=streamed)
    ridge = ridge_of_mean_loss(regularization, n, before, streamed=streamed)
    if before is None:
        choice = choose_bandwidth(X, targets.ridge_codes(y), weights, bandwidth, n * ridge, seed)
        width = float(leave_one_out_choice.given_bandwidth(bandwidth, choice) or median_distance(X, seed))
        selection = report_of_choice(choice)
        most = solver.budget or DEFAULT_BUDGET
        if not streamed:
            if solver.budget is not None and most > n:
                text = f"The budget of {most} is above the number of training rows, and brought down to {n}."
                warn_user(text, UserWarning)
            most = min(n, most)
        arrays.check_room(
            f"{most:,} support vectors take",
            8 * most * (X.shape[1] + 2 + (most if solver.maintenance == "projection" else 0)),
            call.options.budget(Device("cpu")),
            "Take a smaller budget, or give more memory.",
        )
    else:
        width, most = before.model.bandwidth, before.report["budget"]
        selection = {name: before.report[name] for name in ("selection",) if name in before.report}
    stepper = solver.build(kernels.Gaussian(width), most, ridge)
    state = None
    if before is not None:
        state = stepper.init(rows)
        points = kernels.augmented(before.model.support_vectors - before.model.offsets)
        state.fill(points, before.model.coefficients)
        state.n_steps = before.n_steps
    phases.end("preparation")
    run = train_on_rows(stepper, rows, state, None if streamed else solver.max_epochs, call, phases)
    state = run.state
    model = GaussianSum(np.ascontiguousarray(state.centers + offsets), state.coefficients.copy(), width, offsets)
    chosen = {
        "kernel": "gaussian",
        "bandwidth": width,
        "budget": most,
        "n_support": state.n_points,
        "n_violations": state.n_violations,
        "lost": state.lost,
        **selection,
    }
    return describe_fit(model, ridge, run, phases, chosen, call.seed, streamed=streamed)


def fit_multi_hyperplane(
    X: Any,
    y: np.ndarray,
    weights: np.ndarray | None,
    *,
    targets: Machines,
    solver: Any,
    regularization: float | str,
    streamed: bool,
    before: FittedBudgeted | None,
    call: FitCall,
) -> FittedBudgeted:
    """Train a `MultiHyperplane`, as `fit_budgeted_svm`."""
    phases, k, constant = Phases(), len(targets.classes), float(solver.constant)
    if before is not None:
        offsets = before.model.offsets
    else:
        # A constant makes up for the offsets of the columns.
        offsets = column_scales.far_offsets(X) if constant else np.zeros(X.shape[1])
    X = column_scales.shift_columns(X, offsets)
    rows = make_rows(X, targets.numbers(y), weights, k, streamed=streamed)
    ridge = ridge_of_mean_loss(regularization, len(y), before, streamed=streamed)
    arrays.check_room(
        f"{solver.n_hyperplanes * k:,} hyperplanes take",
        8 * solver.n_hyperplanes * k * (X.shape[1] + 2),
        call.options.budget(Device("cpu")),
        "Take a smaller n_hyperplanes, or give more memory.",
    )
    stepper = solver.build(ridge)
    state = None
    if before is not None:
        state, fitted, m = stepper.init(rows), before.model, len(before.model.coef)
        state.weights[:m, :-1] = fitted.coef
        state.weights[:m, -1] = fitted.shifted_intercept / constant if constant else 0.0
        state.classes[:m] = fitted.classes
        state.n_weights, state.n_steps, state.n_names = m, before.n_steps, len(state.names)
    phases.end("preparation")
    run = train_on_rows(stepper, rows, state, None if streamed else solver.max_epochs, call, phases)
    state = run.state
    model = hyperplanes_of(state, constant, k, offsets)
    chosen = {"n_hyperplanes": state.n_weights, "n_violations": state.n_violations, "pruned": state.pruned}
    return describe_fit(model, ridge, run, phases, chosen, call.seed, streamed=streamed)


# ------------------------------------------------------------------------------------------ the parts of both fits


@dataclass(frozen=True)
class ShuffledRows:
    """All rows in a new order in every epoch, in pieces."""

    n: int
    seed: int
    names_rows: ClassVar[bool] = True

    def __len__(self) -> int:
        return -(-self.n // BATCH)

    def of_epoch(self, epoch: int) -> list[np.ndarray]:
        """The pieces of an epoch, in their order."""
        order = streams.permutation(self.seed, "rows", epoch, self.n)
        return [order[rows] for rows in arrays.blocks(self.n, BATCH)]


def make_rows(X: Any, numbers: np.ndarray, weights: np.ndarray | None, n_classes: int, *, streamed: bool) -> SparseRows:
    """The rows in the form of the steppers; ``numbers`` are their classes, from 0."""
    rows = sparse_rows(X, numbers, weights if streamed or weights is None else weights / weights.mean(), n_classes)
    with np.errstate(over="ignore"):
        norms = rows.points.multiply(rows.points).sum(axis=1)
    if not np.isfinite(norms).all():
        raise ShallowsError(
            "X holds values whose squares are beyond the numbers. Bring X to a usual scale, for instance with "
            "sklearn.preprocessing.StandardScaler."
        )
    return rows


def ridge_of_mean_loss(regularization: float | str, n: int, before: FittedBudgeted | None, *, streamed: bool) -> float:
    """λ that the user gave. For "auto" 1/n for all rows; for a stream, λ of the fit before or a usual value."""
    if not is_automatic(regularization):
        return float(regularization)
    if streamed:
        return OF_A_STREAM if before is None else before.ridge
    return 1.0 / n


def train_on_rows(
    stepper: Any,
    rows: SparseRows,
    state: Any,
    max_epochs: int | None,
    call: FitCall,
    phases: Phases,
) -> training.Run:
    """Train from a state or the zero function; without ``max_epochs``, visit the rows once, in their order."""
    n = rows.points.shape[0]
    batches: Any = ShuffledRows(n, call.seed)
    if max_epochs is None:
        batches = training.Stream(np.arange(n)[some] for some in arrays.blocks(n, BATCH))
        stopping = training.Stopping(1, tolerance=-np.inf)
    else:
        seconds = phases.seconds_left(call.options.max_seconds)
        stopping = training.Stopping(max_epochs, max_seconds=seconds, tolerance=-np.inf)
    return training.train(stepper, rows, batches, stopping, observers=call.observers, state=state)


def describe_fit(
    model: GaussianSum | Hyperplanes,
    ridge: float,
    run: training.Run,
    phases: Phases,
    chosen: dict[str, Any],
    seed: int,
    *,
    streamed: bool,
) -> FittedBudgeted:
    """The result of a fit; warns if after several epochs its loss is much larger than the loss of the zero function."""
    state = run.state
    if run.epoch > 1 and state.loss > LARGE_LOSS * state.zero_loss:
        warn_user(
            f"In the last epoch the loss was on the mean {state.loss / state.zero_loss:.2g} times that of "
            "the zero function. Scale the columns of X, for instance with sklearn.preprocessing.StandardScaler, or "
            "take more epochs.",
        )
    stopped_by = "end of the rows" if streamed else run.stopped_by
    report = {**chosen, "regularization": ridge, "seed": seed, "stopped_by": stopped_by}
    n_epochs, seconds = 1 if streamed else max(run.epoch, 1), phases.seconds | {"training": run.seconds}
    return FittedBudgeted(model, ridge, state.n_steps, n_epochs, report, seconds)


def outputs(model: GaussianSum | Hyperplanes, X: Any) -> np.ndarray:
    """Scores of a fitted machine at checked points, shape (m, c)."""
    X = column_scales.shift_columns(X, model.offsets)
    out = np.empty((X.shape[0], model.n_outputs))
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in arrays.blocks(X.shape[0], BATCH):
            out[rows] = model.scores(scipy.sparse.csr_array(X[rows], dtype=np.float64))
    check_scores(out, X)
    return out


# --------------------------------------------------------------------------- a budget of support vectors


def choose_bandwidth(
    X: Any, codes: np.ndarray, weights: np.ndarray | None, bandwidth: Any, ridge: float, seed: int
) -> RidgeChoice | None:
    """The choice of the bandwidth, for the sum of squared errors and a ridge term; None if the user gave it."""

    def points_of(rows: np.ndarray) -> arrays.Array:
        some = some_points(X, rows).astype(np.float64)
        # Distances do not depend on the origin, and are more exact about the mean.
        return kernels.augmented(some if arrays.is_sparse(some) else some - some.mean(axis=0))

    return choose_kernel_ridge(
        kernels.make("gaussian", bandwidth),
        points_of,
        codes,
        weights,
        seed,
        searches_bandwidth=is_automatic(bandwidth),
        regularization=ridge,
    )


def median_distance(X: Any, seed: int) -> float:
    """The median distance between some points."""
    rows = streams.permutation(seed, "first look", 0, X.shape[0])[:1000]
    try:
        return kernels.median_bandwidth(some_points(X, rows).astype(np.float64), seed)
    except ShallowsError:
        return 1.0  # All points are equal, and so are the functions of all bandwidths.


# ---------------------------------------------------------------------------------------------- several hyperplanes


def hyperplanes_of(state: Any, constant: float, n_classes: int, offsets: np.ndarray) -> Hyperplanes:
    """The machine at a state of the solver."""
    found = state.coefficients
    coef = np.ascontiguousarray(found[:, :-1])
    intercept = found[:, -1] * constant - (coef * offsets).sum(axis=1)
    return Hyperplanes(coef, intercept, state.classes[: state.n_weights].copy(), n_classes, offsets)
