"""Machines whose size has a bound: sums of Gaussians at a few points, and several hyperplanes for each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse


@dataclass(frozen=True)
class GaussianSum:
    """f(x) = Σⱼ aⱼ exp(−‖x − zⱼ‖²/(2σ²)).

    Attributes
    ----------
    support_vectors : ndarray, shape (m, d)
        zⱼ, as the user's points are.
    coefficients : ndarray, shape (m, c)
    bandwidth : float
    offsets : ndarray, shape (d,)
        What was subtracted from the columns for the training.
    """

    support_vectors: np.ndarray
    coefficients: np.ndarray
    bandwidth: float
    offsets: np.ndarray

    @property
    def n_outputs(self) -> int:
        """One for two classes, else one for each."""
        return self.coefficients.shape[1]

    def scores(self, X: scipy.sparse.csr_array) -> np.ndarray:
        """The values at points less their offsets, shape (m, c)."""
        z = self.support_vectors - self.offsets
        norms = X.multiply(X).sum(axis=1)[:, None] + (z * z).sum(axis=1)
        K = np.exp(-np.maximum(norms - 2.0 * (X @ z.T), 0.0) / (2.0 * self.bandwidth**2))
        return K @ self.coefficients


@dataclass(frozen=True)
class Hyperplanes:
    """The score of a class is the largest wⱼᵀx + bⱼ of its hyperplanes.

    Attributes
    ----------
    coef : ndarray, shape (m, d)
    intercept : ndarray, shape (m,)
    classes : ndarray of int, shape (m,)
        The number of the class of each hyperplane; every class has one.
    n_classes : int
    offsets : ndarray, shape (d,)
        What was subtracted from the columns for the training.
    """

    coef: np.ndarray
    intercept: np.ndarray
    classes: np.ndarray
    n_classes: int
    offsets: np.ndarray

    @property
    def n_outputs(self) -> int:
        """One for two classes, else one for each."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def shifted_intercept(self) -> np.ndarray:
        """The intercepts for points less their offsets."""
        return self.intercept + (self.coef * self.offsets).sum(axis=1)

    def scores(self, X: scipy.sparse.csr_array) -> np.ndarray:
        """Scores of the classes, or of the second of two, at points less their offsets, shape (m, c)."""
        # By class, so that one pass takes the best of each.
        order = np.argsort(self.classes, kind="stable")
        starts = np.searchsorted(self.classes[order], np.arange(self.n_classes))
        outputs = X @ self.coef[order].T + self.shifted_intercept[order]
        of_class = np.maximum.reduceat(outputs, starts, axis=1)
        return of_class[:, 1:] - of_class[:, :1] if self.n_classes == 2 else of_class
