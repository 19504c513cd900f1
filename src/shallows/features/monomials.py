"""The inputs themselves, and all monomials up to a degree with weights that give the polynomial kernel exactly."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays
from ..arrays import Array
from ..errors import ShallowsError
from ..utils.plain_numbers import takes_numpy_integers
from .base import FeatureMap, check_inputs, check_is_polynomial

MOST_BYTES = 2**32
"""The largest number of bytes of the indices of monomials."""


@takes_numpy_integers
@dataclass(frozen=True)
class LinearMap(FeatureMap):
    """The points themselves and a constant one: f(x) = wᵀx + b."""

    n_inputs: int

    @property
    def n_features(self) -> int:
        """One more than the inputs."""
        return self.n_inputs + 1

    def map(self, x: Array) -> Array:
        """[x, 1], shape (m, d + 1)."""
        xp = arrays.namespace(x)
        return xp.concat([x, xp.ones((x.shape[0], 1), dtype=x.dtype)], axis=1)


def inputs_and_constant(kernel, x, n_features, seed=0, budget=None) -> LinearMap:
    """The map that is called "linear"; see `shallows.features.make`. It reads the number of inputs alone."""
    return LinearMap(x.shape[1])


@takes_numpy_integers
@dataclass(frozen=True)
class PolynomialMap(FeatureMap):
    """The monomials x^α with |α| ≤ p, each times √(p!/(α! (p − |α|)!) s^|α| c^(p − |α|)).

    z(x)ᵀz(y) = (s xᵀy + c)^p up to rounding. For p = 2 and s = 1 these are xᵢ², √2 xᵢxⱼ, √(2c) xᵢ and c. A
    `ShallowsError` refuses monomials whose indices take more than 4 GiB.
    """

    kernel: Any
    n_inputs: int

    def __post_init__(self) -> None:
        check_is_polynomial(self.kernel, "map to monomials")
        n, p = self.n_features, self.kernel.degree
        if 4 * p * n > MOST_BYTES:
            raise ShallowsError(
                f"{self.n_inputs:,} inputs have binomial({p + self.n_inputs}, {p}) = {n:,} monomials of degree up to "
                f"{p}, too many to be written out. Take a lower degree, or 'tensor_sketch', whose size is chosen."
            )

    @property
    def n_features(self) -> int:
        """Number of monomials of degree up to p in d variables, binomial(p + d, p), including the constant."""
        return math.comb(self.kernel.degree + self.n_inputs, self.kernel.degree)

    def _factors(self, k: int) -> np.ndarray:
        """The inputs that are multiplied in each monomial of degree k, shape (binomial(d + k − 1, k), k)."""
        n = math.comb(self.n_inputs + k - 1, k)
        chosen = itertools.combinations_with_replacement(range(self.n_inputs), k)
        return np.fromiter(itertools.chain.from_iterable(chosen), dtype=np.int32, count=n * k).reshape(n, k)

    def _degrees(self) -> Iterator[tuple[slice, np.ndarray]]:
        start = 0
        for k in range(self.kernel.degree + 1):
            factors = self._factors(k)
            yield slice(start, start + len(factors)), factors
            start += len(factors)

    @cached_property
    def coefficients(self) -> np.ndarray:
        """The factors of the monomials, in the order of degrees and then of factors, shape (n_features,)."""
        p, c, s = self.kernel.degree, float(self.kernel.offset), float(self.kernel.scale)
        out = np.empty(self.n_features)
        for columns, factors in self._degrees():
            k = factors.shape[1]
            run, repeats = np.ones(len(factors)), np.ones(len(factors))  # α!, as a product over runs of equal factors
            for j in range(1, k):
                run = np.where(factors[:, j] == factors[:, j - 1], run + 1, 1.0)
                repeats *= run
            count = math.factorial(p) / (repeats * math.factorial(p - k))
            out[columns] = np.sqrt(count * s**k * c ** (p - k))
        return out

    def map(self, x: Any) -> Any:
        """z(x), shape (m, n_features); for rows of SciPy's CSR format a CSR matrix.

        A sparse row with r non-zeros has binomial(p + r, p) of them.
        """
        check_inputs(x, self.n_inputs)
        if scipy.sparse.issparse(x):
            from sklearn.preprocessing import PolynomialFeatures

            # Its monomials have the same order.
            products = PolynomialFeatures(self.kernel.degree).fit_transform(x)
            return (products @ scipy.sparse.diags_array(self.coefficients.astype(x.dtype))).tocsr()
        xp = arrays.namespace(x)
        out = xp.empty((x.shape[0], self.n_features), dtype=x.dtype)
        for columns, factors in self._degrees():
            if not factors.shape[1]:
                out[:, columns] = 1.0
                continue
            product = xp.take(x, xp.asarray(factors[:, 0]), axis=1)
            for j in range(1, factors.shape[1]):
                product *= xp.take(x, xp.asarray(factors[:, j]), axis=1)
            out[:, columns] = product
        out *= arrays.like(self.coefficients, x)
        return out


def monomials(kernel, x, n_features, seed=0, budget=None) -> PolynomialMap:
    """The map "polynomial"; its number of features follows from the degree and the inputs."""
    return PolynomialMap(kernel, x.shape[1])
