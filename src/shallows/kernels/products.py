"""Product kernels: the product of one kernel of one variable for each feature.

They share name and law with the Euclidean forms for one feature only. There is no matrix product behind them, so a
block costs a pass for each feature.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import arrays, streams
from ..arrays import Array
from .base import Kernel, check_positive, in_strips


@dataclass(frozen=True)
class ProductKernel(Kernel):
    """Πⱼ k₁(xⱼ − zⱼ), with k(x, x) = 1.

    Parameters
    ----------
    bandwidth : float
        σ, in the units of the features; positive and finite.
    """

    bandwidth: float
    takes_bandwidth = True
    shift_invariant = True

    def __post_init__(self) -> None:
        check_positive("bandwidth", self.bandwidth)

    def left_factor(self, points: Array) -> Array:  # noqa: D102
        return points[:, :-2]

    def diagonal(self, x: Array) -> Array:
        """k(xᵢ, xᵢ) = 1, shape (len(x),)."""
        return arrays.namespace(x).ones(x.shape[0], dtype=x.dtype)


class LaplaceProduct(ProductKernel):
    """exp(−‖x − z‖₁ / σ), also called the Laplacian kernel."""

    name = "laplace_product"

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        right = arrays.contiguous(others[:, :-2].T / self.bandwidth)
        left = left / self.bandwidth

        def work(strip: slice) -> None:
            part = out[strip, :]
            part[...] = 0.0
            for j in range(left.shape[1]):
                part += arrays.apply_in_place("abs", left[strip, j : j + 1] - right[j : j + 1, :])
            arrays.apply_in_place("exp", arrays.apply_in_place("negative", part))

        return in_strips(out, work)

    def frequencies(self, seed, purpose, counter, n, d, *, like=None, dtype=None):
        """Draws of independent Cauchy laws of scale 1/σ, shape (n, d)."""
        uniform = streams.uniform(seed, purpose, counter, (n, d), like=like, dtype=dtype)
        return arrays.namespace(uniform).tan(math.pi * (uniform - 0.5)) / self.bandwidth


class CauchyProduct(ProductKernel):
    """Πⱼ 1 / (1 + (xⱼ − zⱼ)² / σ²)."""

    name = "cauchy_product"

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        right = arrays.contiguous(others[:, :-2].T / self.bandwidth)
        left = left / self.bandwidth

        def work(strip: slice) -> None:
            part = out[strip, :]
            part[...] = 1.0
            for j in range(left.shape[1]):
                factor = left[strip, j : j + 1] - right[j : j + 1, :]
                factor *= factor
                factor += 1.0
                # Divided one by one: the product of many factors overflows long before its reciprocal underflows.
                part /= factor

        return in_strips(out, work)

    def frequencies(self, seed, purpose, counter, n, d, *, like=None, dtype=None):
        """Draws of independent Laplace laws of scale 1/σ, shape (n, d): differences of two exponential ones."""
        uniform = streams.uniform(seed, purpose, counter, (n, 2 * d), like=like, dtype=dtype)
        exponential = -arrays.namespace(uniform).log1p(-uniform)
        return (exponential[:, :d] - exponential[:, d:]) / self.bandwidth
