"""Scores of predictions on a user's data: over all rows, for each row, and in the units of the target."""

from collections.abc import Mapping
from typing import Any

import numpy as np

#: The scores as text.
SCORES = {"classification": "errors in %", "regression": "share of the target's variance that is not explained"}


def row_losses(task: str, predictions: Any, truth: Any) -> np.ndarray:
    """Return the loss of each row, whose mean is the score: arrays of shape (n,) or (n, k) give shape (n,).

    In classification it is 100 for a wrong class and 0 for a right one. In regression it is the squared error over the
    variance of the target, averaged over the targets.
    """
    truth = np.asarray(truth)
    if task == "classification":
        return 100.0 * (np.asarray(predictions) != truth)
    errors = _errors(predictions, truth) ** 2
    spread = np.var(truth, axis=0)
    return (errors / np.where(spread > 0, spread, 1.0)).reshape(len(truth), -1).mean(axis=1)


def score(task: str, predictions: Any, truth: Any) -> float:
    """Return the mean loss of the rows; lower is better."""
    return float(np.mean(row_losses(task, predictions, truth)))


def metric_of(task: str, part: str) -> str:
    """Return the metric that reports a score: ``test_error`` or ``test_r2``."""
    return f"{part}_error" if task == "classification" else f"{part}_r2"


def reported(task: str, value: float) -> float:
    """Return the reported value of a score: the errors in percent, or R² in regression."""
    return value if task == "classification" else 1.0 - value


def target_scale(info: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and standard deviation by which a preparation scaled the target; 0 and 1 if it did not."""
    found = [one["center_target"] for one in info["statistics"] if "center_target" in one]
    return (np.asarray(found[0]["mean"]), np.asarray(found[0]["scale"])) if found else (np.zeros(()), np.ones(()))


def error_in_units(task: str, predictions: Any, data: Any) -> dict[str, float]:
    """Return the root mean squared error in the units of the target; nothing in classification."""
    if task == "classification":
        return {}
    _, scale = target_scale(data.info)
    return {"test_rmse": float(np.sqrt(np.mean((_errors(predictions, np.asarray(data.y_test)) * scale) ** 2)))}


def _errors(predictions: Any, truth: np.ndarray) -> np.ndarray:
    return np.asarray(predictions).reshape(truth.shape) - truth
