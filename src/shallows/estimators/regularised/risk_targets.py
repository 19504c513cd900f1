"""Coding of classes and of values as targets of a loss, and predictions in the user's coding."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from ... import losses
from ...errors import ShallowsError
from .. import class_weights, leave_one_out_choice
from ..array_inputs import follows_input
from ..constructors import with_parameters
from ..label_checks import are_several, check_takes_several, check_two_classes, signs, single_column
from .regularised_risk import RiskModel


def _has_probabilities(model: Any) -> bool:
    return model._named_loss().has_probabilities


class RiskClassifier(ClassifierMixin, RiskModel):
    """Classification by the minimiser of a regularised risk."""

    __init__ = with_parameters(RiskModel.__init__, fit_intercept=True, class_weight=None)

    def _learn_targets(self, y: np.ndarray, weights: np.ndarray | None) -> None:
        self._multilabel = are_several(y)
        if self._multilabel:
            check_takes_several(self._named_loss())
            self.classes_ = np.arange(y.shape[1])
        else:
            self.classes_ = np.unique(single_column(y))
            check_two_classes(self.classes_)
            class_weights.check(getattr(self, "class_weight", None), self.classes_)
        codes = self._encode(y)
        self.intercept_ = (
            self._named_loss().constant(codes, weights) if self.fit_intercept else np.zeros(codes.shape[1])
        )

    @property
    def _intercept(self) -> np.ndarray | None:
        return self.intercept_ if self.fit_intercept else None

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        intercept = vars(self).get("intercept_")  # Files of earlier versions have none.
        return scores if intercept is None else scores + intercept.astype(scores.dtype)

    def _encode(self, y: np.ndarray) -> np.ndarray:
        if self._multilabel:
            return signs(y, len(self.classes_))
        return self._named_loss().encode(np.searchsorted(self.classes_, single_column(y)), len(self.classes_))

    _codes = _encode

    def _ridge_targets(self, y: np.ndarray) -> np.ndarray:
        if self._multilabel:
            return self._encode(y)
        return leave_one_out_choice.class_codes(np.searchsorted(self.classes_, single_column(y)), len(self.classes_))

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        if self._multilabel:
            return (scores > 0).astype(int)
        return self.classes_[self._named_loss().decide(scores)]

    @follows_input
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) for two classes, else (n_samples, n_classes)
            (n_samples, n_labels) after a fit to several labels for each example.
        """
        scores = self._raw_predict(self._validated(X))
        if self._multilabel:
            return scores
        if scores.shape[1] == 1:
            return scores[:, 0]
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @follows_input
    def predict(self, X: Any) -> np.ndarray:
        """Class labels.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
            (n_samples, n_labels) of 0 and 1 after a fit to several labels for each example.
        """
        return self._decode(self._raw_predict(self._validated(X)))

    @available_if(_has_probabilities)
    @follows_input
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimates of the class probabilities, for the losses "logistic" and "softmax".

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_classes)
            Of each label alone, after a fit to several for each example.
        """
        scores, loss = self._raw_predict(self._validated(X)).astype(np.float64), self._named_loss()
        if self._multilabel:
            return np.hstack([loss.probabilities(column[:, None])[:, 1:] for column in scores.T])
        return loss.probabilities(scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with contextlib.suppress(ShallowsError):  # an unknown loss is told by the fit
            tags.classifier_tags.multi_label = self._named_loss().coding != "indicator"
        return tags


class RiskRegressor(RegressorMixin, MultiOutputMixin, RiskModel):
    """Regression by the minimiser of a regularised risk, about the constant of least loss."""

    _y_is_numeric = True

    def _learn_targets(self, y: np.ndarray, weights: np.ndarray | None) -> None:
        y = y.astype(np.float64)
        self._one_column = y.ndim == 1
        y = y.reshape(len(y), -1)
        self.intercept_ = self._named_loss().constant(y, weights)
        # One unit for all outputs, in which no square over- or underflows.
        spread = float(np.abs(y - self.intercept_).max())
        self._target_scale = spread if spread > 0 else 1.0

    def _scaled_loss(self) -> tuple[losses.Loss, float]:
        # With f = s g and targets in units of s, a loss of slopes is s times itself and one of squares s² times;
        # dividing by s² leaves λ/2 ‖g‖² with a loss of squares, and s λ with one of slopes.
        loss, unit = self._named_loss(), self._target_scale
        return loss.in_units(unit), 1.0 if loss.name in ("square", "huber") else unit

    def _encode(self, y: np.ndarray) -> np.ndarray:
        return (y.astype(np.float64).reshape(len(y), -1) - self.intercept_) / self._target_scale

    def _codes(self, y: np.ndarray) -> np.ndarray:
        return y.astype(np.float64).reshape(len(y), -1)

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        return scores * self._target_scale + self.intercept_

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 0] if self._one_column else scores

    @follows_input
    def predict(self, X: Any) -> np.ndarray:
        """Values of the fitted function.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) or (n_samples, n_outputs), as y was
        """
        return self._decode(self._raw_predict(self._validated(X)))
