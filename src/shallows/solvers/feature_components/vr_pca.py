"""VR-PCA: Oja's rule whose variance is reduced by a product with the whole covariance at a snapshot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ... import arrays
from ...arrays import Array
from ..examples import Examples
from ..settings import positive, setting
from .problem import FeaturePCAPlan, FeaturePCAProblem, FeaturePCASettings, FeaturePCAState


@dataclass
class VRState(FeaturePCAState):
    """A `FeaturePCAState` with a snapshot."""

    snapshot: Array | None = None  # (D, k): W̃
    product: Array | None = None  # (D, k): A W̃
    left: int = 0  # Examples until the next snapshot


@dataclass(frozen=True)
class VRPCAStepper:
    r"""W ← polar(W + η (A_S (W − W̃B) + A W̃ B)), with a new snapshot W̃ = W after so many examples.

    A_S is the covariance of a batch, A that of all rows. B is the rotation that brings W̃ nearest to W: VUᵀ for
    WᵀW̃ = USVᵀ. polar(W) = W (WᵀW)^{−½} are the nearest orthonormal columns. Near the solution W − W̃B vanishes, and the
    noise with it: the error falls by a factor an epoch, where that of Oja's rule falls as 1/t.

    References
    ----------
    O. Shamir (2015), "A stochastic PCA and SVD algorithm with an exponential convergence rate", ICML 32. O. Shamir
    (2016), "Fast stochastic algorithms for SVD and PCA: convergence properties and convexity", ICML 33, Algorithm 2.
    """

    step_size: float  # η, for the mean over a batch
    period: float = 1.0  # Passes between snapshots; each costs a pass of its own

    def init(self, problem: FeaturePCAProblem) -> VRState:
        """The start that the problem tells."""
        W = problem.start
        return VRState.at(problem, snapshot=W, product=arrays.namespace(W).zeros_like(W))

    def step(self, problem: FeaturePCAProblem, state: VRState, batch: slice | Examples) -> VRState:
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
        if not math.isfinite(state.held):
            return state  # The loop sees it by what the state offers.
        U, _, Vt = xp.linalg.svd(W.T @ state.snapshot, full_matrices=False)
        B = (U @ Vt).T
        of_batch = Z.T @ (H - Z @ (state.snapshot @ B)) * (1.0 / Z.shape[0])
        # In units of 1 + η, in which no step overflows: the columns are made of unit length anyway.
        share = self.step_size / (1.0 + self.step_size)
        U, _, Vt = xp.linalg.svd(W * (1.0 - share) + (of_batch + state.product @ B) * share, full_matrices=False)
        return state.advance(U @ Vt)


@dataclass(frozen=True, kw_only=True)
class VRPCA(FeaturePCASettings):
    """VR-PCA.

    Parameters
    ----------
    step_size : float, optional
        η. None takes half of 1/λ_k, of the last eigenvalue.
    period : float
        Passes between two products with the whole covariance, each of which costs a pass that is not counted.
    """

    step_size: float | None = setting(positive())
    period: float = setting(positive(1.0))

    streams: ClassVar[bool] = False

    def build(self, plan: FeaturePCAPlan) -> VRPCAStepper:
        """The stepper for what is known of the data."""
        # The step of the papers, 1/(√n E‖z‖²) for single examples, is several times as short: on digits it took five
        # epochs for what this one comes to in one.
        return VRPCAStepper(float(self.step_size or plan.step_size), float(self.period))
