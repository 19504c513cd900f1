"""A new method for a regularised risk, from its solver to its estimators: averaged stochastic gradient descent.

In the package the solver would be ``solvers/regularised/averaged_sgd.py`` and the estimators
``estimators/regularised/averaged_sgd.py``. One entry of ``config/methods.yaml`` then makes the method available to
every table and figure::

    averaged_sgd:
      label: averaged SGD
      runs: estimator
      call:
        classification: shallows.estimators.regularised.averaged_sgd:AveragedSGDClassifier
        regression: shallows.estimators.regularised.averaged_sgd:AveragedSGDRegressor
      parameters: {features: fourier}
      cost: feature_pass
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from shallows import arrays, losses
from shallows.arrays import Array
from shallows.errors import ShallowsError
from shallows.estimators.regularised.risk_targets import RiskClassifier, RiskRegressor
from shallows.solvers.regularised.risk import RiskProblem, RiskState

# ------------------------------------------------------------------------------------------ the solver


@dataclass
class AveragedSGDState(RiskState):
    """A `RiskState` whose coefficients are an average.

    Attributes
    ----------
    iterate : array, shape of the coefficients
        What the steps go on from.
    """

    iterate: Array | None = None


@dataclass(frozen=True)
class AveragedSGD:
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
    S. Lacoste-Julien, M. Schmidt and F. Bach (2012), "A simpler approach to obtaining an O(1/t) convergence rate for
    the projected stochastic subgradient method" (the weights).
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
        f *= 1.0 - share * state.step_size * problem.regularisation
        problem.span.add(f, batch, slopes * (-state.step_size / self.batch_size))
        state.coefficients += (f - state.coefficients) * (2.0 / (state.n_steps + 1.0))
        return state


# -------------------------------------------------------------------------------------- the estimators


class _AveragedSGD:
    """The solver and its step, for classes and for values."""

    _divergence_factor = 100.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not math.isfinite(self._named_loss().smoothness):
            raise ShallowsError(f"Constant steps need a smooth loss; the slope of {self.loss!r} jumps.")

    def _make_solver(self, problem: RiskProblem, batch_size: int) -> AveragedSGD:
        # No batch is steeper than its steepest row. Should a later row be steeper than those looked at, so that the
        # training diverges, the loop goes on from the last epoch with half of the step.
        products = arrays.to_numpy(problem.span.products(slice(0, batch_size)))
        weights = 1.0 if problem.weights is None else float(problem.weights.max())
        steepest = weights * problem.loss.smoothness * float(products.diagonal().max())
        return AveragedSGD(1.0 / (steepest + problem.regularisation), batch_size)


class AveragedSGDClassifier(_AveragedSGD, RiskClassifier):
    """Classification by averaged stochastic gradient descent, on a kernel or on explicit features.

    Minimises λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ) + b, yᵢ) with a given intercept b. The parameters are those of
    `SDCAClassifier`, with "logistic", "softmax", "squared_hinge" or "square" for ``loss``; "auto" is the logistic loss.

    References
    ----------
    F. Bach and E. Moulines (2013), "Non-strongly-convex smooth stochastic approximation with convergence rate O(1/n)",
    NIPS 26.
    """

    _default_loss = losses.Logistic()


class AveragedSGDRegressor(_AveragedSGD, RiskRegressor):
    """Regression by averaged stochastic gradient descent, on a kernel or on explicit features.

    As `AveragedSGDClassifier`, with "square" (what "auto" is) or "huber" for ``loss``.
    """
