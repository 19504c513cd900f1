"""Kernel stochastic gradient descent with the square loss: the Richardson iteration on batches of rows."""

from __future__ import annotations

from dataclasses import dataclass

from ... import arrays
from .kernel_problem import KernelProblem, KernelState


@dataclass(frozen=True)
class Richardson:
    """α_S ← α_S − η (K_S α − y_S) for a batch S of the rows.

    With all rows in the batch it is the iteration of Richardson; with fewer it is stochastic gradient descent in the
    kernel's space, constant step, no regularisation. Ma and Belkin (2017) call it Pegasos; the Pegasos of
    Shalev-Shwartz et al. has the hinge loss, a regulariser and steps of 1/(λt).

    Parameters
    ----------
    step_size : float
        η, for a sum over the batch (the reciprocal of the gradient's scale, not divided by the batch size).
    """

    step_size: float

    def init(self, problem: KernelProblem) -> KernelState:
        """Coefficients of zero."""
        return KernelState(arrays.namespace(problem.targets).zeros_like(problem.targets), self.step_size)

    def step(self, problem: KernelProblem, state: KernelState, batch: slice) -> KernelState:
        """One batch."""
        values, _ = problem.gram.rows(batch).dot(state.coefficients)
        gradient, state.loss = residual(problem, values, batch)
        state.coefficients[batch, :] -= state.step_size * gradient
        return state


def residual(problem: KernelProblem, values, batch: slice):
    """The weighted residual w (f(x) − y) of a batch, shape (m, c), and the loss it belongs to."""
    xp = arrays.namespace(values)
    difference = values - problem.targets[batch, :]
    gradient = difference if problem.weights is None else problem.weights[batch, :] * difference
    return gradient, float(xp.sum(gradient * difference))
