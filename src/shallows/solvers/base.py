"""What solvers are given and what they keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

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


class Solver(Protocol):
    """The protocol of a solver: no loop, no clock, no printing, no files."""

    def init(self, problem: KernelProblem) -> KernelState:
        """The state before the first step."""

    def step(self, problem: KernelProblem, state: KernelState, batch: slice) -> KernelState:
        """The state after one batch, given as a slice of the training points."""
