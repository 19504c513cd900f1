"""Nets of semi-random units: each layer has fixed random switches and trained linear functions."""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shallows import streams
from shallows.errors import ShallowsError

from . import layers
from .architectures import Architecture, Layer, Shape
from .backend import torch


@dataclass(frozen=True)
class SemiRandom(Layer):
    """Units h = z ⊙ (W h' + b) with switches z = [R z' + c > 0], where h' and z' belong to the previous layer.

    In the first layer, h' and z' are the inputs. Layers pass h and z together, with shape (2, units).
    """

    units: int
    place: int = 0  # number of the layer
    last: bool = True  # its switches are not passed on
    seed: int = 0  # of R and c
    activation: ClassVar[None] = None  # determines the scale of the initial weights

    def shape_after(self, shape: Shape) -> Shape:  # noqa: D102
        return (self.units,) if self.last else (2, self.units)

    def weights(self, shape: Shape) -> dict[str, tuple[Shape, int]]:  # noqa: D102
        inputs = shape[-1] if self.place else math.prod(shape)
        return {"weight": ((self.units, inputs), inputs), "bias": ((self.units,), 0)}

    def products(self, shape: Shape) -> int:  # noqa: D102
        return 2 * math.prod(self.weights(shape)["weight"][0])


@functools.lru_cache(maxsize=16)
def switch_weights(layer: SemiRandom, n_inputs: int) -> np.ndarray:
    """Draw R and, as the last column, c: normal with variance 1/n_inputs, shape (units, n_inputs + 1)."""
    drawn = streams.normal(layer.seed, f"switches of layer {layer.place}", 0, (layer.units, n_inputs + 1))
    return drawn / math.sqrt(n_inputs)


@layers.apply.register
def _(layer: SemiRandom, weights: Mapping[str, Any], x: Any) -> Any:
    linear = torch().nn.functional.linear
    h, z = (x[:, 0], x[:, 1]) if layer.place else (x.flatten(1), x.flatten(1))
    random = torch().from_numpy(switch_weights(layer, z.shape[1])).to(z)
    z = (linear(z, random[:, :-1], random[:, -1]) > 0).to(z.dtype)
    h = z * linear(h, weights["weight"], weights["bias"])
    return h if layer.last else torch().stack([h, z], dim=1)


def semi_random_net(n_units: Sequence[int], seed: int = 0) -> Architecture:
    """Deep semi-random features, as a net for `NeuralNetClassifier` and `NeuralNetRegressor`.

    Layer l has the switches z_l = [R_l z_{l−1} + c_l > 0] with random R and c, and the units h_l = z_l ⊙ (W_l h_{l−1} +
    b_l) with trained W and b; the net is linear in the last h, and h_0 and z_0 are the inputs. One layer is
    `shallows.kernel_approximation.SemiRandomFeatures`, with convex training. Training several layers is not convex.

    Parameters
    ----------
    n_units : sequence of int
        Units of each layer.
    seed : int, default=0
        Seed of the switches. ``random_state`` of the net is the seed of the trained weights.

    Raises
    ------
    ShallowsError
        If there is no layer, or a layer has no units.

    References
    ----------
    K. Kawaguchi, B. Xie, V. Verma and L. Song (2018), "Deep semi-random features for nonlinear function approximation",
    AAAI 32: the linear units. Here two layers of 64 have no fewer errors than one on digits, scikit-learn's and MNIST.
    """
    if not len(n_units) or not all(isinstance(n, int) and n >= 1 for n in n_units):
        raise ShallowsError(f"n_units must be whole numbers of at least 1, one for each layer, got {n_units!r}.")
    last = len(n_units) - 1
    body = tuple(SemiRandom(n, place, place == last, seed) for place, n in enumerate(n_units))
    return Architecture(body=body, source="Kawaguchi, Xie, Verma and Song (2018); the widths are the user's.")
