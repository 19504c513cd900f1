"""Bottou's stochastic gradient descent for support vector machines, whose first step is found on a sample."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .linear_settings import StochasticSettings
from .problem import HINGE, LinearSVMProblem
from .rows import products_of
from .subgradient_loop import SubgradientState, take_steps, zero_state
from .visits import permutation, visits

SAMPLE = 1000  # examples on which first steps are tried
MOST_TRIALS = 40


@dataclass(frozen=True)
class SVMSGDStepper:
    """w ← (1 − η_t λ) w + η_t yᵢ xᵢ · (−ℓ') with η_t = 1/(λ(t + t₀)).

    t₀ = 1/(λη₀), so that the steps begin near η₀, from below. η₀ is the best of the powers of two, by the objective on
    at most 1,000 examples after a pass over them with these steps. A step of the protocol visits a given number of
    examples.

    References
    ----------
    L. Bottou (2010), "Large-scale machine learning with stochastic gradient descent", COMPSTAT 19, and his programs
    ``svmsgd`` and ``svmasgd`` (version 2: the trial of first steps).
    """

    step_size: float | None = None  # η₀; None tries on a sample
    averaging: str = "none"
    sampling: str = "new_permutation"
    seed: int = 0

    def init(self, problem: LinearSVMProblem) -> SubgradientState:
        """The zero vector, with the step that the sample likes."""
        step = best_first_step(problem, self.seed) if self.step_size is None else self.step_size
        return zero_state(problem, 1.0 / (problem.regularisation * step))

    def step(self, problem: LinearSVMProblem, state: SubgradientState, batch: int) -> SubgradientState:
        """Visit ``batch`` examples."""
        chosen = visits(self.sampling, self.seed, state.n_visits, batch, problem.n, state._held)
        take_steps(problem, state, chosen, averaging=self.averaging)
        return state


def best_first_step(problem: LinearSVMProblem, seed: int) -> float:
    """The first step, a power of two, after whose pass over a sample the objective on it is smallest."""
    chosen = permutation(seed, 0, problem.n)[:SAMPLE]

    def objective_after(step: float) -> float:
        state = zero_state(problem, 1.0 / (problem.regularisation * step))
        take_steps(problem, state, chosen)
        # A step that leads beyond the numbers is too long.
        with np.errstate(over="ignore", invalid="ignore"):
            margins = problem.signs[chosen] * products_of(problem.rows, chosen, state.coefficients)
            missed = np.maximum(0.0, 1.0 - margins)
            each = missed if problem.loss == HINGE else 0.5 * missed * missed
            own = 0.5 * problem.regularisation * float(state.coefficients @ state.coefficients)
            return own + float(np.mean(problem.all_weights[chosen] * each))

    step, value, factor = 1.0, objective_after(1.0), 2.0
    if not objective_after(2.0) < value:
        factor = 0.5
    for _ in range(MOST_TRIALS):
        tried = objective_after(step * factor)
        if math.isfinite(value) and not tried < value:
            break
        step, value = step * factor, tried
    return step


@dataclass(frozen=True, kw_only=True)
class SVMSGD(StochasticSettings):
    """Bottou's stochastic gradient descent, which tries its first step on a sample."""

    def build(self, seed: int) -> SVMSGDStepper:  # noqa: D102
        return SVMSGDStepper(None, self.averaging, self.sampling, seed)
