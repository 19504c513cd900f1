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
from .documentation import documented
from .parameters import keep
from .regularised_doc import PARTS
from .regularised_targets import RiskClassifier, RiskRegressor

__all__ = [
    "NORMAClassifier",
    "NORMARegressor",
    "PegasosClassifier",
    "SDCAClassifier",
    "SDCARegressor",
]

_NORMA_CLASSES = """
    loss : {"hinge", "logistic", "softmax", "squared_hinge", "multiclass_hinge", "square"} or Loss, default="auto"
        "auto" is the hinge."""

_SDCA_CLASSES = """
    loss : {"hinge", "squared_hinge", "logistic", "square"} or Loss, default="auto"
        "auto" is the hinge."""

_VALUES = """
    loss : {"square", "epsilon_insensitive", "huber", "quantile"} or Loss, default="auto"
        "auto" is the square."""


@documented(PARTS)
class PegasosClassifier(RiskClassifier):
    """Support vector machine by Pegasos: subgradient steps of 1/(λt) on a kernel or on explicit features.

    {objective}

    Parameters
    ----------
    {kernel}
    {features}
    loss : {"hinge", "logistic", "multiclass_hinge", "softmax"} or Loss, default="hinge"
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
        keep(self, locals())

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
    """{summary}

    {objective}

    Parameters
    ----------
    {kernel}
    {loss}
    {regularisation}
    step_size : float, optional
        η₁. None takes 1/(M√(λκ)) for a loss of slopes bounded by M (divided by √T in the constant schedule of T steps),
        else the reciprocal of the curvature of a batch; 1/λ in the inverse schedule.
    schedule : {"root", "constant", "inverse"}
        η_t = η₁/√t, η₁ or η₁/t.
    truncation : int, optional
        Terms that are older than so many examples are dropped.
    {training}

    Attributes
    ----------
    {learnt}
    {attributes}

    References
    ----------
    J. Kivinen, A. Smola and R. Williamson (2004), "Online learning with kernels", IEEE Transactions on Signal
    Processing 52.
    """

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
        keep(self, locals())

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


@documented(PARTS, loss=_NORMA_CLASSES)
class NORMAClassifier(_NORMA, RiskClassifier):
    """Classification by NORMA: stochastic gradient descent in the space of a kernel, regularised."""

    _default_loss = "hinge"


@documented(PARTS, loss=_VALUES)
class NORMARegressor(_NORMA, RiskRegressor):
    """Regression by NORMA: stochastic gradient descent in the space of a kernel, regularised."""


class _SDCA:
    """{summary}

    {objective} There is no step size: each dual variable is set to its best value in turn.

    Parameters
    ----------
    {kernel}
    {features}
    {loss}
    {regularisation}
    {training}

    Attributes
    ----------
    {learnt}
    {attributes}

    References
    ----------
    S. Shalev-Shwartz and T. Zhang (2013), "Stochastic dual coordinate ascent methods for regularized loss
    minimization", Journal of Machine Learning Research 14.
    """

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
        keep(self, locals())

    def _make_solver(self, problem: RiskProblem, batch_size: int) -> SDCA:
        return SDCA()


@documented(PARTS, loss=_SDCA_CLASSES)
class SDCAClassifier(_SDCA, RiskClassifier):
    """Classification by stochastic dual coordinate ascent, on a kernel or on explicit features."""

    _default_loss = "hinge"


@documented(PARTS, loss=_VALUES)
class SDCARegressor(_SDCA, RiskRegressor):
    """Regression by stochastic dual coordinate ascent, on a kernel or on explicit features."""
