"""Sparse rows with the operations that kernels and solvers use on arrays of points. Other operations raise a TypeError.

For tf-idf rows with 100,000 columns and 140 non-zeros, two rows have about 17 columns in common, so a sparse product of
two rows needs 17 multiplications instead of 100,000.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.sparse

FEW_ROWS = 16
"""Up to this number of rows a compiled loop computes the product, with the same numbers as SciPy. For a single row the
checks of SciPy take 0.2 ms, ten times as long as the product with 2,000 texts."""

_STRIP_NUMBERS = 2**20
"""Values of a product that are computed at a time."""


class SparsePoints:
    """The matrix [S, T] of a sparse part S (``rows``, CSR, (n, d)) and dense columns T (``tail``, (n, k))."""

    __array_ufunc__ = None  # NumPy's operators call the methods below.

    def __init__(self, rows: Any, tail: np.ndarray | None = None):
        rows = rows if isinstance(rows, scipy.sparse.csr_array) else scipy.sparse.csr_array(rows)
        tail = np.empty((rows.shape[0], 0), dtype=rows.dtype) if tail is None else tail
        self._set((rows.data, rows.indices, rows.indptr), rows.shape[1], tail)
        self._rows = rows

    def _set(self, parts: tuple[np.ndarray, np.ndarray, np.ndarray], d: int, tail: np.ndarray) -> None:
        self.parts, self.d, self.tail = parts, d, tail
        self._rows = self._by_columns = None

    @classmethod
    def _of(cls, parts: tuple[np.ndarray, np.ndarray, np.ndarray], d: int, tail: np.ndarray) -> SparsePoints:
        """Points from the arrays of a CSR matrix, without SciPy's checks, which take longer than a row's product."""
        points = cls.__new__(cls)
        points._set(parts, d, tail)
        return points

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self.rows, "tail": self.tail}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @property
    def rows(self) -> Any:
        """The sparse part as a CSR array of SciPy."""
        if self._rows is None:
            self._rows = scipy.sparse.csr_array(self.parts, shape=(len(self.tail), self.d))
        return self._rows

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.tail.shape[0], self.d + self.tail.shape[1]

    ndim = 2

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the numbers."""
        return self.parts[0].dtype

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(part.nbytes for part in (*self.parts, self.tail))

    def __len__(self) -> int:
        return self.tail.shape[0]

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return np

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in (np.concatenate, np.take):
            return NotImplemented
        return _concatenate(*args, **kwargs) if function is np.concatenate else _take_rows(*args, **kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Sparse rows are not converted to dense rows; call toarray().")

    def toarray(self) -> np.ndarray:
        """The same numbers in a dense array."""
        return np.hstack([self.rows.toarray(), self.tail])

    def copy(self) -> SparsePoints:
        """A copy."""
        return SparsePoints(self.rows.copy(), self.tail.copy())

    def astype(self, dtype: Any, copy: bool = False) -> SparsePoints:
        """The same numbers in another precision."""
        if self.dtype == dtype:
            return self.copy() if copy else self
        return SparsePoints(self.rows.astype(dtype), self.tail.astype(dtype))

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if columns is Ellipsis:
            columns = slice(None)
        d = self.d
        if isinstance(columns, slice):
            start, stop, step = columns.indices(self.shape[1])
            if step == 1 and start >= d:
                return self.tail[rows, start - d : stop - d]
            if step == 1 and start == 0 and stop >= d:
                return self._select_rows(rows, self.tail[:, : stop - d])
        elif (columns + self.shape[1]) % self.shape[1] >= d:
            return self.tail[rows, (columns + self.shape[1]) % self.shape[1] - d]
        raise IndexError("Columns of sparse rows: select all columns, or the dense columns at the end.")

    def _select_rows(self, rows: Any, tail: np.ndarray) -> SparsePoints:
        if not isinstance(rows, slice):
            return SparsePoints(self.rows[rows], tail[rows])
        start, stop, step = rows.indices(len(self))
        if (start, stop, step) == (0, len(self), 1):
            points = SparsePoints._of(self.parts, self.d, tail)
            points._rows, points._by_columns = self._rows, self._by_columns
            return points
        if step != 1:
            return SparsePoints(self.rows[rows], tail[rows])
        data, indices, ends = self.parts
        ends = ends[start : max(start, stop) + 1]
        some = slice(ends[0], ends[-1])
        return SparsePoints._of((data[some], indices[some], ends - ends[0]), self.d, tail[rows])

    def __setitem__(self, key: tuple[Any, int], values: Any) -> None:
        """Write to a dense column; its number is negative."""
        rows, column = key
        if not -self.tail.shape[1] <= column < 0:
            raise IndexError("Sparse rows: only the dense columns at the end can be written.")
        self.tail[rows, column] = values

    def __mul__(self, factor: Any) -> SparsePoints:
        """Multiply with a number, or with a factor for each row, shape (n, 1)."""
        data, indices, ends = self.parts
        factor = np.asarray(factor, dtype=self.dtype)
        by_number = factor if factor.ndim == 0 else np.repeat(factor[:, 0], np.diff(ends))
        return SparsePoints._of((data * by_number, indices, ends), self.d, self.tail * factor)

    def __truediv__(self, divisor: Any) -> SparsePoints:
        return self * (1.0 / divisor)

    __rmul__ = __mul__

    @property
    def T(self) -> _Transposed:
        """The transpose, for products."""
        return _Transposed(self)

    def __matmul__(self, other: Any) -> np.ndarray:
        if isinstance(other, _Transposed):
            return product(self, other.T, np.empty((len(self), other.shape[1]), dtype=self.dtype))
        d = self.d
        found = self.rows @ other[:d]
        return found + self.tail @ other[d:] if self.tail.shape[1] else found

    def norms_squared(self) -> np.ndarray:
        """Squared norms of the rows, shape (n,)."""
        # Sums from the first number of a row to the first number of the next row; zero for an empty row.
        data, _, ends = self.parts
        starts, squares = ends[:-1], np.append(data**2, self.dtype.type(0))
        sums = np.where(np.diff(ends) > 0, np.add.reduceat(squares, starts), self.dtype.type(0))
        return sums + np.einsum("ij,ij->i", self.tail, self.tail)

    def resized(self, n: int) -> SparsePoints:
        """The same rows, with zero rows at the end, n rows in all."""
        rows, tail = self.rows.copy(), np.zeros((n, self.tail.shape[1]), dtype=self.dtype)
        rows.resize((n, rows.shape[1]))
        tail[: len(self)] = self.tail
        return SparsePoints(rows, tail)

    def replaced(self, places: np.ndarray, others: SparsePoints) -> SparsePoints:
        """The same rows with some rows replaced."""
        chosen = np.arange(len(self))
        chosen[places] = len(self) + np.arange(len(others))
        return np.concatenate([self, others])[chosen]

    def groups(self) -> np.ndarray:
        """For each row the number of the first row with the same sparse part, shape (n,)."""
        known: dict[tuple[bytes, bytes], int] = {}
        indices, data, ends = self.rows.indices, self.rows.data, self.rows.indptr
        keys = ((indices[a:b].tobytes(), data[a:b].tobytes()) for a, b in itertools.pairwise(ends))
        return np.array([known.setdefault(key, i) for i, key in enumerate(keys)], dtype=np.int64)

    def by_columns(self) -> Any:
        """The transpose of the sparse part, as CSR; computed once."""
        if self._by_columns is None:
            self._by_columns = self.rows.T.tocsr()
        return self._by_columns


class _Transposed:
    """The transpose of sparse rows."""

    __array_ufunc__ = None
    ndim = 2

    def __init__(self, rows: SparsePoints):
        self.T, self.dtype = rows, rows.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.T.shape[::-1]

    def __matmul__(self, other: np.ndarray) -> np.ndarray:
        rows = self.T
        found = rows.rows.T @ other
        return np.concatenate([found, rows.tail.T @ other]) if rows.tail.shape[1] else found

    def __rmatmul__(self, other: np.ndarray) -> np.ndarray:
        rows, d = self.T, self.T.d
        found = np.ascontiguousarray((rows.rows @ other[:, :d].T).T)
        return found + other[:, d:] @ rows.tail.T if rows.tail.shape[1] else found


def is_sparse(x: Any) -> bool:
    """Whether ``x`` is `SparsePoints`."""
    return isinstance(x, SparsePoints)


def product(left: SparsePoints, right: SparsePoints, out: np.ndarray) -> np.ndarray:
    """``out[...] = left @ right.T``. Each value is a sum over the columns in order, independent of the other rows."""
    columns, step = right.by_columns(), max(1, _STRIP_NUMBERS // max(1, len(right)))
    if len(left) <= FEW_ROWS:
        from .sparse_loops import add_products

        data, indices, ends = left.parts
        out[...] = 0
        add_products(ends, indices, data, columns.indptr, columns.indices, columns.data, out)
        if left.tail.shape[1]:
            out += left.tail @ right.tail.T
        return out
    for start in range(0, len(left), step):
        strip = slice(start, min(start + step, len(left)))
        rows = left.rows if step >= len(left) else left.rows[strip]
        out[strip] = (rows @ columns).toarray()
        if left.tail.shape[1]:
            out[strip] += left.tail[strip] @ right.tail.T
    return out


def _concatenate(parts: Any, axis: int = 0) -> SparsePoints:
    if axis == 1:
        first, *others = parts
        tails = [first.tail, *(np.asarray(other, dtype=first.dtype) for other in others)]
        return SparsePoints._of(first.parts, first.d, np.concatenate(tails, axis=1))
    rows = scipy.sparse.vstack([part.rows for part in parts], format="csr")
    return SparsePoints(rows, np.concatenate([part.tail for part in parts]))


def _take_rows(x: SparsePoints, indices: Any, axis: int | None = None) -> SparsePoints:
    if axis != 0:
        raise TypeError("Sparse points: only rows can be taken.")
    return x[np.asarray(indices)]
