"""Settings of solvers: frozen dataclasses with a default and a check for every field.

A field is declared by ``setting(positive())`` or another rule. Settings are checked when a fit starts, not when they
are made, so that a grid search continues with ``error_score``.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from .. import arrays
from ..errors import ShallowsError, UnknownNameError
from ..utils.frozen import with_plain_numbers
from ..utils.lazy_tables import LazyTable

SMALL = 1000
"""Up to this number of points the whole kernel matrix is decomposed and a batch has all rows, in float64."""


@dataclass(frozen=True)
class Parameter:
    """A rule for a field of settings."""

    default: Any
    expected: str  # The allowed values, for error messages
    kind: type = str  # numbers.Integral or numbers.Real for numbers, bytes for sizes, str for one of ``names``
    names: tuple[str | None, ...] = ()  # Allowed next to numbers, too
    classes: Mapping[str, type[Checked]] = field(default_factory=dict)  # Of objects that are allowed, by their names
    above: float = 0  # Numbers are larger than this
    most: float = sys.float_info.max
    multiple_of: int = 1  # Of whole numbers

    def allows(self, value: Any) -> bool:
        """Whether a field may have this value. None is allowed as a default, as a size and as one of the names."""
        if value is None:
            return self.default is None or self.kind is bytes or None in self.names
        if self.kind is str:
            return str(value) in (*self.names, *self.classes) or isinstance(value, tuple(self.classes.values()))
        if self.kind is bytes:
            return arrays.is_size(value) and arrays.parse_bytes(value) > 0
        if isinstance(value, str):
            return value in self.names
        if isinstance(value, bool) or not isinstance(value, self.kind):
            return False
        number: Any = value
        return bool(self.above < number <= self.most) and (self.multiple_of == 1 or number % self.multiple_of == 0)


def positive(default: float | None = None) -> Parameter:
    """A positive number; None is allowed if it is the default."""
    return Parameter(default, f"a positive number{' or None' if default is None else ''}", numbers.Real)


def at_least_zero(default: float | None = None) -> Parameter:
    """A number of at least 0; None is allowed if it is the default."""
    expected = f"a number of at least 0{' or None' if default is None else ''}"
    return Parameter(default, expected, numbers.Real, above=math.nextafter(0.0, -1.0))


def at_least(least: float, default: float) -> Parameter:
    """A number of at least ``least``, which may be infinite."""
    below = math.nextafter(least, -math.inf)
    return Parameter(default, f"a number of at least {least:g}", numbers.Real, above=below, most=math.inf)


def share(default: float) -> Parameter:
    """A number in (0, 1]."""
    return Parameter(default, "a number in (0, 1]", numbers.Real, most=1)


def count(least: int = 1, default: int | None = None) -> Parameter:
    """A whole number of at least ``least``; None is allowed if it is the default."""
    expected = f"a whole number of at least {least}{' or None' if default is None else ''}"
    return Parameter(default, expected, numbers.Integral, above=least - 1, most=2**31 - 1)


def flag(default: bool | None = False) -> Parameter:
    """True or False; None is allowed if it is the default."""
    return Parameter(default, f"True or False{' or None' if default is None else ''}", names=("True", "False"))


def choice(*names: str | None) -> Parameter:
    """One of some names; the first is the default."""
    return Parameter(names[0], "one of " + ", ".join(map(repr, names)), names=names)


def object_or_name(classes: Mapping[str, type[Checked]], *names: str) -> Parameter:
    """One of some names, of which the first is the default, or an object of one of some classes or its name."""
    expected = f"one of {', '.join([*map(repr, names), *(f'{cls.__name__}(...)' for cls in classes.values())])}"
    return Parameter(names[0], expected, names=names, classes=classes)


def size(default: str) -> Parameter:
    """Bytes, as a number or a text such as "4GB", or None."""
    return Parameter(default, "a size in bytes, a number or such as '4GB', or None", bytes)


def setting(rule: Parameter) -> Any:
    """A field of settings with a rule."""
    return field(default=rule.default, metadata={"rule": rule})


@dataclass(frozen=True)
class Checked:
    """Base of settings and of the objects that their fields may be."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__repr__ = Checked._text  # type: ignore[assignment]

    def _text(self) -> str:
        """The values that are not defaults, as scikit-learn shows those of estimators."""
        own = [item for item in fields(self) if item.init]  # type: ignore[arg-type]
        values = [(item.name, getattr(self, item.name), item.default) for item in own]
        shown = [f"{name}={value!r}" for name, value, default in values if repr(value) != repr(default)]
        return f"{type(self).__name__}({', '.join(shown)})"

    def check(self) -> None:
        """Raise a `ShallowsError` that names the first field whose value is not allowed."""
        for item in fields(self):
            rule, value = item.metadata.get("rule"), getattr(self, item.name)
            if rule is not None and not rule.allows(value):
                raise ShallowsError(f"{item.name} must be {rule.expected}, got {value!r}.")
            if isinstance(value, Checked):
                value.check()


