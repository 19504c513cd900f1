"""The fit of support vector machines: for each two classes ½ ‖f‖² + C Σ wᵢ ℓ(yᵢ(f(xᵢ) + b)) with a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays, training
from ..models.functions import KernelMachines
from ..solvers.support_vectors.dual_problem import TwoClassSettings
from . import leave_one_out_choice
from .checks import warn_user
from .kernel_points import place_points
from .labels import single_column
from .machine import LEAST_MEMORY, Options
from .phases import Phases
from .rows import TrainingSet
from .two_classes import Machines


@dataclass(frozen=True)
class FittedMachines:
    """What a fit of support vector machines leaves.

    Attributes
    ----------
    model : KernelMachines
    targets : Machines
    support : ndarray of int, shape (n_support,)
        Numbers of the user's rows that some machine uses.
    coefficients : ndarray, shape (n_support, n_problems)
        Of the model, in float64.
    objectives : ndarray, shape (n_problems,)
        Of the dual problems.
    n_steps, n_evaluations : int
        Steps, and kernel values that were computed.
    report : dict
        What was chosen where a parameter left it open, and how the training went.
    seconds : dict
        Of each phase.
    """

    model: KernelMachines
    targets: Machines
    support: np.ndarray
    coefficients: np.ndarray
    objectives: np.ndarray
    n_steps: int
    n_evaluations: int
    report: dict[str, Any]
    seconds: dict[str, float]


def fit_kernel_svm(
    rows: TrainingSet,
    *,
    kernel: Any,
    bandwidth: float | str | None,
    kernel_params: Any,
    C: float,
    squared: bool,
    solver: TwoClassSettings,
    multiclass: str,
    class_weight: Any,
    seed: int,
    options: Options,
    name: str,
) -> FittedMachines:
    """Train on checked rows, in the user's order."""
    phases, device = Phases(), options.fit_device()
    y = single_column(rows.y)
    targets = Machines.of(y, multiclass, class_weight)
    n, dtype, budget = len(rows.rows), options.precision(len(rows.rows)), options.budget(device)
    options.warn_of_too_little_memory(device)
    weights = np.ones(n) if rows.weights is None else rows.weights
    with device.active():
        centring, points = place_points(rows.X, np.arange(n), kernel, None, device, dtype)
        made, choice = leave_one_out_choice.choose_kernel_on(
            points,
            rows.matrix,
            kernel,
            bandwidth,
            kernel_params,
            targets.ridge_codes(y),
            weights,
            seed,
            all_equal=centring.all_equal,
            regularises=False,
            widest=solver.widest_bandwidth,
            regularisation=1.0 / C if solver.compares_at_C else None,
        )
        budget = max(LEAST_MEMORY, budget - points.nbytes - made.matrix_bytes)
        phases.end("preparation")

        coefficients, solutions = np.zeros((n, targets.n_problems)), []
        for column, two in enumerate(targets.problems(y, weights)):
            own = points if len(two.rows) == n else arrays.take_rows(points, two.rows)
            problem = solver.build_problem(made, own, two.signs, C * two.weights, squared, budget, seed)
            most = solver.most_steps(len(two.rows))
            state = train_to_the_end(solver, problem, most, seed, options.verbose, name)
            solutions.append(solver.solution(problem, state))
            coefficients[two.rows, column] = solutions[-1].coefficients
            warn_of_work_left(solver.left_undone(state, solutions[-1], most))
        phases.end("training")
        intercepts = np.array([one.intercept for one in solutions])
        model, support = KernelMachines.of(made, centring, points, coefficients, intercepts)
        arrays.synchronise(points[:1, :])
    n_steps = sum(one.n_steps for one in solutions)
    report = {
        "kernel": made.name,
        "bandwidth": made.bandwidth,
        "n_support": len(support),
        "n_problems": len(solutions),
        "n_steps": n_steps,
        "converged": all(one.converged for one in solutions),
        "memory_budget": budget,
        "precision": dtype.name,
        "device": str(device),
        "seed": seed,
        **leave_one_out_choice.report(choice),
    }
    return FittedMachines(
        model,
        targets,
        rows.rows[support],
        coefficients[support],
        np.array([one.objective for one in solutions]),
        n_steps,
        sum(one.n_evaluations for one in solutions),
        report,
        phases.seconds,
    )


def train_to_the_end(solver: TwoClassSettings, problem: Any, most: int, seed: int, verbose: int, name: str) -> Any:
    """The state of a solver when it is done, or after the most steps that are allowed."""
    n_steps = min(solver.steps_of_a_call, most)
    return training.train(
        solver.build(seed),
        problem,
        training.OwnRows(n_steps, solver.calls_of_an_epoch),
        training.Stopping(-(-most // n_steps)),
        observers=[training.Progress(name)] if verbose else [],
    ).state


def warn_of_work_left(found: tuple[str, str] | None) -> None:
    """Warn of what a training has left undone, and say what the user can do."""
    if found is not None:
        left, remedy = found
        warn_user(f"{left}. Scale the features, for instance with sklearn.preprocessing.StandardScaler, or {remedy}.")
