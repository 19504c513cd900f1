"""Parameters of estimators: kept by the constructor, checked by the fit."""

from __future__ import annotations

import math
import numbers
from typing import Any

from ..errors import ShallowsError


def is_positive(value: Any) -> bool:
    """Whether it is a number above zero, and finite."""
    return isinstance(value, numbers.Real) and math.isfinite(value) and value > 0


def check_positive(estimator: Any, *names: str) -> None:
    """Refuse parameters, of those that there are, that are neither None nor positive."""
    for name in names:
        value = getattr(estimator, name, None)
        if value is not None and not is_positive(value):
            raise ShallowsError(f"{name} must be a positive number or None, got {value!r}.")


def check_whole(estimator: Any, *names: str, least: int = 1, optional: bool = False) -> None:
    """Refuse parameters, of those that there are, that are no whole numbers from ``least`` on."""
    for name in names:
        value = getattr(estimator, name, least)
        if not (optional and value is None) and not (isinstance(value, numbers.Integral) and value >= least):
            either = " or None" if optional else ""
            raise ShallowsError(f"{name} must be a whole number of at least {least}{either}, got {value!r}.")
