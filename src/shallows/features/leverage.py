"""Landmarks drawn by their ridge leverage scores: rare kinds of points are among them, crowds need few."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg

from .. import arrays, kernels, streams
from ..arrays import Array
from .landmarks import BLOCK_BYTES, NystromFeatures, sample_rows

SAMPLE, HALVINGS = 2000, 40
"""Points that λ is found on, and how often the interval that it is in is halved."""


def ridge_leverage_scores(kernel: Any, x: Array, pilot: Array, total: float, seed: int = 0) -> np.ndarray:
    """Approximate ridge leverage scores (K (K + λI)⁻¹)ᵢᵢ of points, by landmarks drawn uniformly.

    With M pilot points and the weight w = n/M of each, the score of a point is
    (k(x, x) − w k_M(x)ᵀ (w K_MM + λI)⁻¹ k_M(x)) / λ, at most 1. λ is the one at which the scores add up to ``total``,
    the effective dimension that so many landmarks are good for, found on at most 2,000 of the points.

    ``x`` (n, d). ``pilot`` (M, d): a uniform sample of ``x``. ``total``: below n. ``seed``: of the points that λ is
    found on. Returns (n,).

    References
    ----------
    A. Alaoui and M. Mahoney (2015), "Fast randomized kernel ridge regression with statistical guarantees", NIPS 28. C.
    Musco and C. Musco (2017), "Recursive sampling for the Nyström method", NIPS 30.
    """
    n, M = x.shape[0], pilot.shape[0]
    xp = arrays.namespace(x)
    at_pilot = kernels.augmented(arrays.astype(pilot, xp.float64))
    sigma, U = scipy.linalg.eigh(arrays.to_numpy(kernels.matrix(kernel, at_pilot)) * (n / M))
    sigma = np.maximum(sigma, 0.0)

    def along(points: Array) -> tuple[np.ndarray, np.ndarray]:
        points = arrays.astype(points, xp.float64)
        values = arrays.to_numpy(kernels.values(kernel, kernels.augmented(points), at_pilot))
        return (values @ U) ** 2 * (n / M), arrays.to_numpy(kernel.diagonal(points))

    def scores(squares: np.ndarray, diagonal: np.ndarray, ridge: float) -> np.ndarray:
        return np.clip((diagonal - squares @ (1.0 / (sigma + ridge))) / ridge, 1e-12, 1.0)

    some = along(sample_rows(x, SAMPLE, seed))
    # Scores fall as λ grows, so their sum crosses the total once.
    low, high = math.log(1e-10 * float(sigma[-1])), math.log(1e3 * float(sigma[-1]))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        found = scores(*some, math.exp(middle)).mean() * n
        low, high = (middle, high) if found > total else (low, middle)
    rows = arrays.blocks(n, max(1, BLOCK_BYTES // (8 * M)))
    return np.concatenate([scores(*along(x[part, :]), math.exp(high)) for part in rows])


def leverage_rows(kernel: Any, x: Array, n: int, seed: int) -> Array:
    """``n`` rows of ``x`` without replacement, drawn in proportion to their scores, shape (min(n, len(x)), d)."""
    if n >= x.shape[0]:
        return x
    scores = ridge_leverage_scores(kernel, x, sample_rows(x, n, seed), float(n), seed)
    # The n largest of uᵢ^(1/sᵢ) are a sample with probabilities in proportion to s (Efraimidis and Spirakis 2006).
    uniform = streams.uniform(seed, "leverage", 0, (x.shape[0],))
    keys = np.log(np.maximum(uniform, 2.0**-53)) / scores
    return arrays.take_rows(x, np.argsort(-keys, kind="stable")[:n])


def nystrom_by_leverage(
    kernel: Any, x: Array, n_features: int, seed: int = 0, budget: int | None = None
) -> NystromFeatures:
    """The map that is called "nystrom_leverage": Nyström with landmarks drawn by leverage; see `features.make`."""
    return NystromFeatures(kernel, leverage_rows(kernel, x, n_features, seed))
