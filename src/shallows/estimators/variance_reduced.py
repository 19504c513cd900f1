"""Variance-reduced gradients on explicit features as scikit-learn estimators."""

from __future__ import annotations

import numbers
from typing import Any

from ..errors import ShallowsError
from ..solvers import smoothness
from ..solvers.risk import RiskProblem
from ..solvers.sag import SAG
from ..solvers.svrg import SVRG
from .documentation import documented
from .parameters import keep
from .regularised import Drawn
from .regularised_doc import PARTS
from .regularised_targets import RiskClassifier, RiskRegressor

__all__ = ["SAGClassifier", "SAGRegressor", "SVRGClassifier", "SVRGRegressor"]

_CLASSES = """
    loss : {"logistic", "softmax", "squared_hinge", "square"} or Loss, default="auto"
        A smooth one; "auto" is the logistic loss."""

_VALUES = """
    loss : {"square", "huber"} or Loss, default="auto"
        A smooth one; "auto" is the square."""


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
    """{summary}

    {objective}

    Parameters
    ----------
    {features_first}
    {kernel}
    {loss}
    {regularisation}
    step_size : float, optional
        None takes it from the theory and the measured smoothness of batches.
    period : float, default=2.0
        Passes between full gradients; each costs a pass of its own, which is not counted as an epoch.
    {training}

    Attributes
    ----------
    {learnt}
    {attributes}

    References
    ----------
    R. Johnson and T. Zhang (2013), "Accelerating stochastic gradient descent using predictive variance reduction",
    NIPS 26.
    """

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
        keep(self, locals())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (isinstance(self.period, numbers.Real) and self.period > 0):
            raise ShallowsError(f"period must be a positive number of passes, got {self.period!r}.")

    def _make_solver(self, problem: RiskProblem, batch_size: int) -> SVRG:
        return SVRG(self._step(problem, batch_size, smoothness.svrg_step), float(self.period))


@documented(PARTS, loss=_CLASSES)
class SVRGClassifier(_SVRG, RiskClassifier):
    """Classification on explicit features by SVRG, gradients of reduced variance."""

    _default_loss = "logistic"


@documented(PARTS, loss=_VALUES)
class SVRGRegressor(_SVRG, RiskRegressor):
    """Regression on explicit features by SVRG, gradients of reduced variance."""


class _SAG(_VarianceReduced):
    """{summary}

    {objective}

    Parameters
    ----------
    {features_first}
    {kernel}
    {loss}
    {regularisation}
    step_size : float, optional
        None takes it from the theory and the measured smoothness of batches.
    unbiased : bool, default=False
        True is SAGA.
    {training}

    Attributes
    ----------
    {learnt}
    {attributes}

    References
    ----------
    M. Schmidt, N. Le Roux and F. Bach (2017), "Minimizing finite sums with the stochastic average gradient",
    Mathematical Programming 162. A. Defazio, F. Bach and S. Lacoste-Julien (2014), "SAGA: a fast incremental gradient
    method with support for non-strongly convex composite objectives", NIPS 27.
    """

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
        keep(self, locals())

    def _make_solver(self, problem: RiskProblem, batch_size: int) -> SAG:
        rule = smoothness.saga_step if self.unbiased else smoothness.sag_step
        return SAG(self._step(problem, batch_size, rule), bool(self.unbiased))


@documented(PARTS, loss=_CLASSES)
class SAGClassifier(_SAG, RiskClassifier):
    """Classification on explicit features by SAG or SAGA, gradients averaged over a table."""

    _default_loss = "logistic"


@documented(PARTS, loss=_VALUES)
class SAGRegressor(_SAG, RiskRegressor):
    """Regression on explicit features by SAG or SAGA, gradients averaged over a table."""
