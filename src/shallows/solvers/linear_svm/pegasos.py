"""Pegasos in its linear form: single examples or mini-batches, with a choice of sampling and of averaging."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .linear_settings import StochasticSettings
from .problem import LinearSVMProblem
from .subgradient_loop import SubgradientState, take_steps, zero_state
from .visits import visits


@dataclass(frozen=True)
class LinearPegasosStepper:
    """w ← (1 − 1/t) w + (1/(λ t k)) Σ yᵢ xᵢ over those of k examples with yᵢ wᵀxᵢ < 1, then if asked for projected.

    A step of the protocol visits a given number of examples.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro and A. Cotter (2011), "Pegasos: primal estimated sub-gradient solver for
    SVM", Mathematical Programming 127. O. Shamir and T. Zhang (2013), "Stochastic gradient descent for non-smooth
    optimization", ICML 30 (the growing weights).
    """

    # k. All n rows make it full subgradient descent, except with sampling="uniform", which draws some of them twice and
    # misses others.
    batch_size: int = 1
    projection: bool = False  # Onto the ball ‖w‖ ≤ 1/√λ, within which the optimum lies
    # {"none", "uniform", "weighted"}: The model is the last iterate, the mean of all, or their mean with growing
    # weights
    averaging: str = "none"
    # {"uniform", "subsets", "fixed_permutation", "new_permutation", "in_order"}: Independent draws, as in the authors'
    # release; for each batch a random subset of k different rows, as the algorithm is printed; one permutation for all
    # passes; a new one in each; the order of the rows
    sampling: str = "uniform"
    seed: int = 0

    def init(self, problem: LinearSVMProblem) -> SubgradientState:
        """The zero vector."""
        return zero_state(problem)

    def step(self, problem: LinearSVMProblem, state: SubgradientState, batch: int) -> SubgradientState:
        """Visit ``batch`` examples."""
        size = min(self.batch_size, problem.n)
        chosen = visits(self.sampling, self.seed, state.n_visits, batch, problem.n, state._held, size)
        take_steps(problem, state, chosen, batch_size=size, projection=self.projection, averaging=self.averaging)
        return state


@dataclass(frozen=True, kw_only=True)
class LinearPegasos(StochasticSettings):
    """Pegasos: subgradient steps of 1/(λt).

    Parameters
    ----------
    batch_size : int
        Examples of a step.
    projection : bool
        Project w onto the ball ‖w‖ ≤ 1/√λ after every step.
    """

    batch_size: int = 1
    projection: bool = False

    losses: ClassVar[tuple[str, ...]] = ("hinge",)

    def build(self, seed: int) -> LinearPegasosStepper:  # noqa: D102
        return LinearPegasosStepper(self.batch_size, bool(self.projection), self.averaging, self.sampling, seed)
