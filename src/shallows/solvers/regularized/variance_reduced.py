"""Gradients of reduced variance on explicit features, for smooth losses: SVRG, SAG and SAGA."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

from ... import arrays, streams
from ...arrays import Array
from ...losses import Loss
from ...losses.margins import Logistic
from ..settings import flag, positive, setting
from .risk import RiskProblem, RiskSettings, RiskState

MARGIN = 1.05  # power iteration approaches from below, and batches that were not measured may be steeper
ROWS = 4096  # rows at a time of a full gradient


@dataclass
class SVRGState(RiskState):
    """A `RiskState` with a snapshot."""

    snapshot: Array = field(kw_only=True)  # (D, c): w̃
    mean_gradient: Array = field(kw_only=True)  # (D, c): (1/n) Σ wᵢ ℓ'(φ(xᵢ)ᵀw̃) φ(xᵢ), without the regularizer
    left: int = 0  # examples until the next snapshot


@dataclass(frozen=True)
class SVRGStepper:
    """w ← w − η (g_S(w) − g_S(w̃) + (1/n) Σ gᵢ(w̃) + λ w), with a new snapshot w̃ = w after every ``period`` passes.

    Source: R. Johnson and T. Zhang (2013), NIPS 26.
    """

    step_size: float  # η, for the mean over a batch
    period: float = 2.0  # passes between snapshots, each of which costs another pass

    def init(self, problem: RiskProblem) -> SVRGState:
        w = problem.span.zero(problem.targets)
        xp = arrays.namespace(w)
        return SVRGState(w, self.step_size, snapshot=xp.zeros_like(w), mean_gradient=xp.zeros_like(w))

    def step(self, problem: RiskProblem, state: SVRGState, batch: slice) -> SVRGState:
        if state.left <= 0:
            state.snapshot = arrays.namespace(state.coefficients).asarray(state.coefficients, copy=True)
            state.mean_gradient = full_gradient(problem, state.snapshot)
            state.left = max(1, round(self.period * problem.span.n))
        m = batch.stop - batch.start
        state.left -= m
        # g_S(w) − g_S(w̃) is linear in the difference of slopes, so the rows are used only once.
        rows = problem.feature_span.rows(batch)
        scores = rows @ state.coefficients
        state.loss, state.zero_loss = problem.losses_and_zero_losses(scores, batch)
        slopes = problem.gradient(scores, batch) - problem.gradient(rows @ state.snapshot, batch)
        state.advance(batch)
        direction = (rows.T @ slopes) * (1.0 / m) + state.mean_gradient + problem.regularization * state.coefficients
        state.coefficients -= state.step_size * direction
        return state


def full_gradient(problem: RiskProblem, w: Array) -> Array:
    """(1/n) Σ wᵢ ℓ' φ(xᵢ), shape (D, c), without the regularizer."""
    total = arrays.namespace(w).zeros_like(w)
    for rows in arrays.blocks(problem.span.n, ROWS):
        Z = problem.feature_span.rows(rows)
        total += Z.T @ problem.gradient(Z @ w, rows)
    total *= 1.0 / problem.span.n
    return total


@dataclass
class SAGState(RiskState):
    """A `RiskState` with a table of slopes, which for a linear model determine the gradients."""

    slopes: Array = field(kw_only=True)  # (n, c): ℓ' of each example at its last visit; 0 before
    total: Array = field(kw_only=True)  # (D, c): Σ slopesᵢ φ(xᵢ)
    n_seen: int = 0  # examples visited so far, at most n


@dataclass(frozen=True)
class SAGStepper:
    """w ← w − η (d + λ w), with d from the mean of the table and from its change by a batch.

    SAG: d is the mean of the table after the change. SAGA (``unbiased``): d is its mean before, plus the mean change
    over the batch. The first pass fills the table and uses the gradients of the batches alone. Sources: M. Schmidt, N.
    Le Roux and F. Bach (2017), Mathematical Programming 162; A. Defazio, F. Bach and S. Lacoste-Julien (2014), NIPS 27
    (SAGA).
    """

    step_size: float  # η, for the mean over the examples
    unbiased: bool = False

    def init(self, problem: RiskProblem) -> SAGState:
        w = problem.span.zero(problem.targets)
        xp = arrays.namespace(w)
        return SAGState(w, self.step_size, slopes=xp.zeros_like(problem.targets), total=xp.zeros_like(w))

    def step(self, problem: RiskProblem, state: SAGState, batch: slice) -> SAGState:
        n, m = problem.span.n, batch.stop - batch.start
        rows = problem.feature_span.rows(batch)
        scores = rows @ state.coefficients
        state.loss, state.zero_loss = problem.losses_and_zero_losses(scores, batch)
        state.advance(batch)
        filling, state.n_seen = state.n_seen < n, min(n, state.n_seen + m)
        slopes = problem.gradient(scores, batch)
        change = rows.T @ (slopes - state.slopes[batch, :])
        if filling:
            direction = change * (1.0 / m)
        elif self.unbiased:
            direction = change * (1.0 / m) + state.total * (1.0 / n)
        else:
            direction = (state.total + change) * (1.0 / n)
        state.total += change
        state.slopes[batch, :] = slopes
        state.coefficients -= state.step_size * (direction + problem.regularization * state.coefficients)
        return state


