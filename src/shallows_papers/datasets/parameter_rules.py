"""Rules for the parameters of steps and generators, stored as metadata of dataclass fields.

scikit-learn's parameter validation is private and imports NumPy, which a plan must not need.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields
from typing import Any

from shallows.errors import UnknownNameError


def rule(holds: Callable[[Any], bool], words: str) -> Mapping[str, Any]:
    """Return the metadata of a field whose value must pass the test `holds`. `words` is used in error messages."""
    return {"holds": holds, "words": words}


def one_of(*values: Any) -> Mapping[str, Any]:
    """Return the rule that a parameter is one of some values."""
    return rule(lambda value: value in values, f"one of {', '.join(map(str, values))}")


def between(low: float, high: float) -> Mapping[str, Any]:
    """Return the rule that a parameter is a number from `low` to `high`."""
    return rule(lambda value: low <= value <= high, f"between {low:g} and {high:g}")


def is_whole(value: Any, least: int = 0) -> bool:
    """Return whether a value is a whole number of at least `least`, and not a boolean."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_number(value: Any) -> bool:
    """Return whether a value is a number, and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


SEED = rule(is_whole, "a whole number from 0")
COUNT = rule(lambda value: is_whole(value, 1), "a positive whole number")
COUNT_OR_NULL = rule(lambda value: value is None or is_whole(value, 1), "a positive whole number or null")
POSITIVE = rule(lambda value: value > 0, "above 0")
NOT_NEGATIVE = rule(lambda value: value >= 0, "at least 0")


def missing_parameters(kind: type, given: Collection[str], what: str) -> list[str]:
    """Return the parameters of a dataclass that still need a value; an unknown parameter is an error."""
    known = {field.name: field.default for field in fields(kind)}
    for name in given:
        if name not in known:
            raise UnknownNameError(what, name, known or ["(none)"])
    return [name for name, default in known.items() if default is MISSING and name not in given]


def broken_rule(holder: Any) -> str | None:
    """Return a message about the first field that breaks its rule, or None."""
    for field in fields(holder):
        value = getattr(holder, field.name)
        if field.metadata and not field.metadata["holds"](value):
            return f"{field.name} must be {field.metadata['words']}, not {value!r}"
    return None
