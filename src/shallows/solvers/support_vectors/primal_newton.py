"""Newton's method on the primal problem of a kernel machine with the squared hinge."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy.linalg

from ... import streams
from ...errors import ShallowsError
from ..line_search import minimum_along
from .dense_problem import DenseProblem, DenseSettings, DenseState, factor

FIRST = 500  # examples of the first part


@dataclass
class PrimalNewtonState(DenseState):
    """The state of Newton's method."""

    values: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (n,): Kβ + b
    n_used: int = 0  # examples of the current part, the first of the solver's order
    largest_system: int = 0  # unknowns of the largest system so far


@dataclass(frozen=True)
class KernelNewtonStepper:
    """β, b ← β, b + a d, where d leads to the minimum for the examples S that now have yᵢ(f(xᵢ) + b) < 1.

    P(β, b) = ½ βᵀKβ + ½ Σ Cᵢ max(0, 1 − yᵢ(Kβ + b)ᵢ)². For a fixed S its minimum has β = 0 outside S, and (K_SS +
    C_S⁻¹) β_S + b 1 = y_S with Σ β_S = 0; a minimizes P along d. A random part of the examples is solved first, then
    twice the number. It stops when each βᵢ is within ``tolerance`` · Cᵢ of Cᵢ yᵢ max(0, 1 − yᵢ(f(xᵢ) + b)), and P is
    within this share of the dual objective. Source: O. Chapelle (2007), Neural Computation 19 (algorithm 1).
    """

    tolerance: float = 1e-6
    seed: int = 0  # of the order of the examples

    def init(self, problem: DenseProblem) -> PrimalNewtonState:
        if not problem.squared:
            raise ShallowsError("Newton's method needs a differentiable loss: use the squared hinge.")
        n = len(problem.signs)
        return PrimalNewtonState(np.zeros(n), values=np.zeros(n), n_used=min(n, FIRST))

    def step(self, problem: DenseProblem, state: PrimalNewtonState, batch: int) -> PrimalNewtonState:
        y, n = problem.signs, len(problem.signs)
        order = streams.permutation(self.seed, "parts of Newton's method", 0, n)
        for _ in range(batch):
            part = order[: state.n_used]
            missed = np.maximum(0.0, 1.0 - y[part] * state.values[part])
            wanted = problem.C[part] * y[part] * missed
            state.gap = float(np.max(np.abs(state.coefficients[part] - wanted) / problem.C[part]))
            if state.n_steps and state.gap <= self.tolerance and state.n_used < n:
                state.n_used = min(n, 2 * state.n_used)
                continue
            if state.n_steps and state.gap <= self.tolerance:
                # If a < 1, small coefficients remain outside S from an earlier S.
                cleared = np.where(state.values * y < 1.0, state.coefficients, 0.0)
                state.gap = max(state.gap, _relative_gap(problem, cleared, state.intercept))
                if state.gap <= self.tolerance:
                    state.coefficients, state.exhausted = cleared, True
                    break
            self._iterate(problem, state, part, part[missed > 0])
        return state

    def _iterate(self, problem: DenseProblem, state: PrimalNewtonState, part: np.ndarray, inside: np.ndarray) -> None:
        goal, b = np.zeros_like(state.coefficients), state.intercept
        if len(inside):
            goal[inside], b = _minimum_of(problem, inside)
        values = problem.matrix @ goal + b
        state.largest_system = max(state.largest_system, len(inside))
        # If S is the same at the goal, the goal is the minimum. A line search may miss that because of rounding:
        # changes of β in the null space of K do not change P.
        stays = np.array_equal(part[problem.signs[part] * values[part] < 1.0], inside)
        a = 1.0 if stays else _length(problem, state, goal, b, values, part)
        state.coefficients = state.coefficients + a * (goal - state.coefficients)
        state.values = state.values + a * (values - state.values)
        state.intercept += a * (b - state.intercept)
        state.n_steps += 1


def _relative_gap(problem: DenseProblem, beta: np.ndarray, b: float) -> float:
    """By what share of the dual objective P exceeds it; a Σ βᵢ other than zero counts as well."""
    values = problem.matrix @ beta
    missed = np.maximum(0.0, 1.0 - problem.signs * (values + b))
    primal = 0.5 * float(beta @ values) + 0.5 * float(problem.C @ (missed * missed))
    dual = float(problem.signs @ beta) - 0.5 * float(beta @ values) - 0.5 * float(np.sum(beta * beta / problem.C))
    return (primal - dual + abs(b * float(beta.sum()))) / (abs(dual) + 1e-300)


def _minimum_of(problem: DenseProblem, inside: np.ndarray) -> tuple[np.ndarray, float]:
    matrix = problem.matrix[np.ix_(inside, inside)]
    places = np.arange(len(inside))
    matrix[places, places] += 1.0 / problem.C[inside]
    both = scipy.linalg.cho_solve(factor(matrix), np.column_stack([problem.signs[inside], np.ones(len(inside))]))
    b = float(both[:, 0].sum() / both[:, 1].sum())
    return both[:, 0] - b * both[:, 1], b


def _length(
    problem: DenseProblem, state: PrimalNewtonState, goal: np.ndarray, b: float, values: np.ndarray, part: np.ndarray
) -> float:
    y, C = problem.signs[part], problem.C[part]
    change, toward = goal - state.coefficients, values - state.values
    bare = toward - (b - state.intercept)
    own, mixed = float(change @ bare), float(change @ (state.values - state.intercept))
    margins, slopes = y * state.values[part], y * toward[part]

    def derivatives(a: float) -> tuple[float, float]:
        missed = np.maximum(0.0, 1.0 - margins - a * slopes)
        first = mixed + a * own - float((C * missed) @ slopes)
        return first, own + float((C * (missed > 0)) @ (slopes * slopes))

    return minimum_along(derivatives, rounding=1e-12 * (abs(mixed) + abs(own)))


@dataclass(frozen=True, kw_only=True)
class KernelNewton(DenseSettings):
    """Newton's method on the primal problem of the squared hinge, with the parameters of `InteriorPoint`."""

    losses: ClassVar[tuple[str, ...]] = ("squared_hinge",)

    def build(self, seed: int) -> KernelNewtonStepper:
        return KernelNewtonStepper(float(self.tol), seed)
