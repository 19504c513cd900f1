"""Bandwidth and regularisation of kernel machines from leave-one-out errors of kernel ridge regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import arrays, kernels
from ..errors import ShallowsError
from ..kernels import Kernel, Precomputed, precomputed
from ..losses.margins import Hinge
from ..models.centring import refuse_wide
from ..spectrum import principal_components
from ..spectrum.kernel_ridge_choice import AUTO, MEDIAN, choose_kernel_ridge, is_automatic
from ..spectrum.leave_one_out import RidgeChoice
from .checks import MOST, is_positive, is_whole, warn_user
from .rows import TrainingSet


def check_bandwidth(value: Any) -> None:
    """Refuse what is no positive number, "auto", "median" or None.

    Raises
    ------
    ShallowsError
    """
    named = value is None or (isinstance(value, str) and value in (AUTO, MEDIAN))
    if not named and not is_positive(value):
        raise ShallowsError(f"bandwidth must be a positive number, 'auto', 'median' or None, got {value!r}.")


def check_components(estimator: Any) -> None:
    """Refuse an ``n_components`` that is no number, "auto" or None."""
    value = estimator.n_components
    if value is not None and not (isinstance(value, str) and value == AUTO) and not is_whole(value):
        raise ShallowsError(f"n_components must be a whole number from 1 to {MOST:,}, 'auto' or None, got {value!r}.")


def warn_of_all_inputs(
    n_components: Any, kernel: Any, bandwidth: Any, kernel_params: Mapping[str, Any] | None, X: Any, budget: int
) -> None:
    """Warn if ``n_components="auto"`` compares nothing for the only reason that the bandwidth is given.

    The message has no bandwidth in it, so that Python shows it once for a search over bandwidths.
    """
    known = principal_components.candidates(X, budget) if is_automatic(n_components) else []
    if known and principal_components.bandwidth_is_given(kernel, bandwidth, kernel_params):
        numbers = " and ".join(filter(None, [", ".join(map(str, known[:-1])), str(known[-1])]))
        warn_user(
            f"n_components='auto' takes all {X.shape[1]:,} inputs, because the bandwidth is given: components are only "
            f"chosen together with the bandwidth. Compare n_components={numbers} yourself, or set n_components=None "
            "to take all inputs without this warning.",
            UserWarning,
        )


def choose_components(
    wanted: int | str | None,
    kernel: Any,
    bandwidth: Any,
    kernel_params: Mapping[str, Any] | None,
    rows: TrainingSet,
    codes: np.ndarray,
    seed: int,
    budget: int,
) -> principal_components.Components | None:
    """The principal components that take the place of the inputs, or None for the inputs; see `components_for`."""
    if rows.matrix is not None:
        return None
    if is_whole(wanted):
        refuse_wide(rows.X)
    of_kernel = kernel if is_automatic(bandwidth) else None
    made = principal_components.components_for(
        wanted, of_kernel, kernel_params, rows.X, codes, rows.weights, seed, budget
    )
    warn_of_all_inputs(wanted, kernel, bandwidth, kernel_params, rows.X, budget)
    return made


def check_or_auto(estimator: Any, name: str, *, optional: bool = False) -> None:
    """Refuse a parameter that is no positive number and not "auto"; with ``optional``, None passes too.

    Raises
    ------
    ShallowsError
    """
    value = getattr(estimator, name)
    if not (is_automatic(value) or is_positive(value) or (optional and value is None)):
        none = ", 'auto' or None" if optional else " or 'auto'"
        raise ShallowsError(f"{name} must be a positive number{none}, got {value!r}.")


def given_bandwidth(value: Any, choice: RidgeChoice | None) -> float | None:
    """The bandwidth that was given or chosen; None leaves it to the median rule."""
    if choice is not None and choice.bandwidth is not None:
        return choice.bandwidth
    return None if isinstance(value, str) else value


def of_mean_loss(value: Any, choice: RidgeChoice | None, n: int, least: float = 0.0) -> float:
    """λ of the mean loss over n rows with λ/2 ‖f‖²: as given or chosen, and 1/n for None and where nothing was.

    A chosen one is at least ``least``/n.
    """
    if is_automatic(value) and choice is not None:
        return max(least, choice.regularisation) / n
    return 1.0 / n if value is None or isinstance(value, str) else float(value)


def report(choice: RidgeChoice | None) -> dict[str, Any]:
    """The entry of ``effective_params_`` about a choice; none where nothing was chosen."""
    return {} if choice is None else {"selection": choice.summary()}


def class_codes(numbers: np.ndarray, n_classes: int) -> np.ndarray:
    """Targets −1 and +1, as the hinge has them: one column for two classes, else one for each class."""
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
    """The kernel of a fit, and how bandwidth and λ were chosen, if one of them is left open.

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
