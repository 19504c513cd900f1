"""Coding of classes and of values as targets of the square loss, and predictions in the user's coding."""

from __future__ import annotations

import numpy as np

from ...errors import ShallowsError
from ..predictions import ValuePredictions
from ..square_loss_classes import SquareLossClassifier
from .kernel_least_squares import KernelLeastSquares


class LeastSquaresClassifier(SquareLossClassifier, KernelLeastSquares):
    """Classification by least squares on targets coded −1 and +1, one output a class (one in all for two classes)."""


class LeastSquaresRegressor(ValuePredictions, KernelLeastSquares):
    """Regression by least squares, one or several outputs, about the mean of the targets."""

    def _encode(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        y = y.astype(np.float64)
        self._one_column = y.ndim == 1
        y = y.reshape(len(y), -1)
        # Least squares commutes with shifts and scales of the targets; in their own units none over- or underflows.
        with np.errstate(over="ignore", invalid="ignore"):
            # A mean of equal numbers may differ from them by rounding, which would be learnt as if it were a signal.
            constant = (y == y[0]).all(axis=0)
            self.intercept_ = np.where(constant, y[0], np.average(y, axis=0, weights=weights))
            spread = np.abs(y - self.intercept_).max(axis=0)
        if not np.isfinite(spread).all():
            raise ShallowsError("The targets are too large: their mean or their range overflows. Divide y by a number.")
        self._target_scale = np.where(spread > 0, spread, 1.0)
        return (y - self.intercept_) / self._target_scale

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        return scores * self._target_scale + self.intercept_
