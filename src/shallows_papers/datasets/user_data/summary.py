"""Summaries of a user's files, of the columns of a table and of the target, updated block by block."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# More different texts than this in one column are not one-hot coded.
MOST_CATEGORIES = 1000
# Of the rows with a value, so many may be text before a column of numbers counts as a column of texts.
_STRAY_SHARE = 0.1
#: The largest number of single precision, and the largest whose square is one, with some room.
LARGEST, LARGEST_UNSCALED = float(np.finfo(np.float32).max), 1e18
# Up to so many different texts are categories even where nearly every row has its own.
_FEW = 20
_DATE = re.compile(r"(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}([./])\d{1,2}\2\d{2,4}|\d{4}/\d{1,2}/\d{1,2})([ T]\d{1,2}:\d{2}.*)?")


@dataclass
class ColumnSummary:
    """Summary of one column of a table.

    `exceeds_integers` says whether it has whole numbers too large for 64 bits, or for float64 where they are text.
    """

    name: str
    as_text: bool = False
    is_boolean: bool = False
    n_rows: int = 0
    numbers: int = 0
    texts: int = 0
    missing: int = 0
    first_missing: int | None = None
    first_text: tuple[int, str] | None = None
    values: Counter[str] | None = field(default_factory=Counter)
    low: float = np.inf
    high: float = -np.inf
    whole: bool = True
    counts_rows: bool = True
    #: The largest magnitude and its row.
    largest: tuple[float, int] = (0.0, 0)
    exceeds_integers: bool = False
    _last: float | None = None

    def update(self, values: Any) -> None:
        """Add the next values, a pandas Series."""
        import pandas

        gaps = values.isna().to_numpy()
        if gaps.any():
            if self.first_missing is None:
                self.first_missing = self.n_rows + int(gaps.argmax())
            self.missing += int(gaps.sum())
        self.is_boolean |= pandas.api.types.is_bool_dtype(values)
        numbers, is_number = numbers_of(values, as_text=self.is_boolean or self.as_text)
        if not is_number:
            text = np.isnan(numbers) & ~gaps
            if text.any():
                place = int(text.argmax())
                if self.first_text is None:
                    self.first_text = (self.n_rows + place, str(values.iloc[place]))
                self.texts += int(text.sum())
            if self.values is not None:
                self.values.update(values[~gaps].astype(str).value_counts().to_dict())
                self.values = self.values if len(self.values) <= 20 * MOST_CATEGORIES else None
        self._measure(numbers)
        if self.whole and not pandas.api.types.is_float_dtype(values):
            self.exceeds_integers |= max(-self.low, self.high) >= (2**63 if is_number else 2**53)
        self.n_rows += len(values)

    def _measure(self, numbers: np.ndarray) -> None:
        seen = numbers[~np.isnan(numbers)]
        self.numbers += len(seen)
        self.counts_rows &= len(seen) == len(numbers)
        if not len(seen):
            return
        self.low, self.high = min(self.low, float(seen.min())), max(self.high, float(seen.max()))
        self.whole = self.whole and bool((np.floor(seen) == seen).all())
        magnitudes = np.nan_to_num(np.abs(numbers), nan=0.0, posinf=np.inf)
        place = int(magnitudes.argmax())
        self.largest = max(self.largest, (float(magnitudes[place]), self.n_rows + place), key=lambda one: one[0])
        with np.errstate(invalid="ignore"):
            steps = np.diff(seen, prepend=self._last if self._last is not None else seen[0] - 1)
        self.counts_rows &= bool((steps == 1).all())
        self._last = float(seen[-1])

    @property
    def is_number(self) -> bool:
        """Whether every value is a number, and no category."""
        return self.texts == 0 and not self.as_text

    @property
    def needs_its_text(self) -> bool:
        """Whether it has categories, some of which were read as numbers or truth values and not as text."""
        return not self.as_text and (self.is_boolean or (self.texts > 0 and self.numbers > 0))

    @property
    def is_stray(self) -> bool:
        """Whether it has a few texts among numbers."""
        return not self.as_text and 0 < self.texts <= _STRAY_SHARE * (self.texts + self.numbers)

    @property
    def has_too_many_categories(self) -> bool:
        """Whether it has more different texts than are one-hot coded."""
        return self.values is None or len(self.values) > MOST_CATEGORIES

    @property
    def is_date(self) -> bool:
        """Whether every value is a date, with or without a time of the day."""
        return bool(self.values) and self.numbers == 0 and all(map(_DATE.fullmatch, self.values))

    @property
    def is_identifier(self) -> bool:
        """Whether nearly every row has its own text, or there are more of them than can be categories."""
        if self.is_number or self.has_too_many_categories:
            return not self.is_number
        return len(self.values) > max(_FEW, 0.5 * self.n_rows)


@dataclass
class TargetSummary:
    """Summary of the targets."""

    n_rows: int = 0
    width: int = 1
    values: Counter[Any] | None = field(default_factory=Counter)
    text: bool = False
    whole: bool = True

    MOST = 10_000

    def update(self, y: np.ndarray) -> None:
        """Add the next targets, shape (m,) or (m, k)."""
        self.width = 1 if y.ndim == 1 else y.shape[1]
        self.n_rows += len(y)
        if y.dtype.kind in "OUS" or str(y.dtype).startswith("str"):
            self.text, self.whole = True, False
        else:
            self.whole = self.whole and bool((np.floor(y) == y).all())
        if self.values is not None and self.width == 1:
            self.values.update(y.tolist())
            self.values = self.values if len(self.values) <= self.MOST else None

    @property
    def how_many(self) -> str:
        """How many different values there are, in words."""
        return f"{len(self.values):,}" if self.values else f"more than {self.MOST:,}"


@dataclass
class FileSummary:
    """Summary of a user's files."""

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
    #: The largest magnitudes of features and of targets, with their places in words.
    largest: tuple[float, str] = (0.0, "")
    largest_target: tuple[float, str] = (0.0, "")
    options: dict[str, Any] = field(default_factory=dict)
    categorical: tuple[int, ...] = ()
    guesses: list[str] = field(default_factory=list)
    #: Sentences for lines of their own.
    notes: list[str] = field(default_factory=list)
    #: The words that were taken for missing (empty for an empty cell), each with its column and the number of cells.
    taken_for_missing: list[tuple[str, str, int]] = field(default_factory=list)


