"""Points, two views and features for the tests of component analysis, and measures of how well components agree."""

from __future__ import annotations

import numpy as np

from shallows import kernels
from shallows.features import FourierMap


def points(n: int = 120, seed: int = 0) -> np.ndarray:
    """Points with directions of different weight, so that the eigenvalues of their kernel lie apart."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) * np.array([1.5, 0.7, 0.3])


def two_views(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Views that share two directions, one well and one less well."""
    rng = np.random.default_rng(5)
    shared = rng.normal(size=(n, 2))
    return (
        np.concatenate([shared + 0.2 * rng.normal(size=(n, 2)), rng.normal(size=(n, 1))], axis=1),
        np.concatenate([shared[:, ::-1] + 0.4 * rng.normal(size=(n, 2)), rng.normal(size=(n, 2))], axis=1),
    )


def features(block_size: int, seed: int = 0, d: int = 3) -> FourierMap:
    return FourierMap(kernels.make("gaussian", 2.0), d, block_size, seed)


def sine_squared(V: np.ndarray, G: np.ndarray) -> float:
    """sin² of the largest angle between the spans of two sets of columns."""
    V, G = np.linalg.qr(V)[0], np.linalg.qr(G)[0]
    return 1.0 - float(np.linalg.svd(V.T @ G, compute_uv=False)[-1]) ** 2


def exact_correlations(P: np.ndarray, Q: np.ndarray, k: int) -> np.ndarray:
    """The k largest canonical correlations, uncentered, of two sets of columns."""
    return np.linalg.svd(np.linalg.qr(P)[0].T @ np.linalg.qr(Q)[0], compute_uv=False)[:k]
