"""Kernel stochastic gradient descent whose steps follow a schedule, with a model that may average the iterates."""

from __future__ import annotations

from dataclasses import dataclass

from ... import arrays
from .columnwise import bounded_step, dots
from .cycles import Cycle
from .kernel_problem import AveragedState, KernelProblem
from .richardson import residual


@dataclass(frozen=True)
class AveragedRichardson:
    """α_S ← α_S − η_t (K_S α − y_S) for a batch S of the rows: `EigenPro` with nothing flattened.

    Where the schedule averages, η_t is for each output at most the step that its own batch allows, see
    `shallows.solvers.least_squares.columnwise.bounded_step`.

    Parameters
    ----------
    step_size : float
        η, for a sum over the batch.
    cycle : Cycle
        Factors of η from step to step, and how the iterates are averaged, see `shallows.solvers.least_squares.cycles`.
    """

    step_size: float
    cycle: Cycle

    def init(self, problem: KernelProblem) -> AveragedState:
        """Coefficients of zero."""
        return AveragedState(arrays.namespace(problem.targets).zeros_like(problem.targets), self.step_size)

    def step(self, problem: KernelProblem, state: AveragedState, batch: slice) -> AveragedState:
        """One batch."""
        values, _ = problem.gram.rows(batch).dot(state.iterate)
        gradient, state.loss = residual(problem, values, batch)
        factor, share = self.cycle.at(state.n_steps)
        step_size = state.step_size * factor
        if share:
            fitting = dots(gradient, values - problem.targets[batch, :])
            step_size = bounded_step(step_size, fitting, problem.gram.energy(batch, gradient))
        state.move(batch, -step_size * gradient)
        state.advance(share)
        return state
