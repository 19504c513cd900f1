"""A new kernel: the rational quadratic one, with draws for its random Fourier features.

In the package the class would be in its own module, ``kernels/rational_quadratic.py``. The line
``"rational_quadratic": ".rational_quadratic:RationalQuadratic"`` in ``KERNELS`` of ``kernels/__init__.py`` then makes
it available to every estimator and to the configuration, as ``kernel: {rational_quadratic: {order: 2}}``.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass

from shallows import arrays, streams
from shallows.arrays import Array
from shallows.errors import ShallowsError
from shallows.kernels.radial import RadialKernel


@dataclass(frozen=True)
class RationalQuadratic(RadialKernel):
    """(1 + ‖x − z‖² / (2ασ²))^(−α) for a whole number α: a mean of Gaussians of many bandwidths.

    It is E exp(−τ ‖x − z‖² / (2ασ²)) over τ from the law Gamma(α), a sum of α exponential draws; so a frequency is
    √(τ/α) g/σ with g ~ N(0, I).

    Parameters
    ----------
    bandwidth : float
        σ.
    order : int
        α ≥ 1; α → ∞ is the Gaussian kernel.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams (2006), "Gaussian processes for machine learning", section 4.2.
    """

    order: int = 1
    name = "rational_quadratic"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.order, numbers.Integral) or self.order < 1:
            raise ShallowsError(f"order must be a whole number of at least 1, got {self.order!r}.")

    @property
    def factor(self) -> float:
        """What squared distances are multiplied with."""
        return 0.5 / (int(self.order) * self.bandwidth**2)

    def apply_in_place(self, scaled: Array) -> Array:
        """(1 + u)^(−α), written over u."""
        arrays.clip_in_place(scaled, at_least=0.0)
        scaled += 1.0
        arrays.apply_in_place("reciprocal", scaled)
        scaled **= int(self.order)
        return scaled

    def frequencies(self, seed, purpose, counter, n, d, *, like=None, dtype=None):
        """Random frequencies, shape (n, d)."""
        normal = streams.normal(seed, purpose, counter, (n, d), like=like, dtype=dtype)
        uniform = streams.uniform(seed, f"{purpose}/mixing", counter, (n, int(self.order)), like=like, dtype=dtype)
        xp = arrays.namespace(normal)
        mixing = xp.sum(-xp.log1p(-uniform), axis=1)[:, None] / int(self.order)
        return xp.sqrt(mixing) * normal / self.bandwidth
