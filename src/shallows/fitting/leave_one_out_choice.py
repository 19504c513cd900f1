"""Bandwidth and regularisation of kernel machines from leave-one-out errors of kernel ridge regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays, kernels
from ..errors import ShallowsError
from ..kernels import Kernel, Precomputed, precomputed
from ..losses.margins import Hinge
from ..spectrum.kernel_ridge_choice import AUTO, MEDIAN, choose_kernel_ridge, is_automatic
from ..spectrum.leave_one_out import RidgeChoice
from .checks import is_positive


def check_bandwidth(value: Any) -> None:
    """Refuse any value but a positive number, "auto", "median" and None."""
    named = value is None or (isinstance(value, str) and value in (AUTO, MEDIAN))
    if not named and not is_positive(value):
        raise ShallowsError(f"bandwidth must be a positive number, 'auto', 'median' or None, got {value!r}.")


def check_or_auto(estimator: Any, name: str, *, optional: bool = False) -> None:
    """Refuse any value of a parameter but a positive number, "auto", and with ``optional`` None."""
    value = getattr(estimator, name)
    if not (is_automatic(value) or is_positive(value) or (optional and value is None)):
        none = ", 'auto' or None" if optional else " or 'auto'"
        raise ShallowsError(f"{name} must be a positive number{none}, got {value!r}.")


def given_bandwidth(value: Any, choice: RidgeChoice | None) -> float | None:
    """The bandwidth that was given or chosen; None means the median rule."""
    if choice is not None and choice.bandwidth is not None:
        return choice.bandwidth
    return None if isinstance(value, str) else value


def of_mean_loss(value: Any, choice: RidgeChoice | None, n: int, least: float = 0.0) -> float:
    """λ of the mean loss over n rows with λ/2 ‖f‖²: given, chosen (at least ``least``/n), or else 1/n."""
    if is_automatic(value) and choice is not None:
        return max(least, choice.regularisation) / n
    return 1.0 / n if value is None or isinstance(value, str) else float(value)


def report(choice: RidgeChoice | None) -> dict[str, Any]:
    """The entry of ``effective_params_`` about a choice, if there was one."""
    return {} if choice is None else {"selection": choice.summary()}


def class_codes(numbers: np.ndarray, n_classes: int) -> np.ndarray:
    """Targets −1 and +1: one column for two classes, else one for each class."""
    return Hinge().encode(numbers, n_classes)


def choose_kernel_on(
    points: Any,
    matrix: Any,
    kernel: Any,
    bandwidth: Any,
    kernel_params: Any,
    targets: np.ndarray,
    weights: Any,
    seed: int,
    *,
    all_equal: bool,
    regularises: bool,
    widest: float,
    regularisation: float | None = None,
) -> tuple[Kernel, RidgeChoice | None]:
    """The kernel of a fit, and how bandwidth and λ were chosen, if at all.

    Parameters
    ----------
    points : array, shape (n, d + 2)
        Augmented, on any device.
    matrix : array, CSR matrix or None
        The kernel matrix of a fit that gets one instead of points.
    kernel, bandwidth, kernel_params
        As the user gave them.
    all_equal : bool
        Whether all points are equal; then nothing is chosen.
    regularises : bool
        Whether λ is to be chosen.
    targets, weights, widest, regularisation
        As for `choose_kernel_ridge`.
    """
    kernel, choice = kernel if matrix is None else precomputed.kernel_on(matrix, points), None
    if not all_equal:
        on_host = kernel
        if isinstance(kernel, Precomputed) and not arrays.is_numpy(kernel.matrix):
            on_host = Precomputed(arrays.to_numpy(kernel.matrix))
        choice = choose_kernel_ridge(
            on_host,
            bandwidth,
            kernel_params,
            lambda rows: arrays.take_rows(points, rows),
            targets,
            weights,
            seed,
            regularises=regularises,
            widest=widest,
            regularisation=regularisation,
        )
    given = kernel, given_bandwidth(bandwidth, choice), kernel_params
    return kernels.choose(*given, points, seed, all_equal=all_equal), choice
