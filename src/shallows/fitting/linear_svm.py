"""The fit of linear support vector machines: λ/2 ‖w‖² + (1/n) Σ wᵢ ℓ(yᵢ wᵀxᵢ), of each class against the rest."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays, training
from ..arrays import Device
from ..errors import ShallowsError
from ..models.host_functions import LinearFunctions
from ..solvers.linear_svm.lbfgs import LogisticProblem
from ..solvers.linear_svm.problem import LOSSES, ConvergingSettings, LinearSettings, LinearSVMProblem, OneVersusRest
from ..solvers.linear_svm.rows import as_rows
from ..solvers.linear_svm.subgradients import StochasticSettings
from ..utils.checks import warn_user
from . import column_scales
from .fit_call import FitCall
from .machine import Options, Phases
from .rows import TrainingSet, single_column
from .snapshot import FunctionSnapshot
from .targets import Machines


@dataclass(frozen=True)
class LinearStream:
    """What machines need to continue: offsets of the columns, λ, and the state of the solver."""

    offsets: np.ndarray
    regularization: float
    kept: Any


@dataclass(frozen=True)
class FittedLinearSVM:
    """The result of a fit; there is no ``stream`` if the solver cannot continue with further examples."""

    model: LinearFunctions
    targets: Machines
    stream: LinearStream | None
    run: training.Run
    report: dict[str, Any]
    seconds: dict[str, float]


def fit_linear_svm(
    rows: TrainingSet,
    *,
    loss: str,
    regularization: float | str,
    fit_intercept: bool,
    solver: LinearSettings,
    solver_name: str,
    call: FitCall,
) -> FittedLinearSVM:
    """Train on checked rows, in the user's order."""
    phases, y, options = Phases(), single_column(rows.y), call.options
    targets, n, cpu = Machines.of(y, "one_vs_rest"), len(y), Device("cpu")
    offsets = column_scales.far_offsets(rows.X) if fit_intercept else np.zeros(rows.X.shape[1])
    X, ridge = column_scales.shift_columns(rows.X, offsets), ridge_of(regularization, n)
    weights = None if rows.weights is None else rows.weights / rows.weights.mean()
    problems = make_problems(X, y, weights, targets, loss, ridge, fit_intercept, options)
    phases.end("preparation")
    max_epochs = solver.epochs(n)
    run = training.train(
        OneVersusRest(solver.build(call.seed)),
        problems,
        training.OwnRows(n if solver.is_online else 1),
        training.Stopping(max_epochs, max_seconds=phases.seconds_left(options.max_seconds)),
        observers=call.observers,
        checkpoint=call.checkpoint,
        snapshot=lambda state, epoch: FunctionSnapshot(
            LinearFunctions.of(state.coefficients, offsets, fit_intercept),
            *(targets, None, state, epoch, np.arange(n), None, options, cpu),
            training_points=rows.X,
        ),
    )
    model = LinearFunctions.of(run.state.coefficients, offsets, fit_intercept)
    if run.stopped_by == "max_epochs" and isinstance(solver, ConvergingSettings):
        warn_user(
            f"After max_epochs={max_epochs} the solver {solver_name!r} has not come to tol={solver.tol:g}. Scale the "
            "columns of X, for instance with sklearn.preprocessing.StandardScaler, or take a larger max_epochs or tol.",
        )
    elif not solver.certain:
        warn_if_far(f"The solver {solver_name!r}", X, problems, run.state.coefficients, fit_intercept)
    report = {
        "solver": solver_name,
        "loss": loss,
        "regularization": ridge,
        "sparse": bool(problems[0].rows.columns.size),
        "max_epochs": max_epochs,
        "stopped_by": run.stopped_by,
    }
    stream = LinearStream(offsets, ridge, run.state.remember()) if solver.is_online else None
    return FittedLinearSVM(model, targets, stream, run, report, phases.seconds | {"training": run.seconds})


def ridge_of(regularization: float | str, n: int) -> float:
    """λ for n rows."""
    return 1.0 / n if isinstance(regularization, str) else float(regularization)


def continue_linear_svm(
    stream: LinearStream | None,
    X: Any,
    y: np.ndarray,
    weights: np.ndarray | None,
    targets: Machines,
    *,
    loss: str,
    regularization: float | str,
    fit_intercept: bool,
    solver: StochasticSettings,
    call: FitCall,
) -> tuple[LinearFunctions, LinearStream]:
    """Visit further rows once, in their order; without a stream, begin with these rows."""
    begins = stream is None
    if stream is None:
        offsets = column_scales.far_offsets(X) if fit_intercept else np.zeros(X.shape[1])
        stream = LinearStream(offsets, ridge_of(regularization, X.shape[0]), None)
    X = column_scales.shift_columns(X, stream.offsets)
    problems = make_problems(X, y, weights, targets, loss, stream.regularization, fit_intercept, call.options)
    stepper = OneVersusRest(replace(solver, sampling="in_order").build(call.seed))
    state = stepper.init(problems)
    if not begins:
        state.recall(*stream.kept)
        for machine in state.states:
            if hasattr(machine, "n_visits"):
                machine.n_visits = 0  # Visits count the rows of this call.
    state = stepper.step(problems, state, X.shape[0])
    if not state.is_finite():
        raise ShallowsError("The coefficients are not finite any more: scale the features.")
    model = LinearFunctions.of(state.coefficients, stream.offsets, fit_intercept)
    return model, replace(stream, kept=state.remember())


def make_problems(
    X: Any,
    y: np.ndarray,
    weights: np.ndarray | None,
    targets: Machines,
    loss: str,
    regularization: float,
    fit_intercept: bool,
    options: Options,
) -> list[LinearSVMProblem]:
    """One problem for two classes, else one for each class against the rest."""
    X = X if options.dtype == "auto" else X.astype(options.dtype, copy=False)
    arrays.check_room(
        "The rows as the solver takes them need",
        X.data.nbytes + 16 * X.shape[0],
        options.budget(Device("cpu")),
        "Give more memory, or take dtype='float32'.",
    )
    if fit_intercept:
        ones = np.ones((X.shape[0], 1), dtype=X.dtype)
        X = scipy.sparse.hstack([X, ones], format="csr") if scipy.sparse.issparse(X) else np.hstack([X, ones])
    rows, make = as_rows(X), LogisticProblem if loss == "logistic" else LinearSVMProblem
    kind = LOSSES["squared_hinge" if loss == "logistic" else loss]
    return [make(rows, X.shape[1], signs, regularization, kind, weights) for signs in targets.ridge_codes(y).T.copy()]


def warn_if_far(
    name: str, X: Any, problems: Sequence[LinearSVMProblem], coefficients: np.ndarray, fit_intercept: bool
) -> None:
    """Warn if the model is not near its optimum because columns of X differ in scale."""
    mean, scale = column_scales.scales_of(X, centered=fit_intercept)
    mean, scale = np.append(mean, [0.0] * fit_intercept), np.append(scale, [1.0] * fit_intercept)
    for k, problem in enumerate(problems):

        def value_and_gradient(w: np.ndarray, problem: LinearSVMProblem = problem) -> tuple[float, np.ndarray]:
            margins = problem.margins(w[:, 0])
            value = 0.5 * problem.regularization * float(w[:, 0] @ w[:, 0]) + problem.risk(margins)
            return value, problem.regularization * w + problem.risk_gradient(margins)[:, None]

        if column_scales.warn_if_far(name, value_and_gradient, coefficients[:, k : k + 1], mean, scale):
            return
