"""Rows of a matrix, dense or sparse, as compiled code walks along them one by one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from ...utils.compilation import njit

DENSE_FROM = 0.4
"""Share of values other than zero from which a dense matrix stays one: a sparse value costs two and a half times."""

# `dot` and `add` are written into the loops that use them: a call would count references of three arrays, which takes
# as long as a short row. Rows that are dense are summed in four parts, which use the vector registers.


# Caches of compiled loops on people's disks name this class by its module: where it has moved, numba cannot read them
# and raises an error in every fit.
class Rows(NamedTuple):
    """A matrix row by row: compressed sparse rows, or dense ones without ``columns``."""

    values: np.ndarray  # (n_values,): Row after row, float32 or float64
    columns: np.ndarray  # (n_values,): The column of each value; empty for dense rows
    starts: np.ndarray  # (n + 1,): Where in ``values`` each row begins, and the end of the last

    @property
    def mean_length(self) -> float:
        """Values of a row, on the mean."""
        return len(self.values) / max(1, len(self.starts) - 1)


def as_rows(X: Any) -> Rows:
    """The rows of a matrix; a dense one that is mostly zeros becomes sparse.

    ``X`` (n, d): of float32 or float64.
    """
    if not scipy.sparse.issparse(X):
        X = np.asarray(X)
        if np.count_nonzero(X) >= DENSE_FROM * X.size:
            n, d = X.shape
            return Rows(np.ascontiguousarray(X).ravel(), np.empty(0, np.uint32), np.arange(n + 1, dtype=np.int64) * d)
    X = scipy.sparse.csr_array(X)
    return Rows(X.data, X.indices.astype(np.uint32), X.indptr.astype(np.int64))


@njit(inline="always")
def dot(rows: Rows, i: int, w: np.ndarray) -> float:
    """xᵢᵀw."""
    start, stop, total = rows.starts[i], rows.starts[i + 1], 0.0
    if rows.columns.size == 0:
        whole = (stop - start) // 4 * 4
        second, third, fourth = 0.0, 0.0, 0.0
        for j in range(0, whole, 4):
            total += rows.values[start + j] * w[j]
            second += rows.values[start + j + 1] * w[j + 1]
            third += rows.values[start + j + 2] * w[j + 2]
            fourth += rows.values[start + j + 3] * w[j + 3]
        for j in range(whole, stop - start):
            total += rows.values[start + j] * w[j]
        total += (second + third) + fourth
    else:
        for k in range(start, stop):
            total += rows.values[k] * w[rows.columns[k]]
    return total


@njit(inline="always")
def add(rows: Rows, i: int, factor: float, w: np.ndarray) -> None:
    """Change w to w + factor xᵢ."""
    start, stop = rows.starts[i], rows.starts[i + 1]
    if rows.columns.size == 0:
        for j in range(stop - start):
            w[j] += factor * rows.values[start + j]
    else:
        for k in range(start, stop):
            w[rows.columns[k]] += factor * rows.values[k]


@njit(cache=True, nogil=True)
def products(rows: Rows, w: np.ndarray) -> np.ndarray:
    """Xw, shape (n,)."""
    n = len(rows.starts) - 1
    out = np.empty(n)
    for i in range(n):
        out[i] = dot(rows, i, w)
    return out


@njit(cache=True, nogil=True)
def products_of(rows: Rows, chosen: np.ndarray, w: np.ndarray) -> np.ndarray:
    """xᵢᵀw of chosen rows."""
    out = np.empty(len(chosen))
    for j in range(len(chosen)):
        out[j] = dot(rows, chosen[j], w)
    return out


@njit(cache=True, nogil=True)
def combination(rows: Rows, factors: np.ndarray, n_features: int) -> np.ndarray:
    """Xᵀ factors, shape (d,); rows whose factor is zero cost nothing."""
    out = np.zeros(n_features)
    for i in range(len(factors)):
        if factors[i] != 0.0:
            add(rows, i, factors[i], out)
    return out


@njit(cache=True, nogil=True)
def squared_norms(rows: Rows) -> np.ndarray:
    """‖xᵢ‖², shape (n,)."""
    n = len(rows.starts) - 1
    out = np.empty(n)
    for i in range(n):
        total = 0.0
        for k in range(rows.starts[i], rows.starts[i + 1]):
            total += float(rows.values[k]) * rows.values[k]
        out[i] = total
    return out
