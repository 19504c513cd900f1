"""A kernel that is defined by its random functions alone: half spaces in random directions.

Doubly stochastic gradients need no more than the functions (Theorem 3 of Dai and others, 2014): there is no ``fill``.
"""

from __future__ import annotations

from dataclasses import dataclass

from shallows import arrays, streams
from shallows.kernels.random_functions import RandomFunctionKernel


@dataclass(frozen=True)
class HalfSpaces(RandomFunctionKernel):
    """E φ(x)φ(z) for φ(x) = sign(wᵀx + b) with normal w and b.

    Parameters
    ----------
    bias : float
        The standard deviation of b, in the units of x.
    """

    bias: float = 1.0
    name = "half_spaces"

    def random_features(self, seed, counter, n, x, mean_square, kept):
        """φ(x) of n functions, a function of (seed, counter); shape (len(x), n)."""

        def draw(purpose, shape):
            return kept(purpose, lambda: streams.normal(seed, purpose, counter, shape, like=x, dtype=x.dtype))

        directions, offsets = draw("directions", (n, x.shape[1])), draw("offsets", (n,))
        return arrays.namespace(x).sign(x @ directions.T + self.bias * offsets[None, :])

    def relative_moment(self, mean_square):
        """E φ(x)⁴ / k(x, x)² = 1, since φ is −1 or 1."""
        return 1.0
