"""Columns that lie so far from zero that sums of squares and products lose the digits by which the points differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

ROWS = 10_000
"""Of dense data, from which means and variances are taken."""

FAR = 100.0
"""Times the deviation of the points: there squared distances lose four digits, and constants must be as much larger."""


def moments(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the columns of an array or CSR matrix, of an array from at most 10,000 rows."""
    if scipy.sparse.issparse(X):
        return mean_variance_axis(X, axis=0)
    some = X[:: -(-X.shape[0] // ROWS)].astype(np.float64)
    # Values beyond the numbers are refused by whoever squares them.
    with np.errstate(over="ignore", invalid="ignore"):
        return some.mean(axis=0), some.var(axis=0)


def far_offsets(X: Any) -> np.ndarray:
    """What is to be subtracted from points: the means of the columns that lie far from zero, 0 for all others.

    Data as usual are left as they are, to the bit.

    Returns
    -------
    ndarray, shape (d,)
    """
    mean, variance = moments(X)
    deviation = np.sqrt(variance.sum())
    return np.where((np.abs(mean) > FAR * deviation) & (deviation > 0), mean, 0.0)


def shifted(X: Any, offsets: np.ndarray | float) -> Any:
    """Points less their offsets, in the precision of the points; sparse rows stay sparse."""
    if not np.any(offsets):
        return X
    if scipy.sparse.issparse(X):
        ones, row = np.ones((X.shape[0], 1)), scipy.sparse.csr_array(offsets[None])
        return (scipy.sparse.csr_array(X) - scipy.sparse.csr_array(ones) @ row).astype(X.dtype)
    return (X - offsets).astype(X.dtype)
