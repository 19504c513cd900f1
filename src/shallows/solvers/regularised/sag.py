"""SAG and SAGA: stochastic gradients on features with a table of every example's last slope."""

from __future__ import annotations

from dataclasses import dataclass

from ... import arrays
from ...arrays import Array
from ...losses.margins import Logistic
from ..solver_parameters import positive
from . import smoothness
from .risk import RiskProblem, RiskSolver, RiskState


@dataclass
class SAGState(RiskState):
    """A `RiskState` with a table."""

    # (n, c): ℓ' of each example when it was last seen; 0 before. Of a linear model it stands for the gradient.
    slopes: Array | None = None
    total: Array | None = None  # (D, c): Σ slopesᵢ φ(xᵢ)
    n_seen: int = 0  # Examples that came so far, n at most


@dataclass(frozen=True)
class SAG:
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


def _solver(*, unbiased: bool) -> RiskSolver:
    rule = smoothness.saga_step if unbiased else smoothness.sag_step

    def make(problem: RiskProblem, batch_size: int, n_epochs: int, step_size: float | None) -> SAG:
        return SAG(float(step_size or rule(smoothness.batch_smoothness(problem, batch_size))), unbiased)

    # In passes without replacement all gradients of the table are equally old, and the iteration is stable only for
    # steps below 5/(number of batches · λ_max).
    return RiskSolver(
        make,
        {"step_size": positive()},
        takes="features",
        loss=Logistic(),
        why_not=smoothness.why_not,
        draws_batches=True,
        growth=lambda loss, **parameters: 100.0,
    )


SAG_SOLVER = _solver(unbiased=False)
SAGA_SOLVER = _solver(unbiased=True)
