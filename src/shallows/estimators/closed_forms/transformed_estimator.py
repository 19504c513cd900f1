"""The base of the estimators whose model is a linear function of a transformer's features."""

from typing import Any

import numpy as np

from ...fitting.square_targets import SquareClassTargets
from ..base import Estimator, fit_rows


class TransformedEstimator(Estimator):
    """Base of the estimators whose model is a linear function of a transformer's features, solved at once."""

    _model: Any
    fit = fit_rows

    def _store(self, found: Any) -> None:
        self._forget("intercept_")
        model, targets = found.model, found.targets
        self._model, self._targets = model, targets
        self.transformer_, self.coef_ = model.transformer, model.coefficients
        if isinstance(targets, SquareClassTargets):
            self.classes_ = targets.classes
        else:
            self.coef_ = model.coefficients * targets.scale[:, None]
        if targets.intercept is not None:
            self.intercept_ = targets.intercept
        self.n_iter_, self.report_ = found.n_iter, {**found.report, "timings": found.seconds}

    def _raw_predict(self, X: Any) -> np.ndarray:
        return self._targets.unscale(self._model.scores(X, self._options().device))
