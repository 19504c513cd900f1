"""Budgeted stochastic gradient descent: Pegasos on a kernel with a bounded number of support vectors."""

from __future__ import annotations

import functools
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from ... import kernels
from ...errors import ShallowsError, UnknownNameError
from ...kernels.radial import Gaussian
from ..pieces import pieces
from ..point_budget import FOLD_BELOW, PointBudget
from ..settings import Settings
from .sparse_rows import SparseRows

MAINTENANCE = ("removal", "projection", "merging")
"""The ways to make room for a point, in the order of their numbers in `budgeted_steps`."""

LINE_SEARCHES = ("auto", "golden_section", "lookup")  # how the place of a merged point is found
PRECISION = 1e-2  # of the share h at which two points are merged, while partners are compared
TABLE_SIZE = 400  # intervals of the table of losses in both directions


@dataclass
class BudgetedState(PointBudget):
    """A `PointBudget` with its counts; the points lie in columns.

    ``n_steps, n_violations``: examples that were visited, and those of them with a loss. ``loss, zero_loss``: sums over
    the last batch of the losses, each before its own step, and of those of the zero function.
    """

    _: KW_ONLY
    n_steps: int = 0
    n_violations: int = 0
    loss: float = 0.0
    zero_loss: float = 0.0
    lost: float = 0.0  # Sum of the squared norms of what f lost to the budget
    # (capacity, capacity): Kernel values of the points, where these are projected; else of shape (0, 0)
    gram: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def add(self, points: np.ndarray, coefficients: np.ndarray) -> None:
        """As `PointBudget.add`, which says more."""
        super().add(points, coefficients)
        self.fill_gram()

    def fill_gram(self) -> None:
        """Compute the kernel values of all points, if there are any kept."""
        if self.gram.shape[0]:
            used = self.points[: self.n_points, :]
            self.gram[: self.n_points, : self.n_points] = kernels.matrix(self.kernel, used)

    def recall(self, held: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        """Take up what ``remember`` gave."""
        super().recall(held, numbers)
        self.fill_gram()

    def monitored(self) -> tuple[float, float]:
        """The losses of the last batch; the first steps are long, so that these may be large."""
        return self.loss, float("nan")


@functools.cache
def table_of_losses() -> np.ndarray:
    """‖a k(z, ·) + b k(z', ·) − best single term‖² with a + b = 1, over a in [0, 1] and κ = k(z, z') in [0, 1].

    Row i has a = i/TABLE_SIZE, column j κ = j/TABLE_SIZE.
    """
    from . import budgeted_steps

    grid = np.linspace(0.0, 1.0, TABLE_SIZE + 1)
    made = np.empty((TABLE_SIZE + 1, TABLE_SIZE + 1))
    for i, a in enumerate(grid):
        b = 1.0 - a
        made[i, 0] = min(a, b) ** 2
        for j, k in enumerate(grid[1:], start=1):
            _, kept = budgeted_steps.golden_section(np.log(k), a * a, b * b, a * b, 1e-6)
            made[i, j] = max(0.0, a * a + b * b + 2.0 * a * b * k - kept)
    return made


@dataclass(frozen=True)
class BudgetedSGDStepper:
    """f ← (1 − 1/t) f + (wᵢ/(λt)) k(xᵢ, ·) (e_y − e_r) where 1 + f_r(xᵢ) − f_y(xᵢ) > 0, then room is made.

    r is the best of the classes other than y. Two classes have one output, ±1, and a violation where y f(xᵢ) < 1. One
    example is a step. Where there are more points than the budget has, the one of the smallest coefficients goes: it is
    dropped ("removal"); or its projection onto the others takes its place ("projection"); or it is merged ("merging")
    with the point for which f changes least, to h z + (1 − h) z', for which the largest ‖a_z‖ for the Gaussian kernel
    is sought over h.

    Parameters
    ----------
    kernel : Gaussian
    budget : int
        Points.
    regularisation : float
        λ.
    maintenance : {"removal", "projection", "merging"}
    line_search : {"auto", "golden_section", "lookup"}
        How the losses of merging are found: by a search for each pair, or from a table that is made once, which two
        classes alone have. "auto" takes the table where it can.

    References
    ----------
    Z. Wang, K. Crammer and S. Vucetic (2012), "Breaking the curse of kernelization: budgeted stochastic gradient
    descent for large-scale SVM training", Journal of Machine Learning Research 13. T. Glasmachers and S. Qaadan (2018),
    "Speeding up budgeted stochastic gradient descent SVM training with precomputed golden section search" (the table).
    """

    kernel: Gaussian
    budget: int
    regularisation: float
    maintenance: str = "merging"
    line_search: str = "auto"

    def __post_init__(self) -> None:
        UnknownNameError.check("way to keep the budget", self.maintenance, MAINTENANCE)
        UnknownNameError.check("line search", self.line_search, LINE_SEARCHES)
        if self.budget < 1:
            raise ShallowsError(f"The budget must be at least 1, got {self.budget!r}.")

    def init(self, problem: SparseRows) -> BudgetedState:
        """The zero function."""
        n_outputs = 1 if problem.n_classes == 2 else problem.n_classes
        if self.line_search == "lookup" and n_outputs > 1:
            raise ShallowsError("The table of losses is one of two classes. Take line_search='golden_section'.")
        capacity = self.budget + 1
        state = BudgetedState.empty(self.kernel, capacity, n_outputs, np.zeros((0, problem.n_inputs)))
        state.points = np.asfortranarray(state.points)
        if self.maintenance == "projection":
            state.gram = np.zeros((capacity, capacity))
        return state

    def step(self, problem: SparseRows, state: BudgetedState, batch: np.ndarray) -> BudgetedState:
        """Visit the rows of a batch one by one."""
        from . import budgeted_steps

        by_table = self.maintenance == "merging" and self.line_search != "golden_section" and state.buffer.shape[1] == 1
        counts = np.array([state.n_points, state.n_steps, state.n_violations])
        numbers = np.array([state.scale, 0.0, 0.0, state.lost])
        table = table_of_losses() if by_table else np.zeros((0, 0))
        rows, examples = np.asarray(batch, dtype=np.int64), problem.arrays
        settings = (
            MAINTENANCE.index(self.maintenance),
            0.5 / self.kernel.bandwidth**2,
            float(self.regularisation),
            PRECISION,
            FOLD_BELOW,
        )
        # Kernel values and room for one point; the exponentials and searches of a point count as a hundred operations.
        operations = state.points.shape[0] * (2 * problem.n_inputs + 100)
        if self.maintenance == "projection":
            operations += budgeted_steps.CONJUGATE_STEPS * state.points.shape[0] ** 2
        for piece in pieces(len(rows), operations):
            budgeted_steps.go_through(
                rows[piece],
                examples,
                state.points.T,
                state.buffer,
                state.gram,
                counts,
                numbers,
                settings,
                table,
            )
        state.n_points, state.n_steps, state.n_violations = (int(count) for count in counts)
        state.scale, state.loss, state.zero_loss, state.lost = (float(number) for number in numbers)
        return state


@dataclass(frozen=True, kw_only=True)
class BudgetedSGD(Settings):
    """Pegasos on a kernel with a budget of support vectors.

    Parameters
    ----------
    budget : int, optional
        Support vectors at most. None takes 100, or as many as there are training rows if these are fewer.
    maintenance : {"merging", "projection", "removal"}
        What happens to the support vector that must go.
    line_search : {"auto", "golden_section", "lookup"}
        How losses of merging are found.
    max_epochs : int
        Passes over the training data.
    """

    budget: int | None = None
    maintenance: str = "merging"
    line_search: str = "auto"
    max_epochs: int = 5

    def build(self, kernel: Gaussian, budget: int, regularisation: float) -> BudgetedSGDStepper:
        """The stepper, for the budget that was decided."""
        return BudgetedSGDStepper(kernel, budget, regularisation, self.maintenance, self.line_search)
