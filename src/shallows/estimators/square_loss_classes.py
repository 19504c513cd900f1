"""Classes as targets of the square loss, and labels and probabilities from the outputs of the fitted function."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from ..fitting import class_weights
from ..fitting.label_checks import check_two_classes
from ..fitting.square_targets import SquareClassTargets
from .array_inputs import follows_input


class SquareLossLabels(ClassifierMixin):
    """Labels and probabilities by outputs aimed at −1 and +1; put before a class with `_validated` and `_raw_predict`.

    A fit stores its `SquareClassTargets` in ``_targets``.
    """

    _y_is_numeric = False

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        return self._targets.decode(scores)

    @follows_input
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        With a calibration they are logits: log-odds of the second of two classes, one for each class of several.
        Without, they are the outputs of the fitted function, aimed at +1 for the class and −1 elsewhere.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        scores = self._raw_predict(self._validated(X))
        scores = self._targets.decisions(scores)
        return scores[:, 0] if scores.shape[1] == 1 else scores

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

    @follows_input
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimates of the class probabilities.

        Estimators with a parameter ``calibration`` learn, with "auto", a sigmoid, or a linear map and the softmax for
        several classes, on the outputs at training points of functions that were fitted without them. On points that
        the calibration was not fitted to either, its log loss and accuracy must not be worse than without it by more
        than their standard error, and a class that the outputs find must be found. Else a simpler calibration or none
        is used, with a warning.

        The other estimators, and with None: the minimiser of the square loss is 2 P(class | x) − 1, so (f + 1)/2,
        clipped and normalised, estimates the probability; a function trained until it interpolates is then too sure of
        itself, and scikit-learn's ``CalibratedClassifierCV`` helps.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_classes)
        """
        scores = self._raw_predict(self._validated(X))
        return self._targets.probabilities(scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class SquareLossClassifier(SquareLossLabels):
    """Classification by least squares on targets coded −1 and +1, one output a class (one in all for two classes).

    Put before a class with `_validated` and `_raw_predict`. A `Calibration` in ``_calibration``, if there is one, turns
    outputs into logits.
    """

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
        codes = self._codes(y)
        if not getattr(self, "fit_intercept", False):
            vars(self).pop("intercept_", None)
            return codes
        self.intercept_ = np.average(codes, axis=0, weights=weights)
        return codes - self.intercept_

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        intercept = vars(self).get("intercept_")
        return scores if intercept is None else scores + intercept.astype(scores.dtype)

    def _codes(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(self._binarizer.transform(y), dtype=np.float64)

    @property
    def _targets(self) -> SquareClassTargets:
        """How labels are coded, as a fit has learned it."""
        mine = vars(self)
        return SquareClassTargets(self._binarizer, self._multilabel, mine.get("intercept_"), mine.get("_calibration"))

    def _decisions(self, scores: np.ndarray) -> np.ndarray:
        """What classes are decided by: calibrated logits where there are some, else the raw outputs."""
        return self._targets.decisions(scores)
