"""Checks of single parameters, which name the parameter and its value, and warnings at the user's line."""

import inspect
import math
import numbers
import sys
import warnings
from collections.abc import Collection
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from ..errors import ShallowsError, UnknownNameError

MOST = 2**31 - 1
"""The largest count that a parameter may be. Compiled loops and other libraries count in 32 bits."""


def warn_user(message: str, category: type[Warning] = ConvergenceWarning) -> None:
    """Warn at the line of the user's code that called this package."""
    package, frame, level = __name__.partition(".")[0], sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def is_number(value: Any) -> bool:
    """Whether a value is a real number and not True or False."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_positive(value: Any) -> bool:
    """Whether a value is a finite number above zero."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def is_whole(value: Any, least: int = 1, most: int | None = MOST) -> bool:
    """Whether a value is a whole number from ``least`` to ``most`` (None: no limit)."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return whole and value >= least and (most is None or value <= most)


def check_positive(estimator: Any, *names: str, or_zero: bool = False, rules: Collection[str | None] = ()) -> None:
    """Refuse parameters that are not positive (or zero) finite numbers; ``rules`` and a default None are allowed.

    Skips names that the estimator does not have, as the other checks of several names.
    """
    parameters = inspect.signature(type(estimator)).parameters
    for name in (name for name in names if name in parameters):
        value, others = getattr(estimator, name), [*rules]
        others += [None] if parameters[name].default is None else []
        is_rule = (value is None or isinstance(value, str)) and value in others
        if not (is_rule or is_positive(value) or (or_zero and is_number(value) and value == 0)):
            kind = "a number of at least 0" if or_zero else "a positive number"
            expected = ", ".join([kind, *map(repr, others[:-1])]) + (f" or {others[-1]!r}" if others else "")
            raise ShallowsError(f"{name} must be {expected}, got {value!r}.")


def check_choice(estimator: Any, **known: Collection[Any]) -> None:
    """Refuse parameters that are not among their known values, and suggest the nearest value."""
    for name, values in known.items():
        UnknownNameError.check(name, getattr(estimator, name), values)


def check_whole(estimator: Any, *names: str, least: int = 1, optional: bool = False) -> None:
    """Refuse parameters that are not whole numbers from ``least`` to `MOST`; with ``optional``, None passes."""
    for name in names:
        value = getattr(estimator, name, least)
        if not (optional and value is None) and not is_whole(value, least):
            either = " or None" if optional else ""
            bound = f"at most {MOST:,}" if is_number(value) and value > MOST else f"at least {least}"
            raise ShallowsError(f"{name} must be a whole number of {bound}{either}, got {value!r}.")


def refuse_time_limit(estimator: Any, why: str) -> None:
    """Refuse ``max_seconds`` of an estimator whose fit cannot end early."""
    if estimator._options().max_seconds is not None:
        raise ShallowsError(f"max_seconds has no effect on {type(estimator).__name__}: {why}")
