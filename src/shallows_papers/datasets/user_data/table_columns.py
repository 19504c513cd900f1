"""A column of a user's table: what it holds, and whether that is numbers, categories, dates or names of rows."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

# More different texts than this in one column are not one-hot coded.
MOST_CATEGORIES = 1000
# Of the rows with a value, so many may be text before a column of numbers counts as a column of texts.
_STRAY_SHARE = 0.1
# Up to so many different texts are categories even where nearly every row has its own.
_FEW = 20
_DATE = re.compile(r"(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}([./])\d{1,2}\2\d{2,4}|\d{4}/\d{1,2}/\d{1,2})([ T]\d{1,2}:\d{2}.*)?")


@dataclass
class Column:
    """A column: a pandas Series of numbers or of words, with NaN where a value is missing.

    `is_declared` says that it holds categories by the file's or the user's own word; `taken` counts the words that were
    taken for missing values, and `plain` has the words that are numbers and that ``float`` does not read, as it does.
    """

    name: str
    values: Any
    is_declared: bool = False
    taken: Counter[str] = field(default_factory=Counter)
    plain: dict[str, str] = field(default_factory=dict)

    @property
    def plain_values(self) -> Any:
        """The values, with words for numbers as ``float`` reads them."""
        return (
            self.values.map(lambda word: self.plain.get(word, word), na_action="ignore") if self.plain else self.values
        )

    @cached_property
    def gaps(self) -> np.ndarray:
        """Whether each value is missing."""
        return self.values.isna().to_numpy()

    @cached_property
    def numbers(self) -> np.ndarray:
        """The values as float64, NaN where there is no number."""
        import pandas

        is_numeric = pandas.api.types.is_numeric_dtype(self.values)
        numbers = self.values if is_numeric else pandas.to_numeric(self.plain_values.astype(object), errors="coerce")
        return numbers.to_numpy(dtype=np.float64, na_value=np.nan)

    @cached_property
    def is_text(self) -> np.ndarray:
        """Whether each value is a word and no number."""
        return np.isnan(self.numbers) & ~self.gaps

    @cached_property
    def words(self) -> list[str]:
        """The different values as words, sorted."""
        return sorted(as_words(self.values).dropna().unique())

    @property
    def n_texts(self) -> int:
        """How many values are words and no numbers."""
        return int(self.is_text.sum())

    @property
    def n_values(self) -> int:
        """How many values there are."""
        return len(self.gaps) - int(self.gaps.sum())

    @property
    def first_text(self) -> tuple[int, str]:
        """The row, counted from 1, and the word of the first value that is no number."""
        place = int(self.is_text.argmax())
        return place + 1, str(self.values.iloc[place])

    @property
    def is_number(self) -> bool:
        """Whether every value is a number, and no category."""
        return not (self.is_declared or self.n_texts)

    @property
    def is_stray(self) -> bool:
        """Whether it has a few words among numbers."""
        return not self.is_declared and 0 < self.n_texts <= _STRAY_SHARE * self.n_values

    @property
    def is_date(self) -> bool:
        """Whether every value is a date, with or without a time of the day."""
        return self.n_texts == self.n_values > 0 and all(map(_DATE.fullmatch, self.words))

    @property
    def is_identifier(self) -> bool:
        """Whether nearly every row has its own text, or there are more of them than can be categories."""
        return not self.is_number and len(self.words) > min(MOST_CATEGORIES, max(_FEW, 0.5 * len(self.gaps)))

    @property
    def counts_rows(self) -> bool:
        """Whether each number is that of the row before plus 1."""
        with np.errstate(invalid="ignore"):
            return bool((np.diff(self.numbers) == 1).all()) and not np.isnan(self.numbers).any()

    @property
    def exceeds_integers(self) -> bool:
        """Whether it has whole numbers too large for 64 bits, or for float64 where they are words."""
        seen, kind = self.numbers[~np.isnan(self.numbers)], self.values.dtype.kind
        if kind == "f" or not seen.size or not np.isfinite(seen).all() or (np.floor(seen) != seen).any():
            return False
        return max(-seen.min(), seen.max()) >= (2**63 if kind in "iu" else 2**53)


def as_words(values: Any) -> Any:
    """Return a Series as words, NaN where a value is missing."""
    words = values.astype(object).astype(str).astype(object)
    return words.mask(values.isna(), np.nan)
