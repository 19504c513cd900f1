"""Checks of single parameters of estimators, which name the parameter and its value in the error."""

from __future__ import annotations

import inspect
import math
import numbers
from typing import Any

from ..errors import ShallowsError


def is_number(value: Any) -> bool:
    """Whether a value is a real number; True and False, which Python counts among them, are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_positive(value: Any) -> bool:
    """Whether a value is a finite number above zero."""
    return is_number(value) and math.isfinite(value) and value > 0


def is_whole(value: Any, least: int = 1) -> bool:
    """Whether a value is a whole number of at least ``least``."""
    return isinstance(value, numbers.Integral) and is_number(value) and value >= least


def check_positive(estimator: Any, *names: str) -> None:
    """Raise an error for the first named parameter that is not positive; skip absent ones.

    None passes where it is the default.
    """
    parameters = inspect.signature(type(estimator)).parameters
    for name in (name for name in names if name in parameters):
        value, optional = getattr(estimator, name), parameters[name].default is None
        if not (optional and value is None) and not is_positive(value):
            either = " or None" if optional else ""
            raise ShallowsError(f"{name} must be a positive number{either}, got {value!r}.")


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


def check_whole(estimator: Any, *names: str, least: int = 1, optional: bool = False) -> None:
    """Raise an error for the first named parameter that is no whole number of at least ``least``; skip absent ones."""
    for name in names:
        value = getattr(estimator, name, least)
        if not (optional and value is None) and not is_whole(value, least):
            either = " or None" if optional else ""
            raise ShallowsError(f"{name} must be a whole number of at least {least}{either}, got {value!r}.")
