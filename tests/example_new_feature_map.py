"""A new feature map: random rectified linear units, a hidden layer that is not trained.

In the package the class and its builder would be ``features/rectified_units.py``. The line
``"rectified_units": ".rectified_units"`` in ``FEATURE_MAPS`` of ``features/__init__.py`` then makes it available to
estimators that train on a map, and its transformer (``example_new_transformer.py``) to all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shallows import arrays, streams
from shallows.arrays import Array
from shallows.features.base import FeatureMap


@dataclass(frozen=True)
class RectifiedUnits(FeatureMap):
    """√(2/D) max(0, W[x/σ, 1]) with weights W from N(0, 1): φ(x)ᵀφ(z) tends to the arc-cosine kernel of [x/σ, 1].

    Parameters
    ----------
    n_inputs, n_features : int
        d and D.
    seed : int
        Of the weights, which are drawn again at every use.
    bandwidth : float
        σ.

    References
    ----------
    Y. Cho and L. K. Saul (2009), "Kernel methods for deep learning", NIPS 22.
    """

    n_inputs: int
    n_features: int
    seed: int = 0
    bandwidth: float = 1.0

    def map(self, x: Array) -> Array:
        """φ(x), shape (m, n_features)."""
        weights = streams.normal(self.seed, "rectified units", 0, (self.n_features, self.n_inputs + 1), like=x)
        weights = arrays.astype(weights, x.dtype).T
        units = x / self.bandwidth @ weights[:-1, :] + weights[-1:, :]
        return arrays.clip_in_place(units, at_least=0.0) * math.sqrt(2.0 / self.n_features)


def rectified_units(kernel: Any, x: Array, n_features: int, seed: int = 0, budget: int | None = None) -> RectifiedUnits:
    """The map that is called "rectified_units"; see `shallows.features.make`. The kernel only has its bandwidth."""
    return RectifiedUnits(x.shape[1], n_features, seed, kernel.bandwidth or 1.0)
