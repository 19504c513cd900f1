"""Coefficients to start from for two views: the solution in the features of the first blocks, on a few points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...errors import TooFewDirectionsError
from .warm_start import RESOLUTION


@dataclass(frozen=True)
class TwoViewStart:
    """Pairs of functions in the features of the first blocks."""

    first: Array  # (n_blocks, width, k): coefficients, those of the other view in `second`
    second: Array
    values: np.ndarray  # (at most k + 1,): singular values of the cross-covariance, or canonical correlations


def random_feature_pairs(
    features: tuple[Any, Any],
    x: Array,
    y: Array,
    n_components: int,
    *,
    n_blocks: int = 1,
    centred: bool = False,
    ridge: float | None = None,
) -> TwoViewStart:
    """Solve kernel SVD, or kernel CCA with a ridge, on the features of the first blocks.

    The ridge is added to both covariances before they are whitened, for CCA; None is the SVD. The functions have half
    the size at which singular functions are orthonormal and canonical variables have unit variance: the fixed points of
    the rules are FᵀF = GᵀG = ½ I for the SVD and FᵀCF = GᵀC'G = ½ I for CCA.
    """
    xp, n = arrays.namespace(x), x.shape[0]
    Z = [f.map(points, n_blocks) for f, points in zip(features, (x, y), strict=True)]
    if centred:
        Z = [one - xp.mean(one, axis=0) for one in Z]
    host = [arrays.to_numpy(one).astype(np.float64) for one in Z]
    cross = host[0].T @ host[1] / n
    factors = [np.eye(one.shape[1]) for one in host]
    if ridge is not None:
        factors = [np.linalg.cholesky(one.T @ one / n + ridge * np.eye(one.shape[1])) for one in host]
        cross = np.linalg.solve(factors[1], np.linalg.solve(factors[0], cross).T).T
    with arrays.one_blas_thread():
        left, values, right = np.linalg.svd(cross, full_matrices=False)
    resolution = RESOLUTION * float(xp.finfo(Z[0].dtype).eps)
    rank = int(np.sum(values > resolution))
    if rank < n_components:
        raise TooFewDirectionsError(
            f"n_components={n_components} is more than the data have: in {n} examples (n_samples = {n}) the views "
            f"share {rank} direction{'' if rank == 1 else 's'} in the spaces of the kernels. Take fewer components."
        )
    k = n_components
    found = []
    for f, factor, vectors in zip(features, factors, (left[:, :k], right[:k].T), strict=True):
        vectors = np.linalg.solve(factor.T, vectors) / math.sqrt(2.0 * n_blocks * f.block_size)
        found.append(arrays.contiguous(arrays.like(vectors.reshape(n_blocks, -1, k), x, x.dtype)))
    return TwoViewStart(*found, values[: k + 1])
