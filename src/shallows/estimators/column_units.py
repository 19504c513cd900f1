"""Columns in different units: a kernel with one bandwidth for all of them sees little but the largest."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from .. import kernels
from ..models import precomputed

LARGE = 1e3
"""How many times the median spread a spread may be. Raw MNIST has 2.4, the breast cancer data of scikit-learn 7,800."""

LEAST_ROWS = 10
"""Fewer rows do not show a column's spread."""

ROWS, NUMBERS = 10_000, 2**18
"""Rows and numbers that are looked at, at most, so that a memory map takes few megabytes; at least `FEW_ROWS` rows."""

FEW_ROWS = 30
"""Rows of wide data that are looked at, at least."""

WITHOUT_BANDWIDTH = ("linear", "polynomial", "tensor_sketch")
"""Feature maps that have no bandwidth."""


def has_common_bandwidth(estimator: Any) -> bool:
    """Whether an estimator compares points by a kernel, or by random units, with one bandwidth for all columns."""
    parameters = estimator.get_params(deep=False)
    features = parameters.get("features")
    if precomputed.is_asked_for(estimator) or (isinstance(features, str) and features in WITHOUT_BANDWIDTH):
        return False
    if not (features is None or isinstance(features, str)):
        return False  # A feature map of the user's, in which the kernel has no part.
    if hasattr(estimator, "kernel"):
        return kernels.kind(estimator.kernel).takes_bandwidth
    return "bandwidth" in parameters


def largest_unit(X: Any) -> tuple[int, float, float] | None:
    """The column with the largest spread, its spread and the median one, if they differ by more than `LARGE`.

    Parameters
    ----------
    X : array or CSR matrix, shape (n, d)

    Returns
    -------
    tuple of int, float and float, or None
    """
    if X.shape[0] < LEAST_ROWS:
        return None
    with np.errstate(all="ignore"):  # Numbers too large for the kernel are refused elsewhere.
        spreads = column_spreads(X)
        varying = np.sort(spreads[spreads > 0])
        if len(varying) < 2:
            return None
        # The lower of two middle ones, so that one of two columns can be too large.
        median = varying[(len(varying) - 1) // 2]
        if not varying[-1] > LARGE * median:
            return None
    return int(spreads.argmax()), float(varying[-1]), float(median)


def column_spreads(X: Any) -> np.ndarray:
    """Standard deviation of each column, divided by the root of the share of its numbers that are not zero.

    The deviation of a rare word is small whatever its unit, and that of its counts is not. Columns without zeros have
    their plain deviation. Of large data some rows are looked at, at equal distances.

    Parameters
    ----------
    X : array or CSR matrix, shape (n, d)

    Returns
    -------
    ndarray, shape (d,)
        Zero for constant columns.
    """
    sparse, (n, d) = scipy.sparse.issparse(X), X.shape
    per_row = max(1, X.nnz // n) if sparse else d
    rows = min(n, ROWS, max(FEW_ROWS, NUMBERS // per_row))
    some = X[:: -(-n // rows)]
    if not sparse:
        some = np.asarray(some, dtype=np.float64)
        scale, filled = _or_one(np.abs(some).max(axis=0)), np.count_nonzero(some, axis=0)
        deviation = (some / scale).std(axis=0)
        deviation[some.max(axis=0) == some.min(axis=0)] = 0.0
    else:
        columns, values, m = some.indices, some.data.astype(np.float64), some.shape[0]
        scale, filled = np.zeros(d), np.bincount(columns, minlength=d)
        np.maximum.at(scale, columns, np.abs(values))
        scale = _or_one(scale)
        values = values / scale[columns]
        mean = np.bincount(columns, values, d) / m
        squares = np.bincount(columns, (values - mean[columns]) ** 2, d) + (m - filled) * mean**2
        deviation = np.sqrt(squares / m)
        deviation[deviation < 1e-14] = 0.0  # A constant column, up to rounding.
    return scale * deviation / np.sqrt(np.maximum(filled, 1) / some.shape[0])


def _or_one(scale: np.ndarray) -> np.ndarray:
    return np.where(scale > 0, scale, 1.0)
