"""The attributes of a model that is a linear function of features."""

from __future__ import annotations

from typing import Any

from ...fitting.feature_rows import FittedOnFeatures
from ...fitting.square_targets import SquareClassTargets


def store(estimator: Any, found: FittedOnFeatures) -> None:
    """Set the fitted attributes of an estimator."""
    vars(estimator).pop("intercept_", None)  # Of a fit with other parameters.
    model, targets = found.model, found.targets
    estimator._model, estimator._targets, estimator.transformer_ = model, targets, model.transformer
    estimator.coef_ = model.coefficients
    if isinstance(targets, SquareClassTargets):
        estimator.classes_ = targets.classes
    else:
        estimator.coef_ = model.coefficients * targets.scale[:, None]
    if targets.intercept is not None:
        estimator.intercept_ = targets.intercept
    estimator.n_iter_, estimator.effective_params_, estimator.timings_ = found.n_iter, found.report, found.seconds
