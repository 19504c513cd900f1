"""Errors of predictions: of classes in percent, of values as mean squares and their roots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .base import Measure


def classification(snapshot: Any, data: Any) -> dict[str, float]:
    """Errors in percent and square losses on the training and the test part, and the norm of the coefficients."""
    return {
        "train_error": 100.0 * float(np.mean(np.asarray(snapshot.predict_training()) != data.y_train)),
        "test_error": 100.0 * float(np.mean(np.asarray(snapshot.predict(data.x_test)) != data.y_test)),
        "train_l2": snapshot.training_square_loss(data.y_train),
        "test_l2": snapshot.square_loss(data.x_test, data.y_test),
        "coefficient_norm": snapshot.coefficient_norm(),
    }


def regression(snapshot: Any, data: Any) -> dict[str, float]:
    """Mean squared errors, and their roots, on the training and the test part."""
    train = float(np.mean((np.asarray(snapshot.predict_training()) - data.y_train) ** 2))
    test = float(np.mean((np.asarray(snapshot.predict(data.x_test)) - data.y_test) ** 2))
    return {"train_rmse": train**0.5, "test_rmse": test**0.5, "train_mse": train, "test_mse": test}


def classification_of_predictions(predictions: Any, data: Any) -> dict[str, float]:
    """The error on the test part, all that an estimator which only predicts lets us measure."""
    return {"test_error": 100.0 * float(np.mean(np.asarray(predictions) != np.asarray(data.y_test)))}


def regression_of_predictions(predictions: Any, data: Any) -> dict[str, float]:
    """The mean squared error on the test part, and its root."""
    test = float(np.mean((np.asarray(predictions).reshape(np.shape(data.y_test)) - np.asarray(data.y_test)) ** 2))
    return {"test_rmse": test**0.5, "test_mse": test}


OF_SNAPSHOTS: dict[str, Callable[[Any, Any], dict[str, float]]] = {
    "classification": classification,
    "regression": regression,
}
OF_PREDICTIONS: dict[str, Callable[[Any, Any], dict[str, float]]] = {
    "classification": classification_of_predictions,
    "regression": regression_of_predictions,
}


class Predictions(Measure):
    """Errors on the whole test part and, where the model keeps its training part at hand, on that."""

    def of_snapshot(self, snapshot: Any) -> dict[str, float]:  # noqa: D102
        return OF_SNAPSHOTS[self.task](snapshot, self.data)

    def of_estimator(self, estimator: Any) -> dict[str, float]:  # noqa: D102
        return OF_PREDICTIONS[self.task](estimator.predict(np.asarray(self.data.x_test)), self.data)
