"""Products with the rectangular kernel matrix of two sets of points, block by block."""

from __future__ import annotations

import math
from collections.abc import Callable

from .. import arrays, kernels
from ..arrays import Array
from ..kernels import Kernel
from . import fused
from .tiles import GPU_TILE, TILE

FUSED_ROWS = 2**18
"""Rows of a fused product at a time: enough for every thread of a GPU, and few enough to tell of progress."""

Blocks = dict[tuple[int, int], Array]
"""Parts of a matrix by their first row and column."""


def cross_product(
    kernel: Kernel,
    x: Array,
    points: Array,
    a: Array,
    *,
    budget: int,
    extra: Array | None = None,
    observe: Callable[[int], None] | None = None,
    kept: Blocks | None = None,
) -> Array:
    """``k(x, points) @ a`` without the matrix between.

    Parameters
    ----------
    kernel : Kernel
    x : array, shape (m, d)
        Where the function is evaluated.
    points : array, shape (n, d + 2)
        Augmented centres, as in ``Gram.points``.
    a : array, shape (n, c)
        Coefficients.
    budget : int
        Bytes that the blocks may take.
    extra : array, shape (m,), optional
        Squared distance that features outside ``points`` add (columns that were constant in training and left out).
    observe : callable, optional
        Told the number of rows done after each block of rows.
    kept : dict, optional
        Where the blocks of the matrix are kept, all m n values of it, and found again by a later product with the same
        ``x``, ``points``, ``extra`` and ``budget``, which comes out the same to the bit. Not used where
        `shallows.gram.fused` applies.

    Returns
    -------
    array, shape (m, c)
    """
    xp = arrays.namespace(x)
    m, n = x.shape[0], points.shape[0]
    if fused.applies(kernel, points, a):
        out = xp.empty((m, a.shape[1]), dtype=a.dtype)
        for span in arrays.blocks(m, FUSED_ROWS):
            out[span, :] = fused.product(kernel, x[span, :], points, a, None if extra is None else extra[span])
            if observe is not None:
                observe(span.stop)
        return out
    n_workers = arrays.workers_for(x)
    default = TILE if arrays.device_of(x).kind == "cpu" else GPU_TILE
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
        if observe is not None:
            observe(span.stop)
    return out
