"""EigenPro: kernel stochastic gradient descent with the top of the spectrum flattened."""

from __future__ import annotations

from dataclasses import dataclass

from .. import arrays
from .base import KernelProblem, KernelState
from .richardson import residual


@dataclass(frozen=True)
class EigenPro:
    """The preconditioned iteration of Ma and Belkin (2017), Table 2, in its kernel form.

    For a batch S and the subsample's points M, with g = w (K_S α − y_S):

        α_S ← α_S − η g
        α_M ← α_M + η V diag((1 − τ λ_{q+1}/λᵢ)/σᵢ) Vᵀ K_{MS} g

    which is the step −η P Σ gᵢ k(xᵢ, ·) in the kernel's space, with P of `shallows.spectrum`. (The paper extends the
    eigenvectors to all n points; in the subsample's own span the operator is exact and costs M/n of that.)

    Parameters
    ----------
    step_size : float
        η, for a sum over the batch.
    """

    step_size: float

    def init(self, problem: KernelProblem) -> KernelState:
        """Coefficients of zero."""
        if problem.preconditioner is None:
            raise ValueError("EigenPro needs a problem with a preconditioner.")
        return KernelState(arrays.namespace(problem.targets).zeros_like(problem.targets), self.step_size)

    def step(self, problem: KernelProblem, state: KernelState, batch: slice) -> KernelState:
        """One batch."""
        preconditioner = problem.preconditioner
        m = preconditioner.n_subsample
        values, columns = problem.gram.rows(batch.start, batch.stop).dot(state.coefficients, head=m)
        gradient, state.loss = residual(problem, values, batch)
        state.coefficients[batch, :] -= state.step_size * gradient
        state.coefficients[:m, :] += state.step_size * preconditioner.correction(columns, gradient)
        return state
