"""Oja's rule on explicit features."""

from __future__ import annotations

from dataclasses import dataclass

from ...spectrum.eigensystems import orthonormal
from ..examples import Examples
from ..settings import positive, setting
from .problem import FeaturePCAPlan, FeaturePCAProblem, FeaturePCASettings, FeaturePCAState

SHORTEST, LONGEST = 3.0, 50.0  # bounds of c λ_k in the steps c/t that are tended to


@dataclass(frozen=True)
class FeatureOjaStepper:
    """W ← orth(W + η_t A_S W), with the covariance A_S = ZᵀZ/m of a batch and η_t = η₁ / (1 + ρ (t − 1)).

    orth are the columns after Gram and Schmidt's orthogonalisation.

    References
    ----------
    E. Oja (1982), "A simplified neuron model as a principal component analyzer", Journal of Mathematical Biology 15.
    A. Balsubramani, S. Dasgupta and Y. Freund (2013), "The fast convergence of incremental PCA", NIPS 26.
    """

    step_size: float  # η₁, in units of one over an eigenvalue
    decrease: float = 0.0  # ρ ≥ 0

    def init(self, problem: FeaturePCAProblem) -> FeaturePCAState:
        """The start that the problem tells."""
        return FeaturePCAState.at(problem)

    def step(self, problem: FeaturePCAProblem, state: FeaturePCAState, batch: slice | Examples) -> FeaturePCAState:
        """One batch."""
        Z, H = state.take(problem, batch)
        eta = self.step_size / (1.0 + self.decrease * state.n_steps)
        # In units of 1 + η, in which no step overflows: the columns are made of unit length anyway.
        moved = state.coefficients * (1.0 / (1.0 + eta)) + Z.T @ H * (eta / (1.0 + eta) / Z.shape[0])
        return state.advance(orthonormal(moved))


@dataclass(frozen=True, kw_only=True)
class FeatureOja(FeaturePCASettings):
    """Oja's rule.

    Parameters
    ----------
    step_size : float, optional
        η₁. None takes half of 1/λ_k, of the last eigenvalue.
    decrease : float, optional
        ρ. None lets the steps tend to c/t, with c twice the inverse of the gap after the last component.
    """

    step_size: float | None = setting(positive())
    decrease: float | None = setting(positive())

    def build(self, plan: FeaturePCAPlan) -> FeatureOjaStepper:
        """The stepper for what is known of the data."""
        step, decrease = self.step_size or plan.step_size, self.decrease
        if decrease is None:
            # With the inverse of the gap itself the error falls as fast as 1/t allows, and below half of that not as
            # 1/t at all.
            values, k = plan.eigenvalues, plan.n_components
            gap = 1.0 - float(values[k]) / float(values[k - 1]) if len(values) > k else 1.0
            decrease = step * float(values[k - 1]) / min(LONGEST, max(SHORTEST, 2.0 / max(gap, 1e-6)))
        return FeatureOjaStepper(float(step), float(decrease))
