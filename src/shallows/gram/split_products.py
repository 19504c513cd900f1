"""Products on tensor cores with nearly the precision of float32: each operand is the sum of two numbers of 11 bits.

A TF32 product rounds its factors to 11 significant bits and adds up in float32, so that kernel values keep three
digits. With x = h + l, where h is x rounded to 11 bits and l what is left,

    x z ≈ h h' + l h' + h l',

and what is left out, l l', is 2⁻²² of x z. The three products are one, of operands side by side: [h, l, h] and
[h', h', l']. On an H100 that takes 40 % of the time of a product in float32 and errs by 1e-5 of the largest value
where float32 errs by 1.2e-6.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..kernels import Kernel
from ..kernels.radial import RadialKernel, WrappedKernel

SPLITTER = 2.0**13 + 1.0
"""Of Veltkamp: with it the higher part of a float32 has 24 − 13 bits."""

BOUND = 2e-5
"""Error of a product, as a share of its largest value, above which it is not used."""


def halves(x: Array) -> tuple[Array, Array]:
    """``h`` and ``l`` with x = h + l exactly, and h of 11 bits, for an array of float32 (Veltkamp's splitting)."""
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
    """Products of CuPy's float32 arrays use TF32 inside the block."""
    linalg = _linalg(like)
    before = linalg.get_compute_type("float32")
    linalg.set_compute_type("float32", linalg.COMPUTE_TYPE_TF32)
    try:
        yield
    finally:
        linalg.set_compute_type("float32", before)


def _linalg(like: Array) -> Any:
    """The part of CuPy that knows how products are computed."""
    return arrays.namespace(like)._core._routines_linalg


class SplitKernel(WrappedKernel):
    """A radial kernel whose blocks come from split products, with an error of at most 2e-5 of a distance."""

    def left_factor(self, points: Array) -> Array:  # noqa: D102
        return left_operand(self.kernel.left_factor(points))

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        with tf32_products(out):
            return self.kernel.fill(left, right_operand(others), out)


def split_kernel(kernel: Kernel, points: Array) -> Kernel:
    """The kernel with split products, where they are of use and do as they should; else the kernel itself.

    They are of use for radial kernels in float32 on a GPU. A product of 256 of the points is held against float64
    first.

    ``points`` (n, d + 2): augmented, centred by the caller.
    """
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
            "precision='split' cannot be had here, and products are in float32: results stay right, but slower "
            f"({type(error).__name__}: {' '.join(str(error).split())[:200]}).",
            RuntimeWarning,
            stacklevel=2,
        )
        return kernel
    return SplitKernel(kernel)
