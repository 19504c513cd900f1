"""The problem of a kernel machine with few examples, which keeps its whole kernel matrix in double precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ... import arrays, kernels
from ...arrays import Array
from ...errors import ShallowsError
from ...kernels import Kernel
from ..settings import count, setting
from .dual_problem import DualSettings, GapState

MOST_ITERATIONS = 300
"""The default limit of iterations. Ten to thirty are typical."""


@dataclass(frozen=True)
class DenseProblem:
    """Minimize ½ ‖f‖² + Σ Cᵢ ℓ(yᵢ(f(xᵢ) + b)) over f = Σ βᵢ k(xᵢ, ·) and b."""

    matrix: np.ndarray  # (n, n): K
    signs: np.ndarray  # (n,): yᵢ = ±1
    C: np.ndarray  # (n,): positive
    squared: bool = False  # ℓ is the squared hinge, ½ max(0, 1 − z)², instead of the hinge, max(0, 1 − z)

    @property
    def n_evaluations(self) -> int:
        return self.matrix.size

    def ending(self, state: DenseState) -> tuple[float, float]:
        """The intercept and the dual objective, yᵀβ − ½ βᵀKβ, with − ½ Σ βᵢ²/Cᵢ for the squared hinge."""
        beta = state.coefficients
        ridge = float(np.sum(beta * beta / self.C)) if self.squared else 0.0
        return state.intercept, float(self.signs @ beta) - 0.5 * float(beta @ (self.matrix @ beta)) - 0.5 * ridge


@dataclass
class DenseState(GapState):
    """The state of a solver of a `DenseProblem`."""

    coefficients: np.ndarray  # (n,): β
    intercept: float = 0.0  # b
    gap: float = np.inf  # distance from the end, in the solver's unit
    n_steps: int = 0  # iterations, each with a system of equations
    exhausted: bool = False  # whether the gap is within the tolerance

    def is_finite(self) -> bool:
        return super().is_finite() and bool(np.isfinite(self.intercept))


@dataclass(frozen=True, kw_only=True)
class DenseSettings(DualSettings):
    """Base of the settings of solvers that need the whole kernel matrix."""

    max_iterations: int | None = setting(count())

    steps: ClassVar[str] = "iterations"
    limit: ClassVar[str] = "max_iterations"

    def most_steps(self, n: int) -> int:
        return self.max_iterations or MOST_ITERATIONS

    def build_problem(
        self, kernel: Kernel, points: Array, signs: np.ndarray, C: np.ndarray, squared: bool, budget: int, seed: int
    ) -> DenseProblem:
        n = len(C)
        arrays.check_room(
            f"solver='interior_point' and 'kernel_newton' hold the kernel matrix of {n:,} rows twice, which takes",
            16 * n * n,
            budget,
            "Give more memory, or use solver='smo' or 'decomposition', which keep only some of its rows.",
        )
        return DenseProblem(dense_matrix(kernel, points), signs, C, squared)


def dense_matrix(kernel: Kernel, points: Array) -> np.ndarray:
    """The kernel matrix of augmented points, float64 on the host, shape (n, n)."""
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


def factor(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    """The Cholesky factor of a kernel matrix with a positive diagonal added, for `scipy.linalg.cho_solve`.

    The matrix is overwritten.
    """
    try:
        return arrays.cholesky_in_place(matrix).T, False
    except np.linalg.LinAlgError:
        raise ShallowsError(
            "The kernel is not positive semi-definite: its matrix with a positive diagonal added has no Cholesky "
            "factor."
        ) from None
