"""Checks that a kernel and the training points go together, made before anything large is computed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import arrays, kernels
from ..errors import ShallowsError
from ..kernels import FunctionKernel, Kernel, Precomputed


def check_scale(points: Any, dtype: np.dtype, *, may_vanish: bool = False) -> None:
    """Refuse features whose squared distances over- or underflow in a precision."""
    largest = float(points[:, -2].max())
    vanishes = largest == 0 and points.shape[1] > 2 and not may_vanish
    if vanishes or not largest < math.inf:
        raise ShallowsError(
            f"The features are too {'small' if vanishes else 'large'} for {dtype.name}: squared distances "
            f"{'under' if vanishes else 'over'}"
            "flow. Bring X to a usual scale, for instance with sklearn.preprocessing.StandardScaler."
        )


def check_precision(points: np.ndarray, dtype: np.dtype) -> None:
    """Refuse centred points, shape (m, d) in float64, that underflow in the precision of the model."""
    largest, least = float(np.abs(points).max(initial=0.0)), float(np.finfo(dtype).tiny)
    if 0.0 < largest < least:
        raise ShallowsError(
            f"The features are too small for {dtype.name}: the largest distance from the mean is {largest:.3g}, and "
            f"numbers below {least:.2g} are rounded to zero. Bring X to a usual scale, for example with "
            "sklearn.preprocessing.StandardScaler, or use dtype='float64'."
        )


def too_large(largest: float, dtype: Any) -> ShallowsError:
    """The error for points whose values, or distances, overflow in a precision."""
    name = np.dtype(dtype).name
    return ShallowsError(
        f"X holds values as large as {largest:.3g}, which lead beyond the numbers of {name}, in which the model "
        f"computes. Bring X to a usual scale{', or fit with dtype=' + repr('float64') if name != 'float64' else ''}."
    )


def check_scores(scores: np.ndarray, X: Any) -> None:
    """Refuse new points so far away that the function of a fitted model overflows there."""
    if not np.isfinite(scores).all():
        raise too_large(float(abs(X).max()), scores.dtype)


def chosen_kernel(
    kernel: Any, bandwidth: float | None, parameters: Any, points: Any, seed: int, *, all_equal: bool
) -> Kernel:
    """Make the kernel of a fit, by the median rule where it lacks a bandwidth, and check it on the training points.

    Parameters
    ----------
    kernel, bandwidth, parameters
        As the user gave them, see `kernels.choose`.
    points : array, shape (n, d + 2)
        Augmented training points.
    seed : int
        Of the median rule's subsample.
    all_equal : bool
        Whether all training points are the same, so that there is no median distance.

    Raises
    ------
    ShallowsError
        If the kernel does not take so many features, or has no usable values on the points.
    """
    kernel, bandwidth, parameters = kernels.translated(kernel, bandwidth, parameters)
    kind = kernels.kind(kernel)
    if all_equal and bandwidth is None and kind.takes_bandwidth and not isinstance(kind, Kernel):
        bandwidth = 1.0  # Every bandwidth gives the same function.
    made = kernels.choose(kernel, bandwidth, points, seed, parameters)
    check_values(made, points)
    return made


def check_values(kernel: Kernel, points: Any) -> None:
    """Refuse kernels whose values overflow or are lost in rounding, and functions that are no kernels."""
    if kernel.of_distance:
        # ‖x‖² + ‖z‖² − 2xᵀz is off by about a unit in the last place of the largest term.
        resolution = math.sqrt(float(points[:, -2].max()) * float(np.finfo(np.dtype(str(points.dtype))).eps))
        if kernel.bandwidth < resolution:
            raise ShallowsError(
                f"bandwidth={kernel.bandwidth:.3g} is too small for {points.dtype}: distances below {resolution:.1g} "
                "are lost in rounding, so that a point is not told from its neighbours. Use a larger bandwidth"
                f"{', or dtype=' + repr('float64') if points.dtype != np.float64 else ''}."
            )
        return
    with np.errstate(over="ignore", invalid="ignore"):
        largest = float(kernel.diagonal(points[:, :-2]).max())
    if not 0 < largest < math.inf:
        raise ShallowsError(
            f"The largest value of the kernel {kernel.name!r} on the training points is {largest:g}; it must be "
            "positive and finite. Scale X, or take other parameters of the kernel."
        )
    if isinstance(kernel, (FunctionKernel, Precomputed)):
        said = "precomputed kernel matrix" if isinstance(kernel, Precomputed) else f"kernel function {kernel.name!r}"
        some = points[:100, :]
        matrix = arrays.to_numpy(kernels.values(kernel, some, some)).astype(np.float64)
        rounding = 1e-3 if points.dtype == np.float32 else 1e-6
        if not np.isfinite(matrix).all() or np.abs(matrix - matrix.T).max() > rounding * np.abs(matrix).max():
            raise ShallowsError(f"The {said} is not symmetric: k(x, z) must equal k(z, x).")
        values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
        if values[0] < -rounding * values[-1]:
            raise ShallowsError(
                f"The {said} is not positive semi-definite: its matrix on {len(matrix)} "
                f"training points has the eigenvalue {values[0]:.3g}."
            )
