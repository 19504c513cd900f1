"""K(x, z) @ w for points of few features on a GPU, without a kernel matrix in memory.

With few features a value of a radial kernel costs some tens of operations. A block of values that is written by the
product of distances, read and written by the elementwise pass and read by the product with w takes 16 bytes of memory
traffic a value in float32, and on today's GPUs that takes longer. ``fused.cu`` does all of it in registers and shared
memory. Its plain reference is the blocked product of `shallows.gram.cross_product`; `applies` is the one place that
chooses between the two.

How exact it is in float32, with ε = 1.2e-7 and in units of a kernel whose values are at most 1: differences are squared
and summed, so that a squared distance has a relative error of about d ε/2 at most and usually ε, however far from the
origin the points lie (the augmented product errs by ε ‖x‖²). Together with ``exp`` (2 units in the last place at most;
not ``__expf``), ``sqrt`` and division (half a unit) values came out within 1.5 ε for every kernel and 2 to 32 features.
A sum over n points errs by at most (TILE/2 + 4) ε Σ|K w|, whatever n is, and came out within 0.6 ε Σ|K w| for a
thousand to a million points of one split, where a running sum errs by up to 3,700 ε. (Measured with this text compiled
for a CPU, whose ``expf`` errs by 1 unit.) CuPy compiles with subnormal numbers flushed: values below 1.2e-38 are zero.
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
"""Up to here a point fits in registers; with more, a matrix product makes distances faster."""

FEW_COLUMNS = 32
"""Up to here values are made once or twice; with more columns it pays to keep a block of them."""

THREADS = 128
BLOCKS = 2048
"""Blocks of threads that a launch should have: enough for every multiprocessor of any GPU several times over. It is no
property of the device, so that sums are split, and rounded, alike on all of them."""

SHORTEST_SPLIT = 1024
"""Columns of the kernel matrix that a block of threads should have, to pay for the reading of its rows."""


@dataclass(frozen=True)
class Shape:
    """The constants that ``fused.cu`` is compiled with."""

    features: int
    columns: int
    rows: int
    tile: int
    dtype: str

    @classmethod
    def of(cls, n_features: int, n_columns: int, dtype: str) -> Shape:
        """The constants for a product: as many columns a pass and rows a thread as the registers hold.

        More rows a thread need fewer words of shared memory a value. By the compiler's account for 18 features on a
        Hopper GPU, 80 registers a thread in float32 with one column and 116 with four (two rows), 85 with ten (one
        row); a multiprocessor runs 512 threads of up to 128 registers.
        """
        wide = dtype == "float32"
        passes = -(-n_columns // (16 if wide else 8))
        columns = -(-n_columns // passes)
        return cls(n_features, columns, 2 if wide and columns <= 4 else 1, 128 if wide else 64, dtype)

    def source(self, body: str) -> str:
        """The text to be compiled, for a kernel's value in C (`RadialKernel.in_c`)."""
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
        """The grid for K of shape (m, n), and how many columns of K each of its splits has.

        Few rows are not enough for a GPU, so the sum over n is split among blocks and their parts are added up after.
        """
        row_blocks, passes = -(-m // (THREADS * self.rows)), -(-n_columns // self.columns)
        splits = max(1, min(-(-BLOCKS // (row_blocks * passes)), n // SHORTEST_SPLIT))
        per_split = -(-n // (splits * self.tile)) * self.tile
        return (row_blocks, -(-n // per_split), passes), per_split


def applies(kernel: Kernel, points: Array, a: Array) -> bool:
    """Whether `product` is to be used for ``k(x, points) @ a`` where no block of the matrix is kept.

    So it is for a radial kernel, few features, few columns and arrays on a GPU, unless CUDA of our own is turned off or
    did not compile (`shallows.gpu.cuda`).

    ``points`` (n, d + 2): augmented. ``a`` (n, c).
    """
    return (
        cuda.wanted(points)
        and isinstance(kernel, RadialKernel)
        and 1 <= points.shape[1] - 2 <= FEW_FEATURES
        and 1 <= a.shape[1] <= FEW_COLUMNS
        and a.dtype == points.dtype
        and _representable(kernel.factor, points.dtype)
        and _function(kernel, Shape.of(points.shape[1] - 2, a.shape[1], str(points.dtype)), points) is not None
    )


def product(kernel: RadialKernel, x: Array, points: Array, a: Array, extra: Array | None = None) -> Array:
    """``k(x, points) @ a``, for what `applies` said yes to.

    ``x`` (m, d) or augmented (m, d + 2). ``points`` (n, d + 2): augmented. ``a`` (n, c). ``extra`` (m,): squared
    distance that every point of ``x`` has in addition. Returns (m, c).
    """
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
    """The same numbers with every row in one piece, at whatever distance from the next."""
    in_one_piece = x.strides[1] == x.itemsize or x.shape[1] == 1
    return x if in_one_piece and x.strides[0] >= x.itemsize else arrays.contiguous(x)


def _function(kernel: RadialKernel, shape: Shape, points: Array) -> Any:
    """The compiled function, once it has given on a small example what the plain one gives; None where it did not."""
    body = kernel.in_c(shape.dtype)
    if body is None:
        return None

    def make() -> Any:
        made = cuda.compiled(arrays.namespace(points), shape.source(body), "kernel_product")
        # Values between zero and one, a sum that is split, and sizes that no tile divides.
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
