"""A column of a user's table, its kind (numbers, categories, dates, identifiers), and numbers written as text."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np

# A column with more different texts than this is not one-hot encoded.
MOST_CATEGORIES = 1000
# A column with at most this share of texts among its values is a column of numbers.
_STRAY_SHARE = 0.1
# Up to this number of different texts are categories, even if nearly every row has a different text.
_FEW = 20
_DATE = re.compile(r"(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}([./])\d{1,2}\2\d{2,4}|\d{4}/\d{1,2}/\d{1,2})([ T]\d{1,2}:\d{2}.*)?")


@dataclass
class Column:
    """A column: a pandas Series of numbers or of words, with NaN for missing values.

    `is_declared`: the file or the user declares it as categories. `taken`: counts of the words that were taken for
    missing values. `plain`: words that are numbers but that ``float`` cannot read, in the syntax of ``float``.
    """

    name: str
    values: Any
    is_declared: bool = False
    taken: Counter[str] = field(default_factory=Counter)
    plain: dict[str, str] = field(default_factory=dict)

    @property
    def plain_values(self) -> Any:
        """The values, with numbers in the syntax of ``float``."""
        return (
            self.values.map(lambda word: self.plain.get(word, word), na_action="ignore") if self.plain else self.values
        )

    @cached_property
    def gaps(self) -> np.ndarray:
        """Whether each value is missing."""
        return self.values.isna().to_numpy()

    @cached_property
    def numbers(self) -> np.ndarray:
        """The values as float64; NaN for other values."""
        import pandas

        is_numeric = pandas.api.types.is_numeric_dtype(self.values)
        numbers = self.values if is_numeric else pandas.to_numeric(self.plain_values.astype(object), errors="coerce")
        return numbers.to_numpy(dtype=np.float64, na_value=np.nan)

    @cached_property
    def is_text(self) -> np.ndarray:
        """Whether each value is a word and not a number."""
        return np.isnan(self.numbers) & ~self.gaps

    @cached_property
    def words(self) -> list[str]:
        """The different values as words, sorted."""
        return sorted(as_words(self.values).dropna().unique())

    @property
    def n_texts(self) -> int:
        """The number of values that are words and not numbers."""
        return int(self.is_text.sum())

    @property
    def n_values(self) -> int:
        """The number of values that are not missing."""
        return len(self.gaps) - int(self.gaps.sum())

    @property
    def first_text(self) -> tuple[int, str]:
        """Row (counted from 1) and word of the first value that is not a number."""
        place = int(self.is_text.argmax())
        return place + 1, str(self.values.iloc[place])

    @property
    def is_number(self) -> bool:
        """Whether every value is a number, and the column is not categorical."""
        return not (self.is_declared or self.n_texts)

    @property
    def is_stray(self) -> bool:
        """Whether it has numbers and a few words."""
        return not self.is_declared and 0 < self.n_texts <= _STRAY_SHARE * self.n_values

    @property
    def is_date(self) -> bool:
        """Whether every value is a date, with or without a time."""
        return self.n_texts == self.n_values > 0 and all(map(_DATE.fullmatch, self.words))

    @property
    def is_identifier(self) -> bool:
        """Whether nearly every row has a different text, or there are too many texts for categories."""
        return not self.is_number and len(self.words) > min(MOST_CATEGORIES, max(_FEW, 0.5 * len(self.gaps)))

    @property
    def counts_rows(self) -> bool:
        """Whether each number is the previous row's number plus 1."""
        with np.errstate(invalid="ignore"):
            return bool((np.diff(self.numbers) == 1).all()) and not np.isnan(self.numbers).any()

    @property
    def exceeds_integers(self) -> bool:
        """Whether it has whole numbers too large for 64 bits, or words for numbers too large for float64."""
        seen, kind = self.numbers[~np.isnan(self.numbers)], self.values.dtype.kind
        if kind == "f" or not seen.size or not np.isfinite(seen).all() or (np.floor(seen) != seen).any():
            return False
        return max(-seen.min(), seen.max()) >= (2**63 if kind in "iu" else 2**53)


def as_words(values: Any) -> Any:
    """Convert a Series to words, with NaN for missing values."""
    words = values.astype(object).astype(str).astype(object)
    return words.mask(values.isna(), np.nan)


# Hyphens, dashes and minus signs before a number.
_MINUS = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"), "-")
# Characters that may be next to a number or replace its digits.
_BESIDE = re.compile(r"[^\x00-\x7f]|[$%]")
# A blank, no-break and thin spaces, and apostrophes.
_SPACES = " \u00a0\u2007\u2009\u202f'\u2019"


def plain_number(cell: str, decimal: str = ".", thousands: str = "") -> str | None:
    """Return a number in the syntax of ``float``, or None if the cell is not a number.

    `thousands` is a separator of thousands that is accepted in addition to spaces.
    """
    text = cell.translate(_MINUS)
    if _pattern(decimal, thousands).fullmatch(text) is None:
        return None
    return re.sub(f"[{_SPACES}{re.escape(thousands)}]", "", text).replace(decimal, ".")


def odd_character(cells: Iterable[str], decimal: str = ".") -> str | None:
    """Return, with its name, a character without which most cells would be numbers; or None."""
    found: Counter[str] = Counter()
    n_cells = 0
    for cell in cells:
        n_cells += 1
        forms = _BESIDE.sub("", cell).strip(), unicodedata.normalize("NFKC", cell).strip()
        if any(plain_number(form, decimal) for form in forms):
            found.update(set(_BESIDE.findall(cell)))
    if 2 * sum(found.values()) <= n_cells:
        return None
    return character(min(found, key=lambda one: (-found[one], one)))


def character(one: str) -> str:
    """Return a character with its code point and its name."""
    return f"{one!r} (U+{ord(one):04X}, {unicodedata.name(one, 'a control character').lower()})"


@cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    point = re.escape(decimal)
    groups = rf"[1-9]\d{{0,2}}([{_SPACES}{re.escape(thousands)}])\d{{3}}(?:\1\d{{3}})*"
    return re.compile(rf"[+-]?(?:(?:{groups}|\d+)(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?", re.ASCII)
