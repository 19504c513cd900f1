"""NORMA: stochastic gradient descent on a regularised risk in the space of a kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ... import arrays
from ...arrays import Array
from ...errors import ShallowsError, UnknownNameError
from .risk import RiskProblem, RiskState

SCHEDULES = ("constant", "root", "inverse")


@dataclass
class NORMAState(RiskState):
    """A `RiskState` that knows when rows were visited.

    Attributes
    ----------
    visited : array, shape (n, 1)
        The number of the step that visited a row last; 0 if none did. None is kept without truncation.
    """

    visited: Array | None = None


@dataclass(frozen=True)
class NORMA:
    """f ← (1 − η_t λ) f − (η_t/m) Σ_{i∈S} ℓ'(f(xᵢ), yᵢ) k(xᵢ, ·) for a batch S of m examples.

    Parameters
    ----------
    step_size : float
        η₁.
    schedule : {"root", "constant", "inverse"}
        η_t = η₁/√t, which the theory of the source has; η₁; η₁/t, with η₁ = 1/λ the steps of Pegasos.
    truncation : int, optional
        Terms that are older than so many examples are dropped. After t examples their coefficients have shrunk by
        ∏(1 − ηλ). A row that is visited again counts from its last visit. None keeps all.

    References
    ----------
    J. Kivinen, A. Smola and R. Williamson (2004), "Online learning with kernels", IEEE Transactions on Signal
    Processing 52.
    """

    step_size: float
    schedule: str = "root"
    truncation: int | None = None

    def __post_init__(self) -> None:
        UnknownNameError.check("schedule", self.schedule, SCHEDULES)
        if self.truncation is not None and self.truncation < 1:
            raise ShallowsError(f"truncation must be at least 1 example or None, got {self.truncation!r}.")

    def init(self, problem: RiskProblem) -> NORMAState:
        """The zero function."""
        state = NORMAState(problem.span.zero(problem.targets), self.step_size)
        if self.truncation is not None:
            xp = arrays.namespace(problem.targets)
            state.visited = xp.zeros((state.coefficients.shape[0], 1), dtype=problem.targets.dtype)
        return state

    def step(self, problem: RiskProblem, state: NORMAState, batch: slice) -> NORMAState:
        """One batch."""
        m = batch.stop - batch.start
        G = problem.gradient(state.evaluate(problem, batch), batch)
        state.advance(batch)
        eta = self.step_at(state)
        state.coefficients *= 1.0 - eta * problem.regularisation
        problem.span.add(state.coefficients, batch, G * (-eta / m))
        if state.visited is not None:
            state.visited[batch, :] = float(state.n_steps)
            oldest = state.n_steps - max(1, self.truncation // m)
            state.coefficients *= arrays.astype(state.visited > oldest, state.coefficients.dtype)
        return state

    def step_at(self, state: NORMAState) -> float:
        """η of the step that ``state`` counts."""
        t = state.n_steps
        return state.step_size / {"constant": 1.0, "root": math.sqrt(t), "inverse": float(t)}[self.schedule]
