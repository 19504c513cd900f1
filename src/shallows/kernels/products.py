"""Product kernels: the product of a kernel of one variable over the features.

They have the same name as a Euclidean form, and agree with it for one feature. A block takes a pass for each feature
instead of a product of matrices.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator

from .. import arrays, streams
from ..arrays import Array
from .base import DifferenceKernel, in_strips


class ProductKernel(DifferenceKernel):
    """Πⱼ k₁((xⱼ − zⱼ)/σ), with k(x, x) = 1."""

    def left_factor(self, points: Array) -> Array:  # noqa: D102
        return points[:, :-2]

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        right = arrays.contiguous(others[:, :-2].T / self.bandwidth)
        left = left / self.bandwidth

        def work(strip: slice) -> None:
            differences = (left[strip, j : j + 1] - right[j : j + 1, :] for j in range(left.shape[1]))
            self._write(out[strip, :], differences)

        return in_strips(out, work)

    @abstractmethod
    def _write(self, part: Array, differences: Iterator[Array]) -> None:
        """Write the kernel's values, from (xⱼ − zⱼ)/σ feature by feature, each of the shape of ``part``."""
        raise NotImplementedError


class LaplaceProduct(ProductKernel):
    """exp(−‖x − z‖₁ / σ), also called the Laplacian kernel."""

    name = "laplace_product"

    def _write(self, part: Array, differences: Iterator[Array]) -> None:
        part[...] = 0.0
        for difference in differences:
            part += arrays.apply_in_place("abs", difference)
        arrays.apply_in_place("exp", arrays.apply_in_place("negative", part))

    def frequencies(self, seed, purpose, counter, n, d, *, like=None, dtype=None):
        """Independent Cauchy variables of scale 1/σ, shape (n, d)."""
        uniform = streams.uniform(seed, purpose, counter, (n, d), like=like, dtype=dtype)
        return arrays.namespace(uniform).tan(math.pi * (uniform - 0.5)) / self.bandwidth


class CauchyProduct(ProductKernel):
    """Πⱼ 1 / (1 + (xⱼ − zⱼ)² / σ²)."""

    name = "cauchy_product"

    def _write(self, part: Array, differences: Iterator[Array]) -> None:
        part[...] = 1.0
        for factor in differences:
            factor *= factor
            factor += 1.0
            # Divided one by one: the product of many factors overflows long before its reciprocal underflows.
            part /= factor

    def frequencies(self, seed, purpose, counter, n, d, *, like=None, dtype=None):
        """Independent Laplace variables of scale 1/σ, shape (n, d), as differences of two exponential variables."""
        uniform = streams.uniform(seed, purpose, counter, (n, 2 * d), like=like, dtype=dtype)
        exponential = -arrays.namespace(uniform).log1p(-uniform)
        return (exponential[:, :d] - exponential[:, d:]) / self.bandwidth
