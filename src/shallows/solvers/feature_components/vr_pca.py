"""VR-PCA: Oja's rule whose variance is reduced by a product with the whole covariance at a snapshot."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ... import arrays
from ...arrays import Array
from ..examples import Examples
from ..solver_parameters import positive
from .problem import FeatureComponentPlan, FeatureComponentProblem, FeatureComponentSolver, FeatureComponentState

LONGEST = 2.0
"""A step that is chosen is at most so many times 1/λ₁, the inverse of the largest eigenvalue."""


@dataclass
class VRState(FeatureComponentState):
    """A `FeatureComponentState` with a snapshot."""

    snapshot: Array | None = None  # (D, k): W̃
    product: Array | None = None  # (D, k): A W̃
    left: int = 0  # Examples until the next snapshot


@dataclass(frozen=True)
class VRPCA:
    r"""W ← polar(W + η (A_S (W − W̃B) + A W̃ B)), with a new snapshot W̃ = W after so many examples.

    A_S is the covariance of a batch, A that of all rows. B is the rotation that brings W̃ nearest to W: VUᵀ for
    WᵀW̃ = USVᵀ. polar(W) = W (WᵀW)^{−½} are the nearest orthonormal columns. Near the solution W − W̃B vanishes, and the
    noise with it: the error falls by a factor an epoch, where that of Oja's rule falls as 1/t.

    Parameters
    ----------
    step_size : float
        η, for the mean over a batch.
    period : float
        Passes between snapshots; each costs a pass of its own.

    References
    ----------
    O. Shamir (2015), "A stochastic PCA and SVD algorithm with an exponential convergence rate", ICML 32. O. Shamir
    (2016), "Fast stochastic algorithms for SVD and PCA: convergence properties and convexity", ICML 33, Algorithm 2.
    """

    step_size: float
    period: float = 1.0

    def init(self, problem: FeatureComponentProblem) -> VRState:
        """The start that the problem tells."""
        # The fields of a state are arrays from the start, as checkpoints ask; the first step writes them.
        W = problem.start
        return VRState.at(problem, snapshot=W, product=arrays.namespace(W).zeros_like(W))

    def step(self, problem: FeatureComponentProblem, state: VRState, batch: slice | Examples) -> VRState:
        """One batch; before it, where one is due, a snapshot."""
        xp = arrays.namespace(state.coefficients)
        if state.left <= 0:
            state.snapshot, state.left = state.coefficients, max(1, round(self.period * problem.design.n))
            total = xp.zeros_like(state.snapshot)
            for Z in problem.passes_over(state.mean):
                total += Z.T @ (Z @ state.snapshot)
            state.product = total / problem.design.n
        W = state.coefficients
        Z, H = state.take(problem, batch)
        state.left -= Z.shape[0]
        U, _, Vt = xp.linalg.svd(W.T @ state.snapshot, full_matrices=False)
        B = (U @ Vt).T
        of_batch = Z.T @ (H - Z @ (state.snapshot @ B)) * (1.0 / Z.shape[0])
        return state.advance(_polar(W + self.step_size * (of_batch + state.product @ B)))


def _polar(W: Array) -> Array:
    U, _, Vt = arrays.namespace(W).linalg.svd(W, full_matrices=False)
    return U @ Vt


def _make(plan: FeatureComponentPlan, step_size: float | None, period: float) -> VRPCA:
    # The step of the papers, 1/(√n E‖z‖²) for single examples and epochs of n of them, goes as far in as many epochs.
    of_batch = plan.batch_size / (plan.variance * math.sqrt(plan.n_rows))
    return VRPCA(float(step_size or min(of_batch, LONGEST / float(plan.eigenvalues[0]))), float(period))


VR_SOLVER = FeatureComponentSolver(_make, {"step_size": positive(), "period": positive(1.0)}, streams=False)
