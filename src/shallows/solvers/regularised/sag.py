"""SAG and SAGA: stochastic gradients on features with a table of every example's last slope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ... import arrays
from ...arrays import Array
from . import smoothness
from .risk import RiskProblem, RiskState
from .smoothness import SmoothRiskSettings


@dataclass
class SAGState(RiskState):
    """A `RiskState` with a table."""

    # (n, c): ℓ' of each example when it was last seen; 0 before. Of a linear model it stands for the gradient.
    slopes: Array | None = None
    total: Array | None = None  # (D, c): Σ slopesᵢ φ(xᵢ)
    n_seen: int = 0  # Examples that came so far, n at most


@dataclass(frozen=True)
class SAGStepper:
    """w ← w − η (d + λ w), with d made of the table's mean and of what a batch changes in it.

    The first pass fills the table and moves along the batches' own gradients. Slopes of the zero function would go on
    pushing for a pass along the directions that all batches share, and features of a kernel have a strong one.

    Parameters
    ----------
    step_size : float
        η, for the mean over the examples; see `shallows.solvers.regularised.smoothness`.
    unbiased : bool
        False is SAG: the batch's slopes enter the table, and d is the mean of the table.
        True is SAGA: d is the table's mean before plus the mean over the batch of what changes, an unbiased estimate
        of the gradient.

    References
    ----------
    M. Schmidt, N. Le Roux and F. Bach (2017), "Minimizing finite sums with the stochastic average gradient",
    Mathematical Programming 162. A. Defazio, F. Bach and S. Lacoste-Julien (2014), "SAGA: a fast incremental gradient
    method with support for non-strongly convex composite objectives", NIPS 27.
    """

    step_size: float
    unbiased: bool = False

    def init(self, problem: RiskProblem) -> SAGState:
        """Coefficients of zero and an empty table."""
        w = problem.span.zero(problem.targets)
        xp = arrays.namespace(w)
        return SAGState(w, self.step_size, slopes=xp.zeros_like(problem.targets), total=xp.zeros_like(w))

    def step(self, problem: RiskProblem, state: SAGState, batch: slice) -> SAGState:
        """One batch."""
        n, m = problem.span.n, batch.stop - batch.start
        rows = problem.span.rows(batch)
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
        state.coefficients -= state.step_size * (direction + problem.regularisation * state.coefficients)
        return state


@dataclass(frozen=True, kw_only=True)
class SAG(SmoothRiskSettings):
    """Gradients averaged over a table of the latest of each example; its default step is 1/L."""

    # In passes without replacement all gradients of the table are equally old, and the iteration is stable only for
    # steps below 5/(number of batches · λ_max).
    draws_batches: ClassVar[bool] = True

    def build(self, problem: RiskProblem, batch_size: int) -> SAGStepper:  # noqa: D102
        return SAGStepper(self.step_on(problem, batch_size, smoothness.sag_step), unbiased=False)


@dataclass(frozen=True, kw_only=True)
class SAGA(SAG):
    """SAG with an unbiased estimate of the gradient; its default step is 1/(3L)."""

    def build(self, problem: RiskProblem, batch_size: int) -> SAGStepper:  # noqa: D102
        return SAGStepper(self.step_on(problem, batch_size, smoothness.saga_step), unbiased=True)
