"""Radial kernels whose values come from one compiled loop over a block, for matrices of very many values on a CPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import arrays
from ..arrays import Array
from .base import Kernel
from .radial import Cauchy, Gaussian, Laplace, RadialKernel, WrappedKernel

MANY_VALUES = 2**29
"""Values from which the loops pay: 512 tiles gain about 0.3 s, which is what numba takes to be imported."""

MANY_SPARSE_VALUES = 2**27
"""The same for sparse points. A compiled kernel's values may be kept in 16 bits (`shallows.gram.Gram`), and the kernel
matrix of 20,000 texts then takes 0.4 GB and not 0.8 GB."""

COMPILED = (Gaussian, Laplace, Cauchy)
"""Kernels for which there is a loop, in `compiled_loops` under the kernel's name."""


class CompiledKernel(WrappedKernel):
    """A radial kernel in float32 whose product of matrices is followed by one loop in place of several of NumPy's.

    Its values, which lie within [0, 1], differ from those of the kernel by at most 4 · 2⁻²³.
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
        # Rows that are parts of longer ones are handed over as the longer ones, since numba makes vectors of C order
        # alone. What lies behind the columns is not touched.
        shape = (out.shape[0], max(out.strides[0] // out.itemsize, out.shape[1]))
        self._loop(np.lib.stride_tricks.as_strided(out, shape, (shape[1] * out.itemsize, out.itemsize)), out.shape[1])
        return out


def compiled_kernel(kernel: Kernel, points: Array, n_values: int) -> Kernel:
    """The kernel with a compiled loop where that pays, else the kernel itself.

    It pays for `COMPILED` kernels, float32 on a CPU, and at least `MANY_VALUES` values (of sparse points
    `MANY_SPARSE_VALUES`). The choice follows from the problem alone, so that a repeated or resumed fit has the same
    values.
    """
    many = MANY_SPARSE_VALUES if arrays.is_sparse(points) else MANY_VALUES
    pays = n_values >= many and arrays.uses_numpy(points) and points.dtype == np.float32
    return CompiledKernel(kernel) if pays and type(kernel) in COMPILED else kernel
