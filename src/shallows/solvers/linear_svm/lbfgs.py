"""Limited-memory BFGS for linear machines with a differentiable loss, and the problem of logistic regression."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import expit

from ...errors import ShallowsError
from ..line_search import minimum_along
from .problem import HINGE, ConvergingSettings, LinearState, LinearSVMProblem
from .rows import products


class LogisticProblem(LinearSVMProblem):
    """A `LinearSVMProblem` with the logistic loss ℓ(z) = log(1 + e⁻ᶻ) instead of the hinge."""

    def risk(self, margins: np.ndarray) -> float:
        return float(self.all_weights @ np.logaddexp(0.0, -margins)) / self.n

    def slopes(self, margins: np.ndarray) -> np.ndarray:
        return self.all_weights * expit(-margins)

    def curvatures(self, margins: np.ndarray) -> np.ndarray:
        return self.all_weights * expit(margins) * expit(-margins)


@dataclass
class LBFGSState(LinearState):
    """The state of limited-memory BFGS."""

    margins: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (n,): yᵢ wᵀxᵢ
    gradient: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (d,): ∇P(w)
    first_norm: float = math.nan  # ‖∇P(0)‖, the unit of the tolerance
    # (memory, d): the last changes of w and of the gradient; iteration t is in row t modulo ``memory``
    moves: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    changes: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True)
class LBFGSStepper:
    """w ← w − a H ∇P(w), where H estimates the inverse Hessian from the last ``memory`` changes s of w and v of ∇P.

    H is never formed: each pair corrects H⁻¹ s = v, starting from γI with γ = sᵀv/vᵀv of the last pair. a minimizes P
    along the line, so that sᵀv > 0. Source: D. C. Liu and J. Nocedal (1989), Mathematical Programming 45.
    """

    tolerance: float = 1e-6
    memory: int = 10  # m

    def init(self, problem: LinearSVMProblem) -> LBFGSState:
        if problem.loss == HINGE and not isinstance(problem, LogisticProblem):
            raise ShallowsError("L-BFGS needs a differentiable loss: use the squared hinge or the logistic loss.")
        margins = np.zeros(problem.n)
        gradient = problem.risk_gradient(margins)
        moves, changes = (np.zeros((self.memory, problem.n_features)) for _ in range(2))
        norm = float(np.linalg.norm(gradient))
        return LBFGSState(
            np.zeros(problem.n_features),
            margins=margins,
            gradient=gradient,
            first_norm=norm,
            moves=moves,
            changes=changes,
        )

    def step(self, problem: LinearSVMProblem, state: LBFGSState, batch: int) -> LBFGSState:
        for _ in range(batch):
            state.exhausted = float(np.linalg.norm(state.gradient)) <= self.tolerance * state.first_norm
            if state.exhausted:
                break
            direction = -self._times_inverse_hessian(state)
            slopes = problem.signs * products(problem.rows, direction)
            length = _length(problem, state, direction, slopes)
            row, before = state.n_steps % self.memory, state.gradient
            state.coefficients = state.coefficients + length * direction
            state.margins = state.margins + length * slopes
            state.gradient = problem.regularization * state.coefficients + problem.risk_gradient(state.margins)
            state.moves[row], state.changes[row] = length * direction, state.gradient - before
            state.n_steps += 1
        return state

    def _times_inverse_hessian(self, state: LBFGSState) -> np.ndarray:
        """H ∇P, by the recursion through the pairs and back."""
        out, last = state.gradient.copy(), state.n_steps - 1
        rows = [t % self.memory for t in range(last, max(-1, last - self.memory), -1)]
        inner = [float(state.moves[row] @ state.changes[row]) for row in rows]
        shares = []
        for row, both in zip(rows, inner, strict=True):
            shares.append(float(state.moves[row] @ out) / both if both > 0 else 0.0)
            out -= shares[-1] * state.changes[row]
        if rows and inner[0] > 0:
            out *= inner[0] / float(state.changes[rows[0]] @ state.changes[rows[0]])
        for row, both, share in zip(rows[::-1], inner[::-1], shares[::-1], strict=True):
            if both > 0:
                out += (share - float(state.changes[row] @ out) / both) * state.moves[row]
        return out


def _length(problem: LinearSVMProblem, state: LBFGSState, direction: np.ndarray, slopes: np.ndarray) -> float:
    own = problem.regularization * float(direction @ direction)
    mixed = problem.regularization * float(state.coefficients @ direction)

    def derivatives(a: float) -> tuple[float, float]:
        margins = state.margins + a * slopes
        first = mixed + a * own - float(problem.slopes(margins) @ slopes) / problem.n
        return first, own + float(problem.curvatures(margins) @ (slopes * slopes)) / problem.n

    return minimum_along(derivatives, rounding=1e-10 * (abs(mixed) + own))


@dataclass(frozen=True, kw_only=True)
class LBFGS(ConvergingSettings):
    """Limited-memory BFGS, for the squared hinge and the logistic loss.

    Parameters
    ----------
    max_epochs : int, default=1000
        The most iterations.
    tol : float, default=1e-3
        Stop if the norm of the gradient is at most this share of its first norm.
    """

    losses: ClassVar[tuple[str, ...]] = ("squared_hinge", "logistic")

    def build(self, seed: int) -> LBFGSStepper:
        return LBFGSStepper(float(self.tol))
