"""The median rule: the bandwidth is the median distance between points of a subsample."""

from __future__ import annotations

import numpy as np
import scipy.spatial.distance

from .. import arrays, streams
from ..arrays import Array
from ..errors import ShallowsError


def median_bandwidth(x: Array, seed: int = 0, n_points: int = 1000) -> float:
    """The median of ‖xᵢ − xⱼ‖ over the pairs i < j of the distinct points of a random subsample.

    Points that are there several times count once, so that the rule does not depend on whether an example was repeated
    or given a weight.

    Parameters
    ----------
    x : array, shape (n, d)
        Training points.
    seed : int
        Which subsample.
    n_points : int
        Its size; the sources that name the rule do not give one, and 1,000 points make half a million pairs.

    Raises
    ------
    ShallowsError
        If all points of the subsample coincide, so that no bandwidth follows.
    """
    n = x.shape[0]
    chosen = streams.permutation(seed, "median bandwidth", 0, n)[: min(n, n_points)]
    sample = arrays.to_numpy(arrays.take_rows(x, chosen))
    distances = _sparse_distances(sample) if arrays.is_sparse(sample) else _distances(sample)
    if distances.size == 0 or not np.median(distances) > 0:
        if distances.size and not distances.any():  # All of them are between distinct points.
            raise ShallowsError(
                "The features are too small: squared distances underflow, so the median rule gives no bandwidth. Bring "
                "X to a usual scale, for example with sklearn.preprocessing.StandardScaler."
            )
        raise ShallowsError(
            "All points of the subsample coincide, so the median rule gives no bandwidth; set bandwidth yourself."
        )
    return float(np.median(distances))


def _distances(sample: np.ndarray) -> np.ndarray:
    return scipy.spatial.distance.pdist(np.unique(sample, axis=0))


def _sparse_distances(sample: arrays.SparsePoints) -> np.ndarray:
    sample = sample.astype(np.float64)
    sample = sample[np.unique(sample.groups())]
    squares = sample.norms_squared()
    distances = squares[:, None] + squares - 2.0 * (sample @ sample.T)
    return np.sqrt(np.maximum(distances[np.triu_indices(len(squares), 1)], 0.0))
