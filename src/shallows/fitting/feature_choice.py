"""Bandwidth and ridge of least squares on features, from leave-one-out errors on some training rows."""

from __future__ import annotations

import copy
import functools
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays, kernels, streams
from ..models.centering import some_points
from ..solvers.least_squares.normal_equations import solve_by_features
from ..spectrum.kernel_ridge_choice import join_copies, with_enough_rows
from ..spectrum.leave_one_out import RidgeChoice, choose_ridge
from .narrower_bandwidth import FEWEST_ROWS, narrower, scores_of_centers


def with_bandwidth(transformer: Any, bandwidth: float | None) -> Any:
    """An unfitted copy of a transformer with another bandwidth; None means the median rule, or the kernel's own."""
    return copy.copy(transformer).set_params(bandwidth="auto" if bandwidth is None else bandwidth)


def choose_on_features(
    transformer: Any,
    X: Any,
    targets: np.ndarray,
    weights: np.ndarray | None,
    seed: int,
    *,
    searches: bool,
    ridge: float | None,
    n_features: int = 0,
    of_landmarks: bool = False,
    of_classes: bool = False,
    budget: int = 0,
) -> RidgeChoice | None:
    """The bandwidth and λ of ridge regression on features with the smallest leave-one-out error on some training rows.

    The minimum of Σ wᵢ (βᵀh(xᵢ) − tᵢ)² + λ ‖β‖² is kernel ridge regression with the kernel h(x)ᵀh(x'), whose
    leave-one-out errors have a closed form. Returns None if there is nothing to choose. ``ridge`` is λ if it is given.
    ``n_features`` and ``budget`` are for the search of a narrower bandwidth (0: no search), which uses centers if the
    features are kernel values with landmarks.
    """
    if not searches and ridge is not None:
        return None
    n = X.shape[0]
    order = streams.permutation(seed, "rows to choose with", 0, n)

    def copy_with(width: float | None) -> Any:
        return with_bandwidth(transformer, width) if searches else copy.copy(transformer)

    def first_rows(m: int) -> tuple[arrays.Array, np.ndarray, np.ndarray | None]:
        rows = order[:m]
        return some_points(X, rows), targets[rows], None if weights is None else weights[rows]

    def choose_with(m: int) -> RidgeChoice | None:
        rows = first_rows(m)
        joined = join_copies(*rows)
        if len(joined.first) < 3 or not joined.targets.any():
            return None
        points = rows[0][joined.first]
        points = points.rows if isinstance(points, arrays.SparsePoints) else points

        def matrix_of(width: float | None) -> np.ndarray:
            H = copy_with(width).fit(points).transform(points).astype(np.float64)
            return (H @ H.T).toarray() if scipy.sparse.issparse(H) else H @ H.T

        median = copy_with(None).fit(points).report_.get("bandwidth") if searches else None
        choice = choose_ridge(matrix_of, joined.targets, median=median, regularization=ridge, weights=joined.weights)
        return choice if median is not None else replace(choice, bandwidth=None, bandwidths={})

    def augmented_rows(m: int) -> tuple[arrays.Array, np.ndarray, np.ndarray | None]:
        points, *of_rows = first_rows(m)
        points = points.astype(np.float64)
        return kernels.augmented(points if arrays.is_sparse(points) else points - points.mean(axis=0)), *of_rows

    choice = with_enough_rows(n, choose_with)
    known = transformer.get_params()
    if choice is None or choice.bandwidth is None or not n_features or "kernel" not in known or n < FEWEST_ROWS:
        return choice
    scores_of: Any = functools.partial(_scores_of_features, transformer)
    if of_landmarks:
        scores_of = functools.partial(scores_of_centers, transformer._make_kernel())
    sizes = *X.shape, budget, n_features
    return narrower(choice, scores_of, augmented_rows, *sizes, of_classes=of_classes, falls_on=of_landmarks)


def _scores_of_features(
    transformer: Any,
    bandwidth: float,
    points: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray | None,
    n_features: int,
    ridge: float,
) -> np.ndarray:
    """Outputs at the last points of ridge regression on features, fitted to the targets of the first points."""
    n, points = len(targets), points[:, :-2].astype(np.float32)
    points = points.rows if isinstance(points, arrays.SparsePoints) else points
    features = with_bandwidth(transformer, bandwidth).set_params(n_features=n_features).fit(points).transform(points)
    root = 1.0 if weights is None else np.sqrt(weights).astype(np.float32)
    return features[n:] @ solve_by_features(iter([(root * features[:n], root * targets)]), ridge)
