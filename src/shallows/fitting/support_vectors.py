"""The fits of a function of support vectors: machines of two classes, and regression with a tube.

Machines minimize ½ ‖f‖² + C Σ wᵢ ℓ(yᵢ(f(xᵢ) + b)). Core vector regression minimizes
λ/2 (‖f‖² + b²) + ε̄ + (1/(2μn)) Σ wᵢ max(0, |yᵢ − f(xᵢ) − b| − ε̄)².
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from .. import arrays, training
from ..kernels import Kernel
from ..models.functions import KernelMachines
from ..solvers.support_vectors.dual_problem import TwoClassSettings
from ..spectrum.kernel_ridge_choice import is_automatic
from ..spectrum.leave_one_out import RidgeChoice, report_of_choice
from ..utils.checks import warn_user
from . import leave_one_out_choice
from .fit_call import FitCall
from .machine import LEAST_MEMORY, Phases, report_of_machine
from .rows import TrainingSet, single_column
from .square_targets import unit_of_targets
from .targets import Machines

LEAST_REGULARIZATION = 1e-3
"""The least λ of regression that "auto" chooses. With smaller ones fits of noise-free values may need minutes."""

MEAN_OF_NORMAL = math.sqrt(2.0 / math.pi)
"""The mean absolute value of a standard normal variable."""


@dataclass(frozen=True)
class FittedSum:
    """The result of a fit of sums of kernel functions at support vectors."""

    model: KernelMachines
    support: np.ndarray  # (n_support,): numbers of the user's rows that the model uses
    coefficients: np.ndarray  # (n_support, n_problems), float64
    n_steps: int
    n_evaluations: int  # kernel values that were computed
    report: dict[str, Any]  # entries of ``report_``
    seconds: dict[str, float]  # of each phase


@dataclass(frozen=True)
class FittedMachines(FittedSum):
    """Machines of two classes each, with the objectives of their dual problems."""

    targets: Machines
    objectives: np.ndarray
    classes: np.ndarray  # (n_support,): class numbers of the rows


@dataclass(frozen=True)
class FittedTube(FittedSum):
    """A function of regression; ``tube`` is half the width of its tube, in the units of y."""

    tube: float


def fit_kernel_svm(
    rows: TrainingSet,
    *,
    kernel: Kernel,
    searches_bandwidth: bool,
    C: float,
    squared: bool,
    solver: TwoClassSettings,
    multiclass: str,
    call: FitCall,
) -> FittedMachines:
    """Train on checked rows, in the user's order."""
    seed, options = call.seed, call.options
    phases, device = Phases(), options.fit_device()
    y = single_column(rows.y)
    targets = Machines.of(y, multiclass)
    n, dtype, budget = len(rows.rows), options.precision(len(rows.rows)), options.budget(device)
    options.warn_of_too_little_memory(device)
    weights = np.ones(n) if rows.weights is None else rows.weights
    with device.active():
        centering, points, kernel, choice = leave_one_out_choice.place_and_choose(
            rows.X, rows.matrix, np.arange(n), kernel, targets.ridge_codes(y), weights, seed, device, dtype,
            searches_bandwidth=searches_bandwidth, widest=solver.widest_bandwidth,
            regularization=1.0 / C if solver.compares_at_C else None,
        )  # fmt: skip
        budget = max(LEAST_MEMORY, budget - points.nbytes - kernel.matrix_bytes)
        phases.end("preparation")

        clock = TimeLimit(phases.seconds_left(options.max_seconds))
        coefficients, solutions = np.zeros((n, targets.n_problems)), []
        for column, two in enumerate(targets.problems(y, weights)):
            own = points if len(two.rows) == n else arrays.take_rows(points, two.rows)
            problem = solver.build_problem(kernel, own, two.signs, C * two.weights, squared, budget, seed)
            most = solver.most_steps(len(two.rows))
            state = train_to_the_end(solver, problem, most, clock, call)
            solutions.append(solver.solution(problem, state))
            coefficients[two.rows, column] = solutions[-1].coefficients
            if not clock.stopped:
                warn_of_work_left(solver.left_undone(state, solutions[-1], most))
        phases.end("training")
        intercepts = np.array([solution.intercept for solution in solutions])
        model, support = KernelMachines.of(kernel, centering, points, coefficients, intercepts)
        arrays.synchronize(points[:1, :])
    n_steps = sum(solution.n_steps for solution in solutions)
    report = {
        "kernel": kernel.name,
        "bandwidth": kernel.bandwidth,
        "n_support": len(support),
        "n_problems": len(solutions),
        "n_steps": n_steps,
        "converged": all(solution.converged for solution in solutions),
        **clock.report(),
        **report_of_machine(budget, dtype, device, seed),
        **report_of_choice(choice),
    }
    return FittedMachines(
        model,
        rows.rows[support],
        coefficients[support],
        n_steps,
        sum(solution.n_evaluations for solution in solutions),
        report,
        phases.seconds,
        targets,
        np.array([solution.objective for solution in solutions]),
        targets.numbers(y)[support],
    )


