"""Which values of a target a person compares at once, and which are folded: measured besides, or not run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shallows.experiments.comparing.rows import Row
from shallows.experiments.comparing.verdicts import Verdict

from .pivot import Pivot, pivot, tabulated
from .target import Target

#: A table of nothing but measured values that is longer than this is folded where a figure shows them.
LONG = 8


@dataclass(frozen=True)
class Part:
    """A part of a target's values with a table of its own; a click opens it where it is folded."""

    title: str  # what it holds; empty for the first
    table: Pivot
    is_folded: bool


def parts(target: Target, is_drawn: bool = False) -> list[Part]:
    """What is printed and measured, what is measured besides, what is printed and was not run, and what is quoted.

    ``is_drawn`` says whether a figure stands above the table.
    """
    whole, rows = pivot(target), tabulated(target)
    printed = _where(whole, rows, [row for row in rows if row.published or row.ratio is not None])
    if not printed:
        is_long = len(whole.rows) > LONG or whole.n_rows > len(whole.rows)
        fold = is_drawn and is_long and not target.meta.get("layout", {}).get("open")
        return [Part("The numbers as a table" if fold else "", whole, fold)]
    compared = _where(whole, printed, [row for row in printed if row.measured_mean is not None])
    besides = _without(rows, printed)
    unmeasured = _without(printed, compared)
    quoted = [row for row in unmeasured if row.verdict == Verdict.QUOTATION]
    absent = _without(unmeasured, quoted)
    found = [
        (compared, ""),
        (besides, f"{_values(besides)} measured besides, of which the source prints none"),
        (absent, f"{_values(absent)} printed and not run here"),
        (quoted, f"{_values(quoted)} quoted, which nobody can run again"),
    ]
    return [Part(title, pivot(target, some), bool(title)) for some, title in found if some]


def _without(rows: Sequence[Row], taken: Sequence[Row]) -> list[Row]:
    places = {id(row) for row in taken}
    return [row for row in rows if id(row) not in places]


def _values(rows: Sequence[Row]) -> str:
    return "1 value" if len(rows) == 1 else f"{len(rows):,} values"


def _where(whole: Pivot, rows: Sequence[Row], chosen: Sequence[Row]) -> list[Row]:
    """The rows whose line of the table and whose column both hold one of those chosen."""
    lines = {whole.line_of(row) for row in chosen}
    columns = {whole.column_of(row) for row in chosen}
    return [row for row in rows if whole.line_of(row) in lines and whole.column_of(row) in columns]
