"""Feature maps by name, fitted to training points where they need them."""

from __future__ import annotations

from typing import Any

from ..arrays import Array
from ..errors import ShallowsError, UnknownNameError
from .fourier import FourierFeatures
from .landmarks import NystromFeatures, RBFNetwork, kmeans_centres, sample_rows

NAMES = ("fourier", "fourier_cosine", "orthogonal", "rbf", "rbf_kmeans", "nystrom", "nystrom_kmeans")


def make(name: str, kernel: Any, x: Array, n_features: int, seed: int = 0) -> Any:
    """A feature map with ``map(x)`` and ``n_features``.

    Parameters
    ----------
    name : str
        ``"fourier"`` (cosines and sines), ``"fourier_cosine"``, ``"orthogonal"`` (Fourier, frequencies at right
        angles), ``"rbf"`` (radial basis functions at sampled points), ``"rbf_kmeans"``, ``"nystrom"`` (landmarks
        sampled), ``"nystrom_kmeans"``.
    kernel : Kernel
    x : array, shape (n, d)
        Training points: landmarks are taken from them, Fourier features read their number of inputs only.
    n_features : int
        Columns asked for. Landmarks are at most n; the paired Fourier forms need an even number.
    seed : int

    Raises
    ------
    UnknownNameError
        If there is no such map.
    ShallowsError
        If the number of features does not fit the map.
    """
    if name not in NAMES:
        raise UnknownNameError("feature map", name, NAMES)
    if not n_features >= 1:
        raise ShallowsError(f"n_features must be at least 1, got {n_features!r}.")
    if name == "fourier_cosine":
        return FourierFeatures(kernel, x.shape[1], n_features, seed, form="cosine")
    if name in ("fourier", "orthogonal"):
        if n_features % 2:
            raise ShallowsError(f"Cosines and sines come in pairs: n_features must be even, got {n_features!r}.")
        return FourierFeatures(kernel, x.shape[1], n_features // 2, seed, orthogonal=name == "orthogonal")
    points = (kmeans_centres if name.endswith("kmeans") else sample_rows)(x, n_features, seed)
    return RBFNetwork(kernel, points) if name.startswith("rbf") else NystromFeatures(kernel, points)
