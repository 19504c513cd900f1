"""Errors of predictions: percentages for classes; mean squares, their roots, or relative errors for values."""

from __future__ import annotations

from typing import Any

import numpy as np

from shallows.errors import ShallowsError

from . import Measure


class Predictions(Measure):
    """Errors on the whole test part, and on the training part if the model keeps it."""

    of_predictions = True

    def of_snapshot(self, snapshot: Any) -> dict[str, float]:
        """Return errors of both parts: percentages and square losses for classes, MSE and RMSE for values."""
        data, trained = self.data, np.asarray(snapshot.predict_training())
        test = self._on_test(snapshot.predict(data.x_test))
        if self.task == "classification":
            return {
                "train_error": 100.0 * float(np.mean(trained != data.y_train)),
                **test,
                "train_l2": snapshot.training_square_loss(data.y_train),
                "test_l2": snapshot.square_loss(data.x_test, data.y_test),
                "coefficient_norm": snapshot.coefficient_norm(),
            }
        train = float(np.mean((trained - data.y_train) ** 2))
        return {"train_rmse": train**0.5, "train_mse": train, **test}

    def of_estimator(self, estimator: Any) -> dict[str, float]:
        """Return the error on the test part in percent, or its mean squared error and the root of it."""
        return self._on_test(estimator.predict(np.asarray(self.data.x_test)))

    def _on_test(self, predictions: Any) -> dict[str, float]:
        predictions, truth = np.asarray(predictions), np.asarray(self.data.y_test)
        if self.task == "classification":
            return {"test_error": 100.0 * float(np.mean(predictions != truth))}
        test = float(np.mean((predictions.reshape(truth.shape) - truth) ** 2))
        return {"test_rmse": test**0.5, "test_mse": test}


class TimedPredictions(Predictions):
    """Like `Predictions`, with ``fit_seconds``, for comparisons of times on one computer."""

    times_fit = True


class RelativeErrors(Predictions):
    """The root mean square of the errors divided by the root mean square of the targets, on the test part, in percent.

    This is 100 ‖f − y‖ / ‖y‖ with uncentered targets: a target with a large mean makes it small (A. Rahimi and
    B. Recht, 2007, "Random features for large-scale kernel machines", NIPS 20, table 1).
    """

    def of_snapshot(self, snapshot: Any) -> dict[str, float]:
        """See `of_estimator`; a snapshot predicts like a model."""
        return self.of_estimator(snapshot)

    def of_estimator(self, estimator: Any) -> dict[str, float]:
        """Return ``relative_error`` in percent, with ``test_rmse`` and ``test_mse`` in the units of the targets."""
        if self.task != "regression":
            raise ShallowsError(f"Relative errors need regression, but the task is {self.task}.")
        size = float(np.sqrt(np.mean(np.asarray(self.data.y_test, dtype=np.float64) ** 2)))
        if size == 0:
            raise ShallowsError("All targets of the test part are 0, so that relative errors are not defined.")
        found = super().of_estimator(estimator)
        return {**found, "relative_error": 100.0 * found["test_rmse"] / size}
