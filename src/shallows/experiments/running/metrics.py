"""What is measured at a mark, by task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shallows import streams


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
    """The error on the test part, all that can be told of an estimator that only predicts."""
    return {"test_error": 100.0 * float(np.mean(np.asarray(predictions) != np.asarray(data.y_test)))}


def regression_of_predictions(predictions: Any, data: Any) -> dict[str, float]:
    """The mean squared error on the test part, and its root."""
    test = float(np.mean((np.asarray(predictions).reshape(np.shape(data.y_test)) - np.asarray(data.y_test)) ** 2))
    return {"test_rmse": test**0.5, "test_mse": test}


#: Rows by which a training that sees its data once is looked at on the training part.
MEASURED_ROWS = 10_000


class Sampled:
    """Measures of a model that grows or streams: on the test part, and on a fixed draw of the training part.

    Parameters
    ----------
    data : Prepared
    task : {"classification", "regression"}
    rows : int
        Training rows that are drawn, once for all marks and all methods.
    """

    def __init__(self, data: Any, task: str, rows: int = MEASURED_ROWS):
        n = data.x_train.shape[0]
        chosen = np.sort(streams.permutation(0, "measured rows", 0, n)[:rows])
        self.task, self.data = task, data
        self.x, self.y = data.x_train[chosen], np.asarray(data.y_train)[chosen]

    def __call__(self, snapshot: Any) -> dict[str, float]:
        """Errors in percent or in the units of the targets, the loss (½ (f − y)² in regression), features in use."""
        found = self.of_predictions(snapshot.predict)
        if self.task == "regression":
            found["train_loss"] = 0.5 * found["train_rmse"] ** 2
        elif hasattr(snapshot, "mean_loss"):
            found["train_loss"] = snapshot.mean_loss(self.x, self.y)
        n_random_features = getattr(snapshot, "n_random_features", None)
        return found if n_random_features is None else {**found, "n_random_features": float(n_random_features)}

    def of_predictions(self, predict: Callable[[Any], Any]) -> dict[str, float]:
        """The same of what only predicts."""
        found = {}
        for part, x, y in (("train", self.x, self.y), ("test", self.data.x_test, np.asarray(self.data.y_test))):
            made = np.asarray(predict(x)).reshape(y.shape)
            if self.task == "classification":
                found[f"{part}_error"] = 100.0 * float(np.mean(made != y))
            else:
                off = np.abs(made - y)
                found[f"{part}_mae"], found[f"{part}_rmse"] = float(off.mean()), float(np.sqrt(np.mean(off**2)))
        return found


OF_PREDICTIONS: dict[str, Callable[[Any, Any], dict[str, float]]] = {
    "classification": classification_of_predictions,
    "regression": regression_of_predictions,
}

METRICS: dict[str, Callable[[Any, Any], dict[str, float]]] = {
    "classification": classification,
    "regression": regression,
}
