"""A kernel matrix of whole rows, for batches that are drawn again in every epoch."""

from __future__ import annotations

import numpy as np

from .. import arrays, kernels
from ..arrays import Array
from ..kernels import Kernel
from ..kernels.compiled import compiled_kernel
from ..utils import progress
from .cross import tile_edge
from .matrix import Columns
from .whole import product_with_rows


class ShuffledGram:
    """The kernel matrix K of n augmented points for batches of any rows.

    The first rows are kept while they fit, and other rows are computed when a batch needs them. (`Gram` keeps square
    tiles, and any rows would need a part of nearly every tile.) An error is raised if a batch of ``batch_size`` rows
    does not fit.
    """

    def __init__(self, kernel: Kernel, points: Array, *, budget: int, batch_size: int):
        xp = arrays.namespace(points)
        self.kernel, self.points, self.n = kernel, points, points.shape[0]
        self._compiled = compiled_kernel(kernel, points, self.n * self.n)
        self._on_cpu = arrays.device_of(points).kind == "cpu"
        self._spans = list(arrays.blocks(self.n, tile_edge(points, budget) if self._on_cpu else self.n))
        self._n_workers = min(arrays.workers_for(points), len(self._spans))
        batch_size, bytes_of_row = min(batch_size, self.n), self.n * arrays.itemsize(points)
        what = f"{batch_size:,} rows of {self.n:,} kernel values take"
        arrays.check_room(what, batch_size * bytes_of_row, budget, "Take a smaller batch_size or shuffle=False.")
        n_kept = min(self.n, int(budget) // bytes_of_row - batch_size)
        self.kept_fraction = n_kept / self.n
        self.spare_bytes = int(budget) - (n_kept + batch_size) * bytes_of_row
        self._batch = xp.empty((batch_size, self.n), dtype=points.dtype)
        self._kept = xp.empty((n_kept, self.n), dtype=points.dtype)
        parts = list(arrays.blocks(n_kept, 1024))
        progress_of_rows = progress.Part("kernel matrix", len(parts))
        for part in parts:
            self._make(np.arange(part.start, part.stop), self._kept[part, :])
            progress_of_rows.advance()

    def _make(self, batch: np.ndarray, out: Array) -> None:
        """Write some rows of K into ``out``, shape (m, n)."""
        if not len(batch):
            return
        points = arrays.take_rows(self.points, batch)
        left = self._compiled.left_factor(points)

        def work(worker: int) -> None:
            for span in self._spans[worker :: self._n_workers]:
                self._compiled.fill(left, self.points[span, :], out[:, span])

        arrays.in_threads(work, self._n_workers)
        xp = arrays.namespace(out)
        out[xp.arange(len(batch)), xp.asarray(batch)] = self.kernel.diagonal(points[:, :-2])

    def rows_dot(self, batch: np.ndarray, a: Array, head: int = 0) -> tuple[Array, Columns | None]:
        """``K[batch] @ a`` and ``K[batch, :head]``, valid until the next call, for ascending row numbers."""
        out, n_kept = self._batch[: len(batch), :], self._kept.shape[0]
        first = int(np.searchsorted(batch, n_kept))
        if not self._on_cpu:
            out[:first, :] = arrays.take_rows(self._kept, batch[:first])
        else:
            # Row by row, because a copy of all rows would need new memory.
            def copy(worker: int) -> None:
                for place in range(worker, first, self._n_workers):
                    out[place, :] = self._kept[int(batch[place]), :]

            arrays.in_threads(copy, self._n_workers)
        self._make(batch[first:], out[first:, :])
        return product_with_rows(out, a, head, self._n_workers)

    def energy(self, batch: np.ndarray, a: Array) -> Array:
        """``aᵀ K_SS a`` of each column of ``a``, shape (m, c), for the points S of a batch; shape (1, c)."""
        block = kernels.matrix(self.kernel, arrays.take_rows(self.points, batch))
        return arrays.namespace(a).sum(a * (block @ a), axis=0)[None, :]

    def dot(self, a: Array) -> Array:
        """``K @ a`` for ``a`` of shape (n, c)."""
        parts = arrays.blocks(self.n, self._batch.shape[0])
        products = [self.rows_dot(np.arange(part.start, part.stop), a)[0] for part in parts]
        return arrays.namespace(a).concat(products, axis=0)
