"""Explicit features as estimators ask for them: named maps made, placed on a device, and evaluated under a budget."""

from __future__ import annotations

import dataclasses
from typing import Any

from .. import arrays, features
from ..errors import ShallowsError, UnknownNameError
from ..features.design import Blocks, Linear

BLOCK = 1024
"""Frequencies of a block: wide enough for fast products, narrow enough for a batch of thousands."""

FOURIER = {"fourier": ("pair", False), "fourier_cosine": ("cosine", False), "orthogonal": ("pair", True)}

NAMES = (*features.NAMES, "linear")


def check(asked: Any) -> None:
    """Refuse names that are none of a map; objects are the user's."""
    if isinstance(asked, str) and asked not in NAMES:
        raise UnknownNameError("feature map", asked, NAMES)


def name_of(asked: Any) -> str | None:
    """How records call a map."""
    return asked if asked is None or isinstance(asked, str) else type(asked).__name__


def make(asked: Any, kernel: Any, points: Any, n_features: int, seed: int, budget: int) -> Blocks:
    """The features of a name or an object, in blocks.

    Parameters
    ----------
    asked : str or object
        One of `NAMES`, or an object with ``map(x)`` and ``n_features``.
    kernel : Kernel or None
        None where the map has none.
    points : array, shape (n, d)
        Training points, from which landmarks are drawn.
    n_features : int
        Columns of a named map.
    budget : int
        Bytes, of which an eighth may hold frequencies.
    """
    d = points.shape[1]
    if not isinstance(asked, str):
        return Blocks(asked)
    if asked == "linear":
        return Blocks(Linear(d))
    if asked not in FOURIER:
        return Blocks(features.make(asked, kernel, points, n_features, seed))
    form, orthogonal = FOURIER[asked]
    each = 2 if form == "pair" else 1
    if n_features % each:
        raise ShallowsError(f"Cosines and sines come in pairs: n_features must be even, got {n_features!r}.")
    width = min(BLOCK, n_features // each)
    made = features.FourierFeatures(
        kernel, d, width, seed, form=form, orthogonal=orthogonal, cache_bytes=max(2**20, budget // 8)
    )
    return Blocks(made, n_features)


def on(blocks: Blocks, device: arrays.Device) -> Blocks:
    """The same features with their points on a device; a map of the user's is theirs to place."""
    feature_map = blocks.features
    for name in ("centres", "landmarks"):
        held = getattr(feature_map, name, None)
        if held is not None and dataclasses.is_dataclass(feature_map) and arrays.device_of(held) != device:
            moved = dataclasses.replace(feature_map, **{name: arrays.to_device(held, device)})
            return Blocks(moved, blocks.n_features)
    return blocks
