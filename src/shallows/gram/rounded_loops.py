"""Products with kernel values that are kept in 16 bits, in one pass over them.

The plain reference writes the values as float32 (`from_16_bits`) before it multiplies (`arrays.thin_product`). On an
EPYC with AVX-512, one thread, 472 rows of tiles of 1,024 × 1,024 took, in ns for each kernel value:

=================  =====  =====  =====
columns                5     10     20
=================  =====  =====  =====
rows               0.15   0.20   0.29
reference          0.38   0.39   0.56
transposed         0.14   0.19   0.33
reference          0.63   0.61   0.78
=================  =====  =====  =====

Reading the values takes 0.07 and the products with 20 columns 0.19. An EPYC with AVX2, which has 16 vector
registers, takes 1.40 (rows) and 1.95 (transposed) with 20 columns, 1.92 and 2.39 with 20 sums at a time, and 1.64 and
2.8 by the reference; the bare product takes 1.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..kernels.compiled_loops import OPTIONS, STEPS, ZERO
from ..utils.compilation import njit

SUMS = {**OPTIONS, "fastmath": {"contract", "reassoc", "nsz"}}
"""Sums in any order, without which the compiler does not vectorize them."""

ROWS, COLUMNS = 4, 5
"""Rows of values that are decoded at a time, and columns of a factor. The innermost loops have the sums of two rows, or
of two or three columns, which fit into the 16 vector registers of AVX2."""

VECTOR = 16
"""Lengths are rounded up to this number of values, because the loops for the rest take as long as 10 vectors."""

AHEAD = 8
"""Rows between the values that are decoded and those that the processor is told to read."""


def product(
    store: np.ndarray, n: int, rows: list[slice], columns: list[slice], a: np.ndarray, start: int = 0
) -> np.ndarray:
    """``K[rows, columns] @ a[columns - start]``, shape (m, c), for ranges of m rows and of columns, each in one tile.

    ``store`` (p, t, t): tiles (i, j) with i ≤ j of the upper triangle of a matrix of n rows, row by row. ``a`` (k, c):
    float32.
    """
    m, c = sum(part.stop - part.start for part in rows), a.shape[1]
    padded = -(-c // COLUMNS) * COLUMNS
    edge = -(-store.shape[1] // VECTOR) * VECTOR
    out, transposed = np.zeros((m + ROWS, padded), np.float32), np.zeros((padded, m + VECTOR), np.float32)
    space = np.zeros((ROWS, edge), np.float32), np.zeros((padded, edge + ROWS), np.float32)
    ranges = (np.array([(x.start, x.stop) for x in spans], np.int64).reshape(-1, 2) for spans in (rows, columns))
    add_products(store, -(-n // store.shape[1]), *ranges, np.ascontiguousarray(a), start, *space, out, transposed)
    return (out[:m, :c] + transposed[:c, :m].T) * (1 / STEPS)


@intrinsic
def prefetch(context: Any, address: Any) -> Any:
    """Tell the processor to read the cache line at an address. It does not see by itself that parts of rows follow."""
    pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        builder.call(function, [builder.inttoptr(arguments[0], pointer), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(types.intp), generate


@njit(inline="always")
def decode(tile, i, stop, first, width, decoded):
    """Write columns of the rows i, …, i + 3 before ``stop`` as float32, and zeros beyond them up to a whole vector."""
    for k in range(ROWS):
        own = decoded[k]
        address = tile.ctypes.data + tile.strides[0] * (i + k + AHEAD) + 2 * first
        for offset in range(0, 2 * width, 64):
            prefetch(address + offset)
        n_values = width if i + k < stop else 0
        values = tile[i + k][first : first + n_values]
        for j in range(n_values):
            own[j] = np.float32(values[j])
        for j in range(n_values, -(-width // VECTOR) * VECTOR):
            own[j] = ZERO


@njit(**SUMS)
def add_rows(tile, i, stop, first, width, factor, decoded, out):
    """``out += tile[i:stop, first : first + width] @ factor.T``."""
    for row in range(0, stop - i, ROWS):
        decode(tile, i + row, stop, first, width, decoded)
        for pair in range(0, ROWS, 2):
            t0, t1 = decoded[pair], decoded[pair + 1]
            for c in range(0, factor.shape[0], COLUMNS):
                a0, a1, a2, a3, a4 = factor[c], factor[c + 1], factor[c + 2], factor[c + 3], factor[c + 4]
                s00 = s01 = s02 = s03 = s04 = s10 = s11 = s12 = s13 = s14 = ZERO
                for j in range(-(-width // VECTOR) * VECTOR):
                    x0, x1 = t0[j], t1[j]
                    s00, s10 = s00 + x0 * a0[j], s10 + x1 * a0[j]
                    s01, s11 = s01 + x0 * a1[j], s11 + x1 * a1[j]
                    s02, s12 = s02 + x0 * a2[j], s12 + x1 * a2[j]
                    s03, s13 = s03 + x0 * a3[j], s13 + x1 * a3[j]
                    s04, s14 = s04 + x0 * a4[j], s14 + x1 * a4[j]
                for k, some in enumerate(((s00, s01, s02, s03, s04), (s10, s11, s12, s13, s14))):
                    for q in range(COLUMNS):
                        out[row + pair + k, c + q] += some[q]


@njit(**SUMS)
def add_columns(tile, i, stop, first, width, factor, decoded, out, start):
    """``out[:, start : start + width] += factor @ tile[i:stop, first : first + width]``."""
    t0, t1, t2, t3 = decoded[0], decoded[1], decoded[2], decoded[3]
    for row in range(0, stop - i, ROWS):
        decode(tile, i + row, stop, first, width, decoded)
        for c in range(0, factor.shape[0], COLUMNS):
            a0, a1, a2, a3, a4 = factor[c], factor[c + 1], factor[c + 2], factor[c + 3], factor[c + 4]
            b00, b10, b20, b30 = a0[row], a0[row + 1], a0[row + 2], a0[row + 3]
            b01, b11, b21, b31 = a1[row], a1[row + 1], a1[row + 2], a1[row + 3]
            b02, b12, b22, b32 = a2[row], a2[row + 1], a2[row + 2], a2[row + 3]
            b03, b13, b23, b33 = a3[row], a3[row + 1], a3[row + 2], a3[row + 3]
            b04, b14, b24, b34 = a4[row], a4[row + 1], a4[row + 2], a4[row + 3]
            o0, o1, o2 = out[c][start:], out[c + 1][start:], out[c + 2][start:]
            o3, o4 = out[c + 3][start:], out[c + 4][start:]
            for j in range(-(-width // VECTOR) * VECTOR):
                x0, x1, x2, x3 = t0[j], t1[j], t2[j], t3[j]
                o0[j] += x0 * b00 + x1 * b10 + x2 * b20 + x3 * b30
                o1[j] += x0 * b01 + x1 * b11 + x2 * b21 + x3 * b31
            for j in range(-(-width // VECTOR) * VECTOR):
                x0, x1, x2, x3 = t0[j], t1[j], t2[j], t3[j]
                o2[j] += x0 * b02 + x1 * b12 + x2 * b22 + x3 * b32
                o3[j] += x0 * b03 + x1 * b13 + x2 * b23 + x3 * b33
                o4[j] += x0 * b04 + x1 * b14 + x2 * b24 + x3 * b34


@njit(**OPTIONS)
def add_products(store, n_tiles, rows, columns, a, start_of_a, decoded, factor, out, transposed):
    """Add the sums of `product` to ``out`` for tiles as they are kept, and to ``transposed`` for the others."""
    edge = store.shape[1]
    for q in range(columns.shape[0]):
        first, width = columns[q, 0] - start_of_a, columns[q, 1] - columns[q, 0]
        for j in range(width):
            for c in range(a.shape[1]):
                factor[c, j] = a[first + j, c]
        j, y = columns[q, 0] // edge, columns[q, 0] % edge
        start = 0
        for p in range(rows.shape[0]):
            height = rows[p, 1] - rows[p, 0]
            i, x = rows[p, 0] // edge, rows[p, 0] % edge
            low, high = min(i, j), max(i, j)
            tile = store[low * n_tiles - low * (low - 1) // 2 + high - low]
            if i <= j:
                add_rows(tile, x, x + height, y, width, factor, decoded, out[start:])
            else:
                add_columns(tile, y, y + width, x, height, factor, decoded, transposed, start)
            start += height
