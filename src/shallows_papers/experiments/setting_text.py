"""A setting as text in a table: ``kernel=Gaussian; epochs=5``."""

from collections.abc import Mapping
from typing import Any

from shallows.errors import ShallowsError


def parse_setting(text: str) -> dict[str, str]:
    """Read ``"kernel=Gaussian; epochs=5"`` as a dictionary of texts."""
    setting = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, sign, value = part.partition("=")
        if not sign:
            raise ShallowsError(f"The setting {text!r} should read 'key=value; key=value', but {part!r} has no '='.")
        setting[name.strip()] = value.strip()
    return setting


def selects(selection: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether values match a selection, in which each value is given directly or as a list of alternatives."""
    return all(str(values.get(key)) in map(str, listed(wanted)) for key, wanted in selection.items())


def listed(value: Any) -> list[Any]:
    """Return the members of a list or a tuple, or a single value in a list."""
    return [*value] if isinstance(value, (list, tuple)) else [value]


def format_setting(setting: Mapping[str, Any]) -> str:
    """Write a setting as text, the inverse of :func:`parse_setting`."""
    return "; ".join(f"{key}={value}" for key, value in setting.items())
