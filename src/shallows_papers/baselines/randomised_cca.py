"""Canonical correlation analysis on explicit features of two views: the baseline of kernel CCA, solved exactly."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from shallows import streams
from shallows.errors import ShallowsError
from shallows.estimators.constructors import stores_parameters
from shallows.estimators.feature_maps.fourier import FourierFeatures
from shallows.estimators.feature_maps.landmarks import NystroemFeatures
from shallows.models.component_functions import signs_of_columns
from shallows.spectrum.eigensystems import eigensystem, top_eigensystem

MAPS = {"fourier": FourierFeatures, "nystroem": NystroemFeatures, "linear": None}
RIDGES = tuple(10.0**-e for e in range(1, 8))
"""Ridges that are tried by default, as shares of the mean variance of a view's features times their number."""

VALIDATION = 0.2

FULL_BELOW = 500
"""Up to this number of columns, all correlations are computed; above, only the largest ones."""


class RandomisedCCA(BaseEstimator):
    """Ridge CCA on random features, on landmarks, or on the inputs themselves, by factoring their covariances.

    ``features`` is "fourier", "nystroem", or "linear" for linear CCA, with ``n_features`` columns per view. ``ridge``
    is added to both covariances, as a share of the trace. None: seven values are tried on a fifth of the training part,
    and the value with the largest total correlation is used. A fit sets ``coef_`` (p, n_components) and
    ``second_coef_`` (q, n_components) of the views' features, and ``correlations_`` on the training part, with the
    ridge in both covariances (they would be larger without it). Their number is at most the number of columns of the
    smaller view.

    References
    ----------
    D. Lopez-Paz, S. Sra, A. Smola, Z. Ghahramani and B. Schölkopf (2014), "Randomized nonlinear component analysis",
    ICML.
    """

    @stores_parameters
    def __init__(
        self,
        n_components: int = 2,
        *,
        features: str = "fourier",
        n_features: int = 1024,
        ridge: float | None = None,
        random_state: int = 0,
    ): ...

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the canonical directions of X (n_samples, n_features) and y (n_samples, n_second_features)."""
        if self.features not in MAPS:
            raise ShallowsError(f"features must be one of {', '.join(map(repr, MAPS))}, got {self.features!r}.")
        views = [self._checked(view) for view in (X, y)]
        check_consistent_length(*views)
        n = len(views[0])
        kind = MAPS[self.features]
        self._maps = [
            None if kind is None else kind(n_features=self.n_features, random_state=self.random_state + place).fit(view)
            for place, view in enumerate(views)
        ]
        Z = self._features(views)
        if self.ridge is None:
            order = streams.permutation(self.random_state, "validation", 0, n)
            held_out, rest = order[: int(VALIDATION * n)], order[int(VALIDATION * n) :]
            moments = _moments([one[rest] for one in Z])
            totals = [self._total(Z, held_out, _directions(moments, ridge, self.n_components)) for ridge in RIDGES]
            self.ridge_ = RIDGES[int(np.argmax(totals))]
        else:
            self.ridge_ = float(self.ridge)
        moments = _moments(Z)
        self.coef_, self.second_coef_, self.correlations_ = _directions(moments, self.ridge_, self.n_components)
        self.report_ = {"ridge": self.ridge_, "features": self.features, "n_features": Z[0].shape[1]}
        return self

    def transform(self, X: Any, y: Any = None) -> Any:
        """Values of the canonical variables of the first view, shape (n_samples, n_components), or of both."""
        check_is_fitted(self)
        views = [self._checked(view) for view in (X, y) if view is not None]
        directions = (self.coef_, self.second_coef_)
        found = tuple(Z @ one for Z, one in zip(self._features(views), directions, strict=False))
        return found if y is not None else found[0]

    def _checked(self, view: Any) -> np.ndarray:
        view = check_array(view, dtype=[np.float32, np.float64], ensure_2d=False)
        return view.reshape(len(view), -1)

    def _features(self, views: list[np.ndarray]) -> list[np.ndarray]:
        pairs = zip(self._maps, views, strict=False)
        return [view if one is None else np.asarray(one.transform(view)) for one, view in pairs]

    @staticmethod
    def _total(Z: list[np.ndarray], rows: np.ndarray, directions: Any) -> float:
        """Return the sum of canonical correlations of the projections of some rows."""
        return total_correlation(*(one[rows] @ direction for one, direction in zip(Z, directions[:2], strict=True)))


def total_correlation(u: np.ndarray, v: np.ndarray) -> float:
    """Return the sum of canonical correlations of two projections of the same examples, shape (n, k) each.

    Directions without variance, such as from constant or copied columns, do not contribute.
    """
    left, right = (_orthonormal(np.asarray(one)) for one in (u, v))
    return float(np.linalg.svd(left.T @ right, compute_uv=False).sum())


def _orthonormal(values: np.ndarray) -> np.ndarray:
    """Return orthonormal columns that span the centered columns of a matrix, shape (n, rank)."""
    centred = values - values.mean(axis=0)
    rounding = max(values.shape) * np.finfo(centred.dtype).eps
    # A constant column is only rounding error after centering. Scale the other columns, so that small columns count,
    # too.
    lengths = np.linalg.norm(centred, axis=0)
    varies = lengths > rounding * np.linalg.norm(values, axis=0)
    vectors, sizes, _ = np.linalg.svd(centred[:, varies] / lengths[varies], full_matrices=False)
    return vectors[:, sizes > rounding]


def _moments(Z: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariances of two views' features and their cross-covariance, in float64."""
    n = len(Z[0])
    P, Q = (one - one.mean(axis=0) for one in Z)
    return tuple((a.T @ b).astype(np.float64) / n for a, b in ((P, P), (Q, Q), (P, Q)))


def _directions(
    moments: tuple[np.ndarray, np.ndarray, np.ndarray], ridge: float, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Canonical directions of both views, (p, k) and (q, k), and their correlations."""
    *covariances, cross = moments
    factors = [np.linalg.cholesky(C + (ridge * np.trace(C) + 1e-12) * np.eye(len(C))) for C in covariances]
    whitened = np.linalg.solve(factors[1], np.linalg.solve(factors[0], cross).T).T
    square = whitened.T @ whitened
    if len(square) <= FULL_BELOW:
        squares, right = eigensystem(square, k)
    else:
        squares, right = top_eigensystem(lambda a: square @ a, len(square), k, like=square, tolerance=1e-5)
    values = np.sqrt(squares)
    pairs = zip(factors, (whitened @ right / np.maximum(values, 1e-12), right), strict=True)
    a, b = (np.linalg.solve(L.T, vectors) for L, vectors in pairs)
    signs = signs_of_columns(a)
    return a * signs, b * signs, np.clip(values, 0.0, 1.0)
