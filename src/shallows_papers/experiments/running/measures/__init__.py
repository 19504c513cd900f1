"""Measures of fitted models: one module for each kind of model output.

A method names its measure under ``measures`` in ``config/methods.yaml``; by default the measure follows from what its
estimator offers. A measure is loaded when a run uses it, so that a new one changes nothing about other runs.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from shallows.errors import ShallowsError
from shallows.utils.lazy_tables import LazyTable


class Measure:
    """Measures models on prepared data for a task (``"none"`` without targets). Subclasses override what they need."""

    times_fit = False  # whether the seconds of a single fit are one of the metrics
    of_predictions = False  # whether it measures predictions; then the outputs on the test part are kept

    def __init__(self, data: Any, task: str):
        self.data, self.task = data, task

    def training_arrays(self) -> tuple[Any, Any]:
        """Return the two arrays for fitting an estimator, by default features and targets."""
        return self.data.x_train, self.data.y_train

    def of_snapshot(self, snapshot: Any) -> dict[str, float]:
        """Return metrics of a model during or after its training, which may know more than it predicts."""
        return self.of_estimator(snapshot)

    def of_estimator(self, estimator: Any) -> dict[str, float]:
        """Return metrics of any fitted estimator of scikit-learn's kind."""
        raise NotImplementedError

    def at_iteration(self, estimator: Any, iteration: int) -> dict[str, float]:
        """Return further numbers at an iteration of a completed training."""
        return {}

    def of_training(self, estimator: Any) -> dict[str, float]:
        """Return further numbers of a completed training as a whole."""
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
    """Return the named measure for a run's data, a `Measure`."""
    return MEASURES[name](data, data.info["task"])


def default_for(estimator: Any) -> str:
    """Return the name of the measure for an estimator, by what it offers.

    ``predictions`` if it predicts; otherwise ``correlations`` if it transforms two views and ``components`` if it
    transforms one.
    """
    if hasattr(estimator, "predict"):
        return "predictions"
    if not hasattr(estimator, "transform"):
        raise ShallowsError(
            f"{type(estimator).__name__} neither predicts nor transforms, so there is nothing to measure."
        )
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(estimator.transform).parameters.values()
    return "correlations" if sum(one.kind in positional for one in parameters) > 1 else "components"


class KeptOutputs:
    """Keeps the outputs of a model at the end of a run, if the run's measure measures predictions."""

    def __init__(self, measure: Any):
        self._data, self._measured, self._scores = measure.data, measure.of_predictions, None

    def keep(self, model: Any) -> None:
        """Keep the outputs of a model or a snapshot, which has them in memory if its predictions were measured."""
        if self._measured and hasattr(model, "decision_function"):
            self._scores = np.asarray(model.decision_function(self._data.x_test), dtype=np.float32)

    def arrays(self, estimator: Any) -> dict[str, Any]:
        """Return ``scores``, shape (m, c), ``truth`` and ``classes`` of values or classes; empty without outputs."""
        classes = getattr(estimator, "classes_", None)
        if self._scores is None:
            self.keep(estimator)
        if self._scores is None and self._measured and classes is None:
            self._scores = np.asarray(estimator.predict(self._data.x_test), dtype=np.float32)
        if self._scores is None:
            return {}
        scores = self._scores.reshape(len(self._scores), -1)
        found = {"scores": scores, "truth": np.asarray(self._data.y_test)}
        return found if classes is None else {**found, "classes": np.asarray(classes)}
