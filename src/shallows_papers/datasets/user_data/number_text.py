"""Read numbers in text tables, with other minus signs, spaces between thousands, or a decimal comma."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache

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
