"""The median rule for the bandwidth, and scikit-learn's names of kernels and parameters.

============  ===============  ===========================================================================
scikit-learn  here             parameters
============  ===============  ===========================================================================
rbf           gaussian         exp(−gamma ‖x − z‖²): bandwidth = 1/√(2 gamma)
laplacian     laplace_product  exp(−gamma ‖x − z‖₁): bandwidth = 1/gamma
poly          polynomial       (gamma xᵀz + coef0)^degree: scale = gamma, offset = coef0; scale = 1 by default
============  ===============  ===========================================================================
"""

import math
import numbers
from typing import Any

import numpy as np
import scipy.spatial.distance

from .. import arrays, streams
from ..arrays import Array
from ..errors import ShallowsError

OTHER_NAMES = {"rbf": "gaussian", "laplacian": "laplace_product", "poly": "polynomial"}

OF_DISTANCE = {"gaussian": "1/√(2·gamma)", "laplace_product": "1/gamma"}
"""The bandwidth for a gamma, by our name of the kernel."""

OF_PRODUCT = ("polynomial", "linear")
"""Kernels in which gamma is the scale and coef0 the offset."""


def median_bandwidth(x: Array, seed: int = 0, n_points: int = 1000, kernel: Any = None) -> float:
    """The median of ‖xᵢ − xⱼ‖ over the pairs i < j of the distinct points of a random subsample of ``x``, shape (n, d).

    Equal points count once, so that repeating an example, or giving it a weight, does not change the bandwidth. The
    sources of the rule give no size of the subsample; 1,000 points have half a million pairs. Equal points raise a
    `ShallowsError`. For a ``kernel`` with its own distance, the median is of that distance; see
    `Kernel.pair_distances`.
    """
    n = x.shape[0]
    chosen = streams.permutation(seed, "median bandwidth", 0, n)[: min(n, n_points)]
    sample = arrays.to_numpy(arrays.take_rows(x, chosen))
    if arrays.is_sparse(sample):
        sample = sample.astype(np.float64)
        sample = sample[np.unique(sample.groups())]
    else:
        sample = np.unique(sample, axis=0)
    if kernel is not None and kernel.pair_distances is not None:
        found = kernel.pair_distances(sample)
    elif arrays.is_sparse(sample):
        squares = sample.norms_squared()
        squared = squares[:, None] + squares - 2.0 * (sample @ sample.T)
        found = np.sqrt(np.maximum(squared[np.triu_indices(len(squares), 1)], 0.0))
    else:
        found = scipy.spatial.distance.pdist(sample)
    if found.size == 0 or not np.median(found) > 0:
        if found.size and not found.any():  # The distances are between distinct points.
            raise ShallowsError(
                "The features are too small: squared distances underflow, so the median rule gives no bandwidth. Bring "
                "X to a usual scale, for example with sklearn.preprocessing.StandardScaler."
            )
        raise ShallowsError(
            "All points of the subsample coincide, so the median rule gives no bandwidth; set bandwidth yourself."
        )
    return float(np.median(found))


def with_our_names(name: str, bandwidth: float | None, parameters: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The bandwidth and the parameters of a kernel with scikit-learn's ``gamma`` and ``coef0`` in our terms."""
    parameters = dict(parameters)
    if name in OF_DISTANCE and "gamma" in parameters:
        formula = OF_DISTANCE[name]
        gamma = _positive(parameters.pop("gamma"), f"bandwidth = {formula}")
        width = 1.0 / math.sqrt(2.0 * gamma) if "√" in formula else 1.0 / gamma
        if bandwidth is not None:
            raise ShallowsError(
                f"bandwidth={bandwidth!r} and gamma={gamma!r} say the same thing twice: bandwidth is {formula}, here "
                f"{width:.6g}. Leave one of the two out."
            )
        return width, parameters
    for theirs, ours in (("gamma", "scale"), ("coef0", "offset")):
        if name in OF_PRODUCT and theirs in parameters:
            if ours in parameters:
                raise ShallowsError(f"{theirs} is another name of {ours}; leave one of the two out.")
            value = parameters.pop(theirs)
            parameters[ours] = _positive(value, f"it is the kernel's {ours}") if theirs == "gamma" else value
    return bandwidth, parameters


def _positive(gamma: Any, meaning: str) -> float:
    good = isinstance(gamma, numbers.Real) and not isinstance(gamma, bool) and math.isfinite(gamma) and gamma > 0
    if not good:
        raise ShallowsError(
            f"gamma must be a positive number ({meaning}), got {gamma!r}. Without it, the bandwidth of a "
            "kernel that has one is chosen from the data."
        )
    return float(gamma)
