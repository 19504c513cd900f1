"""The summary of a user's files after one reading: sizes, ranges, missing values, guesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shallows.datasets.user_data.column_summaries import TargetSummary


@dataclass
class Summary:
    """What one reading of the files found."""

    n_train: int = 0
    n_test: int = 0
    n_features: int = 0
    target: TargetSummary = field(default_factory=TargetSummary)
    missing: int = 0
    first_missing: str = ""
    missing_in_target: str = ""
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    sparse: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    categorical: tuple[int, ...] = ()
    guesses: list[str] = field(default_factory=list)


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun: 1 row, 2,000 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def some_of(names: Sequence[str], most: int = 6) -> str:
    """Return the first of some names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def plain_value(value: Any) -> str:
    """Return a value as a person writes it: 3 and not 3.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else repr(value)
