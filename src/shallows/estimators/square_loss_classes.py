"""Classes as targets of the square loss, and labels and probabilities from the outputs of the fitted function."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

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
