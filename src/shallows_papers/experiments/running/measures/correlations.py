"""Correlations of two views: how well the projections of one view predict the other's, on the test part."""

from __future__ import annotations

from typing import Any

import numpy as np

from shallows.errors import ShallowsError

from . import Measure
from .components import orthonormal_basis


class Correlations(Measure):
    """The total correlation of two views.

    The views are the two arrays of a preparation that wrote them separately or, if it wrote one, the features and the
    targets. A model has ``transform(x, y)``, which returns the projections of both, each of shape (n, k).
    """

    times_fit = True

    def training_arrays(self) -> tuple[Any, Any]:
        """Return the two views of the training part."""
        return self._views("train")

    def of_estimator(self, estimator: Any) -> dict[str, float]:
        """Return ``total_correlation``, see the function of that name; k at most."""
        left, right = estimator.transform(*self._views("test"))
        return {"total_correlation": total_correlation(np.asarray(left), np.asarray(right))}

    def _views(self, part: str) -> tuple[Any, Any]:
        x, y = (getattr(self.data, f"{name}_{part}") for name in "xy")
        second = getattr(self.data, f"z_{part}", None)
        if second is not None:
            return x, second
        if y is None or self.task == "classification":
            raise ShallowsError("Correlations need data with two views, or targets that are values.")
        y = np.asarray(y)
        return x, y.reshape(len(y), -1)


def total_correlation(left: np.ndarray, right: np.ndarray) -> float:
    """Return the sum of the canonical correlations of two projections of the same points, each of shape (n, k).

    Both are centered and whitened; the singular values of their product are the correlations. Directions in which a
    projection is constant have no correlation.
    """
    views = (np.asarray(view, dtype=np.float64).reshape(len(view), -1) for view in (left, right))
    first, second = (orthonormal_basis(view - view.mean(axis=0)) for view in views)
    return float(np.linalg.svd(first.T @ second, compute_uv=False).sum())
