"""The training points of a kernel or of a map in the order of a fit, and the kernel that is chosen on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import features, kernels
from ..arrays import Array, Device
from ..kernels import Kernel
from ..models.centring import Centring, check_scale
from ..spectrum.leave_one_out import RidgeChoice
from . import leave_one_out_choice


def place_points(
    X: Any, order: np.ndarray, kernel: Any, feature_map: Any, device: Device, dtype: np.dtype
) -> tuple[Centring, Array]:
    """The points on the device, centred if that changes no kernel value."""
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


def place_and_choose(
    X: Any,
    matrix: Any,
    kernel: Any,
    bandwidth: float | str | None,
    kernel_params: Any,
    codes: np.ndarray,
    weights: np.ndarray | None,
    seed: int,
    device: Device,
    dtype: np.dtype,
    *,
    widest: float,
    regularises: bool = False,
    regularisation: float | None = None,
) -> tuple[Centring, Array, Kernel, RidgeChoice | None]:
    """The points in the user's order, their kernel, and the choice of bandwidth and λ; see `choose_kernel_on`."""
    centring, points = place_points(X, np.arange(X.shape[0]), kernel, None, device, dtype)
    kernel, choice = leave_one_out_choice.choose_kernel_on(
        points,
        matrix,
        kernel,
        bandwidth,
        kernel_params,
        codes,
        weights,
        seed,
        all_equal=centring.all_equal,
        regularises=regularises,
        widest=widest,
        regularisation=regularisation,
    )
    return centring, points, kernel, choice
