"""What an entry of the table of solvers of kernel ridge regression says: how a solver is planned and made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...arrays import Array
from ..solver_parameters import Parameter


@dataclass(frozen=True)
class RidgePlan:
    """What a solver decides before any large array is made.

    Attributes
    ----------
    batch_size : int
        Rows of a step.
    step_bytes : callable
        ``step_bytes(batch_size, n_outputs)`` are the bytes of a step.
    rank, n_subsample : int
        Of a preconditioner; 0 without one.
    """

    batch_size: int
    step_bytes: Callable[[int, int], float]
    rank: int = 0
    n_subsample: int = 0


@dataclass(frozen=True)
class RidgeTask:
    """What a solver is made for.

    Attributes
    ----------
    plan : RidgePlan
    regularisation : float
        λ, for the sum of the losses over all points.
    rounding : float
        A bound of the norm of the rounding errors of the matrix.
    n_left_out : int
        How many of the last points leave-one-out outputs are wanted for.
    seed : int
    start : array, shape (n, c), optional
        Coefficients to begin with; None is zero.
    """

    plan: RidgePlan
    regularisation: float
    rounding: float
    n_left_out: int
    seed: int
    start: Array | None


@dataclass(frozen=True)
class RidgeSolver:
    """A solver of kernel ridge regression, as an entry of `shallows.solvers.least_squares.RIDGE_SOLVERS`.

    Attributes
    ----------
    name : str
    plan : callable
        ``plan(n, itemsize, budget, **parameters)`` gives the `RidgePlan` for n points.
    make : callable
        ``make(task)`` gives the solver for a `RidgeTask`.
    parameters : mapping of str to Parameter
    is_direct : bool
        Whether one step in double precision is the solution.
    max_iterations : int
        Where the user says nothing.
    """

    name: str
    plan: Callable[..., RidgePlan]
    make: Callable[[RidgeTask], Any]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    is_direct: bool = False
    max_iterations: int = 1000

    def for_size(self, n: int, budget: int) -> RidgeSolver:
        """The solver of a problem of n points in so many bytes."""
        return self
