"""Pegasos: subgradient descent on the regularized hinge loss with steps 1/(λt), on kernels or on features."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...losses import Loss
from ..settings import flag, setting
from .risk import RiskProblem, RiskSettings, RiskState


@dataclass
class PegasosState(RiskState):
    """A `RiskState` with the norms of its functions."""

    # (c,) or (1,): ‖f‖² of each output, or of all outputs together, updated if steps are projected
    norms_squared: np.ndarray = field(default_factory=lambda: np.zeros(1))
    largest: float = np.inf  # limit of these
    iterate: Array = None  # f, if the coefficients are its average

    def remember(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        held, numbers = super().remember()
        return held, {**numbers, "norms_squared": held.pop("norms_squared").tolist()}

    def recall(self, held: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        super().recall(held, numbers)
        self.norms_squared = np.array(self.norms_squared)


@dataclass(frozen=True)
class PegasosStepper:
    """f ← (1 − 1/t) f − (1/(λ t m)) Σ_{i∈S} ℓ'(f(xᵢ), yᵢ) k(xᵢ, ·), then perhaps projected onto λ‖f‖² ≤ ℓ(0).

    ℓ(0) is the mean loss of the zero function, which bounds λ‖f‖² at the optimum; if the loss is a sum over outputs
    each output has a ball. Sources: S. Shalev-Shwartz, Y. Singer, N. Srebro and A. Cotter (2011), Mathematical
    Programming 127; O. Shamir and T. Zhang (2013), ICML 30 (the average).
    """

    projection: bool = False
    averaging: bool = False  # the model is f̄ ← f̄ + 4/(t + 3) (f − f̄); the last iterate follows its last batches

    def init(self, problem: RiskProblem) -> PegasosState:
        state = PegasosState(problem.span.zero(problem.targets), 1.0 / problem.regularization)
        if self.averaging:
            state.iterate = problem.span.zero(problem.targets)
        if self.projection:
            xp, rows = arrays.namespace(problem.targets), slice(0, problem.span.n)
            zero = problem.losses(xp.zeros_like(problem.targets), rows) / problem.span.n
            # All outputs of ±1 have the same loss at zero, unless there is an intercept.
            alike = problem.loss.coding == "signs" and problem.intercept is None
            n_balls = problem.targets.shape[1] if alike else 1
            state.norms_squared, state.largest = np.zeros(n_balls), zero / n_balls / problem.regularization
        return state

    def step(self, problem: RiskProblem, state: PegasosState, batch: slice) -> PegasosState:
        span, m = problem.span, batch.stop - batch.start
        f = state.iterate if self.averaging else state.coefficients
        scores = state.evaluate(problem, batch, f)
        G = problem.gradient(scores, batch)
        state.advance(batch)
        # kept is 0 in the first step.
        kept, change = 1.0 - 1.0 / state.n_steps, G * (-state.step_size / (state.n_steps * m))
        if self.projection:
            # ‖f + h‖² from known values: ⟨f, k(xᵢ, ·)⟩ = f(xᵢ), and products within the batch.
            xp = arrays.namespace(G)
            cross = arrays.to_numpy(xp.sum(change * scores, axis=0)).astype(np.float64)
            own = arrays.to_numpy(xp.sum(change * (span.products(batch) @ change), axis=0)).astype(np.float64)
            gained = 2.0 * kept * cross + own
            gained = gained if len(state.norms_squared) > 1 else gained.sum(keepdims=True)
            state.norms_squared = kept**2 * state.norms_squared + gained
        f *= kept
        span.add(f, batch, change)
        if self.projection:
            shrink = np.minimum(1.0, np.sqrt(state.largest / np.maximum(state.norms_squared, 1e-300)))
            if (shrink < 1.0).any():
                f *= arrays.like(shrink, f, f.dtype)
                state.norms_squared = state.norms_squared * shrink**2
        if self.averaging:
            share = 4.0 / (state.n_steps + 3.0)
            state.coefficients *= 1.0 - share
            state.coefficients += share * f
        return state


@dataclass(frozen=True, kw_only=True)
class Pegasos(RiskSettings):
    """Pegasos in the space of a kernel or features: subgradient steps of 1/(λt), for losses with bounded slopes.

    Parameters
    ----------
    projection : bool, default=False
        Project f after every step onto the ball that contains the optimum.
    averaging : bool, default=False
        The model is the mean of the iterates, with more weight on later ones.
    batch_size, max_epochs, tol
        As of `SDCA`.
    """

    projection: bool = setting(flag())
    averaging: bool = setting(flag())

    def why_not(self, loss: Loss) -> str:
        bounded = np.isfinite(loss.slope_bound)
        if bounded:
            return ""
        return (
            "its first steps are long and need a loss with bounded slopes, such as 'hinge' or 'logistic' for classes, "
            "'epsilon_insensitive' or 'huber' for values"
        )

    def build(self, problem: RiskProblem, batch_size: int) -> PegasosStepper:
        return PegasosStepper(bool(self.projection), bool(self.averaging))
