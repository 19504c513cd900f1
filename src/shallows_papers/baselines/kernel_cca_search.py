"""Doubly stochastic kernel CCA with ridge and step decrease chosen on held-out examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.utils.validation import check_is_fitted

from shallows.estimators.components.kernel_cca import DoublyStochasticKernelCCA
from shallows.estimators.constructors import stores_parameters
from shallows.fitting.machine import Options
from shallows.solvers.components.kernel_cca import TwoViewCCA

from .randomised_cca import VALIDATION, total_correlation


class KernelCCASearch(BaseEstimator):
    """`DoublyStochasticKernelCCA` with the parameters that have the largest total correlation on a validation part.

    Every combination of ``ridges`` and ``decreases`` is fitted on four fifths of the training part and scored on the
    last fifth; the best one, ``best_estimator_``, is then fitted on the whole training part. ``scores_`` has the total
    correlation of every combination (ridge, decrease). The other parameters are the same as in
    `DoublyStochasticKernelCCA`.
    """

    @stores_parameters
    def __init__(
        self,
        n_components: int = 2,
        *,
        ridges: Sequence[float] = (3e-5, 1e-4, 3e-4),
        decreases: Sequence[float] = (0.02,),
        block_size: int | None = None,
        max_features: int | None = None,
        batch_size: int | None = None,
        n_iter: int | None = None,
        random_state: int = 0,
        device: str = "auto",
        memory: int | str | None = None,
    ): ...

    def fit(self, X: Any, y: Any) -> Self:
        """Choose, and learn the functions of X (n_samples, n_features) and y (n_samples, n_second_features)."""
        estimator = DoublyStochasticKernelCCA(
            self.n_components,
            solver=TwoViewCCA(
                block_size=self.block_size,
                max_features=self.max_features,
                batch_size=self.batch_size,
                n_iter=self.n_iter,
            ),
            random_state=self.random_state,
            options=Options(device=self.device, memory=self.memory),
        )
        search = GridSearchCV(
            estimator,
            {"ridge": list(self.ridges), "solver__decrease": list(self.decreases)},
            scoring=_total_correlation_of,
            cv=ShuffleSplit(1, test_size=VALIDATION, random_state=self.random_state),
        ).fit(X, y)
        self.best_estimator_ = search.best_estimator_
        tried = zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
        self.scores_ = {(one["ridge"], one["solver__decrease"]): float(score) for one, score in tried}
        self.report_ = dict(self.best_estimator_.report_)
        return self

    def transform(self, X: Any, y: Any = None) -> Any:
        """Values of the canonical functions of the first view, shape (n_samples, n_components), or of both."""
        check_is_fitted(self)
        return self.best_estimator_.transform(X, y)

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the features of the first view, shape (n_blocks, width, n_components)."""
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("dual_coef_ is available after fit.")
        return self.best_estimator_.dual_coef_


def _total_correlation_of(estimator: DoublyStochasticKernelCCA, X: Any, y: Any) -> float:
    return total_correlation(*estimator.transform(X, y))
