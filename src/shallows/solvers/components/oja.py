"""Doubly stochastic kernel PCA: Oja's rule, and the generalised Hebbian rule for single eigenfunctions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import arrays
from ...features import block_sums
from ..examples import Examples
from .component_state import ComponentProblem, ComponentState
from .moments import absolute_inverse, floored, next_block, safe_step, second_moment
from .step_settings import ComponentSettings


@dataclass(frozen=True)
class DoublyStochasticOjaStepper:
    r"""Oja's rule for the top k eigenfunctions of a kernel's covariance operator, with no orthogonalisation.

    A step takes B examples, the values H = g(X) of the k functions on them (less their means, if the problem is
    centred), and one block of F random features with the values Φ, and sets, with C = HᵀH/B,

        A_block ← A_block + η Φᵀ H S / (BF),        A_j ← A_j (I − η C S)   for all blocks that were there before.

    S is the identity in the plain rule (Xie et al. 2015, Algorithm 1). ``scaled`` takes S = C̄⁻¹, with the running mean
    C̄ of C: the fixed points are the same, steps are shares of a whole one whatever the eigenvalues, and small
    eigenvalues converge as fast as large ones. ``individual`` keeps of C the upper triangle with the diagonal, so that
    each function is decayed by those before it (Sanger's rule): the columns then tend to single eigenfunctions, where
    the plain rule finds their span. With ``scaled`` S then is the inverse of the diagonal of C̄.

    Steps are η_t = η₁ / (1 + ρ (t − 1)). New blocks are added until there are ``max_blocks``; then old ones are
    revisited in turn.

    References
    ----------
    B. Xie, Y. Liang and L. Song (2015), "Scale up nonlinear component analysis with doubly stochastic gradients", NIPS
    28. E. Oja (1982), "A simplified neuron model as a principal component analyzer". T. D. Sanger (1989), "Optimal
    unsupervised learning in a single-layer linear feedforward neural network".
    """

    step_size: float  # η₁; in the plain rule in units of one over an eigenvalue
    decrease: float = 0.0  # ρ ≥ 0
    scaled: bool = True
    individual: bool = False
    max_blocks: int | None = None  # The budget of features; None is without end
    seed: int = 0  # Of the order in which old blocks are revisited

    def init(self, problem: ComponentProblem) -> ComponentState:
        """The start that the problem tells, which must not be zero."""
        return ComponentState.at(problem, self.step_size)

    def step(self, problem: ComponentProblem, state: ComponentState, batch: slice | Examples) -> ComponentState:
        """One batch, one block."""
        x, features = problem.take(batch).points, problem.features
        xp, B = arrays.namespace(x), x.shape[0]
        H = state.values(problem, x)
        mean = xp.mean(H, axis=0)
        if problem.centred:
            H = H - mean
        C = second_moment(H)
        state.observe(C, arrays.to_numpy(mean).astype(np.float64), B)
        eta = state.step_size / (1.0 + self.decrease * state.n_steps)
        if not np.isfinite(C).all():
            return state  # The loop sees it by what the state offers.
        shrinking, S = self._matrices(C, state.moment)
        if self.scaled:
            eta = safe_step(eta, shrinking)
        block = next_block(state.n_blocks, state.n_revisits, self.max_blocks, self.seed)
        weighted = H @ arrays.like(eta / (B * features.block_size) * S, H, H.dtype)
        change, _ = block_sums.correlate(features, block, x, weighted, budget=problem.budget)
        state.mix(arrays.like(np.eye(len(C)) - eta * shrinking, H, xp.float64))
        state.n_revisits += block < state.n_blocks
        state.grow_or_add(block, change)
        state.n_steps += 1
        state.last_step = eta
        return state

    def _matrices(self, C: np.ndarray, running: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What old coefficients shrink by in a step of one, and the scaling S of new ones; both of shape (k, k)."""
        if self.individual:
            C = np.triu(C)
        if not self.scaled:
            return C, np.eye(len(C))
        S = np.diag(1.0 / floored(np.diag(running))) if self.individual else absolute_inverse(running)
        return C @ S, S

    def turn(self, state: ComponentState) -> np.ndarray:
        """The matrix that turns the functions of a state into components, shape (k, k)."""
        return np.eye(len(state.moment)) if self.individual else np.linalg.eigh(state.moment)[1][:, ::-1]

    def eigenvalues(self, state: ComponentState) -> np.ndarray:
        """Those of the components of a state, descending unless functions are ``individual``."""
        if self.individual:
            return np.diag(state.moment).copy()
        return np.clip(np.linalg.eigvalsh(state.moment)[::-1], 0.0, None)


@dataclass(frozen=True, kw_only=True)
class DoublyStochasticOja(ComponentSettings):
    """Oja's rule over streamed random features.

    Parameters
    ----------
    method : {"subspace", "individual"}
        Whether functions span the top of the covariance operator, or each tends to an eigenfunction.
    scaling : {"eigenvalues", None}
        Whether steps are divided by the eigenvalues.
    """

    method: str = "subspace"
    scaling: str | None = "eigenvalues"

    def build(
        self, eigenvalues: np.ndarray, n_components: int, max_blocks: int, seed: int
    ) -> DoublyStochasticOjaStepper:
        """The stepper, by the eigenvalues of the functions that it starts from."""
        scaled = self.scaling is not None
        step, decrease = self.steps(eigenvalues, n_components, scaled=scaled)
        return DoublyStochasticOjaStepper(step, decrease, scaled, self.method == "individual", max_blocks, seed)
