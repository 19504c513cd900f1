"""The noisy power method: a power iteration whose products with the covariance come from blocks of examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ... import arrays
from ...spectrum.eigensystems import orthonormal
from ..examples import Examples
from ..settings import count, setting
from .problem import FeaturePCAPlan, FeaturePCAProblem, FeaturePCASettings, FeaturePCAState


@dataclass
class PowerState(FeaturePCAState):
    """A `FeaturePCAState` with the block that is gathered."""

    product: Any = None  # (D, k): Σ z zᵀ W over the examples of the block so far
    n_gathered: int = 0  # Examples of the block so far


@dataclass(frozen=True)
class NoisyPowerStepper:
    """W ← orth(A_S W), with the covariance A_S of a block of examples, which takes in whole batches.

    What A_S differs from the covariance A by is the noise. With all rows in each block it is the power method, whose
    error falls by λ_{k+1}/λ_k a pass; with smaller blocks it falls as fast, to a level that the noise decides.

    References
    ----------
    M. Hardt and E. Price (2014), "The noisy power method: a meta algorithm with applications", NIPS 27. I. Mitliagkas,
    C. Caramanis and P. Jain (2013), "Memory limited, streaming PCA", NIPS 26.
    """

    rows: int  # Examples of a block, at least

    def init(self, problem: FeaturePCAProblem) -> PowerState:
        """The start that the problem tells."""
        return PowerState.at(problem, product=arrays.namespace(problem.start).zeros_like(problem.start))

    def step(self, problem: FeaturePCAProblem, state: PowerState, batch: slice | Examples) -> PowerState:
        """One batch; after the last of a block, an iteration."""
        Z, H = state.take(problem, batch)
        state.product = state.product + Z.T @ H
        state.n_gathered += Z.shape[0]
        if state.n_gathered < self.rows:
            return state.advance()
        W = orthonormal(state.product / state.n_gathered)
        state.product, state.n_gathered = arrays.namespace(W).zeros_like(W), 0
        return state.advance(W)


@dataclass(frozen=True, kw_only=True)
class NoisyPower(FeaturePCASettings):
    """The noisy power method.

    Parameters
    ----------
    rows : int, optional
        Rows of a block, at least. None takes all of a fit, and of a stream as many as it begins with.
    """

    rows: int | None = setting(count())

    n_passes: ClassVar[int] = 10

    def build(self, plan: FeaturePCAPlan) -> NoisyPowerStepper:
        """The stepper for what is known of the data."""
        return NoisyPowerStepper(self.rows or plan.n_rows)
