"""Offsets of columns with large means, and warnings about columns of different scales."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from ..utils.checks import warn_user

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]

ROWS = 10_000
"""Rows of dense data from which means and variances are estimated."""

FAR = 100.0
"""A mean is large if it is this many times the deviation of the points: squared distances then lose four digits."""

LIKE_SCALES = 10.0
"""Up to this ratio of scales, and of means to deviations, solvers converge and are not checked."""

FAR_ABOVE = 0.1
"""A warning follows if better steps lower the objective by more than this share."""

ITERATIONS = 15
"""Iterations of L-BFGS; in standardized columns they reach the optimum within a few percent."""


def moments(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the columns of an array or CSR matrix, of an array from at most 10,000 rows."""
    if scipy.sparse.issparse(X):
        return mean_variance_axis(X, axis=0)
    some = X[:: -(-X.shape[0] // ROWS)].astype(np.float64)
    # The functions that square values refuse those that overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        return some.mean(axis=0), some.var(axis=0)


def far_offsets(X: Any) -> np.ndarray:
    """The means of the columns with large means and 0 for all others, shape (d,); usual data do not change at all."""
    mean, variance = moments(X)
    deviation = np.sqrt(variance.sum())
    return np.where((np.abs(mean) > FAR * deviation) & (deviation > 0), mean, 0.0)


def shift_columns(X: Any, offsets: np.ndarray | float) -> Any:
    """Points less their offsets, in the precision of the points; sparse rows stay sparse."""
    if not np.any(offsets):
        return X
    if scipy.sparse.issparse(X):
        ones, row = np.ones((X.shape[0], 1)), scipy.sparse.csr_array(np.atleast_2d(offsets))
        return (scipy.sparse.csr_array(X) - scipy.sparse.csr_array(ones) @ row).astype(X.dtype)
    return (X - offsets).astype(X.dtype)


def scales_of(X: Any, *, centered: bool) -> tuple[np.ndarray, np.ndarray]:
    """Means and deviations of the columns, or zeros and root mean squares; the scale of constants is 1."""
    mean, variance = moments(X)
    if not centered:
        mean, variance = np.zeros_like(mean), variance + mean * mean
    scale = np.sqrt(variance)
    scale[scale <= 1e-12 * np.abs(mean)] = 1.0
    return mean, scale


def warn_if_far(name: str, value_and_gradient: Objective, w: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> bool:
    """Warn if steps in standardized columns, or the zero vector, have a much smaller objective than ``w`` (d, c).

    With means, the last row of ``w`` belongs to the constant. ``name`` is for the warning.
    """
    if not np.isfinite(scale).all():
        return False
    if max(np.abs(mean / scale).max(), scale.max()) <= LIKE_SCALES * min(1.0, scale.min()):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        value = value_and_gradient(w)[0]
        lower = min(value_and_gradient(np.zeros_like(w))[0], value)
        if value <= (1.0 + FAR_ABOVE) * lower:
            lower = _after_some_steps(value_and_gradient, w, mean[:, None], scale[:, None])
    if value <= (1.0 + FAR_ABOVE) * lower:
        return False
    warn_user(
        f"{name} ended at an objective of {value:.3g}, and there are smaller ones, such as {lower:.3g}: the columns of "
        f"X differ in scale by {scale.max() / scale.min():.2g}, or have large means. Scale the columns, for instance "
        "with sklearn.preprocessing.StandardScaler.",
    )
    return True


def _after_some_steps(value_and_gradient: Objective, w: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> float:
    """The smallest objective during a few iterations of L-BFGS from w, in standardized columns."""
    best = np.inf

    def of_standardized(v: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best
        w = v.reshape(shape) / scale
        w[-1] -= (mean * w).sum(axis=0)
        value, gradient = value_and_gradient(w)
        best = min(best, value)
        return value, ((gradient - mean * gradient[-1]) / scale).ravel()

    shape, start = w.shape, scale * w
    start[-1] += (mean * w).sum(axis=0)
    options = {"maxiter": ITERATIONS, "maxfun": 2 * ITERATIONS}
    scipy.optimize.minimize(of_standardized, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return best
