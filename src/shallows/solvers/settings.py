"""Settings of solvers: frozen dataclasses that a user may set, with a check of every field.

A field is declared by ``setting(positive())`` or another rule of `solver_parameters`. Settings are checked when a fit
starts, not when they are made, so that a grid search goes on with ``error_score``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ..errors import ShallowsError, UnknownNameError
from .solver_parameters import Parameter

SHARED = frozenset({"batch_size", "max_epochs", "max_iterations", "n_iter", "tol"})
"""Fields that the estimators still have as parameters of their own."""


SMALL = 1000
"""Up to this number of points the whole kernel matrix is decomposed and a batch has all rows, in float64."""


def setting(rule: Parameter) -> Any:
    """A field of settings, with its default and the values that it may have."""
    return field(default=rule.default, metadata={"rule": rule})


@dataclass(frozen=True)
class Settings:
    """Base of the settings of solvers."""

    def check(self) -> None:
        """Raise a `ShallowsError` that names the first field with a value that it may not have."""
        for one in fields(self):
            rule, value = one.metadata.get("rule"), getattr(self, one.name)
            if rule is not None and not rule.allows(value):
                raise ShallowsError(f"{one.name} must be {rule.expected}, got {value!r}.")


def parameters_of(settings: type[Settings]) -> list[str]:
    """The names of the fields that only this solver has."""
    return [one.name for one in fields(settings) if one.name not in SHARED]


def settings_of(settings: type[Any], estimator: Any) -> Any:
    """The settings of a solver whose fields are parameters of an estimator."""
    return settings(**{one.name: getattr(estimator, one.name) for one in fields(settings)})


def make(solvers: Mapping[str, type[Settings]], solver: str, given: Mapping[str, Any] | None, **shared: Any) -> Any:
    """The settings of a solver that is named, with the parameters that are given for it.

    Raises
    ------
    ShallowsError
        For an unknown name, a parameter of another solver, or a value that a parameter may not have.
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
    made = cls(**(given or {}), **shared)
    made.check()
    return made
