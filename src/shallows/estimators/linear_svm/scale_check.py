"""Warnings of linear machines that are far from their optimum, as where columns differ in scale."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.optimize
from sklearn.exceptions import ConvergenceWarning

from ...solvers.linear_svm.problem import LinearSVMProblem
from ..offsets import moments

LIKE_SCALES = 10.0
"""Up to this ratio of scales, and of means to deviations, solvers are not looked at: they converge."""

FAR = 0.1
"""By what share of the objective a few better steps may lower it without a warning."""

ITERATIONS = 15
"""Of L-BFGS. In standardised columns so many come within a few percent of the optimum."""


def warn_of_limit(solver: str, max_epochs: int, tol: float) -> None:
    """Warn that a solver met its limit before it came to its tolerance."""
    warnings.warn(
        f"After max_epochs={max_epochs} the solver {solver!r} has not come to tol={tol:g}. Scale the columns of X, for "
        "instance with sklearn.preprocessing.StandardScaler, or take a larger max_epochs or tol.",
        ConvergenceWarning,
        stacklevel=4,
    )


def warn_if_far(
    solver: str, X: Any, problems: Sequence[LinearSVMProblem], coefficients: np.ndarray, *, has_intercept: bool
) -> None:
    """Warn if steps in standardised columns, or the zero vector, have a much smaller objective than a fitted model.

    Parameters
    ----------
    solver : str
        Its name, for the warning.
    X : array or CSR matrix, shape (n, d)
        The training points, without the constant.
    problems : sequence of LinearSVMProblem
    coefficients : ndarray, shape (d or d + 1, n_problems)
        With that of the constant at the end, if there is one.
    has_intercept : bool
    """
    mean, scale = _moments(X, has_intercept)
    if not np.isfinite(scale).all():
        return
    if max(np.abs(mean / scale).max(), scale.max()) <= LIKE_SCALES * min(1.0, scale.min()):
        return
    for problem, w in zip(problems, coefficients.T, strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            value = problem.objective(w)
            lower = min(problem.objective(np.zeros_like(w)), value)
            if value <= (1.0 + FAR) * lower:
                lower = _after_some_steps(problem, w, mean, scale)
        if not value <= (1.0 + FAR) * lower:
            warnings.warn(
                f"The solver {solver!r} ended at an objective of {value:.3g}, and there are smaller ones, such as "
                f"{lower:.3g}: the columns of X differ in scale by {scale.max() / scale.min():.2g}, or lie far from "
                "zero. Scale the columns, for instance with sklearn.preprocessing.StandardScaler.",
                ConvergenceWarning,
                stacklevel=4,
            )
            return


def _moments(X: Any, has_intercept: bool) -> tuple[np.ndarray, np.ndarray]:
    """Means and deviations of the columns, and 0 and 1 of the constant; without a constant zeros and root mean squares.

    Constant columns have the scale 1.
    """
    mean, variance = moments(X)
    if not has_intercept:
        mean, variance = np.zeros_like(mean), variance + mean * mean
    scale = np.sqrt(variance)
    scale[scale <= 1e-12 * np.abs(mean)] = 1.0
    return np.append(mean, [0.0] * has_intercept), np.append(scale, [1.0] * has_intercept)


def _after_some_steps(problem: LinearSVMProblem, w: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> float:
    """The smallest objective in some iterations of L-BFGS from w on the coefficients of standardised columns."""
    best = np.inf

    def to_columns(v: np.ndarray) -> np.ndarray:
        out = v / scale
        out[-1] -= mean @ out
        return out

    def value_and_gradient(v: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best
        w = to_columns(v)
        margins = problem.margins(w)
        value = 0.5 * problem.regularisation * float(w @ w) + problem.risk(margins)
        best = min(best, value)
        gradient = problem.regularisation * w + problem.risk_gradient(margins)
        return value, (gradient - mean * gradient[-1]) / scale

    start = scale * w
    start[-1] += mean @ w
    options = {"maxiter": ITERATIONS, "maxfun": 2 * ITERATIONS}
    scipy.optimize.minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    return best
