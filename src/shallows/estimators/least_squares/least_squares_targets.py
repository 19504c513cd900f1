"""Coding of classes and of values as targets of the square loss, and predictions in the user's coding."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from ...errors import ShallowsError
from .. import class_weights
from ..array_inputs import follows_input
from ..label_checks import check_two_classes
from .kernel_least_squares import KernelLeastSquares


class LeastSquaresClassifier(ClassifierMixin, KernelLeastSquares):
    """Classification by least squares on targets coded −1 and +1, one output a class (one in all for two classes)."""

    _y_is_numeric = False

    def _encode(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        check_classification_targets(y)
        self._multilabel = type_of_target(y) == "multilabel-indicator"
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        if y.ndim == 2 and not self._multilabel:
            raise ValueError("y has several columns that are no 0/1 labels; fit one classifier for each output.")
        self._binarizer = LabelBinarizer(neg_label=-1, pos_label=1).fit(y)
        self.classes_ = self._binarizer.classes_
        check_two_classes(self.classes_)
        class_weights.check(getattr(self, "class_weight", None), self.classes_)
        return self._codes(y)

    def _codes(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(self._binarizer.transform(y), dtype=np.float64)

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        if self._multilabel:
            return (self._decisions(scores) > 0).astype(int)
        scores = self._decisions(scores)
        if scores.shape[1] == 1:
            return self.classes_[(scores[:, 0] > 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]

    @follows_input
    def decision_function(self, X: Any) -> np.ndarray:
        """Logits of the classes: log-odds of the second of two, one for each class of several.

        Without a calibration: the outputs of the fitted function, aimed at +1 for the class and −1 elsewhere.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        scores = self._decisions(self._raw_predict(self._validated(X)))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _decisions(self, scores: np.ndarray) -> np.ndarray:
        """What classes are decided by: calibrated logits where there are some, else the raw outputs."""
        calibration = getattr(self, "_calibration", None)
        return scores if calibration is None else calibration.logits(scores)

    @follows_input
    def predict(self, X: Any) -> np.ndarray:
        """Class labels.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
            (n_samples, n_labels) of 0 and 1 after a fit on such labels.
        """
        return self._decode(self._raw_predict(self._validated(X)))

    @follows_input
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimates of the class probabilities.

        Estimators with a parameter ``calibration`` learn, with "auto", a sigmoid, or a linear map and the softmax for
        several classes, on the outputs at training points of functions that were fitted without them. The others, and
        with None: the minimiser of the square loss is 2 P(class | x) − 1, so (f + 1)/2, clipped and normalised,
        estimates the probability; a function trained until it interpolates is then too sure of itself, and
        scikit-learn's ``CalibratedClassifierCV`` helps.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_classes)
        """
        scores = self._raw_predict(self._validated(X))
        if getattr(self, "_calibration", None) is not None:
            logits = self._decisions(scores)
            if self._multilabel:
                return expit(logits)
            return softmax(logits, axis=1) if logits.shape[1] > 1 else expit(np.hstack([-logits, logits]))
        shares = np.maximum((scores.astype(np.float64) + 1.0) / 2.0, 0.0)
        if self._multilabel:
            return np.clip(shares, 1e-6, 1.0 - 1e-6)  # No finite sample makes a label impossible or certain.
        if shares.shape[1] == 1:
            shares = np.minimum(shares, 1.0)
            return np.hstack([1.0 - shares, shares])
        total = shares.sum(axis=1, keepdims=True)
        certain = np.zeros_like(shares)
        certain[np.arange(len(scores)), scores.argmax(axis=1)] = 1.0
        return np.where(total > 0, shares / np.where(total > 0, total, 1.0), certain)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class LeastSquaresRegressor(RegressorMixin, MultiOutputMixin, KernelLeastSquares):
    """Regression by least squares, one or several outputs, about the mean of the targets."""

    _y_is_numeric = True

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
