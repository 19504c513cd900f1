"""The columns of a kernel matrix that belong to one process, for products that all processes add up."""

from __future__ import annotations

import threading

from .. import arrays, kernels
from ..arrays import Array
from ..gram import TILE
from ..kernels import Kernel
from ..ranks import Alone


class OwnColumns:
    """The kernel values of all n points with those that belong to this process, in tiles that are kept while they fit.

    The point of number i belongs to the process of rank i modulo the number of processes, so that each of them has an
    equal share of every batch and of the subsample of a preconditioner. All processes have the same augmented points.
    """

    def __init__(self, ranks: Alone, kernel: Kernel, points: Array, *, budget: int):
        self.ranks, self.kernel, self.points, self.n = ranks, kernel, points, points.shape[0]
        self.own = arrays.contiguous_copy(points[ranks.own(self.n), :])
        self.tile = min(TILE, max(1, self.n))
        self._spans = list(arrays.blocks(self.own.shape[0], self.tile))
        self._n_workers = max(1, min(arrays.workers_for(points), len(self._spans)))
        size = arrays.itemsize(points)
        self._n_numbers = self.n * self.own.shape[0]
        self._room = max(0, int(budget) // size - 3 * self._n_workers * self.tile**2)
        self._kept: dict[tuple[int, int, int], Array] = {}
        self._lock = threading.Lock()

    @property
    def kept_fraction(self) -> float:
        """Share of the values that are kept now."""
        return sum(tile.shape[0] * tile.shape[1] for tile in self._kept.values()) / max(1, self._n_numbers)

    def rows_dot(self, batch: slice, a: Array, head: int = 0, *, keeps: bool = True) -> tuple[Array, Array]:
        """What this process adds to ``K[batch] @ a``, and its first columns.

        ``head``: how many of the first own columns to hand out. ``keeps``: whether tiles may be kept, for the next time
        that the same batch comes.
        """
        xp, m = arrays.namespace(a), batch.stop - batch.start
        columns = xp.empty((m, head), dtype=a.dtype)
        pieces = list(arrays.blocks(m, self.tile))

        def work(worker: int) -> Array:
            out = xp.zeros((m, a.shape[1]), dtype=a.dtype)
            lefts: list[Array | None] = [None] * len(pieces)
            scratch = xp.empty((self.tile, self.tile), dtype=a.dtype)
            for span in self._spans[worker :: self._n_workers]:
                for p, piece in enumerate(pieces):
                    rows = slice(batch.start + piece.start, batch.start + piece.stop)
                    block = self._kept.get((rows.start, rows.stop, span.start))
                    if block is None:
                        if lefts[p] is None:
                            lefts[p] = self.kernel.left_factor(self.points[rows, :])
                        block = self._made(lefts[p], rows, span, scratch, keeps)
                    out[piece, :] += arrays.thin_product(block, a[span, :])
                    if span.start < head:
                        width = min(span.stop, head) - span.start
                        columns[piece, span.start : span.start + width] = block[:, :width]
            return out

        return arrays.sum_in_order(arrays.in_threads(work, self._n_workers)), columns

    def energy(self, batch: slice, g: Array) -> Array:
        """What this process adds to ``gᵀ K_SS g`` of each column of ``g``, shape (m, c), for the batch S; (1, c)."""
        xp = arrays.namespace(g)
        mine, total = self.ranks.local(batch), xp.zeros((1, g.shape[1]), dtype=g.dtype)
        if mine.start >= mine.stop:
            return total
        own = g[(self.ranks.rank - batch.start) % self.ranks.size :: self.ranks.size, :]
        for piece in arrays.blocks(g.shape[0], self.tile):
            rows = slice(batch.start + piece.start, batch.start + piece.stop)
            left = self.kernel.left_factor(self.points[rows, :])
            block = xp.empty((left.shape[0], mine.stop - mine.start), dtype=g.dtype)
            self._fill(left, rows, mine, block)
            total += xp.sum(g[piece, :] * arrays.thin_product(block, own), axis=0)[None, :]
        return total

    def dot(self, a: Array) -> Array:
        """``K @ a`` for ``a`` of shape (n, c), added up over all processes."""
        xp = arrays.namespace(a)
        mine = arrays.contiguous_copy(a[self.ranks.own(self.n), :])
        parts = [self.rows_dot(rows, mine, keeps=False)[0] for rows in arrays.blocks(self.n, self.tile)]
        return self.ranks.sum(xp.concat(parts))

    def _made(self, left: Array, rows: slice, span: slice, scratch: Array, keeps: bool) -> Array:
        """A tile, which is kept, if it may be, while there is room."""
        shape = (rows.stop - rows.start, span.stop - span.start)
        with self._lock:
            keeps = keeps and self._room >= shape[0] * shape[1]
            self._room -= shape[0] * shape[1] if keeps else 0
        xp = arrays.namespace(scratch)
        block = xp.empty(shape, dtype=scratch.dtype) if keeps else arrays.corner(scratch, *shape)
        self._fill(left, rows, span, block)
        if keeps:
            self._kept[rows.start, rows.stop, span.start] = block
        return block

    def _fill(self, left: Array, rows: slice, span: slice, block: Array) -> None:
        """Kernel values of some of the n points with some of the own ones; exact where a point meets itself."""
        self.kernel.fill(left, self.own[span, :], block)
        self.ranks.count(block.shape[0] * block.shape[1])
        met = self.ranks.local(rows)
        first, last = max(met.start, span.start), min(met.stop, span.stop)
        if first >= last:
            return
        size = self.ranks.size
        row = first * size + self.ranks.rank - rows.start
        # Its own points stand in every size-th row, so that these rows and columns have a diagonal of their own.
        common = block[row : row + (last - first - 1) * size + 1 : size, first - span.start : last - span.start]
        if arrays.supports_out(block):
            kernels.set_diagonal(self.kernel, common, self.own[first:last, :])
