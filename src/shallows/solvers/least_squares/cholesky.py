"""Kernel ridge regression in one step, by a factorization of the whole matrix."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ... import arrays
from ...arrays import Array
from ...errors import ShallowsError
from ...gram import Gram
from .kernel_problem import (
    DIRECT_BYTES,
    KernelProblem,
    KernelState,
    RidgePlan,
    RidgeSolver,
    ridge_product,
    squared_residual,
)

LARGEST_JITTER = 1e-2
"""If a matrix is not positive definite with this share of its diagonal added, it is not a kernel matrix."""

ACCURATE = 1e-10
"""The largest squared residual of a solution, as a share of ‖y‖²."""


@dataclass
class RidgeState(KernelState):
    """The state of an exact solver."""

    jitter: float = 0.0  # Added to the diagonal in addition to λ
    # (m,): the last entries of the diagonal of (K + λW⁻¹)⁻¹, for outputs at rows left out
    inverse_diagonal: Array | None = None


@dataclass(frozen=True)
class CholeskyStepper:
    """α = (K + λ W⁻¹)⁻¹ y by a Cholesky factorization: the minimizer of Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖².

    Without λ a kernel matrix may be singular to rounding, for instance if points coincide. Then a jitter is added to
    the diagonal, which starts at the rounding of the factorization and grows tenfold until the residual is small.
    """

    regularization: float  # λ, for the sum of the losses over all points; 0 interpolates
    n_left_out: int = 0  # The number of last points for which the diagonal of the inverse is computed

    def init(self, problem: KernelProblem) -> RidgeState:
        return RidgeState(arrays.namespace(problem.targets).zeros_like(problem.targets), 1.0)

    def step(self, problem: KernelProblem, state: RidgeState, batch: slice) -> RidgeState:
        targets = problem.targets
        xp = arrays.namespace(targets)
        scale = float(xp.sum(targets * targets)) or 1.0
        jitter, rounding = 0.0, float(xp.finfo(targets.dtype).eps) * problem.gram.n
        while True:
            matrix = dense(problem.gram)
            size = float(xp.max(arrays.diagonal(matrix)))
            _add_to_diagonal(matrix, self.regularization, problem.weights, jitter)
            try:
                factor = arrays.cholesky_in_place(matrix)
            except np.linalg.LinAlgError:
                factor = None
            del matrix
            if factor is not None:
                solution, inverse = arrays.solve_factored(factor, targets), self._inverse_diagonal(factor)
                del factor
                product = ridge_product(problem, solution, self.regularization, jitter)
                left = squared_residual(problem, targets - product)
                if left <= ACCURATE * scale or targets.dtype != xp.float64:
                    state.coefficients, state.loss, state.jitter = solution, left, jitter
                    state.inverse_diagonal = inverse
                    return state
            jitter = max(10.0 * jitter, rounding * size)
            if jitter > LARGEST_JITTER * size:
                raise ShallowsError(
                    "The kernel matrix is not positive definite, so least squares has no solution in its space. Use a "
                    "positive-definite kernel, or an alpha above the size of its negative eigenvalues."
                )

    def _inverse_diagonal(self, factor: Array) -> np.ndarray | None:
        if not self.n_left_out:
            return None
        last = np.tril(arrays.to_numpy(factor[-self.n_left_out :, -self.n_left_out :]))
        inverse = arrays.solve_triangular(last, np.eye(len(last), dtype=last.dtype))
        return np.sum(inverse**2, axis=0)


def dense(gram: Gram) -> Array:
    """The whole kernel matrix, shape (n, n), from the tiles that are kept and those that are made."""
    xp = arrays.namespace(gram.points)
    out = xp.empty((gram.n, gram.n), dtype=gram.points.dtype)
    nothing = xp.zeros((gram.n, 1), dtype=gram.points.dtype)
    for rows in arrays.blocks(gram.n, gram.tile):
        _, columns = gram.rows_dot(rows, nothing, head=gram.n)
        assert columns is not None  # because the head is not empty
        out[rows, :] = columns.values()
    return out


def _add_to_diagonal(matrix: Array, regularization: float, weights: Array | None, jitter: float) -> None:
    xp = arrays.namespace(matrix)
    n = matrix.shape[0]
    extra = xp.full(n, regularization, dtype=matrix.dtype)
    if weights is not None:
        extra = extra / weights[:, 0]
    extra = extra + jitter
    if arrays.supports_out(matrix):
        where = xp.arange(n)
        matrix[where, where] += extra
    else:
        matrix += xp.eye(n, dtype=matrix.dtype) * extra[:, None]


@dataclass(frozen=True, kw_only=True)
class Cholesky(RidgeSolver):
    """The solution at once, by a factorization of the whole kernel matrix in double precision.

    If rounding makes the matrix singular, a little is added to the diagonal.

    Examples
    --------
    >>> from shallows import KernelRidgeRegressor
    >>> from shallows.solvers import Cholesky
    >>> KernelRidgeRegressor(solver=Cholesky())
    KernelRidgeRegressor(solver=Cholesky())
    """

    name: ClassVar[str] = "cholesky"
    is_direct: ClassVar[bool] = True

    @property
    def max_epochs(self) -> int:
        return 1

    def sizes(self, n: int, itemsize: int, budget: int, *, all_equal: bool) -> tuple[int, int, int]:
        remedy = "Use solver='conjugate_gradients', or give more memory."
        needed = DIRECT_BYTES / 8 * itemsize * n * n
        arrays.check_room(f"A factorization of {n:,} points takes", needed, budget, remedy)
        return n, 0, 0

    def step_bytes(self, plan: RidgePlan, n_outputs: int, itemsize: int) -> int:
        return int(DIRECT_BYTES / 8 * itemsize * plan.batch_size**2)

    def stepper(self, plan: RidgePlan, points: Array, ridge: float, n_left_out: int, start: Any) -> CholeskyStepper:
        return CholeskyStepper(ridge, n_left_out)
