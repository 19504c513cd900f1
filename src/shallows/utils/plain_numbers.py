"""Numbers in the form that users give them, as the numbers that the package computes with."""

from __future__ import annotations

from typing import Any

import numpy as np


def numeric_targets(y: Any) -> Any:
    """Targets of a regression as floating-point numbers, if they are Python objects or texts; all others unchanged.

    scikit-learn looks for NaN before it converts objects to numbers, and None becomes NaN in the conversion.

    Raises
    ------
    ValueError
        A target is missing, or is no number. The message names its row.
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
        # pandas' mark of a missing value is recognised by its name, because pandas may not be installed.
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
