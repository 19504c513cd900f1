"""The fit of core vector regression: λ/2 (‖f‖² + b²) + ε̄ + (1/(2μn)) Σ wᵢ max(0, |yᵢ − f(xᵢ) − b| − ε̄)²."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from .. import arrays
from ..models.functions import KernelMachines
from ..solvers.support_vectors.core_vectors import CoreVectorMachine
from ..spectrum.leave_one_out import RidgeChoice
from . import leave_one_out_choice
from .kernel_points import place_points
from .kernel_svm import train_to_the_end, warn_of_work_left
from .machine import LEAST_MEMORY, Options
from .phases import Phases
from .rows import TrainingSet
from .units import unit_of_targets

LEAST_REGULARISATION = 1e-3
"""The least λ of regression that "auto" takes. With smaller ones fits of clean values may take minutes."""

MEAN_OF_NORMAL = math.sqrt(2.0 / math.pi)
"""The mean size of a normal variable, in units of its deviation."""


@dataclass(frozen=True)
class FittedTube:
    """What a fit of a function with a tube about it leaves.

    Attributes
    ----------
    model : KernelMachines
    support : ndarray of int, shape (n_support,)
        Numbers of the user's rows that the model uses.
    coefficients : ndarray, shape (n_support, 1)
        Of the model, in float64.
    tube : float
        Half the width of the tube, in the units of the targets.
    n_steps, n_evaluations : int
    report : dict
    seconds : dict
    """

    model: KernelMachines
    support: np.ndarray
    coefficients: np.ndarray
    tube: float
    n_steps: int
    n_evaluations: int
    report: dict[str, Any]
    seconds: dict[str, float]


def fit_core_vector_regression(
    rows: TrainingSet,
    *,
    kernel: Any,
    bandwidth: float | str | None,
    kernel_params: Any,
    regularisation: float | str,
    mu: float,
    solver: CoreVectorMachine,
    seed: int,
    options: Options,
    name: str,
) -> FittedTube:
    """Train on checked rows, in the user's order, with targets in units of their deviation about their mean."""
    phases, device = Phases(), options.fit_device()
    n, dtype, budget = len(rows.rows), options.precision(len(rows.rows)), options.budget(device)
    weights = np.ones(n) if rows.weights is None else rows.weights / rows.weights.mean()
    targets, mean, unit = standardised(rows.y, weights)
    options.warn_of_too_little_memory(device)
    with device.active():
        centring, points = place_points(rows.X, np.arange(n), kernel, None, device, dtype)
        automatic = leave_one_out_choice.is_automatic(regularisation)
        made, choice = leave_one_out_choice.choose_kernel_on(
            points,
            rows.matrix,
            kernel,
            bandwidth,
            kernel_params,
            targets[:, None],
            weights,
            seed,
            all_equal=centring.all_equal,
            regularises=automatic,
            widest=solver.widest_bandwidth,
        )
        budget = max(LEAST_MEMORY, budget - points.nbytes - made.matrix_bytes)
        phases.end("preparation")

        ridge = chosen_ridge(choice, n, mu) if automatic else float(regularisation)
        # Each point twice: above the tube and below it.
        signs, above = np.repeat([1.0, -1.0], n), targets * ridge
        own_ridge = np.tile(mu * n * ridge / weights, 2)
        problem = solver.build_ball(made, points, signs, np.concatenate([above, -above]), own_ridge, budget, seed)
        state = train_to_the_end(solver, problem, solver.most_steps(n), seed, options.verbose, name)
        warn_of_work_left(solver.uncertain(state, ridge))
        phases.end("training")

        coefficients, unit = np.zeros(n), unit / ridge
        np.add.at(coefficients, state.core % n, unit * signs[state.core] * state.coefficients)
        intercepts = np.array([mean + coefficients.sum()])
        model, support = KernelMachines.of(made, centring, points, coefficients[:, None], intercepts)
        arrays.synchronise(points[:1, :])
    report = {
        "kernel": made.name,
        "bandwidth": made.bandwidth,
        "n_support": len(support),
        "n_core": len(state.core),
        "converged": state.enclosed,
        "memory_budget": budget,
        "precision": dtype.name,
        "device": str(device),
        "seed": seed,
        **leave_one_out_choice.report(choice),
        "regularisation": ridge,
    }
    # At the points whose coefficients are not zero the gradient is λ ε̄.
    tube = max(0.0, unit * float(state.coefficients @ state.gradient))
    held = coefficients[support][:, None]
    return FittedTube(model, rows.rows[support], held, tube, state.n_steps, state.n_evaluations, report, phases.seconds)


def standardised(y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Targets in units of their weighted deviation about their mean, shape (n,), with the mean and the unit."""
    y = column_or_1d(y, warn=True).astype(np.float64)
    [power] = unit_of_targets(y[:, None])
    y = y / power
    mean = float(np.average(y, weights=weights))
    spread = float(np.sqrt(np.average((y - mean) ** 2, weights=weights)))
    spread = spread if spread > 0 else 1.0
    return (y - mean) / spread, float(mean * power), float(spread * power)


def chosen_ridge(choice: RidgeChoice | None, n: int, mu: float) -> float:
    """λ of the tube's problem from that of kernel ridge regression, for targets of deviation one.

    The coefficients of ridge regression are its residuals divided by its λ. Here their sizes sum up to 1/λ where
    there is a tube, and to less where the residuals are smaller than μ on the mean.
    """
    if choice is None:
        return LEAST_REGULARISATION
    size = max(float(mu), MEAN_OF_NORMAL * math.sqrt(choice.error))
    return max(LEAST_REGULARISATION, choice.regularisation / (n * size))
