"""Pegasos, NORMA and dual coordinate ascent as scikit-learn estimators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import arrays
from ..errors import ShallowsError
from ..solvers.norma import NORMA
from ..solvers.pegasos import Pegasos
from ..solvers.risk import RiskProblem
from ..solvers.sdca import SDCA
from ..training import GROWTH
from .regularised_targets import RiskClassifier, RiskRegressor
from .risk_doc import document

__all__ = [
    "NORMAClassifier",
    "NORMARegressor",
    "PegasosClassifier",
    "SDCAClassifier",
    "SDCARegressor",
]


class PegasosClassifier(RiskClassifier):
    """Support vector machine by Pegasos: subgradient steps of 1/(λt) on a kernel or on explicit features.

    {objective}

    Parameters
    ----------
    {kernel}
    {features}
    loss : {{"hinge", "logistic", "multiclass_hinge", "softmax"}} or Loss, default="hinge"
        Any with bounded slopes.
    {regularisation}
    projection : bool, default=False
        Bring f back to the ball ‖f‖ ≤ 1/√λ after every step.
    averaging : bool, default=False
        Take the mean of the iterates, later ones with more weight, in place of the last one, which follows its last
        batches: worth much where epochs are few.
    {training}

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    {attributes}

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro and A. Cotter (2011), "Pegasos: primal estimated sub-gradient solver for
    SVM", Mathematical Programming 127.
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        features: Any = None,
        n_features: int = 512,
        loss: Any = "hinge",
        regularisation: float | None = None,
        projection: bool = False,
        averaging: bool = False,
        batch_size: int | None = None,
        max_epochs: int = 10,
        max_seconds: float | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.features = features
        self.n_features = n_features
        self.loss = loss
        self.regularisation = regularisation
        self.projection = projection
        self.averaging = averaging
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
        if not np.isfinite(self._named_loss().slope_bound):
            raise ShallowsError(
                f"The first steps of Pegasos are long, so it needs a loss of bounded slopes; {self.loss!r} is none. "
                "Take SDCAClassifier."
            )

    def _make_solver(self, problem: RiskProblem, batch_size: int) -> Pegasos:
        return Pegasos(bool(self.projection), bool(self.averaging))


class _NORMA:
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        loss: Any = "auto",
        regularisation: float | None = None,
        step_size: float | None = None,
        schedule: str = "root",
        truncation: int | None = None,
        batch_size: int | None = None,
        max_epochs: int = 10,
        max_seconds: float | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.loss = loss
        self.regularisation = regularisation
        self.step_size = step_size
        self.schedule = schedule
        self.truncation = truncation
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.verbose = verbose

    @property
    def _growth(self) -> float:
        # Bounded slopes cannot run away; their first steps, and those of 1/(λt), may be long by design.
        bounded = math.isfinite(self._named_loss().slope_bound)
        return math.inf if bounded or self.schedule == "inverse" else GROWTH

    def _check_parameters(self) -> None:
        super()._check_parameters()
        NORMA(1.0, self.schedule, self.truncation)

    def _make_solver(self, problem: RiskProblem, batch_size: int) -> NORMA:
        step = self.step_size or self._default_step(problem, batch_size)
        return NORMA(float(step), self.schedule, self.truncation)

    def _default_step(self, problem: RiskProblem, batch_size: int) -> float:
        loss, reg = problem.loss, problem.regularisation
        if self.schedule == "inverse":
            return 1.0 / reg
        K = arrays.to_numpy(problem.span.products(slice(0, batch_size))).astype(np.float64)
        if math.isfinite(loss.slope_bound):
            # The regret of steps η/√t is least for η = ‖f‖ over the bound of the gradients; 1/√λ bounds ‖f‖.
            step = 1.0 / (loss.slope_bound * math.sqrt(reg * float(K.diagonal().max())))
            n_steps = self.max_epochs * math.ceil(problem.span.n / batch_size)
            return step if self.schedule == "root" else step / math.sqrt(n_steps)
        with arrays.one_blas_thread():
            top = float(np.linalg.eigvalsh(K)[-1]) / batch_size
        return 1.0 / (loss.smoothness * top + reg)


class NORMAClassifier(_NORMA, RiskClassifier):
    """Classification by NORMA: stochastic gradient descent in the space of a kernel, regularised.

    {objective}

    Parameters
    ----------
    {kernel}
    loss : {{"hinge", "logistic", "softmax", "squared_hinge", "multiclass_hinge", "square"}} or Loss, default="auto"
        "auto" is the hinge.
    {regularisation}
    {norma}
    {training}

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    {attributes}
    {norma_reference}
    """

    _default_loss = "hinge"


class NORMARegressor(_NORMA, RiskRegressor):
    """Regression by NORMA: stochastic gradient descent in the space of a kernel, regularised.

    {objective}

    Parameters
    ----------
    {kernel}
    loss : {{"square", "epsilon_insensitive", "huber", "quantile"}} or Loss, default="auto"
        "auto" is the square.
    {regularisation}
    {norma}
    {training}

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    {attributes}
    {norma_reference}
    """


class _SDCA:
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        features: Any = None,
        n_features: int = 512,
        loss: Any = "auto",
        regularisation: float | None = None,
        batch_size: int | None = None,
        max_epochs: int = 10,
        max_seconds: float | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.features = features
        self.n_features = n_features
        self.loss = loss
        self.regularisation = regularisation
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.verbose = verbose

    def _make_solver(self, problem: RiskProblem, batch_size: int) -> SDCA:
        return SDCA()


class SDCAClassifier(_SDCA, RiskClassifier):
    """Classification by stochastic dual coordinate ascent, on a kernel or on explicit features.

    {objective} There is no step size: each dual variable is set to its best value in turn.

    Parameters
    ----------
    {kernel}
    {features}
    loss : {{"hinge", "squared_hinge", "logistic", "square"}} or Loss, default="auto"
        "auto" is the hinge.
    {regularisation}
    {training}

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    {attributes}
    {sdca_reference}
    """

    _default_loss = "hinge"


class SDCARegressor(_SDCA, RiskRegressor):
    """Regression by stochastic dual coordinate ascent, on a kernel or on explicit features.

    {objective} There is no step size: each dual variable is set to its best value in turn.

    Parameters
    ----------
    {kernel}
    {features}
    loss : {{"square", "epsilon_insensitive", "huber", "quantile"}} or Loss, default="auto"
        "auto" is the square.
    {regularisation}
    {training}

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    {attributes}
    {sdca_reference}
    """


document(NORMAClassifier, NORMARegressor, PegasosClassifier, SDCAClassifier, SDCARegressor)
