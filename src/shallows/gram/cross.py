"""Products with the rectangular kernel matrix of two sets of points, block by block, and the sizes of blocks."""

from __future__ import annotations

import itertools
import math

from .. import arrays, kernels
from ..arrays import Array
from ..kernels import Kernel
from . import fused

TILE = 1024
"""Edge of a tile of a symmetric matrix: speed is the same from 512 to 2,048 on a CPU."""

BLOCK = 1024
"""Edge of a block of `cross_product` on a CPU."""

GPU_TILE = 8192
"""Edge of a tile or block on a GPU, where each product should use the whole device."""

SMALL_GPU_TILE = 2048
"""Edge of a tile on a GPU with little memory: with 784 features a product still has 6.6 GFLOP."""

FUSED_ROWS = 2**18
"""Rows of a fused product at a time: enough for all threads of a GPU, and few enough to report progress."""

Blocks = dict[tuple[int, int], Array]
"""Parts of a matrix by their first row and column."""


def tile_edge(points: Array, budget: int) -> int:
    """Edge of the tiles of a kernel matrix; on a GPU they are nearly equal, and three use half of the budget."""
    n = max(points.shape[0], 1)
    if arrays.device_of(points).kind == "cpu":
        return min(TILE, n)
    affordable = math.isqrt(max(0, int(budget)) // (6 * arrays.itemsize(points)))
    largest = max(SMALL_GPU_TILE, min(GPU_TILE, affordable // 64 * 64))
    return min(n, -(-n // -(-n // largest) // 64) * 64)


def split_at_tiles(spans: list[slice], rows: slice) -> list[slice]:
    """Parts of consecutive rows that are in one tile row each. ``spans``: the rows of each tile row."""
    n = spans[-1].stop if spans else 0
    if not 0 <= rows.start <= rows.stop <= n:
        raise IndexError(f"rows {rows.start}:{rows.stop} of a matrix of {n}")
    edges = sorted({rows.start, rows.stop, *(s.start for s in spans if rows.start < s.start < rows.stop)})
    return [slice(first, last) for first, last in itertools.pairwise(edges)]


def cross_product(
    kernel: Kernel,
    x: Array,
    points: Array,
    a: Array,
    *,
    budget: int,
    extra: Array | None = None,
    kept: Blocks | None = None,
) -> Array:
    """``k(x, points) @ a``, shape (m, c), without storing the matrix.

    ``x`` (m, d). ``points`` (n, d + 2): augmented centers. ``a`` (n, c). ``budget``: bytes of the blocks. ``extra``
    (m,): squared distances in features that are not in ``points``. ``kept``: blocks that are added here and found again
    in calls with the same arguments; not used if `shallows.gram.fused` is applicable.
    """
    xp = arrays.namespace(x)
    m, n = x.shape[0], points.shape[0]
    if fused.is_applicable(kernel, points, a):
        out = xp.empty((m, a.shape[1]), dtype=a.dtype)
        for span in arrays.blocks(m, FUSED_ROWS):
            out[span, :] = fused.product(kernel, x[span, :], points, a, None if extra is None else extra[span])
        return out
    n_workers = arrays.workers_for(x)
    default = BLOCK if arrays.device_of(x).kind == "cpu" else GPU_TILE
    edge = max(16, min(default, math.isqrt(max(1, int(budget) // (2 * n_workers * arrays.itemsize(x))))))
    out = xp.zeros((m, a.shape[1]), dtype=a.dtype)
    tall = edge * n_workers
    for span in arrays.blocks(m, tall):
        rows = list(arrays.blocks(span.stop - span.start, -(-(span.stop - span.start) // n_workers)))

        def work(worker: int, span: slice = span, rows: list[slice] = rows) -> None:
            if worker >= len(rows):
                return
            mine = slice(span.start + rows[worker].start, span.start + rows[worker].stop)
            left, scratch = None, None
            for columns in arrays.blocks(n, edge):
                block = None if kept is None else kept.get((mine.start, columns.start))
                if block is None:
                    if left is None:
                        here = kernels.augmented(x[mine, :])
                        if extra is not None:
                            here[:, -2] += extra[mine]
                        left = kernel.left_factor(here)
                    if scratch is None or kept is not None:
                        scratch = xp.empty((left.shape[0], min(edge, n)), dtype=x.dtype)
                    block = arrays.corner(scratch, left.shape[0], columns.stop - columns.start)
                    kernel.fill(left, points[columns, :], block)
                    if kept is not None:
                        kept[mine.start, columns.start] = block
                out[mine, :] += block @ a[columns, :]

        arrays.in_threads(work, n_workers)
    return out
