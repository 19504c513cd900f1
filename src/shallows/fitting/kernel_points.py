"""The training points of a kernel or of a map, in the order of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays, features, kernels
from ..arrays import Array
from ..models.centring import Centring, check_scale


def place_points(
    X: Any, order: np.ndarray, kernel: Any, feature_map: Any, device: arrays.Device, dtype: np.dtype
) -> tuple[Centring, Array]:
    """The training points in the order of the fit on the device, centred if that changes no kernel value."""
    named, kind = feature_map is None or isinstance(feature_map, str), kernels.kind(kernel)
    linear = named and feature_map == "linear"
    centring = Centring.of(
        X,
        centred=named and (kind.shift_invariant or linear),
        without_constants=feature_map is None and kind.of_distance,
        may_stay_sparse=kind.takes_sparse_points and (feature_map is None or features.takes_sparse_points(feature_map)),
    )
    points = centring.training_points(X, order, device, dtype)
    if named:
        origin_matters = not kind.shift_invariant and not linear
        check_scale(points, dtype, may_vanish=centring.all_equal or origin_matters)
    return centring, points
