"""What the closed forms share: the fit of a transformer and of coefficients, and predictions of values and classes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from ... import arrays, training
from ...errors import ShallowsError
from ...fitting.square_targets import unit_of_targets
from ..base import Estimator
from ..predictions import ValuePredictions
from ..square_loss_classes import SquareLossClassifier

BLOCK_NUMBERS = 2**24
"""Numbers of features that are made at a time."""


class FeatureLeastSquares(Estimator):
    """Base: least squares with a ridge on the features of a transformer.

    A subclass writes out its constructor and its steps.
    """

    _sums_losses = True  # λ stands beside the sum of the squared errors.

    def _encode(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        raise NotImplementedError

    @training.keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the features and then the coefficients.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Factors of the squared errors.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, no table of numbers, or one class only.
        ShallowsError
            A parameter out of its range.
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, observers: Sequence[training.Observer] = ()) -> Self:
        self._check_parameters()
        started = time.perf_counter()
        X, y, weights = self._validated_training_set(X, y, sample_weight)[:3]
        targets = self._encode(y, weights)
        root = None if weights is None else np.sqrt(weights / weights.max())
        ridge, selection = self._fit_transformer(X, targets, weights)
        ridge /= 1.0 if weights is None else float(weights.max())
        made, self.n_iter_ = time.perf_counter(), 1
        coefficients, told = self._solve(X, targets, root, ridge, observers)
        if not np.isfinite(coefficients).all():
            raise ShallowsError("The coefficients are not finite: features or targets are too large. Scale X and y.")
        self.coef_ = self._in_units_of_targets(np.ascontiguousarray(coefficients.T))
        self.effective_params_ = {
            **self.transformer_.effective_params_,
            "ridge": ridge,
            **told,
            **selection,
        }
        self.timings_ = {"features": made - started, "training": time.perf_counter() - made}
        return self

    def _in_units_of_targets(self, coefficients: np.ndarray) -> np.ndarray:
        """Coefficients of shape (c, n_features) for the targets that the user gave."""
        return coefficients * vars(self)["_target_unit"][:, None] if self._y_is_numeric else coefficients

    def _dense(self) -> bool:
        return not self.transformer_._blocks.is_sparse

    def _check_memory(self, size: int, of: str) -> None:
        arrays.check_room(
            f"A system of {size:,} equations, one for each of the {of}, takes",
            24 * size * size,
            self._working_budget(arrays.Device("cpu")),
            "Take fewer features, or give more memory.",
        )

    def _blocks_of_rows(
        self, X: Any, targets: np.ndarray, root: np.ndarray | None, width: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for rows in arrays.blocks(X.shape[0], max(1, BLOCK_NUMBERS // width)):
            H, T = self.transformer_.transform(X[rows]), targets[rows]
            yield (H, T) if root is None else (root[rows, None] * H, root[rows, None] * T)

    def _raw_predict(self, X: Any) -> np.ndarray:
        """Outputs of the linear function, float64, shape (n_samples, n_outputs), for checked X."""
        if "device" in self.transformer_.get_params(deep=False):
            self.transformer_.set_params(device=self.device)  # a model may be moved after its fit
        out = np.empty((X.shape[0], len(self.coef_)))
        width = 1024 if not self._dense() else self.coef_.shape[1]
        for rows in arrays.blocks(X.shape[0], max(1, BLOCK_NUMBERS // width)):
            out[rows] = self.transformer_.transform(X[rows]) @ self.coef_.T
        return self._unscale(out)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")


class FeatureLeastSquaresClassifier(SquareLossClassifier, FeatureLeastSquares):
    """Classification by least squares on targets −1 and +1, one output a class (one in all for two classes)."""


class FeatureLeastSquaresRegressor(ValuePredictions, FeatureLeastSquares):
    """Regression by least squares about the mean of the targets, one or several outputs."""

    def _encode(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        y = y.astype(np.float64)
        self._one_column = y.ndim == 1
        y = y.reshape(len(y), -1)
        self._target_unit = self._unit_of_targets(y)
        y = y / self._target_unit
        mean = np.average(y, axis=0, weights=weights)
        self.intercept_ = mean * self._target_unit
        return y - mean

    def _unit_of_targets(self, y: np.ndarray) -> np.ndarray:
        """What the targets are divided by in the fit."""
        return unit_of_targets(y)

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        return scores + self.intercept_
