"""Bandwidth and λ from leave-one-out errors of kernel ridge regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays, kernels
from ..arrays import Array
from ..kernels import Kernel, Precomputed, precomputed
from ..models.centering import Centering, place_points
from ..spectrum.kernel_ridge_choice import choose_kernel_ridge
from ..spectrum.leave_one_out import RidgeChoice


def given_bandwidth(value: Any, choice: RidgeChoice | None) -> float | None:
    """The bandwidth that was given or chosen; None means the median rule."""
    if choice is not None and choice.bandwidth is not None:
        return choice.bandwidth
    return None if isinstance(value, str) else value


def place_and_choose(
    X: Any,
    matrix: Any,
    order: np.ndarray,
    kernel: Kernel,
    targets: np.ndarray,
    weights: np.ndarray | None,
    seed: int,
    device: arrays.Device,
    dtype: np.dtype,
    *,
    searches_bandwidth: bool,
    feature_map: Any = None,
    widest: float,
    regularizes: bool = False,
    regularization: float | None = None,
) -> tuple[Centering, Array, Kernel, RidgeChoice | None]:
    """The points in the order of a fit on the device, their kernel, and the choice of bandwidth and λ, if any.

    With a kernel ``matrix``, X has the numbers of its rows.
    ``targets, weights`` are in the order of the fit; see `choose_kernel_ridge` for the last arguments.
    """
    centering, points = place_points(X, order, kernel, device, dtype, feature_map)
    kernel, choice = kernel if matrix is None else precomputed.kernel_on(matrix, points), None
    if not centering.all_equal:
        on_host = kernel
        if isinstance(kernel, Precomputed) and not arrays.is_numpy(kernel.matrix):
            on_host = Precomputed(arrays.to_numpy(kernel.matrix))
        choice = choose_kernel_ridge(
            on_host,
            lambda rows: arrays.take_rows(points, rows),
            targets,
            weights,
            seed,
            searches_bandwidth=searches_bandwidth,
            regularizes=regularizes,
            widest=widest,
            regularization=regularization,
        )
    if choice is not None and choice.bandwidth is not None:
        kernel = kernel.with_bandwidth(choice.bandwidth)
    return centering, points, kernels.choose(kernel, points, seed, all_equal=centering.all_equal), choice
