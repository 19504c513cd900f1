"""Radial kernels whose values are computed by one compiled loop over a block, for very large matrices on a CPU."""

from collections.abc import Callable

import numpy as np

from .. import arrays
from ..arrays import Array
from .base import Kernel
from .radial import Cauchy, Gaussian, Laplace, RadialKernel, WrappedKernel

MANY_VALUES = 2**25
"""Number of values above which the loops save time. The values may then be stored in 16 bits (`shallows.gram.Gram`):
with 10,000 digits, building and training save 0.6 s, about the time of importing numba and loading the loops."""

COMPILED = (Gaussian, Laplace, Cauchy)
"""Kernels with a loop, which is in `compiled_loops` under the kernel's name."""


class CompiledKernel(WrappedKernel):
    """A radial kernel in float32 with one loop after the product of matrices instead of several NumPy operations.

    Its values, which lie within [0, 1], differ from the kernel's values by at most 4 · 2⁻²³.
    """

    def __init__(self, kernel: RadialKernel):
        from . import compiled_loops

        super().__init__(kernel)
        self._loop: Callable[[Array, int], None] = getattr(compiled_loops, kernel.name)
        self.to_16_bits, self.from_16_bits = compiled_loops.to_16_bits, compiled_loops.from_16_bits

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        if out.size == 0 or out.strides[1] != out.itemsize:
            return self.kernel.fill(left, others, out)
        arrays.matmul_into(left, others.T, out)
        # numba vectorizes only loops over arrays in C order. So if the rows are parts of longer rows, the loop gets the
        # longer rows, but changes only the first columns.
        shape = (out.shape[0], max(out.strides[0] // out.itemsize, out.shape[1]))
        self._loop(np.lib.stride_tricks.as_strided(out, shape, (shape[1] * out.itemsize, out.itemsize)), out.shape[1])
        return out


def compiled_kernel(kernel: Kernel, points: Array, n_values: int) -> Kernel:
    """The kernel with a compiled loop, if this saves time by the size of the problem alone, so that repeated fits
    agree.
    """
    is_large = n_values >= MANY_VALUES and arrays.uses_numpy(points) and points.dtype == np.float32
    return CompiledKernel(kernel) if is_large and type(kernel) in COMPILED else kernel
