"""What the settings of every solver of support vectors say: the problem of two classes, losses and limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...kernels import Kernel
from ..settings import Settings

MOST_STEPS = 10_000_000
"""Steps on two variables where the user names no limit, or 100 for each row where these are more, as in LIBSVM."""


@dataclass(frozen=True)
class Solution:
    """A function Σ βᵢ k(xᵢ, ·) + b of two classes, with what was spent on it."""

    coefficients: np.ndarray  # (n,), float64
    intercept: float
    objective: float  # of the solver's dual problem
    n_steps: int
    n_evaluations: int  # kernel values that were computed
    converged: bool


@dataclass(frozen=True, kw_only=True)
class TwoClassSettings(Settings):
    """Base of the settings of solvers that separate two classes by the kernel functions of rows that they choose."""

    losses: ClassVar[tuple[str, ...]] = ("hinge", "squared_hinge")
    """The losses that the solver takes; loss="auto" means the first."""
    steps: ClassVar[str] = "steps"
    """What its steps are called."""
    steps_of_a_call: ClassVar[int] = 1
    """Steps between two looks of the training loop."""
    calls_of_an_epoch: ClassVar[int] = 1
    widest_bandwidth: ClassVar[float] = math.inf
    """The widest bandwidth that is chosen, as a multiple of the median distance."""
    compares_at_C: ClassVar[bool] = True
    """Whether bandwidths are compared with λ = 1/C."""

    def most_steps(self, n: int) -> int:
        """The limit of steps for n rows."""
        raise NotImplementedError

    def build_problem(
        self, kernel: Kernel, points: Array, signs: np.ndarray, C: np.ndarray, squared: bool, budget: int, seed: int
    ) -> Any:
        """The problem of two classes of augmented points, shape (n, d + 2); ``budget`` is for kernel values."""
        raise NotImplementedError

    def build(self, seed: int) -> Any:
        """The stepper."""
        raise NotImplementedError

    def solution(self, problem: Any, state: Any) -> Solution:
        """The function at the end of a training."""
        raise NotImplementedError

    def left_undone(self, state: Any, solution: Solution, most: int) -> tuple[str, str] | None:
        """What the training has left undone, and what the user can do; None if the problem is solved."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class DualSettings(TwoClassSettings):
    """Base of the settings of solvers that end when the conditions of optimality hold within a tolerance.

    Parameters
    ----------
    tol : float
        By how much the conditions of optimality may be violated, see the steppers.
    max_iterations : int, optional
        The most steps. None takes the solver's own limit.
    """

    tol: float = 1e-3
    max_iterations: int | None = None

    def solution(self, problem: Any, state: Any) -> Solution:  # noqa: D102
        b, objective = problem.ending(state)
        return Solution(state.coefficients, b, objective, state.n_steps, problem.n_evaluations, state.exhausted)

    def left_undone(self, state: Any, solution: Solution, most: int) -> tuple[str, str] | None:  # noqa: D102
        return None if state.exhausted else violated(most, self.steps, state.gap, self.tol)


def violated(most: int, steps: str, gap: float, tol: float) -> tuple[str, str]:
    """The words for a solver that met its limit before the conditions of optimality held, and what helps."""
    left = f"After {most:,} {steps} the conditions of optimality are still violated by {gap:.2g}, and tol is {tol:g}"
    return left, "allow more by max_iterations"


def most_pair_steps(max_iterations: int | None, n: int) -> int:
    """The limit of steps on two variables for n rows."""
    return max_iterations or max(MOST_STEPS, 100 * n)
