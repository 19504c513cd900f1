"""Predictions of values and classes from the raw outputs of a model, and the classes of a model."""

from __future__ import annotations

import contextlib
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from ..arrays.user_arrays import follows_input
from ..errors import ShallowsError
from ..fitting.rows import check_classes, refuse_missing_labels, single_column
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
        """Values of the fitted function.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) or (n_samples, n_outputs), as y was
        """
        scores = self._raw_predict(self._validated(X))
        return self._targets.decode(scores)


class LabelPredictions(ClassifierMixin):
    """The class of each point. Raw outputs have one column for two classes, otherwise one for each class."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on all rows.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Factors of the losses. With λ next to the mean loss only their ratios matter. Rows of weight zero are left
            out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree, or a single class.
        ShallowsError
            A parameter out of its range, or a kernel that is not positive semidefinite.
        """
        raise NotImplementedError

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
            Positive scores mean the second of two classes.
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


class LossPredictions(ClassifierMixin):
    """Labels and scores by the coding of a loss. A fit stores its targets in ``_targets``.

    A subclass defines `_named_loss`, the loss of its parameters.
    """

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

    @follows_input
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) for two classes, else (n_samples, n_classes)
            Positive scores mean the second of two classes. With several labels for each row: (n_samples, n_labels).
        """
        scores = self._raw_predict(self._validated(X))
        return self._targets.decisions(scores)

    @follows_input
    def predict(self, X: Any) -> np.ndarray:
        """Class labels.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
            With several labels for each row: 0 and 1, shape (n_samples, n_labels).
        """
        scores = self._raw_predict(self._validated(X))
        return self._targets.decode(scores)

    @available_if(has_probabilities)
    @follows_input
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimates of the class probabilities, for the losses "logistic" and "softmax".

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_classes)
            With several labels for each row: the probability of each label.
        """
        scores = self._raw_predict(self._validated(X))
        return self._targets.probabilities(scores)


def learn_classes(estimator: Any, y: Any) -> np.ndarray:
    """Set ``classes_`` of an estimator to all labels in y, and return y as one column."""
    y = single_column(y)
    _set_classes(estimator, np.unique(y))
    return y


def learn_classes_of_stream(estimator: Any, y: Any, classes: Any, *, first: bool, infers_classes: bool) -> np.ndarray:
    """Set ``classes_`` in the first call, refuse other classes later, and return a batch's labels as one column."""
    y = single_column(y)
    refuse_missing_labels(classes, "classes")
    classes = None if classes is None else np.unique(single_column(np.asarray(classes)))
    if first:
        if classes is None and not infers_classes:
            raise ValueError("The first call of partial_fit needs classes, all the labels that may come.")
        found = np.unique(y) if classes is None else classes
        if classes is None and len(found) == 1:
            raise ValueError(
                f"The first batch holds one class only ({found[0]}). Name all classes in the first call: "
                "partial_fit(X, y, classes=[...])."
            )
        _set_classes(estimator, found)
    elif classes is not None and not np.array_equal(classes, estimator.classes_):
        raise ValueError(f"classes are {classes.tolist()}, and the model has {estimator.classes_.tolist()}.")
    unknown = np.setdiff1d(y, estimator.classes_)
    if len(unknown):
        raise ValueError(
            f"y holds the label {unknown.tolist()[0]!r}, which is not one of the classes of the first call. Name all "
            "classes there: partial_fit(X, y, classes=...)."
        )
    return y


def _set_classes(estimator: Any, classes: np.ndarray) -> None:
    estimator.classes_ = classes
    check_classes(classes, estimator.class_weight)
