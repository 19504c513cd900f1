"""Hidden units with random weights, which are not trained: the features of extreme learning machines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import arrays, streams
from ..arrays import Array, Device
from ..errors import UnknownNameError
from ..utils.plain_numbers import takes_numpy_integers
from .base import FeatureMap, check_inputs

OF_PRODUCTS: dict[str, Callable[[Array, Any], Array]] = {
    # By the hyperbolic tangent, which does not overflow.
    "sigmoid": lambda z, xp: 0.5 + 0.5 * xp.tanh(0.5 * z),
    "tanh": lambda z, xp: xp.tanh(z),
    "hard_limit": lambda z, xp: arrays.astype(z >= 0, z.dtype),
    "cosine": lambda z, xp: xp.cos(z),
}
"""Units G(aᵀx + b)."""

OF_DISTANCES = ("gaussian", "multiquadric")
"""Units exp(−b ‖x − a‖²) and √(‖x − a‖² + b²)."""

ACTIVATIONS = (*OF_PRODUCTS, *OF_DISTANCES)


@takes_numpy_integers
@dataclass(frozen=True, eq=False)
class HiddenUnitsMap(FeatureMap):
    """L units G(a, b, x) with random a and b.

    sigmoid 1/(1 + e^{−z}), tanh (1 − e^{−2z})/(1 + e^{−2z}), hard limit [z ≥ 0] and cosine cos z are functions of z =
    aᵀx + b; Gaussian is exp(−b ‖x − a‖²) and multiquadric (‖x − a‖² + b²)^½. Weights a are normal with deviation 1/σ,
    and b is uniform in [−1, 1], for the cosine in [0, 2π), so that cosines times √(2/L) are random Fourier features of
    the Gaussian kernel. The units of distances have normal centers a with the training points' means and deviations;
    their b is uniform in [½, 3/2], divided by 2σ² for the Gaussian, times σ for the multiquadric.
    `shallows.kernel_approximation.HiddenUnits` has the sources. Some tables print other formulas: tanh(z/2),
    distances that are not squared, or [z ≤ 0].
    """

    activation: str
    n_inputs: int  # d
    n_features: int  # L
    bandwidth: float  # σ
    mean: Array | None = None  # (d,): means of the inputs, for units of distances
    spread: Array | None = None  # (d,): their deviations
    seed: int = 0
    layer: int = 0

    def __post_init__(self) -> None:
        UnknownNameError.check("activation", self.activation, ACTIVATIONS)

    def to(self, device: Device) -> HiddenUnitsMap:
        """The same map on a device."""
        if self.mean is None or arrays.device_of(self.mean) == device:
            return self
        return replace(self, mean=arrays.to_device(self.mean, device), spread=arrays.to_device(self.spread, device))

    def weights(self, like: Array) -> tuple[Array, Array]:
        """``(a, b)`` of all units, shapes (L, d) and (L,), in the library and precision of ``like``."""
        L, d = self.n_features, self.n_inputs
        a = streams.normal(self.seed, f"hidden weights {self.layer}", 0, (L, d), like=like)
        b = streams.uniform(self.seed, f"hidden offsets {self.layer}", 0, (L,), like=like)
        if self.activation in OF_DISTANCES:
            if self.mean is not None:
                a = a * arrays.astype(self.spread, a.dtype) + arrays.astype(self.mean, a.dtype)
            b = 0.5 + b
            b = b / (2.0 * self.bandwidth**2) if self.activation == "gaussian" else b * self.bandwidth
        else:
            a = a / self.bandwidth
            b = 2.0 * math.pi * b if self.activation == "cosine" else 2.0 * b - 1.0
        return arrays.astype(a, like.dtype), arrays.astype(b, like.dtype)

    def map(self, x: Array) -> Array:
        """G(a, b, x), shape (m, L)."""
        check_inputs(x, self.n_inputs)
        xp = arrays.namespace(x)
        a, b = self.weights(x)
        if self.activation in OF_PRODUCTS:
            return OF_PRODUCTS[self.activation](x @ a.T + b, xp)
        squared = arrays.row_norms_squared(x)[:, None] + arrays.row_norms_squared(a)[None, :] - 2.0 * (x @ a.T)
        squared = arrays.clip_in_place(squared, at_least=0.0)
        return xp.exp(-b * squared) if self.activation == "gaussian" else xp.sqrt(squared + b * b)


@dataclass(frozen=True, eq=False)
class StackedUnits(FeatureMap):
    """Layers of hidden units; the inputs of a layer are the centered and scaled outputs of the previous one.

    ``means, spreads``: of the outputs of each layer except the last, at training points.
    """

    layers: Sequence[HiddenUnitsMap]
    means: Sequence[Array]
    spreads: Sequence[Array]

    @property
    def n_inputs(self) -> int:
        """Inputs of a point."""
        return self.layers[0].n_inputs

    @property
    def n_features(self) -> int:
        """Units of the last layer."""
        return self.layers[-1].n_features

    def to(self, device: Device) -> StackedUnits:
        """The same map on a device."""
        return StackedUnits(
            [layer.to(device) for layer in self.layers],
            [arrays.to_device(one, device) for one in self.means],
            [arrays.to_device(one, device) for one in self.spreads],
        )

    def map(self, x: Array) -> Array:
        """Outputs of the last layer, shape (m, n_features)."""
        for layer, mean, spread in zip(self.layers[:-1], self.means, self.spreads, strict=True):
            x = (layer.map(x) - mean) / spread
        return self.layers[-1].map(x)


def stacked(
    activation: str, x: Array, n_units: Sequence[int], bandwidth: float, seed: int = 0
) -> HiddenUnitsMap | StackedUnits:
    """Layers of ``n_units`` units each over training points x; a single layer is a `HiddenUnitsMap`.

    The bandwidth is σ of the first layer. The inputs of later layers have variance one, and σ is √d/2 for d inputs.
    """
    xp = arrays.namespace(x)
    layers, means, spreads = [], [], []
    for number, width in enumerate(n_units):
        mean, spread = xp.mean(x, axis=0), xp.std(x, axis=0)
        sigma = bandwidth if number == 0 else 0.5 * math.sqrt(x.shape[1])
        layers.append(HiddenUnitsMap(activation, x.shape[1], int(width), sigma, mean, spread, seed, number))
        if number + 1 < len(n_units):
            outputs = layers[-1].map(x)
            means.append(xp.mean(outputs, axis=0))
            deviation = xp.std(outputs, axis=0)
            spreads.append(xp.where(deviation > 0, deviation, xp.ones_like(deviation)))
            x = (outputs - means[-1]) / spreads[-1]
    return layers[0] if len(layers) == 1 else StackedUnits(layers, means, spreads)


def hidden_units(kernel, x, n_features, seed=0, budget=None, activation="sigmoid", layers=()) -> FeatureMap:
    """The map "hidden_units", with the kernel's bandwidth; one layer of ``n_features`` units without ``layers``."""
    return stacked(activation, x, layers or [n_features], getattr(kernel, "bandwidth", None) or 1.0, seed)
