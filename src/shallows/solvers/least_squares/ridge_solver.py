"""What an entry of the table of solvers of kernel ridge regression says: how a solver is planned and made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...arrays import Array
from ..solver_parameters import DeclaresParameters, Parameter


@dataclass(frozen=True)
class RidgePlan:
    """What a solver decides before any large array is made.

    ``rank, n_subsample``: of a preconditioner; 0 without one.
    """

    batch_size: int  # Rows of a step
    step_bytes: Callable[[int, int], float]  # ``step_bytes(batch_size, n_outputs)`` are the bytes of a step
    rank: int = 0
    n_subsample: int = 0
    preconditioner: str | None = None  # Which, where there is a choice


@dataclass(frozen=True)
class RidgeTask:
    """What a solver is made for."""

    plan: RidgePlan
    regularisation: float  # λ, for the sum of the losses over all points
    rounding: float  # A bound of the norm of the rounding errors of the matrix
    n_left_out: int  # How many of the last points leave-one-out outputs are wanted for
    seed: int
    start: Array | None  # (n, c): Coefficients to begin with; None is zero


@dataclass(frozen=True)
class RidgeSolver(DeclaresParameters):
    """A solver of kernel ridge regression, as an entry of `shallows.solvers.least_squares.RIDGE_SOLVERS`."""

    name: str
    plan: Callable[..., RidgePlan]  # ``plan(n, itemsize, budget, **parameters)`` gives the `RidgePlan` for n points
    make: Callable[[RidgeTask], Any]  # ``make(task)`` gives the solver for a `RidgeTask`
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    is_direct: bool = False  # Whether one step in double precision is the solution
    max_iterations: int = 1000  # Where the user says nothing

    def for_size(self, n: int, budget: int) -> RidgeSolver:
        """The solver of a problem of n points in so many bytes."""
        return self
