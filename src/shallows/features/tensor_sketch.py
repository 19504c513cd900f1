"""Tensor sketches: few features whose inner products are unbiased for a polynomial kernel."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays, streams
from ..arrays import Array
from ..utils.plain_numbers import takes_numpy_integers
from .base import FeatureMap, check_inputs, check_is_polynomial

STRIP_BYTES = 2**25
"""Bytes of the sketches that are transformed at a time."""


@takes_numpy_integers
@dataclass(frozen=True)
class TensorSketchMap(FeatureMap):
    """Features of (s xᵀz + c)^p by the convolution of p count sketches of [√s x, √c].

    A count sketch adds each input, with a random sign, to one of D sums. The sketch of a product of p vectors is the
    circular convolution of their sketches, which is a product after Fourier transforms: O(p (d + D log D)) per point.
    The inner product of two sketches is unbiased for the kernel, with a variance of about (3^p / D) ‖·‖^{4p} at most.
    `shallows.kernel_approximation.TensorSketch` has the sources.
    """

    kernel: Any  # With ``degree`` p, ``offset`` c and ``scale`` s
    n_inputs: int  # d
    n_features: int  # D
    seed: int = 0

    def __post_init__(self) -> None:
        check_is_polynomial(self.kernel, "tensor sketch")

    def count_sketch(self, q: int) -> scipy.sparse.csr_array:
        """The q-th count sketch as a matrix with one ±1 in each row, shape (d + 1, D)."""
        d = self.n_inputs + 1
        drawn = streams.integers(self.seed, "count sketch", q, 2 * d)
        columns = (drawn[:d] >> np.uint64(1)) % np.uint64(self.n_features)
        signs = np.where(drawn[d:] >> np.uint64(63), -1.0, 1.0)
        return scipy.sparse.csr_array((signs, columns.astype(np.int64), np.arange(d + 1)), shape=(d, self.n_features))

    def map(self, x: Array) -> Array:
        """z(x), shape (m, D)."""
        check_inputs(x, self.n_inputs)
        xp = arrays.namespace(x)
        matrices = [self.count_sketch(q) for q in range(self.kernel.degree)]
        if not arrays.is_numpy(x):
            matrices = [arrays.like(one.toarray(), x) for one in matrices]
        else:
            matrices = [one.astype(x.dtype) for one in matrices]
        constant = xp.full((x.shape[0], 1), math.sqrt(self.kernel.offset), dtype=x.dtype)
        inputs = xp.concat([x * math.sqrt(self.kernel.scale), constant], axis=1)
        out = xp.empty((x.shape[0], self.n_features), dtype=x.dtype)
        strip = max(1, STRIP_BYTES // (16 * self.n_features))
        for rows in arrays.blocks(x.shape[0], strip):
            product = None
            for matrix in matrices:
                transformed = xp.fft.rfft(inputs[rows, :] @ matrix, axis=1)
                product = transformed if product is None else product * transformed
            out[rows, :] = xp.fft.irfft(product, n=self.n_features, axis=1)
        return out


def tensor_sketch(kernel, x, n_features, seed=0, budget=None) -> TensorSketchMap:
    """The map "tensor_sketch"."""
    return TensorSketchMap(kernel, x.shape[1], n_features, seed)
