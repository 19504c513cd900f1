"""Rows of a kernel matrix, kept as long as they are in use."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from .. import arrays, kernels
from ..arrays import Array
from ..kernels import Kernel


class KernelRowCache:
    """Rows of the kernel matrix of n points, of which the most recently used are kept.

    For solvers that choose their own rows, such as SMO and LASVM: they come back to the rows of few points, the support
    vectors. Each row is made by a product of its own: in a product of several its last digits would depend on which
    others were missing, and a run that goes on from a checkpoint, with an empty cache, would end elsewhere.

    Parameters
    ----------
    kernel : Kernel
    points : array, shape (n, d + 2)
        Augmented points (`kernels.augmented`).
    budget : int
        Bytes that the kept rows may take. With room for none, every row is made when it is asked for.

    Attributes
    ----------
    n_hits, n_misses : int
        Rows that were asked for and found, or made.
    """

    def __init__(self, kernel: Kernel, points: Array, *, budget: int):
        self.kernel, self.points, self.n = kernel, points, points.shape[0]
        self._bytes_of_row = self.n * arrays.itemsize(points)
        self.capacity = max(0, int(budget) // self._bytes_of_row)
        self.n_hits = self.n_misses = 0
        self._held: OrderedDict[int, Array] = OrderedDict()

    @property
    def n_kept(self) -> int:
        """Rows that are kept now."""
        return len(self._held)

    @property
    def diagonal(self) -> Array:
        """k(xᵢ, xᵢ), shape (n,)."""
        return self.kernel.diagonal(self.points[:, :-2])

    def row(self, i: int) -> Array:
        """K[i, :], shape (n,); to be read only."""
        i = int(i)
        row = self._held.get(i)
        if row is None:
            self.n_misses += 1
            row = self._make(i)
        else:
            self.n_hits += 1
        self._held[i] = row
        self._held.move_to_end(i)
        while len(self._held) > self.capacity:
            self._held.popitem(last=False)
        return row

    def rows(self, indices: Iterable[int]) -> Array:
        """K[indices, :], shape (m, n)."""
        return arrays.namespace(self.points).stack([self.row(i) for i in indices])

    def _make(self, i: int) -> Array:
        here = self.points[i : i + 1, :]
        with arrays.one_blas_thread():  # see `KernelRowSlab.fetch`
            row = kernels.values(self.kernel, here, self.points)
        return kernels.set_diagonal(self.kernel, row, here, i)[0, :]
