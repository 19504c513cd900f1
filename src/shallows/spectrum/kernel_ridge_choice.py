"""Bandwidth and λ of kernel ridge regression by leave-one-out errors on some training rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .. import arrays, kernels, streams
from ..kernels import Kernel
from .copies import join_copies
from .leave_one_out import RidgeChoice, choose_ridge

AUTO, MEDIAN = "auto", "median"

LEAST_ROWS, MOST_ROWS = 400, 1000
"""Rows to choose with, where there are so many: a tenth of the data between these. A search among bandwidths with 400
takes about a tenth of a second. Where these do not show that there is anything to be learnt, the most are taken."""


def number_of_rows(n: int) -> int:
    """How many of n rows a choice is made with."""
    return min(n, max(LEAST_ROWS, min(MOST_ROWS, n // 10)))


def with_enough_rows(n: int, chosen: Callable[[int], RidgeChoice | None]) -> RidgeChoice | None:
    """What ``chosen(m)`` returns for `number_of_rows` of n rows; for the most where these show nothing to be learnt."""
    m = number_of_rows(n)
    choice = chosen(m)
    if choice is not None and choice.is_uninformative and m < min(n, MOST_ROWS):
        choice = chosen(min(n, MOST_ROWS))
    return choice


def is_automatic(value: Any) -> bool:
    """Whether a parameter is left to the training data."""
    return isinstance(value, str) and value == AUTO


def choose_kernel_ridge(
    kernel: Any,
    bandwidth: Any,
    kernel_params: Any,
    points_of: Callable[[np.ndarray], Any],
    targets: np.ndarray,
    weights: np.ndarray | None,
    seed: int,
    *,
    regularises: bool = False,
    widest: float = np.inf,
    regularisation: float | None = None,
) -> RidgeChoice | None:
    """The bandwidth and λ of kernel ridge regression with the smallest leave-one-out error on some training rows.

    Kernel machines with other losses, or that stop early, take them for their own: of Σ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖², the
    factor C of a sum of losses ½ (f − y)² with ½ ‖f‖² is 1/λ, and the λ of their mean with λ/2 ‖f‖² is λ/n.

    Parameters
    ----------
    kernel : str, Kernel or callable
    bandwidth : float or str, optional
        Chosen if "auto", for a kernel that is named and has one.
    kernel_params : mapping, optional
    points_of : callable
        Returns the augmented points (`kernels.augmented`) of an array of row numbers.
    targets : ndarray, shape (n, c)
        They are centred here.
    weights : ndarray, shape (n,), optional
    seed : int
        Of the rows to choose with, and of the median rule.
    regularises : bool
        Whether λ is wanted where the bandwidth is given.
    widest : float
        The widest bandwidth that may be chosen, as a multiple of the median distance. Methods that visit each row a few
        times do not reach the solution for wide kernels, whose eigenvalues decay fast.
    regularisation : float, optional
        λ at which bandwidths are compared. A machine whose C is given is as stiff as that: with the best λ of each
        bandwidth, one may be chosen that is far too wide for it.

    Returns
    -------
    RidgeChoice or None
        Its bandwidth is None where it was given. None where there is nothing to choose, or nothing to choose by: fewer
        than three distinct points, or equal targets.
    """
    name, given, parameters = kernels.translated(
        kernel, None if isinstance(bandwidth, str) else bandwidth, kernel_params
    )
    kind = kernels.kind(name)
    has_bandwidth = not isinstance(kind, Kernel) and kind.takes_bandwidth
    searches = is_automatic(bandwidth) and has_bandwidth and given is None
    if not (searches or regularises):
        return None
    n = len(targets)
    order = streams.permutation(seed, "rows to choose with", 0, n)

    def chosen(m: int) -> RidgeChoice | None:
        rows = order[:m]
        x = arrays.to_numpy(points_of(rows)).astype(np.float64)[:, :-2]
        of_rows = None if weights is None else weights[rows]
        centred = targets[rows] - np.average(targets[rows], axis=0, weights=of_rows)
        joined = join_copies(x, centred, of_rows)
        if len(joined.first) < 3 or not centred.any():
            return None
        with np.errstate(over="ignore"):
            points = kernels.augmented(x[joined.first])
        if not np.isfinite(points[:, -2]).all():
            return None  # The fit reports it, in the precision that it computes in.
        median = kernels.median_bandwidth(points[:, :-2], seed) if has_bandwidth and given is None else None

        def matrix_of(width: float | None) -> np.ndarray:
            made = kind if isinstance(kind, Kernel) else kernels.make(name, width, **parameters)
            return np.asarray(kernels.matrix(made, points), dtype=np.float64)

        def found(width: float | None) -> RidgeChoice:
            options = {"bandwidth": width, "regularisation": regularisation, "weights": joined.weights}
            return choose_ridge(matrix_of, joined.targets, median=median, **options)

        choice = found(given if searches or median is None else median)
        if median is not None and choice.bandwidth > widest * median:
            choice = found(widest * median)
        return choice if searches else replace(choice, bandwidth=None, bandwidths={})

    return with_enough_rows(n, chosen)
