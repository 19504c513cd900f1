"""Operations that the array API standard lacks or that go faster in place, and consecutive slices.

The standard has no ``out=``; NumPy and CuPy have, and save a pass over memory by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .devices import Array, is_numpy, namespace, supports_out
from .sparse_points import SparsePoints, is_sparse, product


def assigns_by_index(x: Array) -> bool:
    """Whether ``x[rows, columns] = value`` works with arrays of indices, which the standard does not ask for."""
    return supports_out(x)


def matmul_into(a: Array, b: Array, out: Array) -> Array:
    """``out[...] = a @ b``."""
    if is_sparse(a) and is_sparse(b.T):
        return product(a, b.T, out)
    if is_sparse(a) or is_sparse(b.T):
        out[...] = a @ b
        return out
    if supports_out(out):
        return namespace(out).matmul(a, b, out=out)
    out[...] = a @ b
    return out


def corner(x: Array, m: int, n: int) -> Array:
    """``m`` rows and ``n`` columns of the space of a larger C-ordered array.

    For CuPy they lie in one piece, since it multiplies into a result whose rows are parts of longer ones by way of a
    copy; elsewhere they are the upper left corner.
    """
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
    """The same numbers in C order, in memory of their own."""
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
    """Values brought into ``[at_least, at_most]`` in place."""
    xp = namespace(x)
    if is_numpy(x) and x.ndim:
        # NumPy's loop is vectorised against a row, not against a number: 0.09 and 0.32 ms for a million values.
        for bound, nearer in ((at_least, np.maximum), (at_most, np.minimum)):
            if bound is not None:
                nearer(x, np.full(x.shape[-1], bound, dtype=x.dtype), out=x)
        return x
    if supports_out(x):
        if at_least is not None:
            xp.maximum(x, x.dtype.type(at_least), out=x)
        if at_most is not None:
            xp.minimum(x, x.dtype.type(at_most), out=x)
        return x
    x[...] = xp.clip(x, at_least, at_most)
    return x


def row_norms_squared(x: Array) -> Array:
    """Squared Euclidean norms of the rows, in one pass and without a copy of ``x`` where the library allows it."""
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
    """Attributes of an object that was loaded, with copies of its memory maps, which may not be written."""
    return {name: np.array(value) if isinstance(value, np.memmap) else value for name, value in attributes.items()}
