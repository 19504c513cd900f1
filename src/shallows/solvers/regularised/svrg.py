"""SVRG: stochastic gradients on features whose variance is reduced by a full gradient at a snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from ... import arrays
from ...arrays import Array
from ..settings import positive, setting
from . import smoothness
from .risk import RiskProblem, RiskState
from .smoothness import SmoothRiskSettings

ROWS = 4096  # rows at a time of a full gradient


@dataclass
class SVRGState(RiskState):
    """A `RiskState` with a snapshot."""

    snapshot: Array | None = None  # (D, c): w̃
    mean_gradient: Array | None = None  # (D, c): (1/n) Σ wᵢ ℓ'(φ(xᵢ)ᵀw̃) φ(xᵢ), without the regulariser
    left: int = 0  # Examples until the next snapshot


@dataclass(frozen=True)
class SVRGStepper:
    """w ← w − η (g_S(w) − g_S(w̃) + (1/n) Σ gᵢ(w̃) + λ w), with a new snapshot w̃ = w after so many examples.

    Parameters
    ----------
    step_size : float
        η, for the mean over a batch; see `shallows.solvers.regularised.smoothness.svrg_step`.
    period : float
        Passes between snapshots; each costs a pass of its own.

    References
    ----------
    R. Johnson and T. Zhang (2013), "Accelerating stochastic gradient descent using predictive variance reduction",
    NIPS 26.
    """

    step_size: float
    period: float = 2.0

    def init(self, problem: RiskProblem) -> SVRGState:
        """Coefficients of zero."""
        w = problem.span.zero(problem.targets)
        xp = arrays.namespace(w)
        return SVRGState(w, self.step_size, snapshot=xp.zeros_like(w), mean_gradient=xp.zeros_like(w))

    def step(self, problem: RiskProblem, state: SVRGState, batch: slice) -> SVRGState:
        """One batch; before it, where one is due, a snapshot."""
        if state.left <= 0:
            state.snapshot = arrays.namespace(state.coefficients).asarray(state.coefficients, copy=True)
            state.mean_gradient = full_gradient(problem, state.snapshot)
            state.left = max(1, round(self.period * problem.span.n))
        m = batch.stop - batch.start
        state.left -= m
        # g_S(w) − g_S(w̃) is linear in the difference of slopes, so the rows are gone through once more only.
        rows = problem.span.rows(batch)
        scores = rows @ state.coefficients
        state.loss, state.zero_loss = problem.losses_and_zero_losses(scores, batch)
        slopes = problem.gradient(scores, batch) - problem.gradient(rows @ state.snapshot, batch)
        state.advance(batch)
        direction = (rows.T @ slopes) * (1.0 / m) + state.mean_gradient + problem.regularisation * state.coefficients
        state.coefficients -= state.step_size * direction
        return state


def full_gradient(problem: RiskProblem, w: Array) -> Array:
    """(1/n) Σ wᵢ ℓ' φ(xᵢ), shape (D, c), without the regulariser."""
    total = arrays.namespace(w).zeros_like(w)
    for rows in arrays.blocks(problem.span.n, ROWS):
        Z = problem.span.rows(rows)
        total += Z.T @ problem.gradient(Z @ w, rows)
    total *= 1.0 / problem.span.n
    return total


@dataclass(frozen=True, kw_only=True)
class SVRG(SmoothRiskSettings):
    """Gradients whose variance is reduced by a full gradient now and then; its default step is 1/(6L).

    Parameters
    ----------
    period : float
        Passes over the data between two full gradients, each of which costs a pass that is not counted as an epoch.
    """

    period: float = setting(positive(2.0))

    def build(self, problem: RiskProblem, batch_size: int) -> SVRGStepper:  # noqa: D102
        return SVRGStepper(self.step_on(problem, batch_size, smoothness.svrg_step), float(self.period))
