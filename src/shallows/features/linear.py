"""The linear map: the inputs themselves and a constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import arrays
from ..arrays import Array
from ..utils.plain_numbers import takes_numpy_integers
from .base import FeatureMap


@takes_numpy_integers
@dataclass(frozen=True)
class Linear(FeatureMap):
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


def inputs_and_constant(kernel: Any, x: Array, n_features: int, seed: int = 0, budget: int | None = None) -> Linear:
    """The map that is called "linear"; see `shallows.features.make`. It reads the number of inputs alone."""
    return Linear(x.shape[1])
