"""Products on tensor cores with nearly the precision of float32: each operand is the sum of two numbers of 11 bits.

A TF32 product rounds its factors to 11 significant bits, so that kernel values keep three digits. Let x = h + l, where
h is x rounded to 11 bits, and the same for z. Then

    x z ≈ h h' + l h' + h l',

and the missing term l l' is 2⁻²² of x z. One product of the operands [h, l, h] and [h', h', l'] computes the sum. On an
H100 it takes 40 % of the time of a float32 product. Its error is 1e-5 of the largest value, compared with 1.2e-6.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

import numpy as np

from .. import arrays
from ..arrays import Array
from ..kernels import Kernel
from ..kernels.radial import RadialKernel, WrappedKernel

SPLITTER = 2.0**13 + 1.0
"""Veltkamp's constant: the high part of a float32 gets 24 − 13 bits."""

BOUND = 2e-5
"""Largest accepted error of a product, relative to its largest value."""


def halves(x: Array) -> tuple[Array, Array]:
    """``h`` with 11 bits and ``l`` with x = h + l exactly, for a float32 array (Veltkamp's splitting)."""
    scaled = x * SPLITTER
    high = scaled - (scaled - x)
    return high, x - high


def left_operand(x: Array) -> Array:
    """[h, l, h] of an array of shape (m, d), shape (m, 3 d)."""
    high, low = halves(x)
    return arrays.namespace(x).concat([high, low, high], axis=1)


def right_operand(x: Array) -> Array:
    """[h, h, l] of an array of shape (n, d), shape (n, 3 d)."""
    high, low = halves(x)
    return arrays.namespace(x).concat([high, high, low], axis=1)


@contextlib.contextmanager
def tf32_products(like: Array) -> Iterator[None]:
    """Use TF32 for products of CuPy's float32 arrays inside the block."""
    linalg = arrays.namespace(like)._core._routines_linalg  # CuPy's settings of products
    before = linalg.get_compute_type("float32")
    linalg.set_compute_type("float32", linalg.COMPUTE_TYPE_TF32)
    try:
        yield
    finally:
        linalg.set_compute_type("float32", before)


class SplitKernel(WrappedKernel):
    """A radial kernel with blocks from split products; the relative error of a distance is at most 2e-5."""

    def left_factor(self, points: Array) -> Array:  # noqa: D102
        return left_operand(self.kernel.left_factor(points))

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        with tf32_products(out):
            return self.kernel.fill(left, right_operand(others), out)


def split_kernel(kernel: Kernel, points: Array) -> Kernel:
    """The kernel with split products if it is radial, in float32, on a GPU, and accurate for 256 points."""
    of_use = isinstance(kernel, RadialKernel) and arrays.device_of(points).kind != "cpu"
    if not of_use or points.dtype != np.float32:
        return kernel
    some = points[:256, :]
    try:
        with tf32_products(points):
            found = arrays.to_numpy(left_operand(some) @ right_operand(some).T)
        exact = arrays.to_numpy(some).astype(np.float64)
        error = float(np.abs(found - exact @ exact.T).max() / np.abs(exact @ exact.T).max())
        if not error < BOUND:
            raise ArithmeticError(f"a product is off by {error:.1e} of its largest value")
    except Exception as error:
        warnings.warn(
            "precision='split' is not available here, and products are in float32: results are right, but slower "
            f"({type(error).__name__}: {' '.join(str(error).split())[:200]}).",
            RuntimeWarning,
            stacklevel=2,
        )
        return kernel
    return SplitKernel(kernel)
