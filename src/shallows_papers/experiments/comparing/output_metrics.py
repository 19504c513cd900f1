"""Metrics that are computed from the outputs of trained models on the test part, without training again.

A target names one under ``from_outputs``. A function gets the outputs, shape (m, c), the true targets, and the classes
or None. Two classes have one output, which is positive for the second class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import log_softmax

from shallows.errors import ShallowsError


def error(scores: np.ndarray, truth: np.ndarray, classes: np.ndarray) -> float:
    """Share of wrong labels in percent."""
    places = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
    return 100.0 * float(np.mean(classes[places] != truth))


def log_loss(scores: np.ndarray, truth: np.ndarray, classes: np.ndarray) -> float:
    """Mean of −log p with p by the logistic function or softmax of the outputs, in nats."""
    columns = np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
    own = np.take_along_axis(log_softmax(columns, axis=1), np.searchsorted(classes, truth)[:, None], axis=1)
    return -float(np.mean(own))


def auc(scores: np.ndarray, truth: np.ndarray, classes: np.ndarray) -> float:
    """Area under the ROC curve in percent; for several classes the mean over each class against all others."""
    from sklearn.metrics import roc_auc_score

    positive = classes[1:] if scores.shape[1] == 1 else classes
    areas = [roc_auc_score(truth == one, column) for one, column in zip(positive, scores.T, strict=True)]
    return 100.0 * float(np.mean(areas))


def mae(scores: np.ndarray, truth: np.ndarray) -> float:
    """Mean absolute error, in the units of the targets."""
    return float(np.mean(np.abs(scores - truth.reshape(scores.shape))))


def rmse(scores: np.ndarray, truth: np.ndarray) -> float:
    """Root of the mean squared error, in the units of the targets."""
    return float(np.sqrt(np.mean((scores - truth.reshape(scores.shape)) ** 2)))


#: The functions by the names that targets use, for classes and for values. The schema of papers lists the names.
OF_CLASSES: dict[str, Callable[..., float]] = {"error": error, "log_loss": log_loss, "auc": auc}
OF_VALUES: dict[str, Callable[..., float]] = {"mae": mae, "rmse": rmse}


def compute(name: str, outputs: Mapping[str, Any]) -> float | None:
    """Return a metric of the outputs of a run; None for a run without outputs, such as an analysis."""
    if "scores" not in outputs:
        return None
    classes = outputs.get("classes")
    function = (OF_VALUES if classes is None else OF_CLASSES).get(name)
    if function is None:
        raise ShallowsError(f"The metric {name!r} is not for {'regression' if classes is None else 'classification'}.")
    arrays = np.asarray(outputs["scores"], dtype=np.float64), np.asarray(outputs["truth"])
    return function(*arrays) if classes is None else function(*arrays, np.asarray(classes))
