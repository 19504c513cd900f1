"""Parameters of frozen objects, such as solvers, kernels and options, by the paths that scikit-learn uses."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from .plain_numbers import plain_numbers


def is_frozen(value: Any) -> bool:
    """Whether a value is an object of a frozen dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type) and value.__dataclass_params__.frozen  # type: ignore[attr-defined]


def parameters(value: Any) -> dict[str, Any]:
    """The parameters of a frozen object by their paths, such as ``step__noise``; none of any other value."""
    if not is_frozen(value):
        return {}
    found = {item.name: getattr(value, item.name) for item in dataclasses.fields(value) if item.init}
    return found | {f"{name}__{path}": part for name, own in found.items() for path, part in parameters(own).items()}


def with_parameters(value: Any, given: Mapping[str, Any]) -> Any:
    """A frozen object with some parameters changed, which are given by their paths.

    Raises
    ------
    ValueError
        If the object has no such parameter.
    """
    known = {item.name: item for item in dataclasses.fields(value) if item.init}
    changes: dict[str, Any] = {}
    for path, new in sorted(given.items(), key=lambda item: item[0].count("__")):
        name, _, rest = path.partition("__")
        part = changes.get(name, getattr(value, name)) if name in known else None
        if rest and isinstance(part, str):
            classes = getattr(known[name].metadata.get("rule"), "classes", {})
            part = classes[part]() if part in classes else part
        if name in known and rest and not is_frozen(part):
            raise ValueError(f"{name}={part!r} has no parameter {rest!r}. Set {name} to an object first.")
        if name not in known:
            raise ValueError(f"{type(value).__name__} has no parameter {path!r}. It has {', '.join(known) or 'none'}.")
        changes[name] = with_parameters(part, {rest: new}) if rest else new
    return dataclasses.replace(value, **changes)


def with_plain_numbers(value: Any) -> Any:
    """A frozen object with Python integers in place of NumPy's, also in its parts; see `plain_numbers`."""
    if not is_frozen(value):
        return plain_numbers(value)
    own = {item.name: getattr(value, item.name) for item in dataclasses.fields(value) if item.init}
    replaced = {name: with_plain_numbers(part) for name, part in own.items()}
    return dataclasses.replace(value, **replaced) if any(replaced[name] is not own[name] for name in own) else value
