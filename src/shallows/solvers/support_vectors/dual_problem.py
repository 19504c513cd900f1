"""The dual problem of support vector machines, its state, and the settings that all its solvers have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ... import arrays
from ...arrays import Array
from ...errors import ShallowsError
from ...gram.row_slab import KernelRowSlab
from ...kernels import Kernel
from ..array_state import ArrayState
from ..settings import Settings, count, flag, positive, setting, size

MOST_STEPS = 10_000_000
"""Default limit of steps on two variables; with many rows it is 100 steps for each row, as in LIBSVM."""


@dataclass(frozen=True)
class DualProblem:
    """Maximize tᵀβ − ½ βᵀKβ for lower ≤ β ≤ upper and Σ βᵢ = 0.

    With t = y and 0 ≤ yᵢβᵢ ≤ Cᵢ it is the dual of the support vector machine with an intercept. For the squared hinge
    Cᵢ = ∞, and K has 1/Cᵢ added to its diagonal.
    """

    rows: KernelRowSlab  # K
    linear: np.ndarray  # (n,): t
    lower: np.ndarray  # (n,)
    upper: np.ndarray  # (n,)

    @classmethod
    def of_classes(cls, rows: KernelRowSlab, signs: np.ndarray, C: np.ndarray) -> DualProblem:
        """The problem of two classes, with the bound C of each row."""
        return cls(rows, signs, np.where(signs > 0, 0.0, -C), np.where(signs > 0, C, 0.0))

    @property
    def n_evaluations(self) -> int:
        """Kernel values that were computed for rows."""
        return self.rows.n_made * self.rows.n

    def ending(self, state: DualState) -> tuple[float, float]:
        """The intercept and the dual objective of a state, after its gradient is completed."""
        activate_all(self, state)
        return intercept(self, state), objective(self, state)

    def gradient(self, beta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The gradient t − Kβ of some rows, shape (len(rows),)."""
        return self.linear[rows] - self.rows.product(beta, rows)


class GapState(ArrayState):
    """The base of states with a gap that the solver closes."""

    gap: float
    n_steps: int

    def monitored(self) -> tuple[float, float]:
        """The gap, without a limit: for C ≥ 100 it grows before it falls."""
        return (self.gap if np.isfinite(self.gap) or not self.n_steps else float("nan")), float("nan")


@dataclass
class DualState(GapState):
    """β with the gradient of the objective."""

    coefficients: np.ndarray  # (n,): β
    gradient: np.ndarray  # (n,): t − Kβ; entries outside ``active`` may belong to an earlier β
    active: np.ndarray  # (n_active,): rows that may take part in a step, ascending
    gap: float = np.inf  # largest gradient of a βᵢ that may grow less the smallest of a βᵢ that may fall
    n_steps: int = 0
    exhausted: bool = False  # whether the gap is within the tolerance
    until_shrinking: int = 0  # steps until rows are next removed from ``active``
    n_reconstructions: int = 0  # how often the whole gradient was recomputed

    @classmethod
    def start(cls, problem: DualProblem, **others: Any) -> Self:
        """β = 0, with all rows active."""
        n = problem.rows.n
        return cls(np.zeros(n), problem.linear.astype(np.float64, copy=True), np.arange(n), **others)

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.gradient).all())


def activate_all(problem: DualProblem, state: DualState) -> None:
    """Recompute the gradient of the rows that are not active, and activate them."""
    n = problem.rows.n
    left_out = np.setdiff1d(np.arange(n), state.active, assume_unique=True)
    if len(left_out):
        state.gradient[left_out] = problem.gradient(state.coefficients, left_out)
        state.active = np.arange(n)
        state.n_reconstructions += 1


def objective(problem: DualProblem, state: DualState) -> float:
    """tᵀβ − ½ βᵀKβ; the gradient must be current where βᵢ ≠ 0."""
    return float(0.5 * state.coefficients @ (problem.linear + state.gradient))


def intercept(problem: DualProblem, state: DualState) -> float:
    """b: the mean gradient of the βᵢ inside their bounds, or else the middle of the gap."""
    beta, g = state.coefficients, state.gradient
    may_grow, may_fall = beta < problem.upper, beta > problem.lower
    free = may_grow & may_fall
    return float(g[free].mean()) if free.any() else middle_of_gap(g, may_grow, may_fall)


def middle_of_gap(g: np.ndarray, may_grow: np.ndarray, may_fall: np.ndarray) -> float:
    """The middle between the largest gradient of a βᵢ that may grow and the smallest of a βᵢ that may fall."""
    sides = [g[may_grow].max(initial=-np.inf), g[may_fall].min(initial=np.inf)]
    known = [side for side in sides if np.isfinite(side)]
    return float(np.mean(known)) if known else 0.0


