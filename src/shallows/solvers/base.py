"""What solvers are given and what they keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from .. import arrays
from ..arrays import Array
from ..gram import Gram
from ..spectrum import Preconditioner


@dataclass(frozen=True)
class KernelProblem:
    """Weighted least squares in the space of a kernel: minimise Σᵢ wᵢ ‖f(xᵢ) − yᵢ‖² over f = Σⱼ αⱼ k(xⱼ, ·).

    Attributes
    ----------
    gram : Gram
        Kernel matrix of the n training points; those of the preconditioner's subsample come first.
    targets : array, shape (n, c)
    weights : array, shape (n, 1), optional
        Sample weights; none means one each.
    preconditioner : Preconditioner, optional
    """

    gram: Gram
    targets: Array
    weights: Array | None = None
    preconditioner: Preconditioner | None = None


@dataclass
class KernelState:
    """Where a solver of kernel machines stands.

    Attributes
    ----------
    coefficients : array, shape (n, c)
        α.
    step_size : float
        η, for a sum over a batch.
    loss : float
        Σ wᵢ ‖f(xᵢ) − yᵢ‖² over the last batch, before the step that used it.
    """

    coefficients: Array
    step_size: float
    loss: float = 0.0


@dataclass
class CountedState(KernelState):
    """The same, of a solver whose steps are not all of one size.

    Attributes
    ----------
    n_steps : int
        Steps taken.
    """

    n_steps: int = 0

    def remember(self) -> tuple[dict[str, Array], dict[str, int]]:
        """What a checkpoint keeps."""
        xp = arrays.namespace(self.coefficients)
        return {"coefficients": xp.asarray(self.coefficients, copy=True)}, {"n_steps": self.n_steps}

    def recall(self, held: dict[str, Array], numbers: dict[str, int]) -> None:
        """Go back to what `remember` gave."""
        xp = arrays.namespace(self.coefficients)
        kept = arrays.like(held["coefficients"], self.coefficients)
        self.coefficients = xp.asarray(kept, copy=True)
        self.n_steps = numbers["n_steps"]

    def is_finite(self) -> bool:
        """Whether all coefficients are numbers."""
        xp = arrays.namespace(self.coefficients)
        return bool(xp.all(xp.isfinite(self.coefficients)))


class Solver(Protocol):
    """The protocol of a solver: no loop, no clock, no printing, no files."""

    def init(self, problem: KernelProblem) -> KernelState:
        """The state before the first step."""

    def step(self, problem: KernelProblem, state: KernelState, batch: slice) -> KernelState:
        """The state after one batch, given as a slice of the training points."""
