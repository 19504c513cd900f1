"""Checks of single parameters of estimators, which name the parameter and its value in the error."""

from __future__ import annotations

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
    """Raise an error for the first named parameter that is neither None nor positive; skip absent ones."""
    for name in names:
        value = getattr(estimator, name, None)
        if value is not None and not is_positive(value):
            raise ShallowsError(f"{name} must be a positive number or None, got {value!r}.")


def check_whole(estimator: Any, *names: str, least: int = 1, optional: bool = False) -> None:
    """Raise an error for the first named parameter that is no whole number of at least ``least``; skip absent ones."""
    for name in names:
        value = getattr(estimator, name, least)
        if not (optional and value is None) and not is_whole(value, least):
            either = " or None" if optional else ""
            raise ShallowsError(f"{name} must be a whole number of at least {least}{either}, got {value!r}.")
