"""Rows of a kernel matrix in one array, for compiled loops."""

from __future__ import annotations

import contextlib

import numpy as np

from .. import arrays, kernels
from ..arrays import Array
from ..kernels import Kernel


class KernelRowSlab:
    """Rows of the kernel matrix of n points in one array on the host; the most recently used rows are kept.

    Compiled code finds a row and marks its use without Python. `fetch` computes a missing row in a product of its own,
    so that its last digits do not depend on other rows.

    ``budget``: bytes of the kept rows, at least two. ``ridge`` (n,): added to the diagonal. ``slot_of`` (n,): index in
    ``rows`` of each row of the matrix, or −1. ``used``: ``clock``, the number of uses so far, at the last use of a kept
    row.
    """

    def __init__(self, kernel: Kernel, points: Array, *, budget: int, ridge: np.ndarray | None = None):
        self.kernel, self.points, self.ridge = kernel, points, ridge
        self.n = n = points.shape[0]
        self.dtype = np.dtype(str(points.dtype))
        self.capacity = min(n, max(2, int(budget) // (n * self.dtype.itemsize)))
        self.rows = np.empty((self.capacity, n), dtype=self.dtype)
        self.slot_of = np.full(n, -1, dtype=np.int64)
        self.used = np.zeros(self.capacity, dtype=np.int64)
        self.clock = np.zeros(1, dtype=np.int64)
        self.n_made = 0
        self._row_in = np.full(self.capacity, -1, dtype=np.int64)
        exact = arrays.to_numpy(kernel.diagonal(points[:, :-2])).astype(np.float64)
        self.diagonal = exact if ridge is None else exact + ridge

    @property
    def compiled(self) -> tuple[np.ndarray, ...]:
        """``diagonal, rows, slot_of, used, clock``, the arguments of compiled loops."""
        return self.diagonal, self.rows, self.slot_of, self.used, self.clock

    def fetch(self, i: int) -> np.ndarray:
        """K[i, :] with the ridge, shape (n,), read-only and valid until the next call."""
        slot = self.slot_of[i]
        if slot < 0:
            slot = int(np.argmin(self.used))
            if self._row_in[slot] >= 0:
                self.slot_of[self._row_in[slot]] = -1
            here = self.points[i : i + 1, :]
            # On a busy machine several BLAS threads took 40 times as long as one thread for such a product. The
            # product of a sparse row is faster than a change of the number of threads.
            with contextlib.nullcontext() if arrays.is_sparse(here) else arrays.one_blas_thread():
                self.rows[slot] = arrays.to_numpy(kernels.values(self.kernel, here, self.points))[0]
            self.rows[slot, i] = self.diagonal[i]
            self.slot_of[i], self._row_in[slot] = slot, i
            self.n_made += 1
        self.clock[0] += 1
        self.used[slot] = self.clock[0]
        return self.rows[slot]

    def product(self, coefficients: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """K[rows, :] @ coefficients with the ridge in float64; columns of zeros are not computed."""
        rows = np.arange(self.n) if rows is None else rows
        support = np.flatnonzero(coefficients)
        out = np.zeros(len(rows))
        if len(support) == 0 or len(rows) == 0:
            return out
        columns, a = arrays.take_rows(self.points, support), coefficients[support]
        for part in arrays.blocks(len(rows), max(1, 2**25 // (8 * len(support)))):
            here = arrays.take_rows(self.points, rows[part])
            with arrays.threads_for(here.shape[0] * len(support)):
                values = arrays.to_numpy(kernels.values(self.kernel, here, columns)).astype(np.float64)
            # The value at distance zero is known; a computed value has rounding errors.
            place = np.searchsorted(support, rows[part])
            same = np.flatnonzero(support[np.minimum(place, len(support) - 1)] == rows[part])
            values[same, place[same]] = self.diagonal[rows[part][same]]
            out[part] = values @ a
        return out
