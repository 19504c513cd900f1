"""Ridge regression on explicit features by block coordinate descent, one block of columns after the other."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.linalg

from ... import streams
from ..array_state import ArrayState
from ..settings import at_least_zero, count, setting
from .feature_solver import FeatureSolver

BLOCK_SIZE = 2048
"""Default number of features of a block."""


@dataclass(frozen=True)
class FeatureBlockProblem:
    """Minimize Σᵢ ‖zᵢᵀw − yᵢ‖² + λ ‖w‖²."""

    # Z, of shape (n, D): ``spans`` are the columns of its blocks, ``strips(k)`` yields rows and their values in block k
    columns: Any
    targets: np.ndarray  # (n, c)
    regularization: float  # λ > 0
    most_factors: int = 0  # Blocks whose factors are kept from one pass to the next
    factors: dict[int, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass
class FeatureBlockState(ArrayState):
    """The state of block coordinate descent on features."""

    coefficients: np.ndarray  # (D, c): w
    residual: np.ndarray  # (n, c): y − Zw
    n_steps: int = 0  # Blocks so far
    of_pass: float = 0.0  # Σ ‖Z_bᵀ(y − Zw) − λw_b‖² over the blocks of this pass, each before its step
    of_zero: float = 0.0  # The same sum for w = 0
    gap: float = np.inf  # The root of the ratio of these sums in the last whole pass
    exhausted: bool = False  # Whether the gap was within the tolerance


@dataclass(frozen=True)
class FeatureBlockDescentStepper:
    """w_b ← (Z_bᵀZ_b + λI)⁻¹ Z_bᵀ(y − Σ_{c ≠ b} Z_c w_c), the minimum over a block b of columns, one after the other.

    A pass takes every block once, in a new order. Source: see `BlockDescent`.
    """

    # It ends after a pass in which the gradients of the blocks, each before its step, were this share of those at w = 0
    tolerance: float = 1e-4
    seed: int = 0  # Decides the orders

    def init(self, problem: FeatureBlockProblem) -> FeatureBlockState:
        width = problem.columns.spans[-1].stop
        return FeatureBlockState(np.zeros((width, problem.targets.shape[1])), problem.targets.copy())

    def step(self, problem: FeatureBlockProblem, state: FeatureBlockState, batch: int) -> FeatureBlockState:
        n_blocks = len(problem.columns.spans)
        for _ in range(batch):
            if state.exhausted:
                break
            turn, place = divmod(state.n_steps, n_blocks)
            self._take(problem, state, int(streams.permutation(self.seed, "order of blocks", turn, n_blocks)[place]))
            state.n_steps += 1
            if state.n_steps % n_blocks == 0:
                state.gap = float(np.sqrt(state.of_pass / max(state.of_zero, 1e-300)))
                # If the features do not depend on the targets, the gradient is only rounding from the start.
                rounding = float(np.finfo(float).eps * np.linalg.norm(problem.targets)) * len(problem.targets)
                state.exhausted = state.gap <= self.tolerance or state.of_pass <= rounding**2
                state.of_pass = 0.0
        return state

    def _take(self, problem: FeatureBlockProblem, state: FeatureBlockState, k: int) -> None:
        span, columns = problem.columns.spans[k], problem.columns
        factor = problem.factors.get(k)
        size, first = span.stop - span.start, state.n_steps < len(columns.spans)
        products = np.zeros((size, size)) if factor is None else None
        moments, of_targets = np.zeros((size, state.residual.shape[1])), 0.0
        for rows, Z in columns.strips(k):
            Z = np.asarray(Z, dtype=np.float64)
            moments += Z.T @ state.residual[rows]
            of_targets = of_targets + Z.T @ problem.targets[rows] if first else 0.0
            if products is not None:
                products += Z.T @ Z
        if products is not None:
            factor = _factor(products, problem.regularization)
            if len(problem.factors) < problem.most_factors:
                problem.factors[k] = factor
        gradient = moments - problem.regularization * state.coefficients[span]
        state.of_pass += float(np.sum(gradient * gradient))
        state.of_zero += float(np.sum(np.square(of_targets)))
        change = scipy.linalg.cho_solve(factor, gradient, check_finite=False)
        state.coefficients[span] += change
        for rows, Z in columns.strips(k):
            state.residual[rows] -= Z @ change


def _factor(products: np.ndarray, regularization: float) -> Any:
    """The Cholesky factor of Z_bᵀZ_b + λI, with more than λ if rounding needs it."""
    own, extra = products.diagonal().copy(), regularization
    rounding = float(np.finfo(float).eps) * len(products) * float(own.max(initial=0.0))
    while True:
        products[np.diag_indices(len(products))] = own + extra
        try:
            return scipy.linalg.cho_factor(products, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            if not np.isfinite(products).all():
                raise
            # A larger λ here shortens the steps, with the same limit.
            extra = max(10.0 * extra, rounding)


@dataclass(frozen=True, kw_only=True)
class FeatureBlockDescent(FeatureSolver):
    """Ridge regression on features by block coordinate descent: systems of b unknowns instead of one with D.

    Parameters
    ----------
    block_size : int, optional
        b, the features of a block, at least what the map makes at a time. None takes 2,048.
    tol : float
        Stop after a pass in which the gradients of the blocks were at most this share of the first ones.
    max_passes : int
        The most passes over all blocks.
    """

    block_size: int | None = setting(count())
    tol: float = setting(at_least_zero(1e-4))
    max_passes: int = setting(count(default=100))

    takes_sparse_features: ClassVar[bool] = False

    def build(self, seed: int) -> FeatureBlockDescentStepper:
        return FeatureBlockDescentStepper(float(self.tol), seed)
