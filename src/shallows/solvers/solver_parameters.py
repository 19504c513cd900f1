"""Parameters that one solver has and others have not: their defaults, their values, and the check of what is given."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import arrays
from ..errors import ShallowsError, UnknownNameError


@dataclass(frozen=True)
class Parameter:
    """A parameter of a solver."""

    default: Any
    expected: str  # The values that it may have, in words
    allows: Callable[[Any], bool]  # Whether it may have a value


class DeclaresParameters:
    """Base of the entries of tables of solvers: their ``parameters`` are declared, each as a `Parameter`.

    Raises
    ------
    TypeError
        If one is declared by its default alone.
    """

    parameters: Mapping[str, Parameter]

    def __post_init__(self) -> None:
        for name, one in self.parameters.items():
            if not isinstance(one, Parameter):
                raise TypeError(
                    f"parameters[{name!r}] of a {type(self).__name__} must be a Parameter, which has a default and "
                    f"says which values are allowed, such as positive({one!r}); got {one!r}."
                )


def positive(default: float | None = None) -> Parameter:
    """A positive number; None as well where that is the default."""

    def allows(value: Any) -> bool:
        number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        return (value is None and default is None) or bool(number and math.isfinite(value) and value > 0)

    return Parameter(default, f"a positive number{' or None' if default is None else ''}", allows)


def count(least: int = 1) -> Parameter:
    """A whole number of at least ``least`` or None, which is the default."""

    def allows(value: Any) -> bool:
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        return value is None or bool(whole and least <= value < 2**31)

    return Parameter(None, f"a whole number of at least {least} or None", allows)


def share(default: float) -> Parameter:
    """A number in (0, 1]."""

    def allows(value: Any) -> bool:
        return isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 < value <= 1

    return Parameter(default, "a number in (0, 1]", allows)


def flag(default: bool = False) -> Parameter:
    """True or False."""
    return Parameter(default, "True or False", lambda value: str(value) in ("True", "False"))


def choice(*names: str) -> Parameter:
    """One of some names; the first is the default."""
    return Parameter(names[0], "one of " + ", ".join(map(repr, names)), lambda value: str(value) in names)


def size(default: str) -> Parameter:
    """Bytes, as a number or a text such as "4GB", or None."""

    def allows(value: Any) -> bool:
        try:
            return value is None or arrays.parse_bytes(value) > 0
        except ShallowsError:
            return False

    return Parameter(default, "a size in bytes, a number or such as '4GB', or None", allows)


def complete(solvers: Mapping[str, Any], solver: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The parameters of a solver, with its defaults where none is given; refuse unknown ones and impossible values."""
    known = solvers[solver].parameters
    for name, value in (given or {}).items():
        if name not in known:
            others = [repr(other) for other in solvers if name in solvers[other].parameters]
            if others:
                raise ShallowsError(
                    f"{name} is a parameter of solver={' and '.join(others)}, not of solver={solver!r}, which has "
                    f"{', '.join(known) or 'none'}."
                )
            raise UnknownNameError(f"parameter of solver={solver!r}", name, known)
        if not known[name].allows(value):
            raise ShallowsError(f"{name} must be {known[name].expected}, got {value!r}.")
    return {**{name: one.default for name, one in known.items()}, **(given or {})}
