"""The base of the classifiers with support vectors, and what the regressor shares with it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ... import arrays, kernels
from ...fitting import leave_one_out_choice
from ...fitting.support_vectors import FittedMachines, fit_kernel_svm
from ...solvers.support_vectors.dual_problem import TwoClassSettings
from ...utils.checks import check_choice, check_positive, check_whole
from ..base import Estimator, keeps_model_on_failure
from ..constructors import stores_parameters
from ..predictions import LabelPredictions


class SupportVectorClassifier(LabelPredictions, Estimator):
    """Base of the classifiers Σ βᵢ k(xᵢ, x) + b whose solvers choose rows of the kernel matrix."""

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
    ):
        """Store the parameters.

        Parameters
        ----------
        kernel : str, Kernel or callable, default="gaussian"
            A name or object of `shallows.kernels`, a function of two arrays, or "precomputed": X is the kernel matrix,
            and for predictions the values of new points with all training points.
        bandwidth : float, "auto", "median" or None, default="auto"
            σ, in the units of X. "auto": by leave-one-out errors. "median" and None: the median distance of points.
        kernel_params : dict, optional
            Parameters of the kernel, such as ``{"nu": 1.5}``, or keyword arguments of the function.
        random_state : int, RandomState or None, default=None
            Seed of all random draws. An int gives the same model every time.
        device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
            Device of kernel values. "auto" uses a GPU if CuPy finds one. The steps are taken on the CPU.
        memory : int or str, optional
            Memory limit of the process, in bytes or as "4GB". None: a share of the free memory.
        dtype : {"auto", "float32", "float64"}, default="auto"
            Precision of the kernel values. "auto": float32, or float64 for up to 1,000 points.
        verbose : int, default=0
            1 shows a progress bar.
        C : float, default=1.0
            Factor of the sum of the losses. λ next to a mean of losses is 1/(C n).
        multiclass : {"one_vs_one", "one_vs_rest"}, default="one_vs_one"
            A machine for each pair of classes, which vote, or for each class against the others.
        class_weight : dict or "balanced", optional
            Factors of the sample weights by class (1 for missing classes). "balanced": n/(k nⱼ) for class j.
        """

    @keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: D102
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
        self.n_iter_, self.n_kernel_evaluations_ = found.n_steps, found.n_evaluations
        self.objectives_, self.effective_params_ = found.objectives, found.report

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_kernel_and_limits(self)
        check_choice(self, multiclass=("one_vs_one", "one_vs_rest"))

    def _raw_predict(self, X: Any) -> np.ndarray:
        return self._targets.decisions(outputs(self, X))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")


def check_kernel_and_limits(estimator: Any) -> None:
    """Check the kernel, C, the tolerance and the limit of steps of a machine with support vectors."""
    leave_one_out_choice.check_bandwidth(estimator.bandwidth)
    check_positive(estimator, "tol", "C")
    kernels.check_own_parameters(estimator.kernel, estimator.bandwidth, estimator.kernel_params)
    check_whole(estimator, "max_iterations", optional=True)


def outputs(estimator: Any, X: Any) -> np.ndarray:
    """Outputs of all machines of a fitted estimator at checked points, float64, shape (m, n_problems)."""
    device = arrays.resolve_device(estimator.device)
    return estimator._model.scores(X, device, estimator._options().prediction_budget(device))