def numbers_of(values: Any, *, as_text: bool = False) -> tuple[np.ndarray, bool]:
    """Return a pandas Series as float64, NaN where it has no number, and whether it is one of numbers; see `as_text`.

    A Series of truth values is none of numbers, and with `as_text` none is.
    """
    import pandas

    kinds = pandas.api.types
    is_number = kinds.is_numeric_dtype(values) and not (as_text or kinds.is_bool_dtype(values))
    numeric = values if is_number else pandas.to_numeric(values.astype(object).astype(str), errors="coerce")
    return numeric.to_numpy(dtype=np.float64, na_value=np.nan), is_number


def largest_of(x: Any, nan: float = 0.0) -> tuple[float, int, int]:
    """Return the largest magnitude in rows of numbers, shape (m, d), with its row and column; NaN counts as `nan`."""
    values = np.abs(np.asarray(x.data if hasattr(x, "indptr") else x, dtype=np.float64))
    if not values.size:
        return 0.0, 0, 0
    values = np.nan_to_num(values, nan=nan, posinf=np.inf)
    at = np.unravel_index(values.argmax(), values.shape)
    if hasattr(x, "indptr"):
        return float(values[at]), int(np.searchsorted(x.indptr, at[0], side="right")) - 1, int(x.indices[at])
    return float(values[at]), int(at[0]), int(at[1])


def cells_of(taken: Sequence[tuple[str, str, int]], most: int = 20) -> str:
    """Return what was taken for missing in words: ``'NA' in country (12 cells), no value in age (3 cells)``."""
    return some_of([f"{repr(w) if w else 'no value'} in {name} ({count_of(n, 'cell')})" for w, name, n in taken], most)


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun: 1 row, 2,000 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def some_of(names: Sequence[str], most: int = 6) -> str:
    """Return the first of some names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def plain_value(value: Any) -> str:
    """Return a value as a person writes it: 3 and not 3.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else repr(value)
