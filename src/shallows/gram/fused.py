"""K(x, z) @ w for points with few features on a GPU, without a kernel matrix in memory.

With few features, the memory traffic of a block of values takes longer than its arithmetic. ``fused.cu`` works in
registers and shared memory. Its plain reference is `shallows.gram.cross_product`.

Errors in float32, with ε = 1.2e-7 and kernel values of at most 1: d ε/2 for a squared distance (relative), and
(TILE/2 + 4) ε Σ|K w| for a sum. Measured on a CPU: 1.5 ε for a kernel value, and 0.6 ε Σ|K w| for a sum of 10³ to 10⁶
points. CuPy flushes subnormal numbers, so values below 1.2e-38 are zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from .. import arrays, kernels
from ..arrays import Array
from ..gpu import cuda
from ..kernels import Kernel
from ..kernels.radial import RadialKernel

FEW_FEATURES = 32
"""Up to this number a point fits into registers. With more features, distances by a matrix product are faster."""

FEW_COLUMNS = 32
"""Up to this number values are computed once or twice. With more columns it is faster to store a block of values."""

THREADS = 128
BLOCKS = 2048
"""Blocks of threads of a launch, enough for all multiprocessors of any GPU. The same number for all devices, so that
sums are rounded alike."""

SHORTEST_SPLIT = 1024
"""Smallest number of columns for a block of threads; with fewer, reading its rows takes too long."""


@dataclass(frozen=True)
class Shape:
    """The constants of a compilation of ``fused.cu``."""

    features: int
    columns: int
    rows: int
    tile: int
    dtype: str

    @classmethod
    def of(cls, n_features: int, n_columns: int, dtype: str) -> Shape:
        """The constants for a product, with the largest numbers of columns and rows that fit into registers.

        On a Hopper GPU with 18 features in float32 the compiler uses 80 registers for one column, 116 for four (two
        rows per thread), and 85 for ten (one row). A multiprocessor runs 512 threads with up to 128 registers.
        """
        wide = dtype == "float32"
        passes = -(-n_columns // (16 if wide else 8))
        columns = -(-n_columns // passes)
        return cls(n_features, columns, 2 if wide and columns <= 4 else 1, 128 if wide else 64, dtype)

    def source(self, body: str) -> str:
        """The source text with the C expression of a kernel (`RadialKernel.in_c`)."""
        constants = {
            "FEATURES": self.features,
            "COLUMNS": self.columns,
            "ROWS": self.rows,
            "THREADS": THREADS,
            "TILE": self.tile,
        }
        defined = "".join(f"#define {name} {value}\n" for name, value in constants.items())
        return defined + cuda.function(body, self.dtype) + _text()

    def launch(self, m: int, n: int, n_columns: int) -> tuple[tuple[int, int, int], int]:
        """The grid for K of shape (m, n), and the columns of each split of the sum over n, which fills a GPU."""
        row_blocks, passes = -(-m // (THREADS * self.rows)), -(-n_columns // self.columns)
        splits = max(1, min(-(-BLOCKS // (row_blocks * passes)), n // SHORTEST_SPLIT))
        per_split = -(-n // (splits * self.tile)) * self.tile
        return (row_blocks, -(-n // per_split), passes), per_split


def is_applicable(kernel: Kernel, points: Array, a: Array) -> bool:
    """Whether to use `product`: for a radial kernel, few features and columns, and working CUDA functions."""
    return (
        cuda.is_enabled(points)
        and isinstance(kernel, RadialKernel)
        and 1 <= points.shape[1] - 2 <= FEW_FEATURES
        and 1 <= a.shape[1] <= FEW_COLUMNS
        and a.dtype == points.dtype
        and _representable(kernel.factor, points.dtype)
        and _function(kernel, Shape.of(points.shape[1] - 2, a.shape[1], str(points.dtype)), points) is not None
    )


def product(kernel: RadialKernel, x: Array, points: Array, a: Array, extra: Array | None = None) -> Array:
    """``k(x, points) @ a`` if `is_applicable`; ``extra`` (m,): additional squared distances of ``x``."""
    shape = Shape.of(points.shape[1] - 2, a.shape[1], str(points.dtype))
    return _launch(_function(kernel, shape, points), shape, kernel, x, points, a, extra)


def _launch(
    function: Any, shape: Shape, kernel: RadialKernel, x: Array, points: Array, a: Array, extra: Array | None
) -> Array:
    xp = arrays.namespace(points)
    (m, n), c = (x.shape[0], points.shape[0]), a.shape[1]
    if not m or not n:
        return xp.zeros((m, c), dtype=a.dtype)
    x, points, a = (_row_wise(part) for part in (x, points, a))
    extra = xp.zeros(m, dtype=points.dtype) if extra is None else arrays.contiguous(arrays.astype(extra, points.dtype))
    grid, per_split = shape.launch(m, n, c)
    parts = xp.empty((grid[1], m, c), dtype=points.dtype)
    strides = [np.int64(part.strides[0] // part.itemsize) for part in (x, points, a)]
    sizes = [np.int64(m), np.int64(n), *strides, np.int32(c), np.int64(per_split)]
    factor = np.dtype(shape.dtype).type(kernel.factor)
    function(grid, (THREADS, 1, 1), (x, extra, points, a, parts, *sizes, factor))
    return parts[0, :, :] if grid[1] == 1 else xp.sum(parts, axis=0)


def _row_wise(x: Array) -> Array:
    """The same numbers with contiguous rows."""
    in_one_piece = x.strides[1] == x.itemsize or x.shape[1] == 1
    return x if in_one_piece and x.strides[0] >= x.itemsize else arrays.contiguous(x)


def _function(kernel: RadialKernel, shape: Shape, points: Array) -> Any:
    """The compiled function, or None if its values differ from the reference on a small example."""
    body = kernel.in_c(shape.dtype)
    if body is None:
        return None

    def make() -> Any:
        made = cuda.compiled(arrays.namespace(points), shape.source(body), "kernel_product")
        # Values between zero and one, a split sum, and sizes that are not multiples of a tile.
        unit, of_shape = replace(kernel, bandwidth=1.0), np.random.default_rng(0).standard_normal
        x, z, a = of_shape((150, shape.features)), of_shape((2500, shape.features)), of_shape((2500, shape.columns))
        spread = shape.features**-0.5
        x, z, a, extra = (p.astype(shape.dtype) for p in (x * spread, z * spread, a, of_shape(150) ** 2))
        there = [arrays.like(part, points) for part in (x, kernels.augmented(z), a, extra)]
        found = arrays.to_numpy(_launch(made, shape, unit, *there))
        here = kernels.augmented(x.astype(np.float64))
        here[:, -2] += extra
        values = kernels.values(unit, here, kernels.augmented(z.astype(np.float64)))
        error = np.abs(found - values @ a).max() / (values @ np.abs(a)).max()
        if not error < 256 * np.finfo(shape.dtype).eps:
            raise ArithmeticError(f"a product with the kernel {kernel.name} is off by {error:.1e}")
        return made

    return cuda.first_use(("product", body, shape), make, points)


def _representable(factor: float, dtype: Any) -> bool:
    limits = np.finfo(str(dtype))
    return float(limits.tiny) < abs(factor) < float(limits.max)


@cache
def _text() -> str:
    return resources.files(__package__).joinpath("fused.cu").read_text(encoding="utf-8")
