"""Warnings of linear machines that are far from their optimum, as where columns differ in scale."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...solvers.linear_svm.problem import LinearSVMProblem
from .. import column_scales


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
    """Warn if a model is far from its optimum because columns differ in scale.

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
    mean, scale = column_scales.scales_of(X, centred=has_intercept)
    mean, scale = np.append(mean, [0.0] * has_intercept), np.append(scale, [1.0] * has_intercept)
    for k, problem in enumerate(problems):

        def value_and_gradient(w: np.ndarray, problem: LinearSVMProblem = problem) -> tuple[float, np.ndarray]:
            margins = problem.margins(w[:, 0])
            value = 0.5 * problem.regularisation * float(w[:, 0] @ w[:, 0]) + problem.risk(margins)
            return value, problem.regularisation * w + problem.risk_gradient(margins)[:, None]

        at = coefficients[:, k : k + 1]
        if column_scales.warn_if_far(f"The solver {solver!r}", value_and_gradient, at, mean, scale, stacklevel=4):
            return
