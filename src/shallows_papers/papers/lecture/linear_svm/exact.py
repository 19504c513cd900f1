"""Linear support vector machines on prepared or generated data, with bounds of the optimum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

from shallows import streams
from shallows.errors import UnknownNameError
from shallows.solvers.linear_svm.cutting_planes import CuttingPlanesStepper
from shallows.solvers.linear_svm.dual_coordinate_descent import DualCoordinateDescentStepper
from shallows.solvers.linear_svm.newton import PrimalNewtonStepper
from shallows.solvers.linear_svm.problem import HINGE, LinearSVMProblem, dual_objective
from shallows.solvers.linear_svm.rows import as_rows
from shallows.solvers.linear_svm.subgradients import FOLOSStepper, LinearPegasosStepper, SVMSGDStepper

GAP = 1e-5  # duality gap, as a share of the objective, at which a solution counts as exact
MOST_PASSES = 5000

SOLVERS: dict[str, Any] = {
    "pegasos": LinearPegasosStepper,
    "folos": FOLOSStepper,
    "svm_sgd": SVMSGDStepper,
    "dual_coordinate_descent": DualCoordinateDescentStepper,
    "bmrm": CuttingPlanesStepper,
    "ocas": lambda **options: CuttingPlanesStepper(line_search=True, **options),
    "newton": PrimalNewtonStepper,
}
"""Solvers by the names of their papers; "newton" is the primal method."""

BY_VISITS = ("pegasos", "folos", "svm_sgd")
"""Solvers whose step is a number of examples; a step of other solvers is a pass or an iteration."""


def solver_of(name: str, options: Mapping[str, Any]) -> Any:
    """A solver by its name, with its parameters."""
    UnknownNameError.check("solver", name, SOLVERS)
    return SOLVERS[name](**options)


def problem_of(X: Any, y: np.ndarray, regularisation: float, loss: int = HINGE) -> LinearSVMProblem:
    """Make the problem from points and labels of two classes, of which the larger label is +1."""
    X = X if scipy.sparse.issparse(X) else np.asarray(X)
    X = X.astype(np.float64) if X.dtype.kind != "f" else X
    signs = np.where(np.asarray(y) == np.max(y), 1.0, -1.0)
    return LinearSVMProblem(as_rows(X), X.shape[1], signs, regularisation, loss)


def optimum(problem: LinearSVMProblem, gap: float = GAP) -> tuple[np.ndarray, float, float]:
    """Return exact coefficients, their objective, and a lower bound of the optimum from the dual problem.

    Dual coordinate descent runs until the bound is within ``gap`` of the objective, or for 5,000 passes.
    """
    solver = DualCoordinateDescentStepper(0.0, shrinking=True)
    state, passes = solver.init(problem), 0
    value, bound = math.inf, -math.inf
    while not value - bound <= gap * value < math.inf and passes < MOST_PASSES:
        more = max(5, passes // 4)
        # Without a tolerance, variables that were set aside are used again before every check.
        state.n_active = problem.n
        state.bounds[:] = np.inf, -np.inf
        state, passes = solver.step(problem, state, more), passes + more
        value = min(value, problem.objective(state.coefficients))
        bound = max(bound, dual_objective(problem, state.dual))
    return state.coefficients, value, bound


def generated(
    n: int, d: int, seed: int, noise: float = 0.3, *, intrinsic: int | None = None, n_values: int | None = None
) -> tuple[Any, np.ndarray]:
    """Generate points of unit length with labels from a noisy linear rule.

    `noise` is the standard deviation of the noise in units of the rule's standard deviation. Points have `intrinsic`
    dimensions and are then rotated into d dimensions, so that inner products and labels are the same for every d. With
    `n_values` each row has this number of nonzero values, in adjacent columns from a random column.
    """
    s = n_values or intrinsic or d
    x = streams.normal(seed, "points of a linear rule", 0, (n, s))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    X: Any = x
    if n_values is not None:
        begins = (streams.integers(seed, "columns", 0, n) % np.uint64(d)).astype(np.int64)
        columns = (begins[:, None] + np.arange(s) * max(1, d // s)) % d
        X = scipy.sparse.csr_array((x.ravel(), columns.ravel(), np.arange(n + 1) * s), shape=(n, d))
    value = np.asarray(X @ streams.normal(seed, "linear rule", 0, (X.shape[1],)))
    value = value + noise * value.std() * streams.normal(seed, "noise of a linear rule", 0, (n,))
    if intrinsic is not None:
        turned, _ = np.linalg.qr(streams.normal(seed, "turned axes", 0, (d, s)))
        X = x @ turned.T
    return X, np.where(value > 0, 1.0, -1.0)
