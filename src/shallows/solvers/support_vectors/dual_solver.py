"""What an entry of the table of solvers says: its problem of two classes, its parameters, losses and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..solver_parameters import DeclaresParameters, Parameter

LOSSES = ("hinge", "squared_hinge")


@dataclass(frozen=True)
class DualSolver(DeclaresParameters):
    """A solver of support vector machines, as an entry of `shallows.solvers.support_vectors.SOLVERS`."""

    make: Callable[..., Any]  # ``make(tolerance, seed, **parameters)`` gives the solver
    # ``problem(kernel, points, signs, C, squared, budget, **parameters)`` gives the problem of two classes, which says
    # what a state of the solver comes to (``ending``) and how many kernel values were computed (``n_evaluations``)
    problem: Callable[..., Any]
    steps: str  # What its steps are called
    steps_of_a_call: int  # Steps between two looks of the loop
    # The limit where the user gives none. None is that of steps on two variables, divided by ``working_set``.
    most_steps: int | None = None
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    losses: tuple[str, ...] = LOSSES  # Those that it takes; the first is meant by "auto"
