"""Iterations that Pegasos needs for an accuracy and for a test error, and their growth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shallows.errors import UnknownNameError
from shallows.solvers.linear_svm.problem import LinearSVMProblem
from shallows.solvers.linear_svm.subgradients import LinearPegasosStepper

from ...results import AnalysisResult
from .exact import generated, optimum, problem_of

ALONG = ("n", "d", "inverse_regularisation", "inverse_accuracy")
INTRINSIC = 10  # dimensions of the points before a rotation into d dimensions, so that only d varies
MOST_STEPS = 2_000_000
GROWTH = 1.15  # ratio of successive numbers of iterations at which the objective is evaluated


def iterations_needed(
    data: Any = None,
    *,
    along: str,
    sizes: Sequence[float],
    n: int = 4000,
    d: int = 20,
    regularisation: float = 1e-3,
    accuracy: float = 0.02,
    repetitions: int = 5,
    projection: bool = True,
    random_state: int = 0,
) -> AnalysisResult:
    """Iterations of Pegasos on single examples until P(w) − P* ≤ ε, against one of n, d, 1/λ and 1/ε.

    Points of unit length are made by `exact.generated`, so n, d and λ can be varied separately. ε is in units of the
    loss. The result is the geometric mean over orders of examples.

    Over the sizes: ``iterations``, and ``values``, the number of multiplications, iterations times d.
    """
    UnknownNameError.check("along", along, ALONG)
    found: dict[str, list[float]] = {"iterations": [], "values": []}
    for size in sizes:
        here = {"n": n, "d": d, "inverse_regularisation": 1 / regularisation, "inverse_accuracy": 1 / accuracy}
        here[along] = size
        X, y = generated(int(here["n"]), int(here["d"]), random_state, intrinsic=INTRINSIC)
        problem = problem_of(X, y, 1.0 / here["inverse_regularisation"])
        _, value, bound = optimum(problem, 1e-5)
        goal = 0.5 * (value + bound) + 1.0 / here["inverse_accuracy"]
        needed = [
            first_within(problem, lambda w, problem=problem, goal=goal: problem.objective(w) <= goal, seed, projection)
            for seed in range(random_state, random_state + repetitions)
        ]
        mean = math.exp(float(np.mean(np.log(needed))))
        found["iterations"].append(mean)
        found["values"].append(mean * here["d"])
    return AnalysisResult(list(sizes), found, {}, {"along": along, "repetitions": repetitions})


def first_within(
    problem: LinearSVMProblem,
    reached: Callable[[np.ndarray], bool],
    seed: int,
    projection: bool = True,
    first: int = 1,
    most: float = MOST_STEPS,
) -> float:
    """Return the first evaluated number of iterations with a good enough model, or infinity above ``most``."""
    solver = LinearPegasosStepper(projection=projection, averaging="weighted", seed=seed)
    state, until = solver.init(problem), first
    while until <= most:
        state = solver.step(problem, state, until - state.n_steps)
        if reached(state.coefficients):
            return float(state.n_steps)
        until = max(until + 1, math.ceil(until * GROWTH))
    return math.inf


def steps_to_error(
    data: Any = None,
    *,
    sizes: Sequence[int] = (1000, 2000, 4000, 8000, 16000),
    d: int = 50,
    noise: float = 0.5,
    excess: float = 0.02,
    regularisations: Sequence[float] = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2),
    n_test: int = 10_000,
    repetitions: int = 5,
    random_state: int = 0,
) -> AnalysisResult:
    """Measure iterations of Pegasos to a test error, with the best λ for each number of training points.

    Points are made by `exact.generated`. The target error is `excess` above the error of the rule that made the labels.

    Over the training points: ``iterations``, the smallest over λ of their medians over orders of examples (infinite
    if no λ reaches the error). As numbers ``rule_error``, the error of the rule, and ``target_error``.
    """
    X, y = generated(max(sizes) + n_test, d, random_state, noise)
    x_new, y_new = X[-n_test:], y[-n_test:]
    ideal = np.linalg.lstsq(X, y, rcond=None)[0]
    rule_error = float(np.mean(np.sign(x_new @ ideal) != y_new))

    def reached(w: np.ndarray) -> bool:
        return float(np.mean(np.sign(x_new @ w) != y_new)) <= rule_error + excess

    needed = []
    for m in sizes:
        medians = []
        for lam in regularisations:
            problem = problem_of(X[:m], y[:m], lam)
            steps = [
                first_within(problem, reached, seed, first=50, most=30 * problem.n)  # at most 30 passes
                for seed in range(random_state, random_state + repetitions)
            ]
            medians.append(float(np.median(steps)))
        needed.append(min(medians))
    numbers = {"rule_error": 100 * rule_error, "target_error": 100 * (rule_error + excess)}
    return AnalysisResult(list(sizes), {"iterations": needed}, numbers, {"d": d, "noise": noise})
