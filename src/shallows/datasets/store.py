"""Rows that a preparation has read: in memory while they fit, on disk when they do not, given back block by block.

The disk is written and read by plain streams. A memory map would count what it has touched as memory of the process,
and tells of a full disk by killing it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shallows.datasets.files import DatasetError, told_if_full

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


class Store:
    """Rows of one kind: dense of one type, or CSR of one width.

    Parameters
    ----------
    allowance : Allowance
        What may stay in memory. What goes beyond it goes to the disk, and all that comes after it too.
    folder : Path
        Where the file for that is made. It has no name, so that it goes when the process goes.
    """

    def __init__(self, allowance: Allowance, folder: Path):
        self.allowance, self.folder = allowance, folder
        self.n_rows = 0
        self._kind: _Dense | _Sparse | None = None

    def append(self, rows: Any) -> None:
        """Add rows at the end."""
        if self._kind is None:
            self._kind = (_Sparse if hasattr(rows, "indptr") else _Dense)(rows, self.allowance, self._file)
        self._kind.append(rows)
        self.n_rows += rows.shape[0]

    @property
    def width(self) -> int:
        """Number of columns; 1 for a store of single numbers."""
        return self._kind.width if self._kind else 0

    @property
    def sparse(self) -> bool:
        """Whether the rows are CSR."""
        return isinstance(self._kind, _Sparse)

    @property
    def n_values(self) -> int:
        """Stored numbers: all of them when dense, those that are stated when sparse."""
        return self._kind.n_values(self.n_rows) if self._kind else 0

    def take(self, rows: np.ndarray) -> Any:
        """Give the rows of these ascending numbers."""
        if self._kind is None:
            raise DatasetError("There are no rows to read.")
        return self._kind.take(rows)

    def _file(self) -> BinaryIO:
        with told_if_full(self.folder / "rows"):
            self.folder.mkdir(parents=True, exist_ok=True)
            return tempfile.TemporaryFile(dir=self.folder, prefix=".rows-", suffix=".part")


class _Stream:
    """One array that grows, of one type and width: pieces in memory, then a file."""

    def __init__(self, dtype: np.dtype, shape: tuple[int, ...], allowance: Allowance, file: Callable[[], BinaryIO]):
        self.dtype, self.shape, self.allowance, self.make_file = dtype, shape, allowance, file
        self.row_bytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        self.pieces: list[np.ndarray] = []
        self.starts: list[int] = [0]
        self.file: BinaryIO | None = None
        self.file_start = 0

    def append(self, values: np.ndarray) -> None:
        values = np.ascontiguousarray(values, self.dtype)
        if self.file is None and self.allowance.take(values.nbytes):
            # A view into a parser's buffer would keep all of that buffer alive.
            self.pieces.append(values if values.base is None else values.copy())
            self.starts.append(self.starts[-1] + len(values))
            return
        if self.file is None:
            self.file, self.file_start = self.make_file(), self.starts[-1]
        with told_if_full(Path("the rows that did not fit into memory")):
            self.file.write(values.data)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Give what lies from `start` to `stop`, as a copy or as a view to be left as it is."""
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        if first < len(self.pieces) and stop <= self.starts[first + 1]:
            offset = self.starts[first]
            return self.pieces[first][start - offset : stop - offset]
        values = np.empty((stop - start, *self.shape), self.dtype)
        at = start
        while at < stop:
            if at >= self.starts[-1]:
                self._read_file(at, values[at - start :])
                break
            piece = int(np.searchsorted(self.starts, at, side="right")) - 1
            end = min(stop, self.starts[piece + 1])
            offset = self.starts[piece]
            values[at - start : end - start] = self.pieces[piece][at - offset : end - offset]
            at = end
        return values

    def _read_file(self, start: int, into: np.ndarray) -> None:
        self.file.flush()
        self.file.seek((start - self.file_start) * self.row_bytes)
        if into.nbytes and self.file.readinto(memoryview(into).cast("B")) != into.nbytes:
            raise DatasetError("Rows that were put on the disk could not be read back.")


class _Dense:
    def __init__(self, rows: np.ndarray, allowance: Allowance, file: Callable[[], BinaryIO]):
        self.width = int(np.prod(rows.shape[1:], dtype=np.int64))
        self.stream = _Stream(rows.dtype, rows.shape[1:], allowance, file)

    def append(self, rows: np.ndarray) -> None:
        if rows.dtype != self.stream.dtype or rows.shape[1:] != self.stream.shape:
            raise DatasetError(
                f"Rows of {rows.dtype} and shape {rows.shape[1:]} come after rows of {self.stream.dtype} and shape "
                f"{self.stream.shape}; all rows of a dataset must be alike."
            )
        self.stream.append(rows)

    def n_values(self, n_rows: int) -> int:
        return n_rows * self.width

    def take(self, rows: np.ndarray) -> np.ndarray:
        if not len(rows):
            return self.stream.read(0, 0)
        first, last = int(rows[0]), int(rows[-1]) + 1
        if last - first == len(rows):
            return self.stream.read(first, last)
        taken = np.empty((len(rows), *self.stream.shape), self.stream.dtype)
        done = 0
        while done < len(rows):
            start = int(rows[done])
            stop = start + max(1, _PIECE_BYTES // max(1, self.stream.row_bytes))
            end = int(np.searchsorted(rows, stop))
            taken[done:end] = self.stream.read(start, int(rows[end - 1]) + 1)[rows[done:end] - start]
            done = end
        return taken


class _Sparse:
    def __init__(self, rows: Any, allowance: Allowance, file: Callable[[], BinaryIO]):
        self.width = rows.shape[1]
        self.values = _Stream(rows.data.dtype, (), allowance, file)
        self.columns = _Stream(np.dtype(np.int32 if self.width < 2**31 else np.int64), (), allowance, file)
        self.ends: list[np.ndarray] = [np.zeros(1, np.int64)]

    def append(self, rows: Any) -> None:
        if rows.shape[1] != self.width:
            raise DatasetError(f"Rows of {rows.shape[1]:,} features come after rows of {self.width:,}.")
        rows = rows.tocsr()
        rows.sort_indices()
        self.ends.append(rows.indptr[1:].astype(np.int64) - rows.indptr[0] + self.ends[-1][-1])
        stated = slice(rows.indptr[0], rows.indptr[-1])
        self.values.append(rows.data[stated])
        self.columns.append(rows.indices[stated])

    def n_values(self, n_rows: int) -> int:
        return int(self.ends[-1][-1])

    def take(self, rows: np.ndarray) -> Any:
        from scipy.sparse import csr_matrix

        if len(self.ends) > 1:
            self.ends = [np.concatenate(self.ends)]
        ends = self.ends[0]
        if not len(rows):
            return csr_matrix((0, self.width), dtype=self.values.dtype)
        lengths = ends[rows + 1] - ends[rows]
        pointers = np.concatenate([[0], np.cumsum(lengths)])
        first, last = int(rows[0]), int(rows[-1]) + 1
        start, stop = int(ends[first]), int(ends[last])
        if last - first == len(rows):
            values, columns = self.values.read(start, stop), self.columns.read(start, stop)
        else:
            values = np.empty(pointers[-1], self.values.dtype)
            columns = np.empty(pointers[-1], self.columns.dtype)
            for place, row in zip(pointers, rows, strict=False):
                begin, end = int(ends[row]), int(ends[row + 1])
                values[place : place + end - begin] = self.values.read(begin, end)
                columns[place : place + end - begin] = self.columns.read(begin, end)
        return csr_matrix((values, columns, pointers), shape=(len(rows), self.width), copy=False)
