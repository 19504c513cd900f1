"""Numbers from users, converted to Python integers and float64."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

_Made = TypeVar("_Made", bound=Callable[..., Any])


def plain_numbers(value: Any) -> Any:
    """Replace NumPy integers, and floats other than float64, by Python's, also inside lists, tuples and dictionaries.

    Arithmetic with them overflows, such as ``20 * np.int8(20)``. Other values are returned as the same object, because
    `sklearn.base.clone` checks this.
    """
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating) and not isinstance(value, float):
        return float(value)
    if type(value) in (list, tuple):
        replaced = [plain_numbers(item) for item in value]
        changed = any(new is not old for new, old in zip(replaced, value, strict=True))
        return type(value)(replaced) if changed else value
    if type(value) is dict:
        replaced_items = {key: plain_numbers(item) for key, item in value.items()}
        return replaced_items if any(replaced_items[key] is not value[key] for key in value) else value
    return value


def plain_parameter(estimator: Any, name: str, value: Any) -> Any:
    """The value to store as an attribute: a parameter of the constructor has Python integers."""
    if isinstance(value, np.integer | list | tuple | dict) and name in inspect.signature(type(estimator)).parameters:
        return plain_numbers(value)
    return value


def takes_numpy_integers(made: _Made) -> _Made:
    """Decorate a function or a class, so that arguments (of its constructor) may be NumPy integers.

    Unknown arguments of a constructor are refused with the name of the class of the object.
    """
    function = made.__init__ if isinstance(made, type) else made  # type: ignore[misc]
    parameters = inspect.signature(function).parameters.values()
    known = [one.name for one in parameters][1:]
    refuses = isinstance(made, type) and all(one.kind is not one.VAR_KEYWORD for one in parameters)

    @functools.wraps(function)
    def with_plain_numbers(*args: Any, **given: Any) -> Any:
        if refuses and (unknown := sorted(given.keys() - {*known})):
            raise TypeError(f"{type(args[0]).__name__} has no parameter {unknown[0]!r}. It has {', '.join(known)}.")
        return function(*map(plain_numbers, args), **{name: plain_numbers(value) for name, value in given.items()})

    if not isinstance(made, type):
        return with_plain_numbers  # type: ignore[return-value]
    made.__init__ = with_plain_numbers  # type: ignore[misc]
    return made


def numeric_targets(y: Any) -> Any:
    """Targets of a regression as floating-point numbers, if they are Python objects or texts; others unchanged.

    A missing target or a text raises a ValueError that names the row. (scikit-learn looks for NaN before it converts
    objects to numbers, and None becomes NaN in the conversion.)
    """
    try:
        array = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    except ValueError:
        return y  # Rows of different lengths, which scikit-learn refuses.
    if array.dtype.kind not in "OUS" or array.ndim not in (1, 2):
        return y
    try:
        numbers = array.astype(np.float64)
        if not np.isnan(numbers).any():
            return numbers
    except (TypeError, ValueError, OverflowError):
        pass
    for row, values in enumerate(array.reshape(len(array), -1).tolist()):
        for value in values:
            _check_number(value, row)
    return y


def _check_number(value: Any, row: int) -> None:
    """Raise an error for a target that is missing or no number."""
    try:
        # pandas' mark of a missing value is recognized by its name, because pandas may not be installed.
        missing = value is None or type(value).__name__ in ("NAType", "NaTType") or np.isnan(float(value))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"y[{row}] is {value!r}, which is no number that float64 can hold. A regression needs numbers as targets; "
            "for classes use a classifier."
        ) from error
    if missing:
        raise ValueError(
            f"Input y contains NaN: y[{row}] is {value!r}, a missing value. Leave out the rows without a target."
        )
