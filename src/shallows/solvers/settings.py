"""Settings of solvers: frozen dataclasses with a default and a check for every field.

A field is declared by ``setting(positive())`` or another rule. Settings are checked when a fit starts, not when they
are made, so that a grid search continues with ``error_score``.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .. import arrays
from ..errors import ShallowsError, UnknownNameError

SMALL = 1000
"""Up to this number of points the whole kernel matrix is decomposed and a batch has all rows, in float64."""


@dataclass(frozen=True)
class Parameter:
    """A rule for a field of settings."""

    default: Any
    expected: str  # The allowed values, for error messages
    allows: Callable[[Any], bool]


def is_number(value: Any) -> bool:
    """Whether a value is a real number; True and False are not."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def positive(default: float | None = None) -> Parameter:
    """A positive number; None is allowed if it is the default."""

    def allows(value: Any) -> bool:
        return (value is None and default is None) or (is_number(value) and math.isfinite(value) and value > 0)

    return Parameter(default, f"a positive number{' or None' if default is None else ''}", allows)


def share(default: float) -> Parameter:
    """A number in (0, 1]."""
    return Parameter(default, "a number in (0, 1]", lambda value: is_number(value) and 0 < value <= 1)


def count(least: int = 1) -> Parameter:
    """A whole number of at least ``least`` or None, which is the default."""

    def allows(value: Any) -> bool:
        return value is None or (isinstance(value, numbers.Integral) and is_number(value) and least <= value < 2**31)

    return Parameter(None, f"a whole number of at least {least} or None", allows)


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


def setting(rule: Parameter) -> Any:
    """A field of settings with a rule. Fields without a rule are parameters of the estimator too, which checks them."""
    return field(default=rule.default, metadata={"rule": rule})


@dataclass(frozen=True)
class Settings:
    """Base of the settings of solvers."""

    def check(self) -> None:
        """Raise a `ShallowsError` that names the first field whose value is not allowed."""
        for item in fields(self):
            rule, value = item.metadata.get("rule"), getattr(self, item.name)
            if rule is not None and not rule.allows(value):
                raise ShallowsError(f"{item.name} must be {rule.expected}, got {value!r}.")


def parameters_of(settings: type[Settings]) -> list[str]:
    """The names of the fields that only this solver has."""
    return [item.name for item in fields(settings) if "rule" in item.metadata]


def settings_of(settings: type[Any], estimator: Any) -> Any:
    """The settings of a solver whose fields are parameters of an estimator."""
    return settings(**{item.name: getattr(estimator, item.name) for item in fields(settings)})


def make(solvers: Mapping[str, type[Settings]], solver: str, given: Mapping[str, Any] | None, **shared: Any) -> Any:
    """The checked settings of the named solver with the given parameters.

    Raises
    ------
    ShallowsError
        For an unknown name, a parameter of another solver, or a value that is not allowed.
    """
    cls = solvers[solver]
    known = parameters_of(cls)
    for name in given or {}:
        if name in known:
            continue
        others = [repr(other) for other in solvers if name in parameters_of(solvers[other])]
        if others:
            raise ShallowsError(
                f"{name} is a parameter of solver={' and '.join(others)}, not of solver={solver!r}, which has "
                f"{', '.join(known) or 'none'}."
            )
        raise UnknownNameError(f"parameter of solver={solver!r}", name, known)
    settings = cls(**(given or {}), **shared)
    settings.check()
    return settings
