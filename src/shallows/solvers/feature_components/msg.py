"""Matrix stochastic gradient: PCA as a convex problem over matrices between zero and the identity, with a budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ... import arrays
from ...arrays import Array
from ...errors import ShallowsError
from ..examples import Examples
from ..settings import count, positive, setting
from .problem import FeaturePCAPlan, FeaturePCAProblem, FeaturePCASettings, FeaturePCAState


@dataclass
class MSGState(FeaturePCAState):
    """A `FeaturePCAState` whose coefficients are the eigenvectors of M, the largest eigenvalue first."""

    eigenvalues: Array | None = None  # (r,): of M, from 0 to 1, with the sum k


@dataclass(frozen=True)
class MSGStepper:
    """M ← P(M + η_t A_S), with the covariance A_S = ZᵀZ/m of a batch and η_t = η₁/√t.

    P projects onto the matrices with eigenvalues from 0 to 1, trace k and at most ``rank`` eigenvalues above 0: it
    keeps the largest eigenvalues σ, and replaces them by min(1, max(0, σ + s)) with the s for which their sum is k. The
    components are the k leading eigenvectors of M, which is kept as U diag(σ) Uᵀ.

    References
    ----------
    R. Arora, A. Cotter and N. Srebro (2013), "Stochastic optimization of PCA with capped MSG", NIPS 26.
    """

    step_size: float  # η₁, in units of one over an eigenvalue
    rank: int  # More than k: in a matrix of rank k no new direction comes up

    def init(self, problem: FeaturePCAProblem) -> MSGState:
        """The projection onto the start that the problem tells."""
        return MSGState.at(problem, eigenvalues=arrays.namespace(problem.start).ones_like(problem.start[0, :]))

    def step(self, problem: FeaturePCAProblem, state: MSGState, batch: slice | Examples) -> MSGState:
        """One batch."""
        Z, _ = state.take(problem, batch)
        xp, eta = arrays.namespace(Z), self.step_size / math.sqrt(state.n_steps + 1)
        # M + ηA_S = LLᵀ, of which the smaller of LᵀL and LLᵀ is decomposed; in float64, since roots of rounding remain.
        U, Z64 = (arrays.astype(part, xp.float64) for part in (state.coefficients, Z))
        L = xp.concat([U * xp.sqrt(state.eigenvalues), Z64.T * math.sqrt(eta / Z.shape[0])], axis=1)
        wide = L.shape[1] > L.shape[0]
        small = L @ L.T if wide else L.T @ L
        if not bool(xp.all(xp.isfinite(small))):
            state.held = math.nan  # By which the loop sees it
            return state
        values, U = xp.linalg.eigh(small)
        values, U = xp.flip(values)[: self.rank], xp.flip(U, axis=1)[:, : self.rank]
        if not wide:
            U = L @ (U / xp.sqrt(xp.maximum(values, xp.asarray(1e-300))))
        capped = capped_eigenvalues(arrays.to_numpy(values), problem.n_components)
        kept = max(problem.n_components, int(np.sum(capped > 0)))
        state.eigenvalues = arrays.like(capped[:kept], Z, Z.dtype)
        return state.advance(arrays.contiguous(arrays.astype(U[:, :kept], Z.dtype)))


def capped_eigenvalues(values: np.ndarray, total: int) -> np.ndarray:
    """min(1, max(0, σ + s)) of at least ``total`` eigenvalues σ, with the s for which their sum is ``total``."""
    # As a function of s the sum is made of lines between these places.
    places = np.sort(np.concatenate([-values, 1.0 - values]))
    sums = np.clip(values[None, :] + places[:, None], 0.0, 1.0).sum(axis=1)
    return np.clip(values + np.interp(total, sums, places), 0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class MSG(FeaturePCASettings):
    """Matrix stochastic gradient.

    Parameters
    ----------
    step_size : float, optional
        η₁. None takes half of 1/λ_k, of the last eigenvalue.
    rank : int, optional
        The most eigenvalues above 0, more than k. None takes k + 1.
    """

    step_size: float | None = setting(positive())
    rank: int | None = setting(count())

    # A step of m rows costs (rank + m)² products for each feature.
    default_batch_size: ClassVar[int] = 64

    def build(self, plan: FeaturePCAPlan) -> MSGStepper:
        """The stepper for what is known of the data."""
        rank = self.rank or plan.n_components + 1
        if rank <= plan.n_components:
            raise ShallowsError(f"rank must be more than n_components={plan.n_components}, got {rank!r}.")
        return MSGStepper(float(self.step_size or plan.step_size), int(rank))
