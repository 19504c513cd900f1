"""FOLOS, forward-looking subgradients: a step along the loss, then the regulariser solved exactly around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .linear_settings import StochasticSettings
from .problem import LinearSVMProblem
from .subgradient_loop import SubgradientState, take_steps, zero_state
from .visits import visits


@dataclass(frozen=True)
class FOLOSStepper:
    """w ← argmin_u ½ ‖u − (w + η yᵢ xᵢ [yᵢ wᵀxᵢ < 1])‖² + η λ/2 ‖u‖² = (w + η yᵢ xᵢ [...])/(1 + ηλ) with η = 1/(λt).

    Pegasos steps along the subgradient of the regulariser where it stands; this one where it arrives. A step of the
    protocol visits a given number of examples.

    References
    ----------
    J. Duchi and Y. Singer (2009), "Efficient online and batch learning using forward backward splitting", Journal of
    Machine Learning Research 10.
    """

    batch_size: int = 1
    averaging: str = "none"
    sampling: str = "uniform"
    seed: int = 0

    def init(self, problem: LinearSVMProblem) -> SubgradientState:
        """The zero vector."""
        return zero_state(problem)

    def step(self, problem: LinearSVMProblem, state: SubgradientState, batch: int) -> SubgradientState:
        """Visit ``batch`` examples."""
        size = min(self.batch_size, problem.n)
        chosen = visits(self.sampling, self.seed, state.n_visits, batch, problem.n, state._held)
        take_steps(problem, state, chosen, batch_size=size, forward_looking=True, averaging=self.averaging)
        return state


@dataclass(frozen=True, kw_only=True)
class FOLOS(StochasticSettings):
    """Forward-looking subgradients.

    Parameters
    ----------
    batch_size : int
        Examples of a step.
    """

    batch_size: int = 1

    losses: ClassVar[tuple[str, ...]] = ("hinge",)

    def build(self, seed: int) -> FOLOSStepper:  # noqa: D102
        return FOLOSStepper(self.batch_size, self.averaging, self.sampling, seed)
