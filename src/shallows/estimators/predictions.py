"""Predictions of values and of classes from the raw outputs of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin

from ..fitting.units import unit_of_targets as unit_of_targets
from .array_inputs import follows_input


def has_probabilities(model: Any) -> bool:
    """Whether the loss of a classifier has probabilities, for ``available_if``; `_fitted_loss` is its loss.

    Raises
    ------
    AttributeError
        If it has none; the message says what to use instead.
    """
    loss = model._fitted_loss()
    if not loss.has_probabilities:
        raise AttributeError(
            f"predict_proba needs loss='logistic' or loss='softmax', and the loss is {loss.name!r}. Use "
            "decision_function, or sklearn.calibration.CalibratedClassifierCV for probabilities."
        )
    return True


class ValuePredictions(RegressorMixin, MultiOutputMixin):
    """One or several values of each point; put before a class with `_validated` and `_raw_predict`.

    A fit stores in ``_one_column`` whether the targets were a vector.
    """

    _y_is_numeric = True

    def _codes(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(y, dtype=np.float64).reshape(len(y), -1)

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


class LabelPredictions(ClassifierMixin):
    """The class of each point; put before a class with `_validated` and `_raw_predict`.

    Raw outputs are one column for two classes, else one for each class.
    """

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        return self.classes_[(scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)]

    @follows_input
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) for two classes, else (n_samples, n_classes)
            For two classes, positive speaks for the second.
        """
        scores = self._raw_predict(self._validated(X))
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
