"""Doubly stochastic kernel CCA: the functions of two views with the largest correlations."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...features import block_sums
from ..examples import Examples
from ..settings import at_least_zero, choice, setting
from .component_steps import FIRST_STEP, absolute, absolute_inverse, next_block, positive_part
from .two_view_state import TwoViewProblem, TwoViewSettings, TwoViewState, ViewExpansion

LEAST_CORRELATION = 0.25
"""Smaller correlations are replaced by this before a division, so that noise is not amplified without bound."""


@dataclass(frozen=True)
class TwoViewCCAStepper:
    r"""Stochastic gradients for the top k pairs of canonical functions u = F(x), v = G(y) of two views.

    With W = E[uvᵀ + vuᵀ], the plain rule adds to one block of F features in each view

        η Φ(x)ᵀ (v − uW) / (BF)    and    η Φ(y)ᵀ (u − vW) / (BF),

    and with a ridge ρ shrinks all coefficients by I − ηρW. It tends to FᵀCF = GᵀC'G = ½ I, with the covariances C and
    C' (plus ρ). For a fixed v it is a regression of vW⁻¹ on x. ``newton`` takes the step of that regression in a block,

        η (ΦᵀΦ/B + ρ_F I)⁻¹ (Φᵀ (v − u|W|)|W̄|⁻¹ / B − ρ_F A_block),        ρ_F = ρ × frequencies of all blocks,

    with the running mean W̄. With negative eigenvalues of W the printed rule grows without bound. In the plain rule
    they count as zero; with ``newton`` their size counts, and such a pair shrinks until its sign has changed.
    """

    step_size: float  # η₁ of the steps η₁ / (1 + decrease (t − 1)); with ``newton`` a share of a whole step
    decrease: float = 0.0
    ridge: float = 0.0  # ρ ≥ 0, in units of k(x, x) = 1
    newton: bool = True
    guarded: bool = True  # False is the plain rule as printed, whose steps can grow
    max_blocks: int | None = None  # None is without limit
    seed: int = 0  # of the order in which old blocks are revisited

    def init(self, problem: TwoViewProblem) -> TwoViewState:
        return TwoViewState.at(problem, self.step_size, expected_size=float(problem.n_components))

    def step(self, problem: TwoViewProblem, state: TwoViewState, batch: slice | Examples) -> TwoViewState:
        examples = problem.take(batch)
        x, y = examples.points, examples.second_view
        u, v = state.observe(problem, examples)
        P = arrays.to_numpy(u.T @ v).astype(np.float64) / x.shape[0]
        if not np.isfinite(P).all():
            return state  # The training loop sees it in `monitored`.
        eta = state.step_size / (1.0 + self.decrease * state.n_steps)
        block = next_block(state.n_blocks, state.n_revisits, self.max_blocks, self.seed)
        state.n_revisits += block < state.n_blocks
        W = P + P.T
        if self.newton:
            W = absolute(W)
        elif self.guarded:
            W = positive_part(W)
        S = absolute_inverse(state.coupling(), 0.0, LEAST_CORRELATION) if self.newton else np.eye(len(W))
        for part, features, points, own, other in (
            (state.first, problem.features, x, u, v),
            (state.second, problem.second_features, y, v, u),
        ):
            residuals = other @ arrays.like(S, own, own.dtype) - own @ arrays.like(W @ S, own, own.dtype)
            if self.newton:
                change = self._newton_step(problem, part, features, block, points, residuals) * eta
            else:
                R, _ = block_sums.correlate(features, block, points, residuals, budget=problem.budget)
                change = R * (eta / (points.shape[0] * features.block_size))
                if self.ridge:
                    decay = np.eye(len(W)) - eta * self.ridge * W
                    part.mix(arrays.like(decay, own, arrays.namespace(own).float64))
            part.grow_or_add(block, change)
        state.n_steps += 1
        state.last_step = eta
        return state

    def _newton_step(
        self, problem: TwoViewProblem, part: ViewExpansion, features: Any, block: int, x: Array, residuals: Array
    ) -> Array:
        """The change of a block by a whole step of the regression, shape (width, k)."""
        R, C = block_sums.correlate(features, block, x, residuals, with_gram=True, budget=problem.budget)
        n_blocks = self.max_blocks or part.n_blocks + 1
        damping = max(self.ridge * n_blocks * features.block_size, 1e-6)
        B = x.shape[0]
        if block < part.n_blocks:
            R = R - part.block_coefficients(block) * (B * damping)
        return arrays.contiguous(arrays.solve_damped(C, R, B * damping))

    def turns(self, state: TwoViewState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Matrices that make the functions of each view uncorrelated with unit variance, and the correlations."""
        white = [whitening(one) for one in (state.first_moment, state.second_moment)]
        left, values, right = np.linalg.svd(white[0] @ state.cross_moment @ white[1])
        return white[0] @ left, white[1] @ right.T, np.clip(values, 0.0, 1.0)


def whitening(matrix: np.ndarray) -> np.ndarray:
    """M^(−1/2) of a positive semi-definite matrix; directions with an eigenvalue of zero stay zero."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    kept = values > 1e-10 * values[-1]
    return (vectors * np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)) @ vectors.T


@dataclass(frozen=True, kw_only=True)
class TwoViewCCA(TwoViewSettings):
    """Stochastic gradients for kernel CCA of two views, over random Fourier features that are added step by step.

    Parameters
    ----------
    method : {"newton", "gradient", "printed"}
        "newton": regress one view's functions on the other view's block. "gradient": Algorithm 4, limited where it
        would grow. "printed": Algorithm 4 with W from one batch. The estimator's ridge is not in the paper (0: none).
    step_size : float, optional
        η₁. None: 1/2. With "newton" it is a share of a whole step.
    decrease : float
        ρ in the steps η₁ / (1 + ρ (t − 1)).
    block_size : int, optional
        Frequencies of a block. None: 512, and at most a tenth of the rows of a step.
    max_features : int, optional
        Most random frequencies of each view. None: the number of rows, from 512 to 16,384.
    batch_size : int, optional
        Rows of a step, and of slices of `partial_fit`. None: ten for each frequency of a block.
    orthogonal, n_iter, max_epochs
        As of `Oja`.

    Source: B. Xie et al. (2015), "Scale up nonlinear component analysis with doubly stochastic gradients", NIPS 28.

    Examples
    --------
    >>> from shallows.decomposition import DoublyStochasticKernelCCA
    >>> from shallows.solvers import TwoViewCCA
    >>> model = DoublyStochasticKernelCCA(3, solver=TwoViewCCA(method="gradient", n_iter=100))
    """

    method: str = setting(choice("newton", "gradient", "printed"))
    decrease: float = setting(at_least_zero(0.02))

    def start_ridge(self, ridge: float) -> float:
        # The covariances of few points in one block's features are nearly singular.
        return max(ridge, 1e-3)

    def default_block_size(self, n: int) -> int:
        # The covariance of a block can be inverted with five examples in a batch for each of its columns.
        return max(8, min(512, self.max_features or 512, (self.batch_size or n) // 10))

    def default_batch_size(self, n: int, start: Any, n_components: int, block_size: int) -> int:
        return max(10 * block_size, 20 * n_components)

    def build(
        self, values: np.ndarray, n_components: int, *, ridge: float, max_blocks: int, seed: int
    ) -> TwoViewCCAStepper:
        newton, guarded = self.method == "newton", self.method != "printed"
        step = float(self.step_size or FIRST_STEP)
        return TwoViewCCAStepper(step, float(self.decrease), float(ridge), newton, guarded, max_blocks, seed)
