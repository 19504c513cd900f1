"""Measures of fitted models: one module for each kind of thing that models return.

A method names its measure under ``measures`` in ``config/methods.yaml``; where it names none, the measure follows from
what its estimator offers. A measure is loaded when a run uses it, so that a new one changes nothing about other runs.
"""

from __future__ import annotations

import inspect
from typing import Any

from shallows.errors import ShallowsError
from shallows.utils.lazy_tables import LazyTable

#: Every measure by its name.
MEASURES = LazyTable(
    "measure",
    __name__,
    {
        "components": ".components:Components",
        "correlations": ".correlations:Correlations",
        "predictions": ".predictions:Predictions",
        "relative_errors": ".predictions:RelativeErrors",
        "sampled": ".sampled:Sampled",
        "timed_predictions": ".predictions:TimedPredictions",
    },
)


def make(name: str, data: Any) -> Any:
    """The measure of a name for a run's data, a `base.Measure`."""
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
