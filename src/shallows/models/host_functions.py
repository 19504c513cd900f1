"""Functions that are evaluated on the host: linear functions, and machines whose size is bounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse


@dataclass(frozen=True)
class LinearFunctions:
    """f(x) = Wx + b for points as the user gives them."""

    coef: np.ndarray  # W, shape (c, d)
    intercept: np.ndarray  # Shape (c,)

    @classmethod
    def of(cls, columns: np.ndarray, offsets: np.ndarray, has_intercept: bool) -> LinearFunctions:
        """The functions of shifted columns and, as the last one, of a constant; ``columns`` has the shape (d, c)."""
        coef = np.ascontiguousarray(columns[: len(columns) - has_intercept].T)
        return cls(coef, (columns[-1] if has_intercept else 0.0) - (coef * offsets).sum(axis=1))

    @property
    def coefficients(self) -> np.ndarray:
        """Wᵀ, shape (d, c)."""
        return self.coef.T

    def scores(self, X: Any, device: Any = None, budget: int = 0) -> np.ndarray:
        """The values at checked points, shape (m, c), in one product."""
        return np.asarray(X @ self.coef.T + self.intercept)


@dataclass(frozen=True)
class GaussianSum:
    """f(x) = Σⱼ aⱼ exp(−‖x − zⱼ‖²/(2σ²))."""

    support_vectors: np.ndarray  # zⱼ, as the user's points are, shape (m, d)
    coefficients: np.ndarray  # Shape (m, c)
    bandwidth: float
    offsets: np.ndarray  # What was subtracted from the columns for the training, shape (d,)

    @property
    def n_outputs(self) -> int:
        """One for two classes, else the number of classes."""
        return self.coefficients.shape[1]

    def scores(self, X: scipy.sparse.csr_array) -> np.ndarray:
        """The values at points less their offsets, shape (m, c)."""
        z = self.support_vectors - self.offsets
        norms = X.multiply(X).sum(axis=1)[:, None] + (z * z).sum(axis=1)
        K = np.exp(-np.maximum(norms - 2.0 * (X @ z.T), 0.0) / (2.0 * self.bandwidth**2))
        return K @ self.coefficients


@dataclass(frozen=True)
class Hyperplanes:
    """The score of a class is the largest wⱼᵀx + bⱼ of its hyperplanes."""

    coef: np.ndarray  # Shape (m, d)
    intercept: np.ndarray  # Shape (m,)
    classes: np.ndarray  # The number of the class of each hyperplane; every class has at least one
    n_classes: int
    offsets: np.ndarray  # What was subtracted from the columns for the training, shape (d,)

    @property
    def n_outputs(self) -> int:
        """One for two classes, else the number of classes."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def shifted_intercept(self) -> np.ndarray:
        """The intercepts for points less their offsets."""
        return self.intercept + (self.coef * self.offsets).sum(axis=1)

    def scores(self, X: scipy.sparse.csr_array) -> np.ndarray:
        """Scores of the classes, or of the second of two, at points less their offsets, shape (m, c)."""
        order = np.argsort(self.classes, kind="stable")
        starts = np.searchsorted(self.classes[order], np.arange(self.n_classes))
        outputs = X @ self.coef[order].T + self.shifted_intercept[order]
        of_class = np.maximum.reduceat(outputs, starts, axis=1)
        return of_class[:, 1:] - of_class[:, :1] if self.n_classes == 2 else of_class
