"""Products of a large block with few columns, cut into pieces that a BLAS multiplies without copying them first."""

from __future__ import annotations

import numpy as np

from .devices import Array, is_numpy
from .operations import blocks
from .threads import sum_in_order

_SMALL_PRODUCT = 10**6
"""Multiplications up to which OpenBLAS's kernels for AVX-512 read their operands where they lie."""

_FEW_COLUMNS = 64


def thin_product(block: Array, a: Array) -> Array:
    """``block @ a`` for a large ``block`` and an ``a`` of few columns.

    A BLAS copies the operands of a product into an order of its own first, which for ten columns costs more than the
    product; OpenBLAS leaves that out for small products. So the block goes through in pieces small enough for that:
    for 466 rows of a tile of float32 out of main memory and ten columns 0.13 ms against 0.21 ms, and 0.18 ms against
    0.26 ms where the block lies transposed. With more than about 64 columns, or one, nothing is gained. A side of the
    block that is too long for that is cut as well: 256 rows of 20,000 numbers and ten columns take 1.1 ms against 1.7.

    Small products use one thread. Where other work keeps the cores busy that is far from slower: the threads of one
    product wait for each other, and what takes 0.6 ms alone was seen to take 150.

    Parameters
    ----------
    block : array, shape (m, k)
        In C order or transposed.
    a : array, shape (k, c)

    Returns
    -------
    array, shape (m, c)
    """
    (m, k), c = block.shape, a.shape[1]
    if not is_numpy(block) or not 1 < c <= _FEW_COLUMNS or m * k * c <= _SMALL_PRODUCT:
        return block @ a
    longest = _SMALL_PRODUCT // (128 * c) // 16 * 16
    if block.strides[1] <= block.strides[0]:
        width = _SMALL_PRODUCT // (k * c) // 16 * 16
        if width < 32:
            return sum_in_order([thin_product(block[:, part], a[part]) for part in blocks(k, longest)])
        pieces, whole = m // width, m // width * width
        out = np.empty((m, c), dtype=block.dtype)
        np.matmul(block[:whole].reshape(pieces, width, k), a, out=out[:whole].reshape(pieces, width, c))
        if whole < m:
            np.matmul(block[whole:], a, out=out[whole:])
        return out
    width = _SMALL_PRODUCT // (m * c) // 16 * 16
    if width < 32:
        out = np.empty((m, c), dtype=block.dtype)
        for part in blocks(m, longest):
            out[part] = thin_product(block[part], a)
        return out
    pieces, whole = k // width, k // width * width
    parts = block.T[:whole].reshape(pieces, width, m).transpose(0, 2, 1)
    out = np.matmul(parts, a[:whole].reshape(pieces, width, c)).sum(axis=0)
    if whole < k:
        out += block[:, whole:] @ a[whole:]
    return out
