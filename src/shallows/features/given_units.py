"""Hidden units with given weights, such as the layers of multilayer extreme learning machines."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from .. import arrays, streams
from ..arrays import Array, Device
from ..errors import UnknownNameError
from .base import FeatureMap, check_inputs
from .hidden_units import OF_PRODUCTS


@dataclass(frozen=True, eq=False)
class GivenUnits(FeatureMap):
    """L units g(wᵀx + b) with given w and b.

    ``activation``: g, "sigmoid", "tanh", "hard_limit" or "cosine"; None is g(z) = z. ``weights``: shape (L, d).
    ``offsets``: shape (L,); None means zeros.
    """

    activation: str | None
    weights: Array
    offsets: Array | None = None

    def __post_init__(self) -> None:
        if self.activation is not None:
            UnknownNameError.check("activation", self.activation, OF_PRODUCTS)

    @property
    def n_features(self) -> int:
        """L."""
        return self.weights.shape[0]

    def to(self, device: Device) -> GivenUnits:
        """The same map on a device."""
        offsets = None if self.offsets is None else arrays.to_device(self.offsets, device)
        return replace(self, weights=arrays.to_device(self.weights, device), offsets=offsets)

    def map(self, x: Array) -> Array:
        """g(xWᵀ + b), shape (m, L)."""
        check_inputs(x, self.weights.shape[1])
        z = x @ arrays.astype(self.weights, x.dtype).T
        if self.offsets is not None:
            z = z + arrays.astype(self.offsets, x.dtype)
        return z if self.activation is None else OF_PRODUCTS[self.activation](z, arrays.namespace(x))


def orthogonal_units(activation: str, n_inputs: int, n_units: int, scale: float, seed: int = 0) -> GivenUnits:
    """Random units g(aᵀx/scale + b): WᵀW = I or, with fewer units than inputs, WWᵀ = I for the rows a of W; ‖b‖ = 1."""
    long, short = max(n_units, n_inputs), min(n_units, n_inputs)
    W, upper = np.linalg.qr(streams.normal(seed, "orthogonal weights", 0, (long, short)))
    W = W * np.where(np.diag(upper) < 0, -1.0, 1.0)  # Otherwise W is not a uniformly distributed rotation.
    b = streams.normal(seed, "orthogonal offsets", 0, (n_units,))
    return GivenUnits(activation, (W if n_units >= n_inputs else W.T) / scale, b / math.sqrt(float(b @ b)))
