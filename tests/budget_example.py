"""A small budgeted stochastic gradient descent (Wang, Crammer and Vucetic 2012): Pegasos with few support vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

import numpy as np

from shallows.kernels import Kernel
from shallows.solvers.examples import ExampleSet
from shallows.solvers.point_budget import PointBudget


@dataclass(frozen=True)
class BudgetProblem(ExampleSet):
    kernel: Kernel
    capacity: int
    regularisation: float
    points: np.ndarray
    targets: np.ndarray
    growth: float = np.inf


@dataclass
class BudgetState(PointBudget):
    _: KW_ONLY
    n_steps: int = 0
    loss: float = 0.0
    zero_loss: float = 0.0
    lost: float = 0.0

    def monitored(self):
        return self.loss, self.zero_loss


def remove_smallest(state: BudgetState) -> float:
    """Drop the point that f misses least."""
    costs = state.removal_costs
    j = int(np.argmin(costs))
    state.remove(j)
    return float(costs[j])


def merge_nearest(state: BudgetState) -> float:
    """Merge the point that f misses least with the nearest of its sign, half way."""
    i = int(np.argmin(state.removal_costs))
    same = np.sign(state.coefficients[:, 0]) == np.sign(state.coefficients[i, 0])
    same[i] = False
    if not same.any():
        return remove_smallest(state)
    distances = ((state.centres - state.centres[i]) ** 2).sum(axis=1)
    j = int(np.argmin(np.where(same, distances, np.inf)))
    return state.merge(i, j, (state.centres[i] + state.centres[j]) / 2)


@dataclass(frozen=True)
class BSGD:
    """f ← (1 − 1/t) f + (1/(λtm)) Σ yᵢ k(xᵢ, ·) over the batch's rows with yᵢ f(xᵢ) < 1."""

    make_room: Callable[[BudgetState], float] = remove_smallest

    def init(self, problem: BudgetProblem) -> BudgetState:
        return BudgetState.empty(problem.kernel, problem.capacity, 1, problem.points)

    def step(self, problem: BudgetProblem, state: BudgetState, batch: slice) -> BudgetState:
        examples = problem.take(batch)
        margins = examples.targets * state.evaluate(examples.points)
        violators = margins[:, 0] < 1
        state.loss, state.zero_loss = float(np.maximum(0, 1 - margins).sum()), float(len(margins))
        state.n_steps += 1
        state.decay(1 - 1 / state.n_steps)
        while state.n_free < violators.sum():
            state.lost += self.make_room(state)
        scale = 1 / (problem.regularisation * state.n_steps * len(margins))
        state.add(examples.points[violators], scale * examples.targets[violators])
        return state
