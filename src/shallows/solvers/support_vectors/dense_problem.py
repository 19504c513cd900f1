"""The problem of a kernel machine of few examples, whose whole kernel matrix is held in double precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ... import arrays, kernels
from ...errors import ShallowsError
from ...kernels import Kernel
from ..array_state import ArrayState
from .dual_settings import DualSettings

MOST_ITERATIONS = 300
"""The limit of iterations where the user names none. Ten to thirty are common."""


@dataclass(frozen=True)
class DenseProblem:
    """Minimise ½ ‖f‖² + Σ Cᵢ ℓ(yᵢ(f(xᵢ) + b)) over f = Σ βᵢ k(xᵢ, ·) and b."""

    matrix: np.ndarray  # (n, n): K, kernel values of the points with each other
    signs: np.ndarray  # (n,), ±1: yᵢ
    C: np.ndarray  # (n,): Positive
    squared: bool = False  # ℓ is the squared hinge, ½ max(0, 1 − z)², in the place of the hinge, max(0, 1 − z)

    @classmethod
    def of_points(
        cls, kernel: Kernel, points: arrays.Array, signs: np.ndarray, C: np.ndarray, squared: bool, budget: int
    ) -> DenseProblem:
        """The problem of augmented points; the budget must have room for two matrices."""
        n = len(C)
        arrays.check_room(
            f"solver='interior_point' and 'newton' hold the whole kernel matrix of {n:,} rows twice, which takes",
            16 * n * n,
            budget,
            "Give more memory, or take solver='smo' or 'decomposition', which hold some of its rows.",
        )
        return cls(dense_matrix(kernel, points), signs, C, squared)

    @property
    def n_evaluations(self) -> int:
        """Kernel values of the matrix."""
        return self.matrix.size

    def ending(self, state: DenseState) -> tuple[float, float]:
        """The intercept and the dual objective of a state."""
        return state.intercept, self.dual_objective(state.coefficients)

    def dual_objective(self, beta: np.ndarray) -> float:
        """yᵀβ − ½ βᵀKβ, for the squared hinge less ½ Σ βᵢ²/Cᵢ."""
        ridge = float(np.sum(beta * beta / self.C)) if self.squared else 0.0
        return float(self.signs @ beta) - 0.5 * float(beta @ (self.matrix @ beta)) - 0.5 * ridge


@dataclass
class DenseState(ArrayState):
    """Where a solver of a `DenseProblem` stands."""

    coefficients: np.ndarray  # (n,): β
    intercept: float = 0.0  # b
    gap: float = np.inf  # How far the solver is from its end, in its own unit
    n_steps: int = 0  # Iterations, each with a system of equations
    exhausted: bool = False  # Whether the solver has come to its tolerance

    def monitored(self) -> tuple[float, float]:
        """The gap, held against nothing: it may grow before it falls."""
        return (self.gap if np.isfinite(self.gap) or not self.n_steps else float("nan")), float("nan")

    def is_finite(self) -> bool:
        """Whether all coefficients are numbers."""
        return super().is_finite() and bool(np.isfinite(self.intercept))


@dataclass(frozen=True, kw_only=True)
class DenseSettings(DualSettings):
    """Base of the settings of solvers that need the whole kernel matrix."""

    steps: ClassVar[str] = "iterations"

    def most_steps(self, n: int) -> int:  # noqa: D102
        return self.max_iterations or MOST_ITERATIONS

    def build_problem(  # noqa: D102
        self,
        kernel: Kernel,
        points: arrays.Array,
        signs: np.ndarray,
        C: np.ndarray,
        squared: bool,
        budget: int,
        seed: int,
    ) -> DenseProblem:
        return DenseProblem.of_points(kernel, points, signs, C, squared, budget)


def dense_matrix(kernel: Kernel, points: arrays.Array) -> np.ndarray:
    """Kernel values of augmented points with each other, float64 on the host, shape (n, n)."""
    xp = arrays.namespace(points)
    wide = kernels.augmented(arrays.astype(points[:, :-2], xp.float64))
    n = points.shape[0]
    out = np.empty((n, n))
    for rows in arrays.blocks(n, 1024):
        out[rows] = arrays.to_numpy(kernels.values(kernel, wide[rows, :], wide))
    out += out.T
    out *= 0.5
    np.fill_diagonal(out, arrays.to_numpy(kernel.diagonal(wide[:, :-2])))
    return out


def not_positive() -> ShallowsError:
    """The error where a system of equations is not positive definite."""
    return ShallowsError(
        "The kernel is not positive semi-definite: a system of equations of the kernel matrix with a positive diagonal "
        "added has no Cholesky factor."
    )
