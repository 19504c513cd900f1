"""Rows that a preparation has read: in memory while they fit, on disk when they do not, given back block by block."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from shallows.datasets.files import DatasetError, explaining_full_disk

# Rows that lie between the wanted ones are read as well, in pieces of this size.
_PIECE_BYTES = 8 << 20


class Allowance:
    """Bytes that may still be kept in memory, shared by several stores."""

    def __init__(self, size: int):
        self.left = size

    def take(self, size: int) -> bool:
        """Take `size` bytes off, or say that there are not so many."""
        if size > self.left:
            return False
        self.left -= size
        return True


class _GrowingArray:
    """One array that grows, of one type and shape of a row.

    By hand on a spooled file and not a memory map: a map counts what it has touched as memory of the process, and tells
    of a full disk by killing it.
    """

    def __init__(self, dtype: np.dtype, shape: tuple[int, ...], allowance: Allowance, folder: Path):
        self.dtype, self.shape, self.allowance, self.folder = dtype, shape, allowance, folder
        self.row_bytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        # Without a name, so that it goes when the process goes; with no largest size, so that only we let it roll over.
        self.file = tempfile.SpooledTemporaryFile(dir=folder, prefix=".rows-", suffix=".part")  # noqa: SIM115

    def append(self, values: np.ndarray) -> None:
        values = np.ascontiguousarray(values, self.dtype)
        with explaining_full_disk(self.folder / "rows that did not fit into memory"):
            if not self.allowance.take(values.nbytes):
                self.folder.mkdir(parents=True, exist_ok=True)
                self.file.rollover()
            self.file.seek(0, 2)
            self.file.write(values.reshape(-1).view(np.uint8))

    def read(self, start: int, stop: int) -> np.ndarray:
        values = np.empty((stop - start, *self.shape), self.dtype)
        self.file.seek(start * self.row_bytes)
        if self.file.readinto(values.reshape(-1).view(np.uint8)) != values.nbytes:
            raise DatasetError("Rows that were put on the disk could not be read back.")
        return values


class RowStore:
    """Rows of one kind: dense of one type, or CSR of one width.

    Parameters
    ----------
    allowance : Allowance
        What may stay in memory. What goes beyond it goes to the disk.
    folder : Path
        Where the file for that is made.

    Attributes
    ----------
    n_rows : int
    width : int
        Number of columns; 1 for a store of single numbers, 0 for an empty one.
    n_values : int
        Stored numbers: all of them when dense, those that are stated when sparse.
    sparse : bool
    """

    def __init__(self, allowance: Allowance, folder: Path):
        self.allowance, self.folder = allowance, folder
        self.n_rows = self.width = self.n_values = 0
        self.sparse = False
        self._arrays: list[_GrowingArray] = []  # the rows; or the values and their columns
        self._ends: list[np.ndarray] = [np.zeros(1, np.int64)]  # where the sparse rows end

    def append(self, rows: Any) -> None:
        """Add rows at the end."""
        if not self._arrays:
            self._begin(rows)
        if self.sparse:
            self._append_sparse(rows)
        else:
            self._append_dense(rows)
        self.n_rows += rows.shape[0]

    def take(self, rows: np.ndarray) -> Any:
        """Return the rows of these ascending numbers."""
        if not self._arrays:
            raise DatasetError("There are no rows to read.")
        if not len(rows):
            return self._between(0, 0)
        if rows[-1] + 1 - rows[0] == len(rows):
            return self._between(int(rows[0]), int(rows[-1]) + 1)
        row_bytes = sum(one.row_bytes for one in self._arrays) * (self.n_values / self.n_rows if self.sparse else 1)
        at_once, pieces, done = max(1, int(_PIECE_BYTES / max(1, row_bytes))), [], 0
        while done < len(rows):
            start = int(rows[done])
            end = int(np.searchsorted(rows, start + at_once))
            pieces.append(self._between(start, int(rows[end - 1]) + 1)[rows[done:end] - start])
            done = end
        if self.sparse:
            from scipy.sparse import vstack

            return vstack(pieces, format="csr")
        return np.concatenate(pieces)

    def _begin(self, rows: Any) -> None:
        self.sparse = hasattr(rows, "indptr")
        self.width = int(np.prod(rows.shape[1:], dtype=np.int64))
        kinds = [(rows.dtype, rows.shape[1:])]
        if self.sparse:
            kinds = [(rows.data.dtype, ()), (np.dtype(np.int32 if self.width < 2**31 else np.int64), ())]
        if kinds[0][0].hasobject:
            raise DatasetError("The features are texts and no numbers; only numbers are prepared.")
        self._arrays = [_GrowingArray(dtype, shape, self.allowance, self.folder) for dtype, shape in kinds]

    def _append_dense(self, rows: np.ndarray) -> None:
        (array,) = self._arrays
        if rows.dtype != array.dtype or rows.shape[1:] != array.shape:
            raise DatasetError(
                f"Rows of {rows.dtype} and shape {rows.shape[1:]} come after rows of {array.dtype} and shape "
                f"{array.shape}; all rows of a dataset must be alike."
            )
        array.append(rows)
        self.n_values += rows.shape[0] * self.width

    def _append_sparse(self, rows: Any) -> None:
        if rows.shape[1] != self.width:
            raise DatasetError(f"Rows of {rows.shape[1]:,} features come after rows of {self.width:,}.")
        rows = rows.tocsr()
        rows.sort_indices()
        stated = slice(rows.indptr[0], rows.indptr[-1])
        self._ends.append(rows.indptr[1:].astype(np.int64) - rows.indptr[0] + self._ends[-1][-1])
        for array, values in zip(self._arrays, (rows.data[stated], rows.indices[stated]), strict=True):
            array.append(values)
        self.n_values = int(self._ends[-1][-1])

    def _between(self, start: int, stop: int) -> Any:
        if not self.sparse:
            return self._arrays[0].read(start, stop)
        from scipy.sparse import csr_matrix

        self._ends = [np.concatenate(self._ends)]
        ends = self._ends[0][start : stop + 1]
        values, columns = (array.read(int(ends[0]), int(ends[-1])) for array in self._arrays)
        return csr_matrix((values, columns, ends - ends[0]), shape=(stop - start, self.width), copy=False)
