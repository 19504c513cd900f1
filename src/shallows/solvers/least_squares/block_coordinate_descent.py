"""Kernel ridge regression by block coordinate descent: the equations of one block of points at a time."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ... import arrays, kernels
from ...arrays import Array
from ...errors import ShallowsError
from ..settings import at_least_zero, count, setting
from .conjugate_gradients import rounding_of
from .kernel_problem import KernelProblem, KernelState, RidgePlan, RidgeSolver

BLOCK = 2000
"""Points of a block, whose factorization takes at most a second and 32 MB."""

LARGEST_JITTER = 1e-2
"""If a block is not positive definite with this share of its diagonal added, it is not from a kernel matrix."""


@dataclass(frozen=True)
class BlockDescentStepper:
    """α_S ← α_S + (K_SS + λ W_S⁻¹)⁻¹ (y_S − K_S α − λ W_S⁻¹ α_S) for a block S of the points.

    This is the method of Gauss and Seidel for (K + λ W⁻¹) α = y: each step minimizes Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖² over
    the coefficients of the block. One pass costs n² kernel values and n/b factorizations of b × b.
    """

    regularization: float  # λ, for the sum of the losses over all points
    start: Array | None = None  # (n, c): The first coefficients, such as the solution for another λ. None is zero

    def init(self, problem: KernelProblem) -> KernelState:
        xp = arrays.namespace(problem.targets)
        given = self.start is not None and self.start.shape == problem.targets.shape
        return KernelState(xp.asarray(self.start, copy=True) if given else xp.zeros_like(problem.targets), 1.0)

    def step(self, problem: KernelProblem, state: KernelState, batch: slice) -> KernelState:
        gram, targets, a = problem.gram, problem.targets[batch, :], state.coefficients
        xp = arrays.namespace(targets)
        values, _ = gram.rows_dot(batch, a)
        ridge = self.regularization * problem.inverse_weights(batch)
        residual = targets - values - ridge * a[batch, :]
        weighted = residual if problem.weights is None else problem.weights[batch, :] * residual
        state.loss = float(xp.sum(weighted * residual))
        points = gram.points[batch, :]
        a[batch, :] += self._solution(kernels.values(gram.kernel, points, points), ridge, residual)
        return state

    def _solution(self, matrix: Array, ridge: Array | float, residual: Array) -> Array:
        """(K_SS + λ W_S⁻¹)⁻¹ r in double precision. A jitter against rounding shortens steps, with the same limit."""
        xp, n = arrays.namespace(matrix), matrix.shape[0]
        rounding = float(xp.finfo(matrix.dtype).eps)
        matrix = arrays.astype(matrix, xp.float64)
        matrix = (matrix + matrix.T) / 2
        size = max(float(xp.max(xp.abs(matrix))), 1e-300)
        ones, jitter = xp.ones((n, 1), dtype=xp.float64), rounding * size
        while jitter <= LARGEST_JITTER * size:
            extra = (ridge * ones)[:, 0] + jitter
            try:
                solved = arrays.solve_positive_definite(
                    matrix + xp.eye(n, dtype=xp.float64) * extra[:, None], arrays.astype(residual, xp.float64)
                )
                return arrays.astype(solved, residual.dtype)
            except np.linalg.LinAlgError:
                jitter *= 10.0
        raise ShallowsError(
            "The kernel matrix of a block of points is not positive definite. Use a positive-definite kernel, or an "
            "alpha above the size of its negative eigenvalues."
        )


@dataclass(frozen=True, kw_only=True)
class BlockDescent(RidgeSolver):
    """Block coordinate descent: the equations of one block of points after the other. Small λ need many passes.

    Parameters
    ----------
    block_size : int, optional
        Points of a block. None: 2,000, or as many as the memory allows.
    tol : float
        Stop when the norm of the residual is at most this share of the norm of the targets.
    max_passes : int
        The most passes over all blocks, which factor each block.

    Source: S. Tu, R. Roelofs, S. Venkataraman and B. Recht (2016), "Large scale kernel learning using block coordinate
    descent", arXiv:1602.05310.

    Examples
    --------
    >>> from shallows import KernelRidgeRegressor
    >>> from shallows.solvers import BlockDescent
    >>> model = KernelRidgeRegressor(solver=BlockDescent(block_size=500))
    """

    block_size: int | None = setting(count())
    tol: float = setting(at_least_zero(1e-4))
    max_passes: int = setting(count(default=100))

    limit: ClassVar[str] = "max_passes"
    name: ClassVar[str] = "block_descent"
    solves_singular: ClassVar[bool] = False
    remedies: ClassVar[str] = "more passes, larger blocks (block_size)"

    @property
    def max_epochs(self) -> int:
        return self.max_passes

    def sizes(self, n: int, itemsize: int, budget: int, *, all_equal: bool) -> tuple[int, int, int]:
        # A block in double precision, its factor and what they are made from.
        affordable = max(1, math.isqrt(max(0, budget) // 96))
        return n if all_equal else min(n, self.block_size or min(BLOCK, affordable)), 0, 0

    def step_bytes(self, plan: RidgePlan, n_outputs: int, itemsize: int) -> int:
        return 24 * plan.batch_size**2 + 8 * plan.batch_size * n_outputs * itemsize

    def stepper(
        self, plan: RidgePlan, points: Array, ridge: float, n_left_out: int, start: Array | None
    ) -> BlockDescentStepper:
        # With λ = 0 and a matrix of low rank the coefficients grow in directions that only rounding can fit.
        return BlockDescentStepper(ridge or 3.0 * rounding_of(plan.kernel, points), start)

    def report(self, plan: RidgePlan, problem: Any, stepper: Any, run: Any) -> dict[str, Any]:
        return {"batch_size": plan.batch_size, **super().report(plan, problem, stepper, run)}
