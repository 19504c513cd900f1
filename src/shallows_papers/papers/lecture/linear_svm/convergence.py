"""Distance of linear support vector machine solvers from the optimum, pass by pass, and the cost of a pass."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shallows import arrays
from shallows.solvers.linear_svm.rows import products

from ...results import AnalysisResult
from ...timing import repeated_seconds
from .exact import BY_VISITS, optimum, problem_of, solver_of

PASSES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)
SMALL = 200  # rows of a first call, so that compilation is not timed


def convergence(
    data: Any,
    *,
    solver: str,
    parameters: Mapping[str, Any] | None = None,
    averaging: str | None = None,
    regularisation: float,
    passes: Sequence[int] = PASSES,
    target: float = 0.01,
    most_rows: int | None = None,
    random_state: int = 0,
) -> AnalysisResult:
    """Relative distance from the optimum, and test error, against passes over the training data.

    A plane of a cutting-plane method and a Newton iteration count as a pass. `parameters` are parameters of the solver,
    a key of `exact.SOLVERS`, and `averaging` replaces the one among them. `most_rows` limits the number of rows.

    Over the passes: ``suboptimality``, (P(w) − P*)/P* with P* between the objective and the bound of dual coordinate
    descent, ``test_error`` in percent, and ``cost``, processor seconds of training divided by the time of one product
    Xw of all rows. As numbers ``cost_to_target``, the cost at the first pass within the target (infinite if there is
    none), ``optimal_error``, the test error of the optimum, ``last_error``, the test error after the last pass, and
    ``gap``, the accuracy of P*.
    """
    x, y = data.x_train[:most_rows], np.asarray(data.y_train[:most_rows])
    problem = problem_of(x, y, regularisation)
    best, value, bound = optimum(problem)
    chosen = dict(parameters or {}) | ({"averaging": averaging} if averaging else {})
    if solver in BY_VISITS:
        chosen["seed"] = random_state
    elif solver == "dual_coordinate_descent":
        chosen |= {"seed": random_state, "tolerance": 0.0}
    else:
        chosen["tolerance"] = 1e-7
    made = solver_of(solver, chosen)
    small = problem_of(x[:SMALL], np.arange(len(y[:SMALL])) % 2, regularisation)
    made.step(small, made.init(small), 1)
    found: dict[str, list[float]] = {"suboptimality": [], "test_error": [], "cost": []}
    with arrays.one_blas_thread():
        ones = np.ones(problem.n_features)
        unit = max(repeated_seconds(lambda: products(problem.rows, ones), 5), 1e-9)
        started = time.process_time()
        state = made.init(problem)
        seconds, done = time.process_time() - started, 0
        for until in passes:
            count = (until - done) * (problem.n if solver in BY_VISITS else 1)
            started = time.process_time()
            state = made.step(problem, state, count)
            seconds, done = seconds + time.process_time() - started, until
            w = state.coefficients
            found["suboptimality"].append(max(problem.objective(w) / value - 1.0, 0.0))
            found["test_error"].append(_error(data, y, w))
            found["cost"].append(seconds / unit)
    within = [cost for cost, gap in zip(found["cost"], found["suboptimality"], strict=True) if gap <= target]
    numbers = {
        "cost_to_target": within[0] if within else math.inf,
        "optimal_error": _error(data, y, best),
        "last_error": found["test_error"][-1],
        "gap": (value - bound) / value,
    }
    effective = {"solver": solver, "regularisation": regularisation, "n": problem.n, "target": target}
    return AnalysisResult(list(passes), found, numbers, effective)


def _error(data: Any, y: np.ndarray, w: np.ndarray) -> float:
    """Return the percentage of misclassified test points."""
    scores = np.asarray(data.x_test @ w)
    return 100.0 * float(np.mean((scores > 0) != (np.asarray(data.y_test) == np.max(y))))
