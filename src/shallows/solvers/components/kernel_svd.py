"""Doubly stochastic kernel SVD: the singular functions of the cross-covariance of two views."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import arrays
from ...features import block_sums
from ..examples import Examples
from ..settings import choice, setting
from .component_steps import absolute_inverse, next_block, positive_part, safe_step
from .two_view_state import TwoViewProblem, TwoViewSettings, TwoViewState

LEAST_COUPLING = 1e-3
"""Smaller couplings are replaced by this share of the largest before the coupling is inverted."""


@dataclass(frozen=True)
class TwoViewSVDStepper:
    r"""Oja's rule for the top k pairs of singular functions of A = E[k(x, ·) ⊗ k'(y, ·)], over joint examples (x, y).

    With u = F(x), v = G(y) and W = E[uvᵀ + vuᵀ], a step of B examples and one block of F features in each view sets

        A_block ← A_block + η Φ(x)ᵀ v S / (BF),   B_block ← B_block + η Φ(y)ᵀ u S / (BF),

    and A_j ← A_j (I − η W S), B_j ← B_j (I − η W S) for all earlier blocks. S = I in the plain rule; ``scaled`` uses
    |W̄|⁻¹ with the running mean W̄. The fixed points have FᵀF = GᵀG = ½ I. Negative eigenvalues of W, for which the
    printed decay is growth, count as zero, and steps are cut off so that no direction changes its sign.
    """

    step_size: float  # η₁ of the steps η₁ / (1 + ρ (t − 1))
    decrease: float = 0.0  # ρ ≥ 0
    scaled: bool = True
    guarded: bool = True  # False is the rule as printed, whose steps can grow
    max_blocks: int | None = None  # None is without limit
    seed: int = 0  # of the order in which old blocks are revisited

    def init(self, problem: TwoViewProblem) -> TwoViewState:
        # Singular functions have E u² ≤ 1, and F and G half of that.
        return TwoViewState.at(problem, self.step_size, expected_size=1.0)

    def step(self, problem: TwoViewProblem, state: TwoViewState, batch: slice | Examples) -> TwoViewState:
        examples = problem.take(batch)
        x, y = examples.points, examples.second_view
        xp, n_examples = arrays.namespace(x), x.shape[0]
        u, v = state.observe(problem, examples)
        P = arrays.to_numpy(u.T @ v).astype(np.float64) / n_examples
        W = P + P.T
        eta = state.step_size / (1.0 + self.decrease * state.n_steps)
        if not np.isfinite(W).all():
            return state  # The training loop sees it in `monitored`.
        S = absolute_inverse(state.coupling(), LEAST_COUPLING) if self.scaled else np.eye(len(W))
        if self.guarded:
            W = positive_part(W)
        shrinking = W @ S
        if self.guarded:
            eta = safe_step(eta, shrinking)
        block = next_block(state.n_blocks, state.n_revisits, self.max_blocks, self.seed)
        state.n_revisits += block < state.n_blocks
        decay = np.eye(len(W)) - eta * shrinking
        for part, features, points, other in (
            (state.first, problem.features, x, v),
            (state.second, problem.second_features, y, u),
        ):
            weighted = other @ arrays.like(eta / (n_examples * features.block_size) * S, other, other.dtype)
            change, _ = block_sums.correlate(features, block, points, weighted, budget=problem.budget)
            part.mix(arrays.like(decay, u, xp.float64))
            part.grow_or_add(block, change)
        state.n_steps += 1
        state.last_step = eta
        return state

    def turns(self, state: TwoViewState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Matrices that turn the functions of each view into singular functions, (k, k), and the singular values."""
        # FᵀF = GᵀG = ½ I at the fixed points, so that singular functions are √2 times as large.
        left, values, right = np.linalg.svd(state.cross_moment)
        return math.sqrt(2.0) * left, math.sqrt(2.0) * right.T, 2.0 * values


@dataclass(frozen=True, kw_only=True)
class TwoViewSVD(TwoViewSettings):
    """Oja's rule for kernel SVD of two views, over random Fourier features that are added step by step.

    Parameters
    ----------
    scaling : {"singular values", None}
        "singular values": divide steps by running estimates, so that all converge equally fast. None: the printed rule.
    step_size : float, optional
        η₁. None: 1/2; with ``scaling=None`` divided by the largest singular value.
    decrease : float, optional
        ρ in the steps η₁ / (1 + ρ (t − 1)). None: by the gap after the last singular value, see the method guide.
    max_features : int, optional
        Most random frequencies of each view. None: the number of rows, from 512 to 16,384.
    batch_size : int, optional
        Rows of a step, and of slices of `partial_fit`. None: 1,024, or 20 for each component if that is more.
    block_size, orthogonal, n_iter, max_epochs
        As of `Oja`.

    Source: B. Xie et al. (2015), "Scale up nonlinear component analysis with doubly stochastic gradients", NIPS 28.

    Examples
    --------
    >>> from shallows.decomposition import DoublyStochasticKernelSVD
    >>> from shallows.solvers import TwoViewSVD
    >>> model = DoublyStochasticKernelSVD(3, solver=TwoViewSVD(max_features=2048, n_iter=100))
    """

    scaling: str | None = setting(choice("singular values", None))

    def default_batch_size(self, n: int, start: Any, n_components: int, block_size: int) -> int:
        return max(1024, 20 * n_components)

    def build(
        self, values: np.ndarray, n_components: int, *, ridge: float, max_blocks: int, seed: int
    ) -> TwoViewSVDStepper:
        scaled = self.scaling is not None
        step, decrease = self.steps(values, n_components, scaled=scaled)
        return TwoViewSVDStepper(step, decrease, scaled, max_blocks=max_blocks, seed=seed)
