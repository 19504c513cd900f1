"""EigenPro: kernel stochastic gradient descent with the top of the spectrum flattened."""

from __future__ import annotations

from dataclasses import dataclass

from ... import arrays
from .columnwise import bounded_step, dots
from .cycles import Cycle
from .kernel_problem import AveragedState, KernelProblem


@dataclass(frozen=True)
class EigenPro:
    """The preconditioned iteration of Ma and Belkin (2017), Table 2, in its kernel form.

    For a batch S and the subsample's points M, with g = w (K_S α − y_S):

        α_S ← α_S − η g
        α_M ← α_M + η V diag((1 − τ λ_{q+1}/λᵢ)/σᵢ) Vᵀ K_{MS} g

    which is the step −η P Σ gᵢ k(xᵢ, ·) in the kernel's space, with P of `shallows.spectrum`. (The paper extends the
    eigenvectors to all n points; in the subsample's own span the operator is exact and costs M/n of that.)

    Where a cycle averages, η is for each output at most ⟨g, r⟩ / gᵀ K_P(S, S) g, with r the residual and K_P the
    kernel times P: of all steps along g the one that comes nearest to every function that fits the batch, in the norm
    that P belongs to. A longer step than twice that leads away from them all. The bound is of use where points lie
    close together: a batch with several in one place has a larger eigenvalue than batches have in the mean, and comes
    again in every epoch.

    With a regularisation λ the residual is that of the equations (K + λW⁻¹) α = y of kernel ridge regression, as for a
    kernel with λ/wᵢ more on its diagonal: g = w (K_S α − y_S) + λ α_S. The loss is then that of the equations, and goes
    to zero.

    Parameters
    ----------
    step_size : float
        η, for a sum over the batch.
    cycle : Cycle, optional
        Factors of η from step to step, and how the iterates are averaged, see `shallows.solvers.least_squares.cycles`;
        none keeps η as it is and the last iterate.
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
        values, columns = problem.gram.rows(batch).dot(state.iterate, head=m)
        difference = values - problem.targets[batch, :]
        diagonal = 0.0
        if problem.regularisation:
            diagonal = problem.regularisation * problem.inverse_weights(batch)
            difference += diagonal * state.iterate[batch, :]
        gradient = difference if problem.weights is None else problem.weights[batch, :] * difference
        state.loss = float(arrays.namespace(gradient).sum(gradient * difference))
        projected = preconditioner.project(columns, gradient)
        factor, share = (1.0, 0.0) if self.cycle is None else self.cycle.at(state.n_steps)
        step_size = state.step_size * factor
        if share:
            fitting = dots(gradient, difference)
            energy = problem.gram.energy(batch, gradient) - preconditioner.energy(projected)
            if problem.regularisation:
                energy = energy + dots(gradient, diagonal * gradient)
            step_size = bounded_step(step_size, fitting, energy)
        state.move(batch, -step_size * gradient)
        state.move(slice(0, m), step_size * preconditioner.expand(projected))
        state.advance(share)
        return state
