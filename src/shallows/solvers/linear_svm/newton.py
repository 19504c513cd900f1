"""Newton's method on the primal problem of the squared hinge, with conjugate gradients for its systems."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...errors import ShallowsError
from ..line_search import minimum_along
from .problem import SQUARED_HINGE, ConvergingSettings, LinearState, LinearSVMProblem
from .rows import combination, products


@dataclass
class NewtonState(LinearState):
    """The state of Newton's method."""

    margins: np.ndarray = field(kw_only=True)  # (n,): yᵢ wᵀxᵢ
    first_norm: float = math.nan  # ‖∇P(0)‖, the unit of the tolerance


@dataclass(frozen=True)
class PrimalNewtonStepper:
    """w ← w + a d with (λ I + (1/n) X_Sᵀ C_S X_S) d = −∇P(w), where S are the examples with yᵢ wᵀxᵢ < 1.

    a minimizes P along d. Sources: S. S. Keerthi and D. DeCoste (2005), JMLR 6; O. Chapelle (2007), Neural Computation
    19.
    """

    tolerance: float = 1e-6
    most_products: int = 250  # limit of iterations of conjugate gradients for one direction

    def init(self, problem: LinearSVMProblem) -> NewtonState:
        if problem.loss != SQUARED_HINGE:
            raise ShallowsError("Newton's method needs a differentiable loss: use the squared hinge.")
        margins = np.zeros(problem.n)
        norm = float(np.linalg.norm(problem.risk_gradient(margins)))
        return NewtonState(np.zeros(problem.n_features), margins=margins, first_norm=norm)

    def step(self, problem: LinearSVMProblem, state: NewtonState, batch: int) -> NewtonState:
        for _ in range(batch):
            gradient = problem.regularization * state.coefficients + problem.risk_gradient(state.margins)
            size = float(np.linalg.norm(gradient))
            state.exhausted = size <= self.tolerance * state.first_norm
            if state.exhausted:
                break
            direction = self._direction(problem, state, gradient, size)
            slopes = problem.signs * products(problem.rows, direction)
            length = _length(problem, state, direction, slopes)
            state.coefficients = state.coefficients + length * direction
            state.margins = state.margins + length * slopes
            state.n_steps += 1
        return state

    def _direction(
        self, problem: LinearSVMProblem, state: NewtonState, gradient: np.ndarray, size: float
    ) -> np.ndarray:
        inside = problem.all_weights * (state.margins < 1.0) / problem.n
        # The tolerance falls with the gradient, so that convergence stays superlinear.
        goal = size * min(0.1, math.sqrt(size / state.first_norm))
        direction, residual = np.zeros_like(gradient), -gradient
        along, before = residual.copy(), size * size
        for _ in range(self.most_products):
            scores = inside * products(problem.rows, along)
            curved = problem.regularization * along + combination(problem.rows, scores, problem.n_features)
            step = before / float(along @ curved)
            direction += step * along
            residual -= step * curved
            after = float(residual @ residual)
            if math.sqrt(after) <= goal:
                break
            along, before = residual + (after / before) * along, after
        return direction


def _length(problem: LinearSVMProblem, state: NewtonState, direction: np.ndarray, slopes: np.ndarray) -> float:
    lam, weights = problem.regularization, problem.all_weights / problem.n
    own, mixed = lam * float(direction @ direction), lam * float(state.coefficients @ direction)

    def derivatives(a: float) -> tuple[float, float]:
        missed = np.maximum(0.0, 1.0 - state.margins - a * slopes)
        first = mixed + a * own - float((weights * missed) @ slopes)
        return first, own + float((weights * (missed > 0)) @ (slopes * slopes))

    return minimum_along(derivatives, rounding=1e-12 * abs(mixed + own))


@dataclass(frozen=True, kw_only=True)
class PrimalNewton(ConvergingSettings):
    """Newton's method with conjugate gradients, for the squared hinge, with the parameters of `LBFGS`."""

    losses: ClassVar[tuple[str, ...]] = ("squared_hinge",)

    def build(self, seed: int) -> PrimalNewtonStepper:
        return PrimalNewtonStepper(float(self.tol))
