"""How wrong predictions are on a user's data: in all, of each row, and in the units of the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

#: What the scores are, in words.
SCORES = {"classification": "errors in %", "regression": "share of the target's variance that is not explained"}


def row_losses(task: str, predictions: Any, truth: Any) -> np.ndarray:
    """The loss of each row, whose mean is the score.

    Parameters
    ----------
    task : {"classification", "regression"}
    predictions, truth : array, shape (n,) or (n, k)

    Returns
    -------
    ndarray, shape (n,)
        100 for a wrong class and 0 for a right one; the squared error over the variance of the target, of which
        several count alike.
    """
    truth = np.asarray(truth)
    if task == "classification":
        return 100.0 * (np.asarray(predictions) != truth)
    errors = _errors(predictions, truth) ** 2
    spread = np.var(truth, axis=0)
    return (errors / np.where(spread > 0, spread, 1.0)).reshape(len(truth), -1).mean(axis=1)


def score(task: str, predictions: Any, truth: Any) -> float:
    """How wrong predictions are; lower is better. Of several targets every one counts alike."""
    return float(np.mean(row_losses(task, predictions, truth)))


def metric_of(task: str, part: str) -> str:
    """The name under which a score is reported: ``test_error`` or ``test_r2``."""
    return f"{part}_error" if task == "classification" else f"{part}_r2"


def reported(task: str, value: float) -> float:
    """A score as it is reported: errors in percent as they are, R² in place of the share that is not explained."""
    return value if task == "classification" else 1.0 - value


def target_scale(info: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation by which a preparation scaled the target; 0 and 1 where it did not."""
    found = [one["center_target"] for one in info["statistics"] if "center_target" in one]
    return (np.asarray(found[0]["mean"]), np.asarray(found[0]["scale"])) if found else (np.zeros(()), np.ones(()))


def error_in_units(task: str, predictions: Any, data: Any) -> dict[str, float]:
    """The root mean squared error in the units of the target; nothing in classification."""
    if task == "classification":
        return {}
    _, scale = target_scale(data.info)
    return {"test_rmse": float(np.sqrt(np.mean((_errors(predictions, np.asarray(data.y_test)) * scale) ** 2)))}


def _errors(predictions: Any, truth: np.ndarray) -> np.ndarray:
    return np.asarray(predictions).reshape(truth.shape) - truth
