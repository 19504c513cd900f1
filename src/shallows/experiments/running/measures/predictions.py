"""Errors of predictions: of classes in percent, of values as mean squares, their roots, or relative to the targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shallows.errors import ShallowsError

from . import Measure


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


class TimedPredictions(Predictions):
    """As `Predictions`, with ``fit_seconds``, for machines whose times are compared within one computer."""

    times_fit = True


class RelativeErrors(Predictions):
    """The root mean square of the errors over that of the targets, on the test part, in percent.

    That is 100 ‖f − y‖ / ‖y‖ with the targets as they are, not centred: a target that is far from zero makes it small
    (A. Rahimi and B. Recht, 2007, "Random features for large-scale kernel machines", NIPS 20, table 1).
    """

    def of_snapshot(self, snapshot: Any) -> dict[str, float]:
        """See `of_estimator`; a snapshot predicts as a model does."""
        return self.of_estimator(snapshot)

    def of_estimator(self, estimator: Any) -> dict[str, float]:
        """``relative_error`` in percent, with ``test_rmse`` and ``test_mse`` in the units of the targets."""
        if self.task != "regression":
            raise ShallowsError(f"Relative errors are those of regression, and the task is {self.task}.")
        size = float(np.sqrt(np.mean(np.asarray(self.data.y_test, dtype=np.float64) ** 2)))
        if size == 0:
            raise ShallowsError("All targets of the test part are 0, so that no error is relative to them.")
        found = super().of_estimator(estimator)
        return {**found, "relative_error": 100.0 * found["test_rmse"] / size}
