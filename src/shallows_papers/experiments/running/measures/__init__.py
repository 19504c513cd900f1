"""Measures of fitted models: one module for each kind of thing that models return.

A method names its measure under ``measures`` in ``config/methods.yaml``; where it names none, the measure follows from
what its estimator offers. A measure is loaded when a run uses it, so that a new one changes nothing about other runs.
"""

from __future__ import annotations

import inspect
from typing import Any

from shallows.errors import ShallowsError
from shallows.utils.lazy_tables import LazyTable


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


#: Every measure by its name.
MEASURES = LazyTable(
    "measure",
    __name__,
    {
        "components": ".components:ComponentQuality",
        "correlations": ".correlations:Correlations",
        "predictions": ".predictions:Predictions",
        "relative_errors": ".predictions:RelativeErrors",
        "sampled": ".sampled:Sampled",
        "timed_predictions": ".predictions:TimedPredictions",
    },
)


def make(name: str, data: Any) -> Any:
    """The measure of a name for a run's data, a `Measure`."""
    return MEASURES[name](data, data.info["task"])


def default_for(estimator: Any) -> str:
    """The name of the measure for an estimator by what it offers.

    ``predictions`` where it predicts; otherwise ``correlations`` where it transforms two views and ``components`` where
    it transforms one.
    """
    if hasattr(estimator, "predict"):
        return "predictions"
    if not hasattr(estimator, "transform"):
        raise ShallowsError(
            f"{type(estimator).__name__} neither predicts nor transforms, so nothing of it is measured."
        )
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(estimator.transform).parameters.values()
    return "correlations" if sum(one.kind in positional for one in parameters) > 1 else "components"
