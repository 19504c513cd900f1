"""The forward pass of each layer in PyTorch, and the initial weights."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shallows import streams

from .architectures import Architecture, Convolution, Dense, Layer, Local, MaxPool, ResponseNorm, Shape
from .backend import torch

_GAINS = {"relu": 2.0, "tanh": 1.0, None: 1.0}
OUTPUT_DEVIATION = 0.01
"""Standard deviation of the output layer's first weights; small, so that no class is preferred (from cuda-convnet)."""


def first_weights(architecture: Architecture, shape: Shape, n_outputs: int, seed: int) -> dict[str, np.ndarray]:
    """Return the initial weights in float64, by the layer's name and ``weight`` or ``bias``.

    Normal with variance gain / inputs, where the gain is 2 for rectified units (He et al. 2015) and 1 otherwise, so
    that activations have the same size in all layers. Biases are 0. Each layer has its own stream.
    """
    shapes, found = architecture.shapes(shape, n_outputs), {}
    for name, layer in architecture.layers(n_outputs).items():
        for kind, (of, inputs) in layer.weights(shapes[name]).items():
            if inputs:
                deviation = OUTPUT_DEVIATION if name == "output" else math.sqrt(_GAINS[layer.activation] / inputs)
                found[f"{name}.{kind}"] = deviation * streams.normal(seed, f"weights of {name}", 0, of)
            else:
                found[f"{name}.{kind}"] = np.zeros(of)
    return found


def body(architecture: Architecture, weights: Mapping[str, Any], x: Any) -> Any:
    """Return the features of inputs, shape (m, n_features)."""
    for place, layer in enumerate(architecture.body):
        x = apply(layer, _of(weights, f"body{place}"), x)
    return x.flatten(1)


def scores(architecture: Architecture, weights: Mapping[str, Any], x: Any) -> Any:
    """Return the outputs of the net for inputs, shape (m, n_outputs)."""
    n_outputs = len(weights["output.bias"])
    for name, layer in architecture.layers(n_outputs).items():
        x = apply(layer, _of(weights, name), x)
    return x


def _of(weights: Mapping[str, Any], name: str) -> dict[str, Any]:
    start = f"{name}."
    return {key.removeprefix(start): value for key, value in weights.items() if key.startswith(start)}


@functools.singledispatch
def apply(layer: Layer, weights: Mapping[str, Any], x: Any) -> Any:
    """Return the output of a layer for a batch of inputs."""
    raise NotImplementedError(f"no forward pass for {type(layer).__name__}")


@apply.register
def _(layer: Convolution, weights: Mapping[str, Any], x: Any) -> Any:
    out = torch().nn.functional.conv2d(x, weights["weight"], weights["bias"], padding=layer.padding)
    return _activated(layer.activation, out)


@apply.register
def _(layer: MaxPool, weights: Mapping[str, Any], x: Any) -> Any:
    return torch().nn.functional.max_pool2d(x, layer.size, layer.stride, ceil_mode=True)


@apply.register
def _(layer: ResponseNorm, weights: Mapping[str, Any], x: Any) -> Any:
    # PyTorch divides the scale by the number of neighbors, as cuda-convnet does.
    return torch().nn.functional.local_response_norm(x, layer.size, alpha=layer.scale, beta=layer.power, k=1.0)


@apply.register
def _(layer: Local, weights: Mapping[str, Any], x: Any) -> Any:
    filters, height, width = layer.shape_after(tuple(x.shape[1:]))
    # (m, inputs, places) -> (places, inputs, m): one product for each position.
    patches = torch().nn.functional.unfold(x, layer.size, padding=layer.padding).permute(2, 1, 0)
    out = torch().bmm(weights["weight"], patches).permute(2, 1, 0) + weights["bias"]
    return _activated(layer.activation, out.reshape(len(x), filters, height, width))


@apply.register
def _(layer: Dense, weights: Mapping[str, Any], x: Any) -> Any:
    return _activated(layer.activation, torch().nn.functional.linear(x.flatten(1), weights["weight"], weights["bias"]))


def _activated(activation: str | None, x: Any) -> Any:
    if activation is None:
        return x
    return torch().relu(x) if activation == "relu" else torch().tanh(x)
