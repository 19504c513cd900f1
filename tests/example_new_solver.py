"""A new solver for regularized risks: averaged stochastic gradient descent.

In the package it would be ``solvers/regularized/averaged_sgd.py``, with a line in the table of solvers next to it. Then
``RegularizedRiskClassifier(solver="averaged_sgd")`` and ``RegularizedRiskRegressor(solver="averaged_sgd")`` train with
it. One entry of ``config/methods.yaml`` makes it available to every table and figure::

    averaged_sgd:
      label: averaged SGD
      runs: estimator
      call:
        classification: shallows:RegularizedRiskClassifier
        regression: shallows:RegularizedRiskRegressor
      parameters: {solver: averaged_sgd, features: fourier}
      cost: features
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from shallows import arrays, losses
from shallows.arrays import Array
from shallows.solvers.regularized.risk import RiskProblem, RiskSettings, RiskState

# ------------------------------------------------------------------------------------------ the solver


@dataclass
class AveragedSGDState(RiskState):
    """A `RiskState` whose coefficients are an average.

    Attributes
    ----------
    iterate : array, shape of the coefficients
        What the steps continue from.
    """

    iterate: Array | None = None


@dataclass(frozen=True)
class AveragedSGDStepper:
    """f ← (1 − ηλ) f − (η/m) Σ_{i∈S} wᵢ ℓ'(f(xᵢ), yᵢ) k(xᵢ, ·) for a batch S of m rows; the model is an average.

    The average f̄ ← f̄ + 2/(t + 1) (f − f̄) weighs the iterate of step t by t, so that the first ones are soon forgotten.

    Parameters
    ----------
    step_size : float
        η, for the mean over a batch.
    batch_size : int
        m. A batch of fewer rows makes a step that is shorter by as much, so that all rows count alike.

    References
    ----------
    F. Bach and E. Moulines (2013), "Non-strongly-convex smooth stochastic approximation with convergence rate O(1/n)",
    NIPS 26. S. Lacoste-Julien, M. Schmidt and F. Bach (2012), "A simpler approach to obtaining an O(1/t) convergence
    rate for the projected stochastic subgradient method" (the weights).
    """

    step_size: float
    batch_size: int

    def init(self, problem: RiskProblem) -> AveragedSGDState:
        """The zero function."""
        zero = problem.span.zero
        return AveragedSGDState(zero(problem.targets), self.step_size, iterate=zero(problem.targets))

    def step(self, problem: RiskProblem, state: AveragedSGDState, batch: slice) -> AveragedSGDState:
        """One batch."""
        f, share = state.iterate, (batch.stop - batch.start) / self.batch_size
        slopes = problem.gradient(state.evaluate(problem, batch, f), batch)
        state.advance(batch)
        f *= 1.0 - share * state.step_size * problem.regularization
        problem.span.add(f, batch, slopes * (-state.step_size / self.batch_size))
        state.coefficients += (f - state.coefficients) * (2.0 / (state.n_steps + 1.0))
        return state


# ---------------------------------------------------------------------------------------- its settings


@dataclass(frozen=True, kw_only=True)
class AveragedSGD(RiskSettings):
    """Stochastic gradient steps of one length, for smooth losses; the model is an average of the iterates."""

    default_loss: ClassVar[losses.Loss] = losses.Logistic()

    def why_not(self, loss: losses.Loss) -> str:
        """Only smooth losses."""
        return "" if math.isfinite(loss.smoothness) else "constant steps need a smooth loss"

    def growth(self, loss: losses.Loss) -> float:
        """A training whose loss grows a hundredfold has diverged."""
        return 100.0

    def build(self, problem: RiskProblem, batch_size: int) -> AveragedSGDStepper:
        """The stepper, with a step for which no batch is too steep."""
        # No batch is steeper than its steepest row. If a later row is steeper than those looked at, so that the
        # training diverges, the loop goes back to the last epoch and halves the step.
        products = arrays.to_numpy(problem.span.products(slice(0, batch_size)))
        weights = 1.0 if problem.weights is None else float(arrays.to_numpy(problem.weights).max())
        steepest = weights * problem.loss.smoothness * float(products.diagonal().max())
        return AveragedSGDStepper(1.0 / (steepest + problem.regularization), batch_size)
