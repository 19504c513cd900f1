"""Storage of the rows that a preparation has read. Small data stay in memory, large data go to a file."""

from __future__ import annotations

import itertools
import pickle
from tempfile import SpooledTemporaryFile
from typing import Any

import numpy as np

from shallows_papers.datasets.files import DatasetError

# Rows are stored in blocks of about this size.
_KEPT_BYTES = 8 << 20


class RowStore:
    """Dense or CSR rows of the same width.

    Blocks are pickled into a file that several stores share. A memory map would need the number of rows beforehand, its
    touched pages would count as memory of the process, and a full disk would kill the process.

    The width of single numbers is 1. `n_values` counts the stored values of sparse rows.
    """

    def __init__(self, file: SpooledTemporaryFile):
        self.n_rows = self.width = self.n_values = 0
        self.sparse = False
        self._file = file
        self._empty: Any = None  # zero rows of the same kind
        self._starts: list[int] = []  # the first row of each block
        self._places: list[int] = []  # the position of each block in the file

    def append(self, rows: Any) -> None:
        """Add rows at the end."""
        self._check(rows)
        if self.sparse:
            rows = rows.tocsr()
            rows.sum_duplicates()
        size = rows.data.nbytes + rows.indices.nbytes if self.sparse else rows.nbytes
        at_once = max(1, int(_KEPT_BYTES * rows.shape[0] / max(1, size)))
        for start in range(0, rows.shape[0], at_once):
            block = rows[start : start + at_once]
            self._starts.append(self.n_rows)
            self._places.append(self._file.seek(0, 2))
            pickle.dump(block, self._file, pickle.HIGHEST_PROTOCOL)
            self.n_rows += block.shape[0]
            self.n_values += block.nnz if self.sparse else block.size

    def take(self, rows: np.ndarray) -> Any:
        """Return rows by their ascending numbers."""
        if self._empty is None:
            raise DatasetError("There are no rows to read.")
        holders = np.searchsorted(self._starts, rows, side="right") - 1
        bounds = np.flatnonzero(np.diff(holders, prepend=-1, append=len(self._starts)))
        pieces = [self._empty]
        for first, last in itertools.pairwise(bounds):
            self._file.seek(self._places[holders[first]])
            wanted, block = rows[first:last] - self._starts[holders[first]], pickle.load(self._file)
            whole = wanted[-1] + 1 - wanted[0] == len(wanted)
            pieces.append(block[wanted[0] : wanted[-1] + 1] if whole else block[wanted])
        if self.sparse:
            from scipy.sparse import vstack

            return vstack(pieces, format="csr")
        return np.concatenate(pieces)

    def _check(self, rows: Any) -> None:
        """Store the kind of the first rows, and refuse later rows of another kind."""
        if self._empty is None:
            self.sparse, self._empty = hasattr(rows, "indptr"), rows[:0].copy()
            self.width = int(np.prod(rows.shape[1:], dtype=np.int64))
            if rows.dtype.hasobject:
                raise DatasetError("The features are text. Only numbers can be prepared.")
        known = self._empty
        if rows.shape[1:] != known.shape[1:] or hasattr(rows, "indptr") != self.sparse:
            raise DatasetError(
                f"Rows of shape {rows.shape[1:]} come after rows of shape {known.shape[1:]}; all rows of a dataset "
                "must be alike."
            )
