"""What classifiers with support vectors share: their parameters, the fit, and predictions of their machines."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ... import arrays, kernels, training
from ...fitting import leave_one_out_choice
from ...fitting.checks import check_choice, check_positive, check_whole
from ...fitting.support_vectors import FittedMachines, fit_kernel_svm
from ...solvers.support_vectors.dual_problem import TwoClassSettings
from ..base import Estimator
from ..constructors import stores_parameters
from ..predictions import LabelPredictions


class SupportVectorClassifier(LabelPredictions, Estimator):
    """Base of the classifiers Σ βᵢ k(xᵢ, x) + b whose solvers choose rows."""

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str | None = "auto",
        kernel_params: dict[str, Any] | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
        C: float = 1.0,
        multiclass: str = "one_vs_one",
        class_weight: Any = None,
    ): ...

    @training.keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on all of X, y.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Factors of C. Rows of weight zero are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree, one class only.
        ShallowsError
            A parameter out of its range, or a kernel that is not positive semi-definite.
        """
        self._check_parameters()
        rows, solver = self._validated_training_set(X, y, sample_weight), self._settings()
        loss = getattr(self, "loss", "auto")
        found = fit_kernel_svm(
            rows,
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            C=self.C,
            squared=(solver.losses[0] if loss == "auto" else loss) == "squared_hinge",
            solver=solver,
            multiclass=self.multiclass,
            class_weight=self.class_weight,
            seed=self._seed(),
            options=self._options(),
            name=type(self).__name__,
        )
        self._store(found)
        self.timings_ = found.seconds
        return self

    def _settings(self) -> TwoClassSettings:
        """The settings of the solver."""
        raise NotImplementedError

    def _store(self, found: FittedMachines) -> None:
        """Set the fitted attributes."""
        self._model, self._targets, self.classes_ = found.model, found.targets, found.targets.classes
        self.support_, self.dual_coef_, self.intercept_ = found.support, found.coefficients, found.model.intercepts
        self.bandwidth_ = found.model.function.kernel.bandwidth
        self.objectives_, self.n_iter_, self.n_kernel_evaluations_ = (
            found.objectives,
            found.n_steps,
            found.n_evaluations,
        )
        self.effective_params_ = found.report

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_kernel_and_limits(self)
        check_choice(self, multiclass=("one_vs_one", "one_vs_rest"))

    def _raw_predict(self, X: Any) -> np.ndarray:
        return self._targets.decisions(outputs(self, X))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")


def check_kernel_and_limits(estimator: Any) -> None:
    """Refuse a kernel, a tolerance, a C or a limit of steps that no machine with support vectors takes."""
    leave_one_out_choice.check_bandwidth(estimator.bandwidth)
    check_positive(estimator, "tol", "C")
    kernels.check_own_parameters(estimator.kernel, estimator.bandwidth, estimator.kernel_params)
    check_whole(estimator, "max_iterations", optional=True)


def outputs(estimator: Any, X: Any) -> np.ndarray:
    """The outputs of all machines of a fitted estimator at checked points, float64, shape (m, n_problems)."""
    device = arrays.resolve_device(estimator.device)
    return estimator._model.scores(X, device, estimator._options().prediction_budget(device))
