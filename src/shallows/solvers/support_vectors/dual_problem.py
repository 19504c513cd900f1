"""The dual problem of support vector machines, with one equation and bounds, and what its solvers keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import arrays
from ...errors import ShallowsError
from ...gram.row_slab import KernelRowSlab
from ...kernels import Kernel
from ..array_state import ArrayState


@dataclass(frozen=True)
class DualProblem:
    """Maximise tᵀβ − ½ βᵀKβ for lower ≤ β ≤ upper, where Σ βᵢ stays what it is at the start.

    With t = y, and 0 ≤ yᵢβᵢ ≤ Cᵢ, from β = 0, it is the dual of the support vector machine with an intercept, and
    β = αy; with Cᵢ = ∞ and 1/Cᵢ on the diagonal of K that of the squared hinge. With t = 0, lower = 0 and Σ βᵢ = 1 it
    is that of the smallest enclosing ball of points of one norm.

    ``linear, lower, upper`` (n,): t and the bounds.
    """

    rows: KernelRowSlab  # K
    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    start: np.ndarray | None = None  # (n,): A feasible β; None is zero

    @classmethod
    def of_classes(cls, rows: KernelRowSlab, signs: np.ndarray, C: np.ndarray) -> DualProblem:
        """The problem of two classes; C is the bound of each row, infinite for the squared hinge."""
        return cls(rows, signs, np.where(signs > 0, 0.0, -C), np.where(signs > 0, C, 0.0))

    @classmethod
    def of_points(
        cls,
        kernel: Kernel,
        points: arrays.Array,
        signs: np.ndarray,
        C: np.ndarray,
        squared: bool,
        budget: int,
        *,
        cache: int | str | None,
        working_set: int = 1,
    ) -> DualProblem:
        """The problem of two classes of augmented points, whose rows take at most ``cache`` bytes and half the budget.

        A step on a working set needs the rows of its variables, and one more, however little memory there is.
        """
        n = len(C)
        least = (working_set + 1) * n * arrays.itemsize(points)
        most = min(budget // 2, arrays.memory_budget(cache))
        rows = KernelRowSlab(kernel, points, budget=max(least, most), ridge=1.0 / C if squared else None)
        return cls.of_classes(rows, signs, np.full(n, np.inf) if squared else C)

    @property
    def n_evaluations(self) -> int:
        """Kernel values that were computed for rows."""
        return self.rows.n_made * self.rows.n

    def ending(self, state: DualState) -> tuple[float, float]:
        """The intercept and the dual objective of a state, for which the gradient of all rows is made."""
        activate_all(self, state)
        return intercept(self, state), objective(self, state)

    def gradient(self, beta: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The gradient t − Kβ of some rows, or of all, by a product of its own, shape (len(rows),)."""
        linear = self.linear if rows is None else self.linear[rows]
        return linear - self.rows.product(beta, rows)


@dataclass
class DualState(ArrayState):
    """β with the gradient of the objective."""

    coefficients: np.ndarray  # (n,): β
    gradient: np.ndarray  # (n,): t − Kβ; of the rows that are not ``active`` it may be of an earlier β
    active: np.ndarray  # (n_active,): The rows that may take part in a step, ascending
    # By how much the conditions of optimality are violated: the largest gradient of a βᵢ that may grow less the
    # smallest of one that may fall
    gap: float = np.inf
    n_steps: int = 0  # Pairs that were moved
    exhausted: bool = False  # Whether the gap is within the tolerance
    until_shrinking: int = 0  # Steps that are left before rows are next taken out of ``active``
    n_reconstructions: int = 0  # How often the gradient of all rows was made anew

    @classmethod
    def start(cls, problem: DualProblem) -> DualState:
        """β of the start."""
        n = problem.rows.n
        if problem.start is None:
            return cls(np.zeros(n), problem.linear.astype(np.float64, copy=True), np.arange(n))
        beta = problem.start.astype(np.float64, copy=True)
        return cls(beta, problem.gradient(beta), np.arange(n))

    def monitored(self) -> tuple[float, float]:
        """The gap, held against nothing: from C = 100 on it grows before it falls."""
        return (self.gap if np.isfinite(self.gap) or not self.n_steps else float("nan")), float("nan")

    def is_finite(self) -> bool:
        """Whether the gradient is made of numbers."""
        return bool(np.isfinite(self.gradient).all())


def activate_all(problem: DualProblem, state: DualState) -> None:
    """Make the gradient of the rows that were left out anew, and let them take part again."""
    n = problem.rows.n
    left_out = np.setdiff1d(np.arange(n), state.active, assume_unique=True)
    if len(left_out):
        state.gradient[left_out] = problem.gradient(state.coefficients, left_out)
        state.active = np.arange(n)
        state.n_reconstructions += 1


def objective(problem: DualProblem, state: DualState) -> float:
    """tᵀβ − ½ βᵀKβ, of a state whose gradient is known on the rows with βᵢ ≠ 0."""
    return float(0.5 * state.coefficients @ (problem.linear + state.gradient))


def intercept(problem: DualProblem, state: DualState) -> float:
    """b: the mean gradient of the βᵢ strictly within their bounds; where all are at a bound, the middle of the gap."""
    beta, g = state.coefficients, state.gradient
    may_grow, may_fall = beta < problem.upper, beta > problem.lower
    free = may_grow & may_fall
    if free.any():
        return float(g[free].mean())
    sides = [g[may_grow].max(initial=-np.inf), g[may_fall].min(initial=np.inf)]
    known = [side for side in sides if np.isfinite(side)]
    return float(np.mean(known)) if known else 0.0


def refuse_indefinite(problem: DualProblem, state: DualState) -> None:
    """Raise an error where βᵀKβ is negative: K is then not positive semi-definite."""
    beta = state.coefficients
    norm_squared = float(beta @ (problem.linear - state.gradient))
    if norm_squared < -1e-3 * float(np.abs(beta * problem.linear).sum() + problem.rows.diagonal.max()):
        raise ShallowsError(
            f"The kernel {problem.rows.kernel.name!r} is not positive semi-definite: the function that was fitted has "
            f"the squared norm {norm_squared:.3g}."
        )
