"""Estimators of the square loss: what their fits and predictions share, and labels and probabilities of classifiers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from ..arrays.user_arrays import follows_input
from ..fitting.feature_blocks import FittedOnFeatures
from ..fitting.rows import TrainingSet
from ..fitting.square_targets import SquareClassTargets
from .base import Estimator, keeps_model_on_failure
from .predictions import LabelPredictions


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

    def _store(self, found: FittedOnFeatures) -> None:
        vars(self).pop("intercept_", None)  # of a fit with other parameters
        model, targets = found.model, found.targets
        self._model, self._targets, self.transformer_, self.coef_ = (
            model,
            targets,
            model.transformer,
            model.coefficients,
        )
        if isinstance(targets, SquareClassTargets):
            self.classes_ = targets.classes
        else:
            self.coef_ = model.coefficients * targets.scale[:, None]
        if targets.intercept is not None:
            self.intercept_ = targets.intercept
        self.n_iter_, self.report_ = found.n_iter, {**found.report, "timings": found.seconds}

    def _raw_predict(self, X: Any) -> np.ndarray:
        return self._targets.unscale(self._model.scores(X, self._options().device))


class SquareLossLabels(ClassifierMixin):
    """Labels and probabilities from outputs that approximate −1 and +1. A fit stores its targets in ``_targets``."""

    _y_is_numeric = False

    decision_function, predict = LabelPredictions.decision_function, LabelPredictions.predict

    @follows_input
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimates of the class probabilities, shape (n_samples, n_classes).

        With ``calibration="auto"``, the fit learns a sigmoid, or for several classes a linear map and the softmax, from
        outputs at training rows of functions that were fitted without these rows. If other rows show that it makes
        the log loss or the accuracy worse, the fit warns and uses a simpler calibration or none.

        Without a calibration, (f + 1)/2 is clipped and normalized, because the minimizer of the square loss is
        2 P(class | x) − 1. A function that interpolates its targets is then too confident.
        """
        scores = self._raw_predict(self._validated(X))
        return self._targets.probabilities(scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
