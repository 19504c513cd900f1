"""Pegasos: subgradient descent on the regularised hinge loss with steps 1/(λt), on kernels or on features."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ... import arrays
from ...arrays import Array
from .risk import RiskProblem, RiskState


@dataclass
class PegasosState(RiskState):
    """A `RiskState` with the norm of its function.

    Attributes
    ----------
    norm_squared : float
        ‖f‖², kept up to date where steps are projected.
    iterate : array, shape of the coefficients
        f itself, where the coefficients are those of its average.
    """

    norm_squared: float = 0.0
    iterate: Array | None = None


@dataclass(frozen=True)
class Pegasos:
    """f ← (1 − 1/t) f − (1/(λ t m)) Σ_{i∈S} ℓ'(f(xᵢ), yᵢ) k(xᵢ, ·), then if asked for onto the ball ‖f‖ ≤ 1/√λ.

    With the hinge loss −ℓ' is y where yf(x) < 1. The first step forgets what it started from. Any other loss with
    a bounded slope can take the place of the hinge; the ball then is the one of a hinge and no projection should be
    asked for.

    Parameters
    ----------
    projection : bool
        The optimum lies within the ball, so that the projection loses nothing.
    averaging : bool
        The model is the mean of the iterates, later ones with more weight, f̄ ← f̄ + 4/(t + 3) (f − f̄): the last iterate
        alone follows its last batches.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro and A. Cotter (2011), "Pegasos: primal estimated sub-gradient solver for
    SVM", Mathematical Programming 127. O. Shamir and T. Zhang (2013), "Stochastic gradient descent for non-smooth
    optimization", ICML 30 (the average).
    """

    projection: bool = False
    averaging: bool = False

    def init(self, problem: RiskProblem) -> PegasosState:
        """The zero function."""
        state = PegasosState(problem.span.zero(problem.targets), 1.0 / problem.regularisation)
        if self.averaging:
            state.iterate = problem.span.zero(problem.targets)
        return state

    def step(self, problem: RiskProblem, state: PegasosState, batch: slice) -> PegasosState:
        """One batch."""
        span, m = problem.span, batch.stop - batch.start
        f = state.iterate if self.averaging else state.coefficients
        scores = state.evaluate(problem, batch, f)
        G = problem.gradient(scores, batch)
        state.advance(batch)
        kept, change = 1.0 - 1.0 / state.n_steps, G * (-state.step_size / (state.n_steps * m))
        if self.projection:
            # ‖f + h‖² from what is at hand: ⟨f, k(xᵢ, ·)⟩ = f(xᵢ), and products within the batch.
            xp = arrays.namespace(G)
            cross = float(xp.sum(change * scores))
            own = float(xp.sum(change * (span.products(batch) @ change)))
            state.norm_squared = kept**2 * state.norm_squared + 2.0 * kept * cross + own
        f *= kept
        span.add(f, batch, change)
        if self.projection:
            shrink = math.sqrt(1.0 / (problem.regularisation * max(state.norm_squared, 1e-300)))
            if shrink < 1.0:
                f *= shrink
                state.norm_squared *= shrink**2
        if self.averaging:
            share = 4.0 / (state.n_steps + 3.0)
            state.coefficients *= 1.0 - share
            state.coefficients += share * f
        return state