@dataclass(frozen=True)
class Settings(Checked):
    """Base of the settings of solvers. Its class attributes say what a solver can do, for documentation and tests."""

    takes_sparse: ClassVar[bool] = True
    """Whether it uses sparse rows without making them dense."""
    takes_weights: ClassVar[bool] = True
    takes_outputs: ClassVar[bool] = True
    """Whether y may have several columns."""
    is_online: ClassVar[bool] = False
    """Whether ``partial_fit`` can continue with further rows."""
    devices: ClassVar[tuple[str, ...]] = ("cpu", "gpu")
    takes_ranks: ClassVar[bool] = False
    """Whether several processes can share a fit."""


def chosen(settings: Any, name: str) -> Any:
    """The object of a field of settings, also if the field has the object's name; other names as they are."""
    value, item = getattr(settings, name), next(item for item in fields(settings) if item.name == name)
    classes = item.metadata["rule"].classes
    return classes[value]() if isinstance(value, str) and value in classes else value


def resolve(solver: Any, solvers: Mapping[str, type[Any]], estimator: str) -> Any:
    """The checked settings of a solver that the user gives by its name or as an object.

    ``solvers`` are the settings classes that the estimator can use, by name. Raises a `ShallowsError` for a solver of
    another family, an unknown name, or a parameter that is not allowed.
    """
    names = ", ".join(map(repr, solvers))
    if isinstance(solver, str):
        if solver not in solvers:
            raise UnknownNameError(f"solver of {estimator}", solver, solvers)
        solver = solvers[solver]()
    if isinstance(solver, type):
        raise ShallowsError(f"solver={solver.__name__} is a class. Give an object: solver={solver.__name__}().")
    if not isinstance(solver, Settings):
        usual = next(iter(solvers.values())).__name__
        raise ShallowsError(
            f"solver must be one of {names}, or an object of shallows.solvers such as {usual}(); got {solver!r}."
        )
    if not name_of(solver, solvers):
        raise ShallowsError(f"{estimator} cannot use the solver {type(solver).__name__}. Its solvers are {names}.")
    found = with_plain_numbers(solver)
    found.check()
    return found


def name_of(solver: Any, solvers: Mapping[str, type[Any]]) -> str:
    """The name of a solver in a table; "" if the table does not have its class."""
    if isinstance(solvers, LazyTable):
        return solvers.name_of(type(solver)) or ""
    return next((name for name in solvers if solvers[name] is type(solver)), "")


def has_online_solver(solver: Any, solvers: Mapping[str, type[Any]]) -> bool:
    """Whether a solver has ``partial_fit``, for ``available_if``; an `AttributeError` names the solvers that do."""
    cls = solvers.get(solver) if isinstance(solver, str) else type(solver)
    if cls is None or not issubclass(cls, Settings):
        return False
    if not cls.is_online:
        able = ", ".join(repr(name) for name in solvers if solvers[name].is_online)
        raise AttributeError(f"partial_fit needs a solver that takes rows one by one ({able}), got {solver!r}.")
    return True


def refuse_device(device: Any, solver: Settings, solvers: Mapping[str, type[Any]]) -> None:
    """Raise a `ShallowsError` if a solver cannot run on the device that the user gives; "auto" is always allowed."""
    kind = str(device).partition(":")[0]
    if kind in ("auto", *solver.devices):
        return
    able = [repr(name) for name in solvers if kind in solvers[name].devices]
    others = f" Solvers for device={kind!r}: {', '.join(able)}." if able else ""
    raise ShallowsError(
        f"solver={name_of(solver, solvers)!r} runs on the {' or '.join(solver.devices).upper()} only, got "
        f"device={str(device)!r}. Leave device='auto'.{others}"
    )
