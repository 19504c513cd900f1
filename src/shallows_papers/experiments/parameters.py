"""Parameters of runs by the paths of scikit-learn: ``solver: {eigenpro: {rank: 160}}`` has ``solver__rank``.

The configuration may nest the parameters of an object. They are flattened when it is read. Then parameters of methods,
targets and scales are merged one by one, and each can be an axis of a target. This module is imported whenever the
workflow is parsed, so it imports nothing heavy.
"""

from collections.abc import Mapping
from typing import Any

from shallows.errors import ShallowsError

#: Object parameters that have a name.
NAMED = ("solver", "kernel", "second_kernel", "features", "loss")
#: Object parameters that always have the same class.
UNNAMED = ("options", "early_stopping")


def flat(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by their paths, in order; mappings of parameters that are not objects stay unchanged."""
    found: dict[str, Any] = {}
    for name, value in parameters.items():
        own = {name: value}
        if isinstance(value, Mapping):
            top, _, inside = name.partition("__")
            if name in UNNAMED:
                own = {f"{name}__{key}": part for key, part in value.items()}
            elif name in NAMED or (inside and top in NAMED):
                own = _flat_object(name, value)
        if repeated := own.keys() & found.keys():
            raise ShallowsError(f"The parameter {repeated.pop()} is given twice.")
        found |= own
    return found


def _flat_object(path: str, value: Mapping[str, Any]) -> dict[str, Any]:
    (name, inside), *others = value.items() or [("", None)]
    if others or not isinstance(inside, Mapping | None):
        raise ShallowsError(
            f"{path} must be a name, or a name with its parameters, such as {path}: {{name: {{parameter: value}}}}. "
            f"Got {dict(value)}."
        )
    found = {path: name}
    for key, part in (inside or {}).items():
        found |= _flat_object(f"{path}__{key}", part) if isinstance(part, Mapping) else {f"{path}__{key}": part}
    return found


def last_name(path: str) -> str:
    """Return the last part of a path, as in a table: ``rank`` for ``solver__rank``."""
    return path.rpartition("__")[2]


def by_last_name(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by the last part of their paths, such as ``rank`` for ``solver__rank``; shorter paths first."""
    ordered = sorted(parameters, key=lambda path: -path.count("__"))
    return {last_name(path): parameters[path] for path in ordered}


def divided(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Separate the parameters outside of objects from the parameters of each object, by their paths inside it."""
    whole = {name: value for name, value in parameters.items() if "__" not in name}
    inside: dict[str, dict[str, Any]] = {}
    for path, value in parameters.items():
        name, _, rest = path.partition("__")
        if rest:
            inside.setdefault(name, {})[rest] = value
    return whole, inside
