"""Bandwidth and λ of kernel ridge regression by leave-one-out errors on some training rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import arrays, kernels, streams
from ..kernels import Kernel
from .leave_one_out import RidgeChoice, choose_ridge

AUTO, MEDIAN = "auto", "median"

LEAST_ROWS, MOST_ROWS = 400, 1000
"""Rows of a choice: a tenth of the data between these. A search among bandwidths with 400 rows takes about 0.1 seconds.
If these rows show no relation, the largest number is used."""


@dataclass(frozen=True)
class Joined:
    """How rows with copies were joined: each point once, with the mean target and the total weight of its copies."""

    first: np.ndarray  # (k,): the row of each point; in the order of the rows if all are distinct
    targets: np.ndarray  # (k, c)
    weights: np.ndarray | None  # (k,)
    group: np.ndarray  # (m,): the number of the point of each row
    all_distinct: bool


def join_copies(points: np.ndarray, targets: np.ndarray, weights: np.ndarray | None) -> Joined:
    """Join the rows with equal points; weights are positive."""
    m = len(points)
    if not arrays.is_sparse(points):
        # Points with different sums are different, and sorting numbers is faster than sorting rows. A product of
        # matrices may round the sums of equal points differently; this sum does not.
        with np.errstate(over="ignore", invalid="ignore"):
            sums = (points * np.sqrt(np.arange(2.0, points.shape[1] + 2.0))).sum(axis=1)
        if len(np.unique(sums)) == m:
            return Joined(np.arange(m), targets, weights, np.arange(m), True)
    if arrays.is_sparse(points):
        _, first, group = np.unique(points.groups(), return_index=True, return_inverse=True)
    else:
        _, first, group = np.unique(points, axis=0, return_index=True, return_inverse=True)
    if len(first) == m:
        return Joined(np.arange(m), targets, weights, np.arange(m), True)
    group = group.reshape(-1)
    weights = np.ones(m) if weights is None else weights
    total = np.bincount(group, weights)
    means = np.stack([np.bincount(group, weights * column) / total for column in targets.T], axis=1)
    return Joined(first, means, total, group, False)


def number_of_rows(n: int) -> int:
    """How many of n rows a choice uses."""
    return min(n, max(LEAST_ROWS, min(MOST_ROWS, n // 10)))


def with_enough_rows(n: int, choose: Callable[[int], RidgeChoice | None]) -> RidgeChoice | None:
    """Choose from `number_of_rows` of n rows, and again from up to `MOST_ROWS` if these rows show no relation."""
    m = number_of_rows(n)
    choice = choose(m)
    if choice is not None and choice.is_uninformative and m < min(n, MOST_ROWS):
        choice = choose(min(n, MOST_ROWS))
    return choice


def is_automatic(value: Any) -> bool:
    """Whether a parameter is chosen from the training data."""
    return isinstance(value, str) and value == AUTO


def choose_kernel_ridge(
    kernel: Kernel,
    points_of: Callable[[np.ndarray], Any],
    targets: np.ndarray,
    weights: np.ndarray | None,
    seed: int,
    *,
    searches_bandwidth: bool,
    regularizes: bool = False,
    widest: float = np.inf,
    factor: float | None = None,
    regularization: float | None = None,
) -> RidgeChoice | None:
    """The bandwidth and λ of kernel ridge regression with the smallest leave-one-out error on some training rows.

    Kernel machines with other losses, or that stop early, use the same values: compared with Σ wᵢ (f(xᵢ) − yᵢ)² + λ
    ‖f‖², the C of a sum of losses ½ (f − y)² with ½ ‖f‖² is 1/λ, and the λ of their mean with λ/2 ‖f‖² is λ/n. The
    result is None without anything to choose, for fewer than three distinct points, or if all targets are equal. Its
    bandwidth is None if it was not searched.

    Parameters
    ----------
    searches_bandwidth : bool
        Whether the bandwidth of an open kernel is chosen; otherwise it is the median distance.
    points_of : callable
        Returns the augmented points (`kernels.augmented`) of an array of row numbers.
    targets, weights : ndarrays, shapes (n, c) and (n,)
        Targets are centered here.
    regularizes : bool
        Whether λ is needed if the bandwidth is given.
    widest : float
        The largest bandwidth, as a multiple of the median distance. Methods that visit each row a few times do not
        reach the solution for wide kernels, whose eigenvalues decay fast.
    factor : float, optional
        The bandwidth as a multiple of the median distance, instead of a search.
    regularization : float, optional
        λ at which bandwidths are compared, for a machine with a given C. The bandwidth with the best error over all
        λ may be far too wide for it.
    """
    searches = searches_bandwidth and kernel.is_open
    if not (searches or regularizes):
        return None
    n = len(targets)
    order = streams.permutation(seed, "rows to choose with", 0, n)

    def choose(m: int) -> RidgeChoice | None:
        rows = order[:m]
        x = arrays.to_numpy(points_of(rows)).astype(np.float64)[:, :-2]
        of_rows = None if weights is None else weights[rows]
        centered = targets[rows] - np.average(targets[rows], axis=0, weights=of_rows)
        joined = join_copies(x, centered, of_rows)
        if len(joined.first) < 3 or not centered.any():
            return None
        with np.errstate(over="ignore"):
            points = kernels.augmented(x[joined.first])
        if not np.isfinite(points[:, -2]).all():
            return None  # The fit reports it for its own precision.
        median = kernels.median_bandwidth(points[:, :-2], seed, kernel=kernel) if kernel.is_open else None

        def matrix_of(width: float | None) -> np.ndarray:
            closed = kernel.with_bandwidth(width)
            return np.asarray(kernels.matrix(closed, points), dtype=np.float64)

        def choose_at(width: float | None) -> RidgeChoice:
            options = {"bandwidth": width, "regularization": regularization, "weights": joined.weights}
            return choose_ridge(matrix_of, joined.targets, median=median, **options)

        choice = choose_at(None if searches and factor is None else median and median * (factor or 1.0))
        if median is not None and choice.bandwidth > widest * median:
            choice = choose_at(widest * median)
        return choice if searches else replace(choice, bandwidth=None, bandwidths={})

    return with_enough_rows(n, choose)
