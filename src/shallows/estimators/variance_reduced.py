"""Variance-reduced gradients on explicit features as scikit-learn estimators."""

from __future__ import annotations

import numbers
from typing import Any

from ..errors import ShallowsError
from ..solvers import smoothness
from ..solvers.risk import RiskProblem
from ..solvers.sag import SAG
from ..solvers.svrg import SVRG
from .regularised import Drawn
from .regularised_targets import RiskClassifier, RiskRegressor
from .risk_doc import document

__all__ = ["SAGClassifier", "SAGRegressor", "SVRGClassifier", "SVRGRegressor"]


class _VarianceReduced:
    _growth = 100.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.features is None:
            raise ShallowsError(f"{type(self).__name__} works on explicit features; features must not be None.")

    def _step(self, problem: RiskProblem, batch_size: int, rule: Any) -> float:
        L = smoothness.batch_smoothness(problem, batch_size)
        return float(self.step_size or rule(L))


class _SVRG(_VarianceReduced):
    def __init__(
        self,
        features: Any = "fourier",
        *,
        n_features: int = 512,
        kernel: Any = "gaussian",
        bandwidth: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        loss: Any = "auto",
        regularisation: float | None = None,
        step_size: float | None = None,
        period: float = 2.0,
        batch_size: int | None = None,
        max_epochs: int = 20,
        max_seconds: float | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        self.features = features
        self.n_features = n_features
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.loss = loss
        self.regularisation = regularisation
        self.step_size = step_size
        self.period = period
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (isinstance(self.period, numbers.Real) and self.period > 0):
            raise ShallowsError(f"period must be a positive number of passes, got {self.period!r}.")

    def _make_solver(self, problem: RiskProblem, batch_size: int) -> SVRG:
        return SVRG(self._step(problem, batch_size, smoothness.svrg_step), float(self.period))


class SVRGClassifier(_SVRG, RiskClassifier):
    """Classification on explicit features by SVRG, gradients of reduced variance.

    {objective}

    Parameters
    ----------
    {features_first}
    {kernel}
    loss : {{"logistic", "softmax", "squared_hinge", "square"}} or Loss, default="auto"
        A smooth one; "auto" is the logistic loss.
    {regularisation}
    {step}
    period : float, default=2.0
        Passes between full gradients; each costs a pass of its own, which is not counted as an epoch.
    {training}

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    {attributes}
    {svrg_reference}
    """

    _default_loss = "logistic"


class SVRGRegressor(_SVRG, RiskRegressor):
    """Regression on explicit features by SVRG, gradients of reduced variance.

    {objective}

    Parameters
    ----------
    {features_first}
    {kernel}
    loss : {{"square", "huber"}} or Loss, default="auto"
        A smooth one; "auto" is the square.
    {regularisation}
    {step}
    period : float, default=2.0
        Passes between full gradients; each costs a pass of its own, which is not counted as an epoch.
    {training}

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    {attributes}
    {svrg_reference}
    """


class _SAG(_VarianceReduced):
    # Without replacement the gradients of the table are about half a pass old in step with each other, and the
    # iteration is stable for steps below 5/(number of batches · λ_max) only.
    _batches = Drawn

    def __init__(
        self,
        features: Any = "fourier",
        *,
        n_features: int = 512,
        kernel: Any = "gaussian",
        bandwidth: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        loss: Any = "auto",
        regularisation: float | None = None,
        step_size: float | None = None,
        unbiased: bool = False,
        batch_size: int | None = None,
        max_epochs: int = 20,
        max_seconds: float | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        self.features = features
        self.n_features = n_features
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.loss = loss
        self.regularisation = regularisation
        self.step_size = step_size
        self.unbiased = unbiased
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.verbose = verbose

    def _make_solver(self, problem: RiskProblem, batch_size: int) -> SAG:
        rule = smoothness.saga_step if self.unbiased else smoothness.sag_step
        return SAG(self._step(problem, batch_size, rule), bool(self.unbiased))


class SAGClassifier(_SAG, RiskClassifier):
    """Classification on explicit features by SAG or SAGA, gradients averaged over a table.

    {objective}

    Parameters
    ----------
    {features_first}
    {kernel}
    loss : {{"logistic", "softmax", "squared_hinge", "square"}} or Loss, default="auto"
        A smooth one; "auto" is the logistic loss.
    {regularisation}
    {step}
    unbiased : bool, default=False
        True is SAGA.
    {training}

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    {attributes}
    {sag_reference}
    """

    _default_loss = "logistic"


class SAGRegressor(_SAG, RiskRegressor):
    """Regression on explicit features by SAG or SAGA, gradients averaged over a table.

    {objective}

    Parameters
    ----------
    {features_first}
    {kernel}
    loss : {{"square", "huber"}} or Loss, default="auto"
        A smooth one; "auto" is the square.
    {regularisation}
    {step}
    unbiased : bool, default=False
        True is SAGA.
    {training}

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    {attributes}
    {sag_reference}
    """


document(SAGClassifier, SAGRegressor, SVRGClassifier, SVRGRegressor)
