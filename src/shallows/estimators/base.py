"""What all estimators share: data checked at the door, weights, seeds, memory, and what observers are shown."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import arrays, training

SMALL = 1000
"""Up to so many points the whole matrix is decomposed and iterated with at once, in float64: it costs nothing."""


def native(X: Any) -> Any:
    """Numbers in the machine's own byte order; in another scikit-learn takes float32 for float64."""
    dtype = getattr(X, "dtype", None)
    foreign = isinstance(dtype, np.dtype) and dtype.kind == "f" and not dtype.isnative
    return X.astype(dtype.newbyteorder("=")) if foreign else X


class Estimator(BaseEstimator):
    """Base of the estimators, whatever they minimise and whatever their function is made of."""

    _y_is_numeric = False
    _takes_targets = True
    _least_memory = 2**24

    # ---------------------------------------------------------------- what subclasses say

    def _codes(self, y: np.ndarray) -> np.ndarray:
        """Targets in the units of `Snapshot.decision_function`, shape (m, c)."""
        raise NotImplementedError

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        """Labels or values of raw outputs, in the user's coding."""
        raise NotImplementedError

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        """Raw outputs in the user's units."""
        return scores

    # ------------------------------------------------------------------------------- the door

    def _validated(self, X: Any) -> Any:
        """New points for a fitted model."""
        check_is_fitted(self)
        return validate_data(self, native(X), accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)

    def _validated_training_set(
        self, X: Any, y: Any, sample_weight: Any, *, first: bool = True
    ) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
        """Points, targets and weights; rows of weight zero are left out.

        ``first`` is False for data that go on with a model and must have the features that it knows.
        """
        X = native(X)
        options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "reset": first}
        if not self._takes_targets:
            X, y = validate_data(self, X, **options), None
        else:
            X, y = validate_data(self, X, y, multi_output=True, y_numeric=self._y_is_numeric, **options)
            # In C order, so that their means do not depend on how they lie in memory.
            y = np.ascontiguousarray(y.toarray() if scipy.sparse.issparse(y) else y)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if not weights.any():
                raise ValueError("All sample weights are zero.")
            if not weights.all():
                kept = weights > 0
                X, y, weights = X[kept], None if y is None else y[kept], weights[kept]
        return X, y, weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------------------ what a fit works with

    def _seed(self) -> int:
        """A number from ``random_state``."""
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _working_budget(self, device: arrays.Device) -> int:
        """Bytes for what the fit makes.

        An explicit budget is what the process may hold in all, so what it holds already is taken off.
        """
        budget = arrays.memory_budget(self.memory, device)
        if self.memory is not None and device.kind == "cpu":
            budget -= arrays.resident_memory() + 2**26
        return max(budget, self._least_memory)

    def _progress_observers(self) -> list[training.Observer]:
        return [training.Progress(type(self).__name__)] if self.verbose else []