def batch_smoothness(problem: RiskProblem, m: int, n_batches: int = 8, n_iterations: int = 30) -> float:
    """L, the largest Lipschitz constant ℓ''·λ_max(Φ_SᵀΦ_S/m) + λ of the gradients of some batches of m rows.

    The batches are fixed slices of the rows, so that the objective is a mean of their risks.
    """
    like, top = problem.feature_span.design.points, 0.0
    xp = arrays.namespace(like)
    for number, batch in enumerate(list(arrays.blocks(problem.span.n, m))[:n_batches]):
        Z = problem.feature_span.rows(batch)
        w = None if problem.weights is None else problem.weights[batch, :]
        v = streams.normal(0, "power iteration", number, (Z.shape[1], 1), like=like, dtype=like.dtype)
        for _ in range(n_iterations):
            v = v / max(math.sqrt(float(xp.sum(v * v))), 1e-30)
            u = Z @ v
            v = Z.T @ (u if w is None else w * u)
        top = max(top, math.sqrt(float(xp.sum(v * v))) / Z.shape[0])
    return MARGIN * problem.loss.smoothness * top + problem.regularization


@dataclass(frozen=True, kw_only=True)
class SmoothRiskSettings(RiskSettings):
    """Base of the settings of SAG, SAGA and SVRG, whose default step is 1/(divisor · L)."""

    step_size: float | None = setting(positive())

    takes: ClassVar[str] = "features"
    default_loss: ClassVar[Loss] = Logistic()
    divisor: ClassVar[float] = 6.0

    def why_not(self, loss: Loss) -> str:
        if math.isfinite(loss.smoothness):
            return ""
        return (
            "gradients of reduced variance need a smooth loss, 'squared_hinge' or 'logistic' for classes, 'square' or "
            "'huber' for values"
        )

    def growth(self, loss: Loss) -> float:
        return 100.0

    def step_on(self, problem: RiskProblem, batch_size: int) -> float:
        return float(self.step_size or 1.0 / (self.divisor * batch_smoothness(problem, batch_size)))


@dataclass(frozen=True, kw_only=True)
class SVRG(SmoothRiskSettings):
    """SVRG on explicit features: gradients whose variance is reduced by a full gradient from time to time.

    Parameters
    ----------
    step_size : float, optional
        η, for the mean over a batch. None: 1/(6L), with the smoothness L measured on batches (O. Sebbouh, N.
        Gazagnadou, S. Jelassi, F. Bach and R. Gower (2019), NeurIPS 32).
    period : float, default=2.0
        Passes between two full gradients, each of which costs a pass that is not counted as an epoch.
    batch_size, max_epochs, tol
        As of `SDCA`.
    """

    period: float = setting(positive(2.0))

    def build(self, problem: RiskProblem, batch_size: int) -> SVRGStepper:
        return SVRGStepper(self.step_on(problem, batch_size), float(self.period))


@dataclass(frozen=True, kw_only=True)
class SAG(SmoothRiskSettings):
    """SAG and SAGA on explicit features: gradients averaged over a table of the latest slope of each example.

    Parameters
    ----------
    step_size : float, optional
        η, for the mean over a batch. None: 1/L (SAG) or 1/(3L) (SAGA), with the smoothness L measured on batches.
    unbiased : bool, default=False
        SAGA: use an unbiased estimate of the gradient.
    batch_size, max_epochs, tol
        As of `SDCA`.
    """

    unbiased: bool = setting(flag())

    # In passes without replacement all slopes of the table are equally old, and the iteration is stable only for steps
    # below about 5/(L · number of batches).
    draws_batches: ClassVar[bool] = True

    @property
    def divisor(self) -> float:  # type: ignore[override]
        """1 is the advice of Schmidt, Le Roux and Bach; their proof has 16."""
        return 3.0 if self.unbiased else 1.0

    def build(self, problem: RiskProblem, batch_size: int) -> SAGStepper:
        return SAGStepper(self.step_on(problem, batch_size), bool(self.unbiased))
