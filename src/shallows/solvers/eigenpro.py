"""EigenPro: kernel stochastic gradient descent with the top of the spectrum flattened."""

from __future__ import annotations

from dataclasses import dataclass

from .. import arrays
from .base import AveragedState, KernelProblem
from .richardson import residual
from .steps import Cycle


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
    cycle : Cycle, optional
        Factors of η from step to step, and the steps whose iterates are averaged, see `shallows.solvers.steps`; none
        keeps η as it is and the last iterate.
    """

    step_size: float
    cycle: Cycle | None = None

    def init(self, problem: KernelProblem) -> AveragedState:
        """Coefficients of zero."""
        if problem.preconditioner is None:
            raise ValueError("EigenPro needs a problem with a preconditioner.")
        return AveragedState(arrays.namespace(problem.targets).zeros_like(problem.targets), self.step_size)

    def step(self, problem: KernelProblem, state: AveragedState, batch: slice) -> AveragedState:
        """One batch."""
        preconditioner = problem.preconditioner
        m = preconditioner.n_subsample
        values, columns = problem.gram.rows(batch.start, batch.stop).dot(state.iterate, head=m)
        gradient, state.loss = residual(problem, values, batch)
        factor, averaged = (1.0, False) if self.cycle is None else self.cycle.at(state.n_steps)
        state.iterate[batch, :] -= state.step_size * factor * gradient
        state.iterate[:m, :] += state.step_size * factor * preconditioner.correction(columns, gradient)
        state.advance(averaged)
        return state