def refuse_indefinite(problem: DualProblem, state: DualState) -> None:
    """Raise an error if βᵀKβ is negative, because K is then not positive semi-definite."""
    beta = state.coefficients
    norm_squared = float(beta @ (problem.linear - state.gradient))
    if norm_squared < -1e-3 * float(np.abs(beta * problem.linear).sum() + problem.rows.diagonal.max()):
        raise indefinite_kernel(problem, f"the squared norm of the fitted function is {norm_squared:.3g}")


def indefinite_kernel(problem: DualProblem, reason: str) -> ShallowsError:
    """The error for a kernel that is not positive semi-definite."""
    return ShallowsError(f"The kernel {problem.rows.kernel.name!r} is not positive semi-definite: {reason}.")


@dataclass(frozen=True)
class Solution:
    """A function Σ βᵢ k(xᵢ, ·) + b that separates two classes, and what it cost."""

    coefficients: np.ndarray  # (n,), float64
    intercept: float
    objective: float  # of the dual problem
    n_steps: int
    n_evaluations: int  # kernel values that were computed
    converged: bool


@dataclass(frozen=True, kw_only=True)
class TwoClassSettings(Settings):
    """Base of the settings of solvers that separate two classes and choose the rows they use."""

    losses: ClassVar[tuple[str, ...]] = ("hinge", "squared_hinge")
    """The losses that the solver takes; loss="auto" means the first."""
    takes_precomputed: ClassVar[bool] = True
    """Whether it takes a kernel matrix instead of points."""
    takes_outputs: ClassVar[bool] = False
    steps: ClassVar[str] = "steps"
    """What messages call its steps."""
    steps_of_a_call: ClassVar[int] = 1
    """Steps in one batch of the training loop."""
    calls_of_an_epoch: ClassVar[int] = 1
    widest_bandwidth: ClassVar[float] = math.inf
    """The largest bandwidth that is chosen automatically, as a multiple of the median distance."""
    compares_at_C: ClassVar[bool] = True
    """Whether bandwidths are compared with λ = 1/C."""

    def most_steps(self, n: int) -> int:
        raise NotImplementedError

    def build_problem(
        self, kernel: Kernel, points: Array, signs: np.ndarray, C: np.ndarray, squared: bool, budget: int, seed: int
    ) -> Any:
        """The problem of augmented points (n, d + 2), with a budget for kernel values."""
        raise NotImplementedError

    def build(self, seed: int) -> Any:
        raise NotImplementedError

    def solution(self, problem: Any, state: Any) -> Solution:
        raise NotImplementedError

    def left_undone(self, state: Any, solution: Solution, most: int) -> tuple[str, str] | None:
        """What is not solved yet and what the user can do; None if the problem is solved."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class DualSettings(TwoClassSettings):
    """Base of the settings of solvers that stop when the conditions of optimality hold within a tolerance."""

    tol: float = setting(positive(1e-3))

    limit: ClassVar[str] = "max_steps"
    """The field that limits the steps."""

    def solution(self, problem: Any, state: Any) -> Solution:
        b, objective = problem.ending(state)
        return Solution(state.coefficients, b, objective, state.n_steps, problem.n_evaluations, state.exhausted)

    def left_undone(self, state: Any, solution: Solution, most: int) -> tuple[str, str] | None:
        return None if state.exhausted else report_violation(most, self.steps, state.gap, self.tol, self.limit)


@dataclass(frozen=True, kw_only=True)
class RowSettings(DualSettings):
    """Base of the settings of solvers that keep some rows of the kernel matrix."""

    shrinking: bool = setting(flag(True))
    cache: int | str | None = setting(size("500MB"))
    max_steps: int | None = setting(count())

    @property
    def rows_of_a_step(self) -> int:
        """Rows that a step needs, of which one is replaced at a time."""
        return 1

    def build_problem(
        self, kernel: Kernel, points: Array, signs: np.ndarray, C: np.ndarray, squared: bool, budget: int, seed: int
    ) -> DualProblem:
        n = len(C)
        least = (self.rows_of_a_step + 1) * n * arrays.itemsize(points)
        most = min(budget // 2, arrays.memory_budget(self.cache))
        rows = KernelRowSlab(kernel, points, budget=max(least, most), ridge=1.0 / C if squared else None)
        return DualProblem.of_classes(rows, signs, np.full(n, np.inf) if squared else C)


def report_violation(most: int, steps: str, gap: float, tol: float, limit: str) -> tuple[str, str]:
    """The report of a solver that reached its limit before its tolerance, and what the user can do."""
    left = f"After {most:,} {steps} the conditions of optimality are still violated by {gap:.2g}, and tol is {tol:g}"
    return left, f"increase {limit} of the solver"


def most_pair_steps(max_steps: int | None, n: int) -> int:
    """The limit of steps on two variables for n rows."""
    return max_steps or max(MOST_STEPS, 100 * n)
