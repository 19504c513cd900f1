"""Products with the kernel matrix of many points and fewer centers, and with its transpose, in one pass."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .. import arrays
from ..arrays import Array
from ..kernels import Kernel
from . import cross, fused
from .cross import GPU_TILE

STRIP = 256
"""Rows of a strip on a CPU, which is stored between the two products: 10 MB for 10,000 columns."""

COLUMNS = 512
"""Columns of a strip that are computed at a time on a CPU: with 1,024 a pass takes 4 to 9 % longer."""


class KeptStrips:
    """Strips of a rectangular kernel matrix that stay in memory between passes over the same rows, while there is room.

    ``n``: rows of the whole matrix. ``centers`` (p, d + 2): augmented. ``budget``: bytes of the strips.
    """

    def __init__(self, n: int, centers: Array, budget: int):
        self._like, self._spans = centers, _spans(centers)
        self._height = _height(centers)
        width = max(span.stop - span.start for span in self._spans)
        self._shape = len(self._spans), self._height, width
        slot = len(self._spans) * self._height * width * arrays.itemsize(centers)
        # A batch that is not a multiple of the height of a strip has a lower strip.
        self._n_slots = min(max(0, int(budget)) // slot, 2 * -(-n // self._height) + 1)
        self._slots: Any = None
        self._strips: dict[tuple[int, int], int] = {}
        self._made: set[tuple[int, int]] = set()
        self._n, self._lock = n, threading.Lock()

    @property
    def n_rows(self) -> int:
        """Number of rows whose values can be kept, for batches that are much larger than a strip."""
        return min(self._n, self._n_slots * self._height)

    @property
    def kept_fraction(self) -> float:
        """Share of the rows whose values are kept now."""
        return sum(stop - start for start, stop in self._made) / self._n

    def blocks(self, rows: slice) -> tuple[list[Array] | None, bool]:
        """Arrays for the kept values of some rows by span of centers, or None; and whether they are filled."""
        key = rows.start, rows.stop
        with self._lock:
            if key not in self._strips:
                if len(self._strips) >= self._n_slots:
                    return None, False
                if self._slots is None:
                    # The system allocates memory only when it is written to.
                    shape = (self._n_slots, *self._shape)
                    self._slots = arrays.namespace(self._like).empty(shape, dtype=self._like.dtype)
                self._strips[key] = len(self._strips)
            slot = self._slots[self._strips[key]]
        m = rows.stop - rows.start
        parts = [arrays.corner(slot[k], m, span.stop - span.start) for k, span in enumerate(self._spans)]
        return parts, key in self._made

    def finish(self, rows: slice) -> None:
        """Mark the arrays of some rows as filled."""
        with self._lock:
            self._made.add((rows.start, rows.stop))


def _height(points: Array) -> int:
    return STRIP if arrays.device_of(points).kind == "cpu" else GPU_TILE


def _spans(centers: Array) -> list[slice]:
    """Parts of the centers of nearly equal size, a multiple of 16."""
    p, widest = centers.shape[0], COLUMNS if arrays.device_of(centers).kind == "cpu" else GPU_TILE
    return list(arrays.blocks(p, -(-p // (16 * -(-p // widest))) * 16))


def forward_and_back(
    kernel: Kernel,
    points: Array,
    centers: Array,
    a: Array,
    respond: Callable[[Array, slice], tuple[Array, Any]],
    *,
    budget: int,
    kept: KeptStrips | None = None,
    first: int = 0,
    sums: Any = None,
) -> tuple[Array, Any]:
    """``K.T @ respond(K @ a)`` for ``K = k(points, centers)``, and the sum of the second results of ``respond``.

    Each kernel value is computed once for both products, in strips of rows, because it costs more than the products. If
    `shallows.gram.fused` is applicable, computing it twice is faster than storing it.

    ``respond`` gets ``K[rows] @ a`` and the rows, and returns an array of the same shape and a number or array; several
    threads call it. ``budget``: bytes of the strips. ``kept``: strips for later calls; ``first`` is the number of the
    first point among all of its rows. ``sums``: dtype of the sum of products.
    """
    xp = arrays.namespace(points)
    m, p = points.shape[0], centers.shape[0]
    sums = sums or a.dtype
    if fused.is_applicable(kernel, centers, a):
        product, total = _fused(kernel, points, centers, a, respond)
        return arrays.astype(product, sums), total
    n_workers = min(arrays.workers_for(points), max(1, m // 64))
    affordable = int(budget) // max(1, n_workers * p * arrays.itemsize(points))
    height = max(16, min(_height(points), affordable))
    # Strips of equal height, so that all workers end at the same time.
    n_strips = -(-m // height)
    n_strips = min(m, -(-n_strips // n_workers) * n_workers)
    height = -(-m // n_strips)
    strips, spans = list(arrays.blocks(m, height)), _spans(centers)

    def work(worker: int) -> tuple[Array, Any]:
        total, out = 0.0, xp.zeros((p, a.shape[1]), dtype=sums)
        scratch: list[Array] = []
        for rows in strips[worker::n_workers]:
            here = slice(first + rows.start, first + rows.stop)
            blocks, made = (None, False) if kept is None else kept.blocks(here)
            keeps = blocks is not None
            if blocks is None:
                scratch = scratch or [xp.empty((height, span.stop - span.start), dtype=points.dtype) for span in spans]
                blocks = [block[: rows.stop - rows.start, :] for block in scratch]
            left = None if made else kernel.left_factor(points[rows, :])
            values: Any = None
            for span, block in zip(spans, blocks, strict=True):
                if not made:
                    kernel.fill(left, centers[span, :], block)
                part = arrays.thin_product(block, a[span, :])
                values = part if values is None else values + part
            if keeps and not made:
                kept.finish(here)
            response, number = respond(values, rows)
            total = total + number
            for span, block in zip(spans, blocks, strict=True):
                out[span, :] += arrays.astype(arrays.thin_product(block.T, response), sums)
        return out, total

    products, totals = zip(*arrays.in_threads(work, n_workers), strict=True)
    return arrays.sum_in_order(list(products)), sum(totals)


def _fused(
    kernel: Kernel,
    points: Array,
    centers: Array,
    a: Array,
    respond: Callable[[Array, slice], tuple[Array, Any]],
) -> tuple[Array, Any]:
    total, out = 0.0, arrays.namespace(points).zeros_like(a)
    for rows in arrays.blocks(points.shape[0], cross.FUSED_ROWS):
        here = points[rows, :]
        response, number = respond(fused.product(kernel, here, centers, a), rows)
        total = total + number
        # The kernel is symmetric, so the transposed product is the product of centers and points.
        out += fused.product(kernel, centers, here, response)
    return out, total
