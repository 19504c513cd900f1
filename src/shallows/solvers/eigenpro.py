"""EigenPro: kernel stochastic gradient descent with the top of the spectrum flattened."""

from __future__ import annotations

from dataclasses import dataclass

from .. import arrays
from .base import CountedState, KernelProblem
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
        Factors of η from step to step, see `shallows.solvers.steps`; none keeps it as it is.
    """

    step_size: float
    cycle: Cycle | None = None

    def init(self, problem: KernelProblem) -> CountedState:
        """Coefficients of zero."""
        if problem.preconditioner is None:
            raise ValueError("EigenPro needs a problem with a preconditioner.")
        return CountedState(arrays.namespace(problem.targets).zeros_like(problem.targets), self.step_size)

    def step(self, problem: KernelProblem, state: CountedState, batch: slice) -> CountedState:
        """One batch."""
        preconditioner = problem.preconditioner
        m = preconditioner.n_subsample
        values, columns = problem.gram.rows(batch.start, batch.stop).dot(state.coefficients, head=m)
        gradient, state.loss = residual(problem, values, batch)
        step_size = state.step_size * (1.0 if self.cycle is None else self.cycle.factor(state.n_steps))
        state.coefficients[batch, :] -= step_size * gradient
        state.coefficients[:m, :] += step_size * preconditioner.correction(columns, gradient)
        state.n_steps += 1
        return state
