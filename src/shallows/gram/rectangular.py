"""Products with the rectangular kernel matrix of many points and fewer centres, both ways in one pass over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import arrays, kernels
from ..arrays import Array
from ..kernels import Kernel
from . import cross, fused
from .tiles import GPU_TILE

STRIP = 256
"""Rows that are held between the two products on a CPU: a strip of 256 rows and 10,000 columns is 10 MB."""

COLUMNS = 512
"""Columns of a strip that are made at a time on a CPU: with 1,024, of 1 MB, a pass over 10,000 centres and 54 features
takes 4 to 9 % longer."""


def forward_and_back(
    kernel: Kernel,
    points: Array,
    centres: Array,
    a: Array,
    respond: Callable[[Array, slice], tuple[Array, float]],
    *,
    budget: int,
) -> tuple[Array, float]:
    """``K.T @ respond(K @ a)`` for ``K = k(points, centres)``, of which no more than a strip of rows is held.

    Values of the kernel cost several times what the products with few columns do, so each is made once and serves both;
    but where `shallows.gram.fused` applies, to make it twice costs less than to write it down.

    ``points`` (m, d + 2): augmented. ``centres`` (p, d + 2): augmented. ``a`` (p, c). ``respond``: given ``K[rows] @
    a`` and the rows, returns an array of the same shape and a number. It is called from several threads. ``budget``:
    Bytes that the strips may take; at the least 16 rows a worker are held. Returns ``product`` (p, c); ``total``: the
    sum of the numbers.
    """
    xp = arrays.namespace(points)
    m, p = points.shape[0], centres.shape[0]
    if fused.applies(kernel, centres, a):
        return _fused(kernel, points, centres, a, respond)
    on_cpu = arrays.device_of(points).kind == "cpu"
    n_workers = min(arrays.workers_for(points), max(1, m // 64))
    affordable = int(budget) // max(1, n_workers * p * arrays.itemsize(points))
    height = max(16, min(STRIP if on_cpu else GPU_TILE, affordable))
    # Strips of one height each, so that no worker waits for another at the end.
    n_strips = -(-m // height)
    n_strips = min(m, -(-n_strips // n_workers) * n_workers)
    height = -(-m // n_strips)
    strips = list(arrays.blocks(m, height))
    spans = list(arrays.blocks(p, COLUMNS if on_cpu else GPU_TILE))

    def work(worker: int) -> tuple[Array, float]:
        total, out = 0.0, xp.zeros((p, a.shape[1]), dtype=a.dtype)
        scratch = [xp.empty((height, span.stop - span.start), dtype=points.dtype) for span in spans]
        for rows in strips[worker::n_workers]:
            left = kernels.left_factor(kernel, points[rows, :])
            blocks = [block[: rows.stop - rows.start, :] for block in scratch]
            values: Any = None
            for span, block in zip(spans, blocks, strict=True):
                kernels.fill(kernel, left, centres[span, :], block)
                part = arrays.thin_product(block, a[span, :])
                values = part if values is None else values + part
            response, number = respond(values, rows)
            total += number
            for span, block in zip(spans, blocks, strict=True):
                out[span, :] += arrays.thin_product(block.T, response)
        return out, total

    products, totals = zip(*arrays.in_threads(work, n_workers), strict=True)
    return arrays.sum_in_order(list(products)), float(sum(totals))


def _fused(
    kernel: Kernel,
    points: Array,
    centres: Array,
    a: Array,
    respond: Callable[[Array, slice], tuple[Array, float]],
) -> tuple[Array, float]:
    total, out = 0.0, arrays.namespace(points).zeros_like(a)
    for rows in arrays.blocks(points.shape[0], cross.FUSED_ROWS):
        here = points[rows, :]
        response, number = respond(fused.product(kernel, here, centres, a), rows)
        total += number
        # The kernel is symmetric, so the transposed product is that of centres and points.
        out += fused.product(kernel, centres, here, response)
    return out, float(total)
