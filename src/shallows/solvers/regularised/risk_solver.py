"""What an entry of the table of solvers says: how a solver is made for a problem, and which problems it can solve."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import ShallowsError, UnknownNameError
from ...losses import Loss
from ...losses.margins import Hinge


@dataclass(frozen=True)
class Parameter:
    """A parameter of a solver.

    Attributes
    ----------
    default : object
    expected : str
        The values that it may have, in words.
    allows : callable
        Whether it may have a value.
    """

    default: Any
    expected: str
    allows: Callable[[Any], bool]


def positive(default: float | None = None) -> Parameter:
    """A positive number; None as well where that is the default."""

    def allows(value: Any) -> bool:
        number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        return (value is None and default is None) or bool(number and math.isfinite(value) and value > 0)

    return Parameter(default, f"a positive number{' or None' if default is None else ''}", allows)


def count() -> Parameter:
    """A whole number of at least 1 or None, which is the default."""

    def allows(value: Any) -> bool:
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        return value is None or bool(whole and 1 <= value < 2**31)

    return Parameter(None, "a whole number of at least 1 or None", allows)


def flag() -> Parameter:
    """True or False, which is the default."""
    return Parameter(False, "True or False", lambda value: str(value) in ("True", "False"))


def choice(*names: str) -> Parameter:
    """One of some names; the first is the default."""
    return Parameter(names[0], "one of " + ", ".join(map(repr, names)), lambda value: str(value) in names)


@dataclass(frozen=True)
class RiskSolver:
    """A solver of regularised risks, as an entry of `shallows.solvers.regularised.SOLVERS`.

    Attributes
    ----------
    make : callable
        ``make(problem, batch_size, n_epochs, **parameters)`` gives the solver.
    parameters : mapping of str to Parameter
    takes : {"kernels and features", "kernels", "features"}
    loss : Loss
        That of a classifier whose loss is "auto".
    why_not : callable
        ``why_not(loss)`` gives the reason why it cannot minimise a loss, or an empty string.
    draws_batches : bool
        Whether batches are drawn with replacement after the first epoch; else each epoch has all of them, shuffled.
    growth : callable
        ``growth(loss, **parameters)`` is the multiple of the zero function's loss at which a training is given up.
    least_ridge : float
        The smallest nλ that may be chosen for regression.
    """

    make: Callable[..., Any]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    takes: str = "kernels and features"
    loss: Loss = field(default_factory=Hinge)
    why_not: Callable[[Loss], str] = lambda loss: ""
    draws_batches: bool = False
    growth: Callable[..., float] = lambda loss, **parameters: math.inf
    least_ridge: float = 0.0

    def complete(self, solver: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """The parameters of this solver, with its defaults where none is given.

        Parameters
        ----------
        solver : str
            Its name, for messages.
        given : mapping, optional

        Raises
        ------
        UnknownNameError
            For a parameter that the solver does not have.
        ShallowsError
            For a value that a parameter cannot have.
        """
        for name, value in (given or {}).items():
            if name not in self.parameters:
                raise UnknownNameError(f"parameter of solver={solver!r}", name, self.parameters)
            if not self.parameters[name].allows(value):
                raise ShallowsError(f"{name} must be {self.parameters[name].expected}, got {value!r}.")
        return {**{name: one.default for name, one in self.parameters.items()}, **(given or {})}
