"""Ridge regression on explicit features by block coordinate descent, one block of columns after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.linalg

from ... import streams
from ..array_state import ArrayState
from ..settings import Settings, count, setting

BLOCK_SIZE = 2048
"""Features of a block where the user names no number."""


class Columns(Protocol):
    """The matrix Z of features by blocks of columns, each of which is handed out in strips of rows."""

    spans: list[slice]

    def strips(self, k: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows, and these rows of block k, until all rows were handed out."""


@dataclass(frozen=True)
class FeatureBlockProblem:
    """Minimise Σᵢ ‖zᵢᵀw − yᵢ‖² + λ ‖w‖²."""

    columns: Columns  # Z, of shape (n, D) in all
    targets: np.ndarray  # (n, c)
    regularisation: float  # λ > 0
    most_factors: int = 0  # Blocks whose factors are kept from one pass to the next
    factors: dict[int, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass
class FeatureBlockState(ArrayState):
    """Where block coordinate descent stands.

    ``of_pass, of_zero``: Σ ‖Z_bᵀ(y − Zw) − λw_b‖² over the blocks of the pass under way, each before its step; and that
    of w = 0.
    """

    coefficients: np.ndarray  # (D, c): w
    residual: np.ndarray  # (n, c): y − Zw
    n_steps: int = 0  # Blocks so far
    of_pass: float = 0.0
    of_zero: float = 0.0
    gap: float = np.inf  # The root of the ratio of these, of the last whole pass
    exhausted: bool = False  # Whether that was within the tolerance


@dataclass(frozen=True)
class FeatureBlockDescentStepper:
    """w_b ← (Z_bᵀZ_b + λI)⁻¹ Z_bᵀ(y − Σ_{c ≠ b} Z_c w_c) for a block b of the columns after the other.

    That is the minimum over w_b with all others held. A pass takes every block once, in another order each time.

    Parameters
    ----------
    tolerance : float
        It ends after a pass in which the gradients of the blocks, each before its step, were this share of those at
        w = 0.
    seed : int
        Decides the orders.

    References
    ----------
    S. Tu, R. Roelofs, S. Venkataraman and B. Recht (2016), "Large scale kernel learning using block coordinate
    descent", arXiv:1602.05310 (random features).
    """

    tolerance: float = 1e-4
    seed: int = 0

    def init(self, problem: FeatureBlockProblem) -> FeatureBlockState:
        """Coefficients of zero."""
        width = problem.columns.spans[-1].stop
        return FeatureBlockState(np.zeros((width, problem.targets.shape[1])), problem.targets.copy())

    def step(self, problem: FeatureBlockProblem, state: FeatureBlockState, batch: int) -> FeatureBlockState:
        """``batch`` blocks, or fewer at the end."""
        n_blocks = len(problem.columns.spans)
        for _ in range(batch):
            if state.exhausted:
                break
            turn, place = divmod(state.n_steps, n_blocks)
            self._take(problem, state, int(streams.permutation(self.seed, "order of blocks", turn, n_blocks)[place]))
            state.n_steps += 1
            if state.n_steps % n_blocks == 0:
                state.gap = float(np.sqrt(state.of_pass / max(state.of_zero, 1e-300)))
                # Features that tell nothing of the targets have no other gradient than rounding from the beginning.
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
            factor = _factor(products, problem.regularisation)
            if len(problem.factors) < problem.most_factors:
                problem.factors[k] = factor
        gradient = moments - problem.regularisation * state.coefficients[span]
        state.of_pass += float(np.sum(gradient * gradient))
        state.of_zero += float(np.sum(np.square(of_targets)))
        change = scipy.linalg.cho_solve(factor, gradient, check_finite=False)
        state.coefficients[span] += change
        for rows, Z in columns.strips(k):
            state.residual[rows] -= Z @ change


def _factor(products: np.ndarray, regularisation: float) -> Any:
    """The Cholesky factor of Z_bᵀZ_b + λI, with more than λ where rounding leaves no positive-definite matrix."""
    own, extra = products.diagonal().copy(), regularisation
    rounding = float(np.finfo(float).eps) * len(products) * float(own.max(initial=0.0))
    while True:
        products[np.diag_indices(len(products))] = own + extra
        try:
            return scipy.linalg.cho_factor(products, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            if not np.isfinite(products).all():
                raise
            # What is added beside λ shortens the steps and does not move their end.
            extra = max(10.0 * extra, rounding)


@dataclass(frozen=True, kw_only=True)
class FeatureBlockDescent(Settings):
    """Ridge regression on features, block after block: D features need systems of b unknowns in place of one of D.

    Parameters
    ----------
    block_size : int, optional
        b, the features of a block; None takes 2,048. Where features are made anew, a block is at least one that the
        map makes at a time.
    tol : float
        It ends after a pass in which the gradients of the blocks were this share of those of zero.
    max_iterations : int
        The most passes over all blocks.
    """

    block_size: int | None = setting(count())
    tol: float = 1e-4
    max_iterations: int = 100

    sparse: ClassVar[bool] = False
    """Whether it takes features whose rows are sparse."""

    def build(self, seed: int) -> FeatureBlockDescentStepper:
        """The stepper; the seed decides the orders of the blocks."""
        return FeatureBlockDescentStepper(float(self.tol), seed)
