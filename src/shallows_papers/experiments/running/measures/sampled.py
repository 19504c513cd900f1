"""Errors of predictions on the test part and on a fixed random draw of the training part."""

from __future__ import annotations

from typing import Any

import numpy as np

from shallows import streams

from . import Measure

#: Training rows for the measurements of a model that sees its data once.
MEASURED_ROWS = 10_000

#: Numbers without a mark: what was chosen or estimated for a training.
CHOSEN = ("batch_size", "block_size", "regularization", "bandwidth", "step_size", "feature_variance", "gradient_rms")


class Sampled(Measure):
    """Errors of a model that grows or streams: on the test part, and on a fixed draw of the training part.

    The training rows are drawn once for all marks and all methods.
    """

    times_fit = of_predictions = True

    def __init__(self, data: Any, task: str, rows: int = MEASURED_ROWS):
        super().__init__(data, task)
        n = data.x_train.shape[0]
        chosen = np.sort(streams.permutation(0, "measured rows", 0, n)[:rows])
        self.x, self.y = data.x_train[chosen], np.asarray(data.y_train)[chosen]

    def of_snapshot(self, snapshot: Any) -> dict[str, float]:
        """Return errors in percent or in the targets' units, the loss (½ (f − y)² in regression), features in use."""
        found = self.of_estimator(snapshot)
        if self.task == "regression":
            found["train_loss"] = 0.5 * found["train_rmse"] ** 2
        elif hasattr(snapshot, "mean_loss"):
            found["train_loss"] = snapshot.mean_loss(self.x, self.y)
        n_random_features = getattr(snapshot, "n_random_features", None)
        return found if n_random_features is None else {**found, "n_random_features": float(n_random_features)}

    def of_estimator(self, estimator: Any) -> dict[str, float]:
        """Return errors in percent or in the units of the targets."""
        found = {}
        for part, x, y in (("train", self.x, self.y), ("test", self.data.x_test, np.asarray(self.data.y_test))):
            predicted = np.asarray(estimator.predict(x)).reshape(y.shape)
            if self.task == "classification":
                found[f"{part}_error"] = 100.0 * float(np.mean(predicted != y))
            else:
                off = np.abs(predicted - y)
                found[f"{part}_mae"], found[f"{part}_rmse"] = float(off.mean()), float(np.sqrt(np.mean(off**2)))
        return found

    def at_iteration(self, estimator: Any, iteration: int) -> dict[str, float]:
        """Return the number of training examples seen so far, if all batches have the same size."""
        batch_size = estimator.report_.get("batch_size")
        return {"examples": iteration * batch_size} if batch_size else {}

    def of_training(self, estimator: Any) -> dict[str, float]:
        """Return what the program chose because the user did not."""
        chosen = estimator.report_
        return {name: float(chosen[name]) for name in CHOSEN if chosen.get(name) is not None}