def fit_core_vector_regression(
    rows: TrainingSet,
    *,
    kernel: Kernel,
    searches_bandwidth: bool,
    regularization: float | str,
    mu: float,
    solver: Any,
    call: FitCall,
) -> FittedTube:
    """Train an `EnclosingBall` in the user's order, with targets in units of their deviation about their mean."""
    seed, options = call.seed, call.options
    phases, device = Phases(), options.fit_device()
    n, dtype, budget = len(rows.rows), options.precision(len(rows.rows)), options.budget(device)
    weights = np.ones(n) if rows.weights is None else rows.weights / rows.weights.mean()
    targets, mean, unit = standardize(rows.y, weights)
    options.warn_of_too_little_memory(device)
    with device.active():
        automatic = is_automatic(regularization)
        centering, points, kernel, choice = leave_one_out_choice.place_and_choose(
            rows.X, rows.matrix, np.arange(n), kernel, targets[:, None], weights, seed,
            device, dtype, searches_bandwidth=searches_bandwidth, widest=solver.widest_bandwidth, regularizes=automatic,
        )  # fmt: skip
        budget = max(LEAST_MEMORY, budget - points.nbytes - kernel.matrix_bytes)
        phases.end("preparation")

        ridge = ridge_of_tube(choice, n, mu) if automatic else float(regularization)
        # Each point twice: above the tube and below it.
        signs, above = np.repeat([1.0, -1.0], n), targets * ridge
        own_ridge = np.tile(mu * n * ridge / weights, 2)
        problem = solver.build_ball(kernel, points, signs, np.concatenate([above, -above]), own_ridge, budget, seed)
        clock = TimeLimit(phases.seconds_left(options.max_seconds))
        state = train_to_the_end(solver, problem, solver.most_steps(n), clock, call)
        if not clock.stopped:
            warn_of_work_left(solver.uncertain(state, ridge))
        phases.end("training")

        coefficients, unit = np.zeros(n), unit / ridge
        np.add.at(coefficients, state.core % n, unit * signs[state.core] * state.coefficients)
        intercepts = np.array([mean + coefficients.sum()])
        model, support = KernelMachines.of(kernel, centering, points, coefficients[:, None], intercepts)
        arrays.synchronize(points[:1, :])
    report = {
        "kernel": kernel.name,
        "bandwidth": kernel.bandwidth,
        "n_support": len(support),
        "n_core": len(state.core),
        "converged": state.enclosed,
        **clock.report(),
        **report_of_machine(budget, dtype, device, seed),
        **report_of_choice(choice),
        "regularization": ridge,
    }
    # At the points whose coefficients are not zero the gradient is λ ε̄.
    tube = max(0.0, unit * float(state.coefficients @ state.gradient))
    held = coefficients[support][:, None]
    return FittedTube(model, rows.rows[support], held, state.n_steps, state.n_evaluations, report, phases.seconds, tube)


@dataclass
class TimeLimit:
    """The seconds that remain for the trainings of a fit, and whether a training was stopped by them."""

    left: float | None
    stopped: bool = False

    def after(self, run: training.Run) -> training.Run:
        """The same run, whose seconds are subtracted."""
        if self.left is not None:
            self.left, self.stopped = max(0.0, self.left - run.seconds), self.stopped or run.stopped_by == "max_seconds"
        return run

    def report(self) -> dict[str, str]:
        """The entry of ``report_`` if the time was over."""
        return {"stopped_by": "max_seconds"} if self.stopped else {}


def train_to_the_end(solver: TwoClassSettings, problem: Any, most: int, clock: TimeLimit, call: FitCall) -> Any:
    """The state of a solver at its end, or after the largest number of steps or seconds that is allowed."""
    n_steps = min(solver.steps_of_a_call, most)
    run = training.train(
        solver.build(call.seed),
        problem,
        training.OwnRows(n_steps, solver.calls_of_an_epoch),
        training.Stopping(-(-most // n_steps), max_seconds=clock.left),
        observers=call.observers,
    )
    return clock.after(run).state


def warn_of_work_left(found: tuple[str, str] | None) -> None:
    """Warn if a training ended too early; ``found`` says why, and what the user can do."""
    if found is not None:
        left, remedy = found
        warn_user(f"{left}. Scale the features, for instance with sklearn.preprocessing.StandardScaler, or {remedy}.")


def standardize(y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Targets in units of their weighted deviation about their mean, shape (n,), with the mean and the unit."""
    y = column_or_1d(y, warn=True).astype(np.float64)
    [power] = unit_of_targets(y[:, None])
    y = y / power
    mean = float(np.average(y, weights=weights))
    spread = float(np.sqrt(np.average((y - mean) ** 2, weights=weights))) or 1.0
    return (y - mean) / spread, float(mean * power), float(spread * power)


def ridge_of_tube(choice: RidgeChoice | None, n: int, mu: float) -> float:
    """λ of regression with a tube from the λ of kernel ridge regression, for targets with standard deviation one.

    Coefficients of ridge regression are residuals over λ. Here the sum of their sizes is 1/λ, or less below μ.
    """
    if choice is None:
        return LEAST_REGULARIZATION
    size = max(float(mu), MEAN_OF_NORMAL * math.sqrt(choice.error))
    return max(LEAST_REGULARIZATION, choice.regularization / (n * size))
