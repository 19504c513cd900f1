"""Rows that a preparation has read: in memory while they fit, on disk when they do not, given back block by block."""

from __future__ import annotations

import itertools
import pickle
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shallows_papers.datasets.files import DatasetError, explaining_full_disk

# Rows are kept in blocks of about this size; one that lies on the disk is read whole.
_KEPT_BYTES = 8 << 20


class Allowance:
    """Bytes that may still be kept in memory, shared by several stores."""

    def __init__(self, size: int):
        self.left = size

    def take(self, size: int) -> bool:
        """Take `size` bytes off; return False where there are not so many."""
        if size > self.left:
            return False
        self.left -= size
        return True


class RowStore:
    """Rows of one kind: dense of one type, or CSR of one width.

    Blocks beyond the allowance are pickled into a file in `folder`, and not into a memory map: a map needs the number
    of rows beforehand, its touched pages count as memory of the process, and a full disk kills the process.

    The width of single numbers is 1; `n_values` counts those that are stated when sparse.
    """

    def __init__(self, allowance: Allowance, folder: Path):
        self.allowance, self.folder = allowance, folder
        self.n_rows = self.width = self.n_values = 0
        self.sparse = False
        self._empty: Any = None  # no rows, of the kind of all
        self._blocks: list[Any] = []  # of rows; or the place of a block in the file
        self._starts: list[int] = []  # the first row of each
        self._file: BinaryIO | None = None

    def append(self, rows: Any) -> None:
        """Add rows at the end."""
        self._check(rows)
        if self.sparse:
            rows = rows.tocsr()
            rows.sum_duplicates()
        row_bytes = _size_of(rows) / max(1, rows.shape[0])
        at_once = max(1, int(_KEPT_BYTES / max(1, row_bytes)))
        for start in range(0, rows.shape[0], at_once):
            self._keep(rows[start : start + at_once].copy())

    def take(self, rows: np.ndarray) -> Any:
        """Return the rows of these ascending numbers."""
        if self._empty is None:
            raise DatasetError("There are no rows to read.")
        holders = np.searchsorted(self._starts, rows, side="right") - 1
        bounds = np.flatnonzero(np.diff(holders, prepend=-1, append=len(self._starts)))
        pieces = [self._empty]
        for first, last in itertools.pairwise(bounds):
            wanted, block = rows[first:last] - self._starts[holders[first]], self._block(holders[first])
            whole = wanted[-1] + 1 - wanted[0] == len(wanted)
            pieces.append(block[wanted[0] : wanted[-1] + 1] if whole else block[wanted])
        if self.sparse:
            from scipy.sparse import vstack

            return vstack(pieces, format="csr")
        return np.concatenate(pieces)

    def _check(self, rows: Any) -> None:
        """Note the kind of the first rows, and refuse later rows of another kind."""
        if self._empty is None:
            self.sparse, self._empty = hasattr(rows, "indptr"), rows[:0].copy()
            self.width = int(np.prod(rows.shape[1:], dtype=np.int64))
            if rows.dtype.hasobject:
                raise DatasetError("The features are texts and no numbers; only numbers are prepared.")
        known = self._empty
        if rows.shape[1:] != known.shape[1:] or (rows.dtype != known.dtype and not self.sparse):
            raise DatasetError(
                f"Rows of {rows.dtype} and shape {rows.shape[1:]} come after rows of {known.dtype} and shape "
                f"{known.shape[1:]}; all rows of a dataset must be alike."
            )

    def _keep(self, block: Any) -> None:
        self._starts.append(self.n_rows)
        self.n_rows += block.shape[0]
        self.n_values += block.nnz if self.sparse else block.size
        if self.allowance.take(_size_of(block)):
            self._blocks.append(block)
            return
        with explaining_full_disk(self.folder / "rows that did not fit into memory"):
            if self._file is None:
                self.folder.mkdir(parents=True, exist_ok=True)
                # Without a name, so that it goes when the process goes.
                self._file = tempfile.TemporaryFile(dir=self.folder, prefix=".rows-", suffix=".part")  # noqa: SIM115
            self._blocks.append(self._file.seek(0, 2))
            pickle.dump(block, self._file, pickle.HIGHEST_PROTOCOL)
            self._file.flush()

    def _block(self, number: int) -> Any:
        block = self._blocks[number]
        if not isinstance(block, int):
            return block
        self._file.seek(block)
        return pickle.load(self._file)


def _size_of(rows: Any) -> int:
    return rows.data.nbytes + rows.indices.nbytes if hasattr(rows, "indptr") else rows.nbytes
