"""Rows of a dense or sparse matrix for compiled code, and the order of visits, from the seed and earlier visits."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from ... import streams
from ...utils.compilation import njit

DENSE_FROM = 0.4
"""Share of nonzero values from which a dense matrix stays dense: a sparse value takes 2.5 times as long."""

SAMPLINGS = ("uniform", "subsets", "fixed_permutation", "new_permutation", "in_order")
"""Independent draws; batches of different rows, each drawn independently; one permutation for all epochs; a new
permutation for each epoch; the order of the rows."""

# `dot` and `add` are inlined: a call would count references of three arrays, which takes as long as a short row. Dense
# rows are summed in four parts, which use the vector registers.


class CompiledRows(NamedTuple):
    """A matrix row by row: compressed sparse rows, or dense rows without ``columns``."""

    values: np.ndarray  # (n_values,): row after row, float32 or float64
    columns: np.ndarray  # (n_values,): the column of each value; empty for dense rows
    starts: np.ndarray  # (n + 1,): where in ``values`` each row begins, and the end of the last row

    @property
    def mean_length(self) -> float:
        """Mean number of values in a row."""
        return len(self.values) / max(1, len(self.starts) - 1)


def as_rows(X: Any) -> CompiledRows:
    """The rows of a float32 or float64 matrix, shape (n, d); a dense matrix of mostly zeros becomes sparse."""
    if not scipy.sparse.issparse(X):
        X = np.asarray(X)
        if np.count_nonzero(X) >= DENSE_FROM * X.size:
            n, d = X.shape
            starts = np.arange(n + 1, dtype=np.int64) * d
            return CompiledRows(np.ascontiguousarray(X).ravel(), np.empty(0, np.uint32), starts)
    X = scipy.sparse.csr_array(X)
    return CompiledRows(X.data, X.indices.astype(np.uint32), X.indptr.astype(np.int64))


@njit(inline="always")
def dot(rows: CompiledRows, i: int, w: np.ndarray) -> float:
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
def add(rows: CompiledRows, i: int, factor: float, w: np.ndarray) -> None:
    """Change w to w + factor xᵢ."""
    start, stop = rows.starts[i], rows.starts[i + 1]
    if rows.columns.size == 0:
        for j in range(stop - start):
            w[j] += factor * rows.values[start + j]
    else:
        for k in range(start, stop):
            w[rows.columns[k]] += factor * rows.values[k]


@njit(cache=True, nogil=True)
def products(rows: CompiledRows, w: np.ndarray) -> np.ndarray:
    """Xw, shape (n,)."""
    n = len(rows.starts) - 1
    out = np.empty(n)
    for i in range(n):
        out[i] = dot(rows, i, w)
    return out


@njit(cache=True, nogil=True)
def products_of(rows: CompiledRows, chosen: np.ndarray, w: np.ndarray) -> np.ndarray:
    """xᵢᵀw of the chosen rows."""
    out = np.empty(len(chosen))
    for j in range(len(chosen)):
        out[j] = dot(rows, chosen[j], w)
    return out


@njit(cache=True, nogil=True)
def combination(rows: CompiledRows, factors: np.ndarray, n_features: int) -> np.ndarray:
    """Xᵀ factors, shape (d,); rows with the factor zero are skipped."""
    out = np.zeros(n_features)
    for i in range(len(factors)):
        if factors[i] != 0.0:
            add(rows, i, factors[i], out)
    return out


@njit(cache=True, nogil=True)
def squared_norms(rows: CompiledRows) -> np.ndarray:
    """‖xᵢ‖², shape (n,)."""
    n = len(rows.starts) - 1
    out = np.empty(n)
    for i in range(n):
        total = 0.0
        for k in range(rows.starts[i], rows.starts[i + 1]):
            total += float(rows.values[k]) * rows.values[k]
        out[i] = total
    return out


@njit(cache=True, nogil=True)
def mix(key: np.uint64, counter: np.uint64) -> np.uint64:
    """A pseudo-random 64-bit number for each counter (SplitMix64; Steele, Lea and Flood 2014)."""
    z = key + (counter + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def below(key: np.uint64, counter: int, n: int) -> np.int64:
    """A pseudo-random number from 0 to n − 1 for each counter, n < 2³²; a product instead of a division."""
    return np.int64(((mix(key, np.uint64(counter)) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def draws(key: np.uint64, first: int, count: int, n: int) -> np.ndarray:
    """Independent uniform row numbers for the counters from ``first`` on."""
    out = np.empty(count, np.int64)
    for j in range(count):
        out[j] = below(key, first + j, n)
    return out


@njit(cache=True, nogil=True)
def shuffle(order: np.ndarray, size: int, key: np.uint64) -> None:
    """Shuffle the first ``size`` entries in place (Fisher and Yates)."""
    for i in range(size - 1, 0, -1):
        j = below(key, i, i + 1)
        order[i], order[j] = order[j], order[i]


@njit(cache=True, nogil=True)
def subsets(key: np.uint64, first: int, count: int, size: int, order: np.ndarray) -> np.ndarray:
    """Uniformly random subsets of ``size`` rows one after the other; ``order`` has all rows and is restored."""
    out, swapped = np.empty(count, np.int64), np.empty(size, np.int64)
    for start in range(0, count, size):
        own, stop = mix(key, np.uint64(first + start)), min(size, count - start)
        for i in range(stop):
            j = i + below(own, i, len(order) - i)
            order[i], order[j] = order[j], order[i]
            out[start + i], swapped[i] = order[i], j
        for i in range(stop - 1, -1, -1):
            j = swapped[i]
            order[i], order[j] = order[j], order[i]
    return out


def key_of(seed: int, purpose: str, counter: int) -> np.uint64:
    """64 bits from which compiled code draws."""
    return np.uint64(streams.integers(seed, purpose, counter, 1)[0])


def permutation(seed: int, epoch: int, n: int) -> np.ndarray:
    """The permutation of an epoch."""
    order = np.arange(n)
    shuffle(order, n, key_of(seed, "order of examples", epoch))
    return order


def visits(
    sampling: str, seed: int, first: int, count: int, n: int, held: dict[str, Any], batch_size: int = 1
) -> np.ndarray:
    """Row numbers of the visits ``first`` to ``first + count``, by one of `SAMPLINGS`, shape (count,).

    ``held`` keeps the permutation of the last epoch for the next call. A subset of at most n rows begins at ``first``.
    """
    if sampling == "uniform":
        return draws(key_of(seed, "drawn examples", 0), first, count, n)
    if sampling == "subsets":
        key = key_of(seed, "drawn subsets", 0)
        return subsets(key, first, count, batch_size, held.setdefault("rows", np.arange(n)))
    if sampling == "in_order":
        return np.arange(first, first + count) % n
    parts, end = [], first + count
    while first < end:
        epoch, place = divmod(first, n)
        epoch = 0 if sampling == "fixed_permutation" else epoch
        if held.get("epoch") != epoch:
            held.update(epoch=epoch, order=permutation(seed, epoch, n))
        parts.append(held["order"][place : place + end - first])
        first += len(parts[-1])
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int64), *parts])
