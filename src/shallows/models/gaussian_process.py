"""The posterior of a Gaussian process on features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from .. import arrays, streams
from .functions import TransformedFunction


@dataclass(frozen=True)
class FeatureGaussianProcess:
    """f(x) = βᵀh(x) with a normal β, and beside it the variance that the features leave of the kernel's.

    Attributes
    ----------
    mean : TransformedFunction
    factor : ndarray, shape (D, D)
        The Cholesky factor of the inverse covariance of β, in units of s.
    ratio : float
        The noise variance over s.
    signal_variance : ndarray, shape (c,)
        s.
    """

    mean: TransformedFunction
    factor: np.ndarray
    ratio: float
    signal_variance: np.ndarray

    def deviations(self, X: Any, device: Any) -> np.ndarray:
        """Standard deviations of observations at checked points, shape (m, c)."""
        parts = self._parts_of_variance(X, device)
        variances = np.concatenate([(V**2).sum(axis=0) + own for V, own in parts])
        return np.sqrt(variances[:, None] * self.signal_variance)

    def covariances(self, X: Any, device: Any, budget: int) -> np.ndarray:
        """Covariances of observations at checked points, shape (m, m, c)."""
        n, c = X.shape[0], len(self.mean.coefficients)
        arrays.check_room(f"The covariances of {n:,} points take", 16 * n * n * c, budget, "Take fewer points.")
        parts = list(self._parts_of_variance(X, device))
        V, own = np.hstack([V for V, _ in parts]), np.concatenate([own for _, own in parts])
        return (V.T @ V + np.diag(own))[:, :, None] * self.signal_variance

    def draws(self, X: Any, intercept: np.ndarray, n_samples: int, seed: int, device: Any) -> np.ndarray:
        """Draws of observations at checked points, joint over the points, shape (m, c, n_samples)."""
        coefficients = self.mean.coefficients
        c, D = coefficients.shape
        drawn = streams.normal(seed, "coefficients", 0, (D, c * n_samples))
        drawn = scipy.linalg.solve_triangular(self.factor, drawn, lower=True, trans="T")
        out, deviations = [], np.sqrt(self.signal_variance)[:, None]
        for block, H in enumerate(self.mean.features(X, device)):
            own = np.sqrt(left_of_the_kernel(H) + self.ratio)[:, None]
            made = H @ drawn + own * streams.normal(seed, "noise", block, (len(H), c * n_samples))
            mean = H @ coefficients.T + intercept
            out.append(mean[:, :, None] + deviations * made.reshape(len(H), c, n_samples))
        return np.concatenate(out)

    def _parts_of_variance(self, X: Any, device: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Of blocks of rows in units of s: V with VᵀV the covariance of βᵀh, and the variance of each row alone."""
        for H in self.mean.features(X, device):
            H = H.astype(np.float64, copy=False)
            yield scipy.linalg.solve_triangular(self.factor, H.T, lower=True), left_of_the_kernel(H) + self.ratio


def left_of_the_kernel(H: np.ndarray) -> np.ndarray:
    """k(x, x) − ‖h(x)‖² for kernels with k(x, x) = 1, shape (m,)."""
    return np.maximum(1.0 - np.einsum("ij,ij->i", H, H, dtype=np.float64), 0.0)
