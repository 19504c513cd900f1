"""Predictions of values and classes from the raw outputs of a model, and the classes of a model."""

import contextlib
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from ..arrays.user_arrays import follows_input
from ..errors import ShallowsError
from ..losses import Loss


def has_probabilities(model: Any) -> bool:
    """Whether a classifier's `_fitted_loss` has probabilities, for ``available_if``; raises AttributeError if not."""
    loss = model._fitted_loss()
    if not loss.has_probabilities:
        raise AttributeError(
            f"predict_proba needs loss='logistic' or loss='softmax', and the loss is {loss.name!r}. Use "
            "decision_function, or sklearn.calibration.CalibratedClassifierCV for probabilities."
        )
    return True


class ValuePredictions(RegressorMixin, MultiOutputMixin):
    """One or several values of each point. A fit stores its targets in ``_targets``."""

    _y_is_numeric = True

    @follows_input
    def predict(self, X: Any) -> np.ndarray:
        """Values of the fitted function, shape (n_samples,) or (n_samples, n_outputs), as y was."""
        scores = self._raw_predict(self._validated(X))
        return self._targets.decode(scores)


class LabelPredictions(ClassifierMixin):
    """The class of each point. A fit stores its targets in ``_targets``."""

    @follows_input
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes; of a square loss with a calibration, logits.

        Shape (n_samples,) for two classes, with positive scores for the second; otherwise (n_samples, n_classes). With
        several labels for each row: (n_samples, n_labels).
        """
        outputs = self._raw_predict(self._validated(X))
        scores = self._targets.decisions(outputs)
        return scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores

    @follows_input
    def predict(self, X: Any) -> np.ndarray:
        """Class labels, shape (n_samples,). With several labels for each row: 0 and 1, shape (n_samples, n_labels)."""
        outputs = self._raw_predict(self._validated(X))
        return self._targets.decode(outputs)


class LossPredictions(ClassifierMixin):
    """Labels and scores by the coding of a loss. A fit stores its targets in ``_targets``.

    A subclass defines `_named_loss`, the loss of its parameters.
    """

    decision_function, predict = LabelPredictions.decision_function, LabelPredictions.predict

    def _fitted_loss(self) -> Loss:
        """The loss of the model, which `set_params` does not change; before a fit, the loss of the parameters."""
        targets = vars(self).get("_targets")
        return self._named_loss() if targets is None else targets.loss

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with contextlib.suppress(ShallowsError):  # The fit reports an unknown loss.
            # The loss treats each label alone.
            tags.classifier_tags.multi_label = self._named_loss().coding != "indicator"
        return tags

    @available_if(has_probabilities)
    @follows_input
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimates of the class probabilities, for the losses "logistic" and "softmax", shape (n_samples, n_classes).

        With several labels for each row: the probability of each label.
        """
        scores = self._raw_predict(self._validated(X))
        return self._targets.probabilities(scores)


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
