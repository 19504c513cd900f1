"""Coefficients to start from: principal components of a few thousand points in the space of the first blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...errors import ShallowsError, TooFewDirectionsError
from ...spectrum.eigensystems import eigensystem
from ..expansions.growing_expansion import FIRST_CAPACITY

RESOLUTION = 100.0
"""Eigenvalues below so many units in the last place of k(x, x) = 1 are not told from zero by rounding."""


@dataclass(frozen=True)
class WarmStart:
    """Components of a random-feature problem."""

    coefficients: Array  # (n_blocks, width, k): of functions that are orthonormal in the space of the features
    eigenvalues: np.ndarray  # (at most k + 1,): of the covariance of the features
    variance: float  # The trace of that covariance, the sum of all eigenvalues


def random_feature_components(
    features: Any, x: Array, n_components: int, *, n_blocks: int = 1, centred: bool = False, seed: int = 0
) -> WarmStart:
    """Solve kernel PCA on the features of the first blocks, for a few thousand points at most.

    A matrix of n by n, or of the width of all blocks, is decomposed.
    """
    xp = arrays.namespace(x)
    Z = features.map(x, n_blocks)
    if centred:
        Z = Z - xp.mean(Z, axis=0)
    n, width = Z.shape
    by_points = n < width
    matrix = (Z @ Z.T if by_points else Z.T @ Z) / n
    variance = float(xp.sum(Z * Z)) / n
    pairs = min(n_components + 1, matrix.shape[0])
    values, vectors = eigensystem(matrix, pairs, seed=seed)
    values = arrays.to_numpy(values).astype(np.float64)
    rank = int(np.sum(values > RESOLUTION * float(xp.finfo(Z.dtype).eps)))
    if rank < n_components:
        raise TooFewDirectionsError(
            f"n_components={n_components} is more than the data have: {n} points (n_samples = {n}) span {rank} "
            f"direction{'' if rank == 1 else 's'} in the space of the kernel. Take fewer components, or more points."
        )
    vectors = vectors[:, :n_components]
    if by_points:
        vectors = Z.T @ (vectors / arrays.like(np.sqrt(n * values[:n_components]), Z, Z.dtype))
    # Coefficients belong to features without their common factor 1/√(number of frequencies).
    coefficients = xp.reshape(vectors / math.sqrt(n_blocks * features.block_size), (n_blocks, -1, n_components))
    return WarmStart(arrays.contiguous(coefficients), values, variance)


def buffer_of(start: Array) -> Array:
    """A buffer that begins with the coefficients of a start; one of which a component is zero is refused."""
    xp = arrays.namespace(start)
    if start.shape[0] == 0 or not bool(xp.all(xp.sum(start * start, axis=(0, 1)) > 0)):
        raise ShallowsError(
            "The training cannot start from functions that are zero: every change is a multiple of their values, so "
            "they would stay zero. Start from the components of a small random-feature problem."
        )
    buffer = xp.zeros((max(FIRST_CAPACITY, start.shape[0]), *start.shape[1:]), dtype=start.dtype)
    buffer[: start.shape[0], :, :] = start
    return buffer
