"""Checks of single parameters of estimators, which name the parameter and its value in the error."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Collection, Hashable
from typing import Any

from ..errors import ShallowsError

MOST = 2**31 - 1
"""The largest count that a parameter may be. Compiled loops and other libraries count in 32 bits."""

PRECISIONS = ("auto", "float32", "float64")


def is_number(value: Any) -> bool:
    """Whether a value is a real number; True and False, which Python counts among them, are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_positive(value: Any) -> bool:
    """Whether a value is a finite number above zero."""
    return is_number(value) and math.isfinite(value) and value > 0


def is_whole(value: Any, least: int = 1) -> bool:
    """Whether a value is a whole number from ``least`` to `MOST`."""
    return isinstance(value, numbers.Integral) and is_number(value) and least <= value <= MOST


def check_positive(estimator: Any, *names: str, or_zero: bool = False) -> None:
    """Raise an error for the first named parameter that is no finite number above zero; skip absent ones.

    None passes where it is the default, and zero with ``or_zero``.
    """
    parameters = inspect.signature(type(estimator)).parameters
    for name in (name for name in names if name in parameters):
        value, optional = getattr(estimator, name), parameters[name].default is None
        good = is_positive(value) or (or_zero and is_number(value) and value == 0)
        if not (optional and value is None) and not good:
            expected = "number of at least 0" if or_zero else "positive number"
            raise ShallowsError(f"{name} must be a {expected}{' or None' if optional else ''}, got {value!r}.")


def check_median_bandwidth(estimator: Any, *names: str) -> None:
    """Raise an error for the first named bandwidth that is not positive, "median" or None; skip absent ones."""
    for name in names:
        value = getattr(estimator, name, None)
        if not (value is None or (isinstance(value, str) and value == "median") or is_positive(value)):
            raise ShallowsError(
                f"{name} must be a positive number, 'median' or None (both take the median distance), got {value!r}."
            )


def width(bandwidth: Any) -> float | None:
    """A bandwidth, None where the median distance is asked for in words."""
    return None if isinstance(bandwidth, str) else bandwidth


def check_choice(estimator: Any, **known: Collection[Any]) -> None:
    """Raise an error for the first named parameter that is none of the values that are known of it."""
    for name, values in known.items():
        value = getattr(estimator, name)
        if not (isinstance(value, Hashable) and value in values):  # No list or array is one of them.
            raise ShallowsError(f"{name} must be one of {', '.join(map(repr, values))}, got {value!r}.")


def check_whole(estimator: Any, *names: str, least: int = 1, optional: bool = False) -> None:
    """Raise an error for the first named parameter that is no whole number in its range; skip absent ones.

    The range goes from ``least`` to `MOST`.
    """
    for name in names:
        value = getattr(estimator, name, least)
        if not (optional and value is None) and not is_whole(value, least):
            either = " or None" if optional else ""
            bound = f"at most {MOST:,}" if is_number(value) and value > MOST else f"at least {least}"
            raise ShallowsError(f"{name} must be a whole number of {bound}{either}, got {value!r}.")
