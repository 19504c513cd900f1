"""The base class of measures."""

from __future__ import annotations

from typing import Any


class Measure:
    """Measures models on prepared data and a task (``"none"`` without targets). Subclasses override what they need."""

    times_fit = False  # whether the seconds of a fit at once are one of the metrics

    def __init__(self, data: Any, task: str):
        self.data, self.task = data, task

    def training_arrays(self) -> tuple[Any, Any]:
        """The two arrays that an estimator is fitted on: features and targets, where nothing else is said."""
        return self.data.x_train, self.data.y_train

    def of_snapshot(self, snapshot: Any) -> dict[str, float]:
        """Metrics of a model in the middle or at the end of its training, which may know more than it predicts."""
        return self.of_estimator(snapshot)

    def of_estimator(self, estimator: Any) -> dict[str, float]:
        """Metrics of any fitted estimator of scikit-learn's kind."""
        raise NotImplementedError

    def at_iteration(self, estimator: Any, iteration: int) -> dict[str, float]:
        """Further numbers at an iteration of a training that is over."""
        return {}

    def of_training(self, estimator: Any) -> dict[str, float]:
        """Further numbers of a training as a whole, once it is over."""
        return {}
