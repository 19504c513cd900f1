"""The classes of a model: those of all labels of a fit, or those that the first call on a stream names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..fitting.labels import check_class_weight, check_two_classes, refuse_missing_labels, single_column


def learn(estimator: Any, y: Any) -> np.ndarray:
    """Set ``classes_`` of an estimator to those of all labels, and return the labels as one column."""
    y = single_column(y)
    _set(estimator, np.unique(y))
    return y


def learn_of_stream(estimator: Any, y: Any, classes: Any, *, first: bool, infers_classes: bool) -> np.ndarray:
    """Set ``classes_`` in the first call, refuse others later, and return the labels of a batch as one column."""
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
        _set(estimator, found)
    elif classes is not None and not np.array_equal(classes, estimator.classes_):
        raise ValueError(f"classes are {classes.tolist()}, and the model has {estimator.classes_.tolist()}.")
    unknown = np.setdiff1d(y, estimator.classes_)
    if len(unknown):
        raise ValueError(
            f"y holds the label {unknown.tolist()[0]!r}, which is none of the classes of the first call. Name all "
            "classes there: partial_fit(X, y, classes=...)."
        )
    return y


def _set(estimator: Any, classes: np.ndarray) -> None:
    estimator.classes_ = classes
    check_two_classes(classes)
    check_class_weight(estimator.class_weight, classes)
