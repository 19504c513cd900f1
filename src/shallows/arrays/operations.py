"""Operations that the array API standard lacks, or that are faster in place or in pieces."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from .devices import Array, is_numpy, namespace, supports_out
from .sparse_points import SparsePoints, is_sparse, product
from .threads import sum_in_order


def matmul_into(a: Array, b: Array, out: Array) -> Array:
    """``out[...] = a @ b``."""
    if is_sparse(a) and is_sparse(b.T):
        return product(a, b.T, out)
    if supports_out(out) and not is_sparse(a) and not is_sparse(b.T):
        return namespace(out).matmul(a, b, out=out)
    out[...] = a @ b
    return out


def corner(x: Array, m: int, n: int) -> Array:
    """``m`` rows and ``n`` columns in the memory of a larger array; contiguous for CuPy, which copies strided ones."""
    if is_numpy(x) or not supports_out(x):
        return x[:m, :n]
    return x.reshape(-1)[: m * n].reshape(m, n)


def contiguous(x: Array) -> Array:
    """The same numbers in C order; products with reversed or strided views are slow."""
    if isinstance(x, SparsePoints):
        return x
    if supports_out(x):
        return namespace(x).ascontiguousarray(x)
    return namespace(x).asarray(x, copy=True)


def contiguous_copy(x: Array) -> Array:
    """A copy in C order."""
    if isinstance(x, SparsePoints):
        return x.astype(x.dtype, copy=True)
    if supports_out(x):
        return namespace(x).array(x, order="C", copy=True)
    return namespace(x).asarray(x, copy=True)


def apply_in_place(name: str, x: Array) -> Array:
    """``x[...] = xp.<name>(x)`` for a function of one argument, such as ``"exp"`` or ``"sqrt"``."""
    function = getattr(namespace(x), name)
    if supports_out(x):
        return function(x, out=x)
    x[...] = function(x)
    return x


def clip_in_place(x: Array, *, at_least: float | None = None, at_most: float | None = None) -> Array:
    """Clip values to ``[at_least, at_most]`` in place."""
    xp = namespace(x)
    if not supports_out(x):
        x[...] = xp.clip(x, at_least, at_most)
        return x
    for bound, nearer in ((at_least, xp.maximum), (at_most, xp.minimum)):
        if bound is not None:
            # NumPy is faster with a row than with a number: 0.09 and 0.32 ms for a million values.
            in_rows = is_numpy(x) and x.ndim
            nearer(x, np.full(x.shape[-1], bound, dtype=x.dtype) if in_rows else x.dtype.type(bound), out=x)
    return x


def row_norms_squared(x: Array) -> Array:
    """Squared Euclidean norms of the rows, in one pass and without a copy of ``x`` if the library allows it."""
    if is_sparse(x):
        return x.norms_squared()
    if supports_out(x):
        return namespace(x).einsum("ij,ij->i", x, x)
    return namespace(x).sum(x * x, axis=1)


def diagonal(matrix: Array) -> Array:
    """A view of the diagonal."""
    xp = namespace(matrix)
    return xp.linalg.diagonal(matrix) if hasattr(xp.linalg, "diagonal") else xp.diagonal(matrix)


def blocks(n: int, size: int) -> Iterable[slice]:
    """Consecutive slices that cover ``range(n)``."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def writable(attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes of a loaded object. Memory maps are copied, because they are read-only."""
    return {name: np.array(value) if isinstance(value, np.memmap) else value for name, value in attributes.items()}


_SMALL_PRODUCT = 10**6
"""Number of multiplications up to which OpenBLAS for AVX-512 reads the operands without copying them."""

_FEW_COLUMNS = 64


def thin_product(block: Array, a: Array) -> Array:
    """``block @ a`` for a large ``block`` (m, k), C-ordered or transposed, and an ``a`` (k, c) with few columns.

    A BLAS first copies the operands into its own order, which for ten columns costs more than the product. OpenBLAS
    does not copy them for small products, so the block is multiplied in small pieces, in one thread: 466 rows of a tile
    of float32 with ten columns take 0.13 ms instead of 0.21 ms, and 256 rows of 20,000 numbers 1.1 ms instead of 1.7.
    There is no gain for one column or more than about 64.
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
        return np.concatenate([thin_product(block[part], a) for part in blocks(m, longest)])
    pieces, whole = k // width, k // width * width
    parts = block.T[:whole].reshape(pieces, width, m).transpose(0, 2, 1)
    out = np.matmul(parts, a[:whole].reshape(pieces, width, c)).sum(axis=0)
    if whole < k:
        out += block[:, whole:] @ a[whole:]
    return out
