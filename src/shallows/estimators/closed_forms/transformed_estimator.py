"""The base of the estimators whose model is a linear function of a transformer's features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ...fitting.rows import TrainingSet
from ...fitting.square_targets import SquareClassTargets
from ..base import Estimator, keeps_model_on_failure


class TransformedEstimator(Estimator):
    """Base of the estimators whose model is a linear function of a transformer's features, solved at once."""

    _model: Any

    @keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the features and then the coefficients.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Factors of the squared errors.

        Raises
        ------
        ValueError, ShallowsError
            NaN or infinity, one class only, or a parameter out of its range.
        """
        self._check_parameters()
        rows = self._validated_training_set(X, y, sample_weight)
        self._store(self._train(rows, self._seed()))
        return self

    def _train(self, rows: TrainingSet, seed: int) -> Any:
        raise NotImplementedError

    def _store(self, found: Any) -> None:
        self._forget("intercept_")
        model, targets = found.model, found.targets
        self._model, self._targets = model, targets
        self.transformer_, self.coef_ = model.transformer, model.coefficients
        if isinstance(targets, SquareClassTargets):
            self.classes_ = targets.classes
        else:
            self.coef_ = model.coefficients * targets.scale[:, None]
        if targets.intercept is not None:
            self.intercept_ = targets.intercept
        self.n_iter_, self.report_ = found.n_iter, {**found.report, "timings": found.seconds}

    def _raw_predict(self, X: Any) -> np.ndarray:
        return self._targets.unscale(self._model.scores(X, self._options().device))
