"""Linear functions of the columns as the user gives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class LinearFunctions:
    """f(x) = Wx + b.

    Attributes
    ----------
    coef : ndarray, shape (c, d)
        W.
    intercept : ndarray, shape (c,)
    """

    coef: np.ndarray
    intercept: np.ndarray

    @classmethod
    def of(cls, columns: np.ndarray, offsets: np.ndarray, has_intercept: bool) -> LinearFunctions:
        """The functions of shifted columns and, as the last one, of a constant; ``columns`` has the shape (d, c)."""
        coef = np.ascontiguousarray(columns[: len(columns) - has_intercept].T)
        return cls(coef, (columns[-1] if has_intercept else 0.0) - (coef * offsets).sum(axis=1))

    def scores(self, X: Any, device: Any = None, budget: int = 0) -> np.ndarray:
        """The values at checked points, shape (m, c), on the host in one product."""
        return np.asarray(X @ self.coef.T + self.intercept)
