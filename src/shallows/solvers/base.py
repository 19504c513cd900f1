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
class AveragedState:
    """Where a solver stands whose steps go by their number, and whose model may be an average of iterates.

    Attributes
    ----------
    iterate : array, shape (n, c)
        What the steps go on from.
    step_size : float
        η, for a sum over a batch.
    loss : float
        Σ wᵢ ‖f(xᵢ) − yᵢ‖² over the last batch, of the iterate before the step that used it.
    n_steps : int
        Steps taken.
    average : array, shape (n, c), optional
        Of the iterates; none where the model is the last one.
    """

    iterate: Array
    step_size: float
    loss: float = 0.0
    n_steps: int = 0
    average: Array | None = None

    @property
    def coefficients(self) -> Array:
        """Of the model: the average where there is one, else the iterate."""
        return self.iterate if self.average is None else self.average

    def advance(self, share: float) -> None:
        """Count a step, and take its iterate into the average with a share of it, if any."""
        self.n_steps += 1
        if not share:
            return
        if self.average is None:
            self.average = arrays.namespace(self.iterate).asarray(self.iterate, copy=True)
            return
        self.average *= 1.0 - share
        self.average += share * self.iterate

    def remember(self) -> tuple[dict[str, Array], dict[str, int]]:
        """What a checkpoint keeps."""
        xp = arrays.namespace(self.iterate)
        held = {"iterate": xp.asarray(self.iterate, copy=True)}
        if self.average is not None:
            held["average"] = xp.asarray(self.average, copy=True)
        return held, {"n_steps": self.n_steps}

    def recall(self, held: dict[str, Array], numbers: dict[str, int]) -> None:
        """Go back to what `remember` gave."""
        xp = arrays.namespace(self.iterate)
        self.average = None
        for name, array in held.items():
            setattr(self, name, xp.asarray(arrays.like(array, self.iterate), copy=True))
        self.n_steps = numbers["n_steps"]

    def is_finite(self) -> bool:
        """Whether all coefficients are numbers."""
        xp = arrays.namespace(self.iterate)
        return bool(xp.all(xp.isfinite(self.iterate)))


class Solver(Protocol):
    """The protocol of a solver: no loop, no clock, no printing, no files."""

    def init(self, problem: KernelProblem) -> KernelState:
        """The state before the first step."""

    def step(self, problem: KernelProblem, state: KernelState, batch: slice) -> KernelState:
        """The state after one batch, given as a slice of the training points."""
