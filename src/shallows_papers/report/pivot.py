"""The rows of a target as a table of cells with headings, and the reasons for their verdicts.

This does without pandas, whose import takes longer than the whole table.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from shallows.errors import ShallowsError
from shallows_papers.experiments.comparing.table_rows import NAMED_KEYS, Row
from shallows_papers.experiments.comparing.verdicts import DIVERGED, UNMEASURED, Verdict

from . import wording
from .target import Target, ordered
from .wording import is_number, key_title, name_of

# A table with a thousand points of a curve is not readable: a numeric row key with more values than LONG is shown
# at about SHOWN of them, evenly spaced in the logarithm. The CSV has all of them.
LONG, SHOWN = 24, 16


@dataclass(frozen=True)
class Cell:
    """The texts of a compared value, and its verdict."""

    published: str
    measured: str
    verdict: Verdict
    is_run: bool


@dataclass(frozen=True)
class Remark:
    """A reason for the verdicts of some values."""

    verdict: Verdict
    cause: str
    count: int
    where: str
    reason: str


@dataclass(frozen=True)
class Pivot:
    """A target's values, arranged by its layout; Markdown and HTML are both written from it."""

    row_keys: tuple[str, ...]
    column_keys: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # the values of the keys, one tuple for each row or column
    columns: tuple[tuple[str, ...], ...]
    cells: dict[tuple[tuple[str, ...], tuple[str, ...]], Cell]  # without combinations that the target does not have
    constant: tuple[tuple[str, str], ...]  # keys that have one value in the whole table, and are in no heading
    has_spread: bool  # whether any mean has a standard deviation
    printed_columns: frozenset[tuple[str, ...]]  # columns with at least one printed number
    verdicts: tuple[Verdict, ...]  # the verdicts that occur
    n_rows: int  # rows before a long table was thinned
    n_drawn: int  # values that are only in the figure

    @property
    def has_gaps(self) -> bool:
        """Whether the source prints only some of the numbers."""
        return bool(self.printed_columns) and not all(cell.published for cell in self.cells.values())

    def parts(self, column: tuple[str, ...]) -> tuple[str, ...]:
        """Return the headings below a column: without ``published`` if the source prints nothing in it."""
        return ("published", "measured") if column in self.printed_columns else ("measured",)

    def place_of(self, row: Row) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the line and the column of a value in the table."""
        return _values(row, self.row_keys), _values(row, self.column_keys)


def _values(row: Row, keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(row.keys.get(key, "") for key in keys)


def tabulated(target: Target) -> list[Row]:
    """Return the rows that a table shows.

    Points that the figure draws are left out if the target has other rows. Of a curve that the figure does not draw,
    the last point is kept. Rows that were not run and have no printed number are left out; notes give their reasons.
    """
    rest = _beside_the_figure(target)
    return [row for row in rest if row.verdict != Verdict.NOT_RUN or row.published] or rest


def _beside_the_figure(target: Target) -> list[Row]:
    rest = [row for row in target.rows if not target.is_drawn(row) and not target.is_before_end(row)]
    return rest if any(row.published or row.measured_mean is not None for row in rest) else list(target.rows)


def pivot(target: Target, among: Sequence[Row] | None = None) -> Pivot:
    """Arrange a target's values by ``layout`` in its JSON: all values that are `tabulated`, or some of them.

    If rows differ in a key that the layout does not name, it becomes a row heading, so that no value is lost.
    """
    layout = target.meta.get("layout") or {}
    row_keys, column_keys = list(layout.get("rows", ())), list(layout.get("columns", ()))
    known = target.key_names()
    unknown = [key for key in (*row_keys, *column_keys) if target.rows and key not in known]
    if unknown:
        raise ShallowsError(
            f"The layout of {target.id} names {', '.join(unknown)}, but its rows have only {', '.join(known)}."
        )

    rest = _beside_the_figure(target)
    shown = tabulated(target) if among is None else list(among)

    row_keys, column_keys = (
        [key for key in keys if any(row.keys.get(key) for row in shown)] for keys in (row_keys, column_keys)
    )
    placed = {*row_keys, *column_keys}
    varying = [key for key in known if len({row.keys.get(key, "") for row in shown}) > 1]
    row_keys = [key for key in varying if key not in placed] + row_keys
    if not row_keys:
        row_keys = [next((key for key in known if key not in placed), "dataset")]
    placed.update(row_keys)

    rank = {key: {value: place for place, value in enumerate(target.values(key))} for key in known}
    rows, columns = (
        sorted(
            {_values(row, keys) for row in shown},
            key=lambda values: [rank[key].get(value, 0) for key, value in zip(keys, values, strict=True)],
        )
        for keys in (row_keys, column_keys)
    )
    cells: dict[tuple[tuple[str, ...], tuple[str, ...]], Cell] = {}
    writers = {metric: writer(target, metric) for metric in target.values("metric")}
    for row in shown:
        place = _values(row, row_keys), _values(row, column_keys)
        if place in cells:
            described = ", ".join(f"{key}={value}" for key, value in row.keys.items())
            raise ShallowsError(f"Two rows of {target.id} have the same keys: {described}.")
        cells[place] = Cell(
            wording.separated(row.published),
            _measured(row, writers[row.metric]),
            row.verdict,
            row.measured_mean is not None or row.verdict not in UNMEASURED,
        )

    n_rows, rows = len(rows), _thinned(rows, row_keys, cells)
    kept = {*rows}
    filled = {column for row, column in cells if row in kept}
    columns = [column for column in columns if column in filled]
    return Pivot(
        row_keys=tuple(row_keys),
        column_keys=tuple(column_keys),
        rows=tuple(rows),
        columns=tuple(columns),
        cells=cells,
        constant=tuple(
            (key, shown[0].keys.get(key, ""))
            for key in known
            if shown and key not in varying and key not in placed and shown[0].keys.get(key)
        ),
        has_spread=any(row.measured_sd is not None and math.isfinite(row.measured_mean) for row in shown),
        printed_columns=frozenset(column for (_, column), cell in cells.items() if cell.published),
        verdicts=tuple(one for one in Verdict if any(row.verdict == one for row in shown)),
        n_rows=n_rows,
        n_drawn=len(target.rows) - len(rest),
    )


def _thinned(
    rows: Sequence[tuple[str, ...]],
    keys: Sequence[str],
    cells: Iterable[tuple[tuple[str, ...], tuple[str, ...]]],
) -> list[tuple[str, ...]]:
    filled = Counter(row for row, _ in cells)
    kept = list(rows)
    for place in range(len(keys)):
        along = [value for value in ordered(row[place] for row in rows) if value]
        if len(along) <= LONG or not all(map(is_number, along)):
            continue
        # Curves may have different marks: take the marks with values in most columns, if these suffice.
        cover = {value: sum(filled[row] for row in rows if row[place] == value) for value in along}
        full = [value for value in along if cover[value] == max(cover.values())]
        along = full if len(full) >= SHOWN else along
        last = len(along) - 1
        places = {round((last + 1) ** (step / (SHOWN - 1))) - 1 for step in range(SHOWN)}
        chosen = {along[one] for one in places} | {""}
        kept = [row for row in kept if row[place] in chosen]
    return kept


def writer(target: Target, metric: str) -> Callable[[float], str]:
    """Return the function that formats measured values of a metric of this target, see `wording.writer`."""
    if metric in target.decimals:
        return f"{{:z,.{target.decimals[metric]}f}}".format
    rows = [row for row in target.rows if row.metric == metric]
    measured = [row.measured_mean for row in rows if row.measured_mean is not None]
    return wording.writer([_printed(row) for row in rows], measured, next((row.unit for row in rows if row.unit), ""))


def _printed(row: Row) -> str:
    """Return the printed text that sets the digits; a value derived from others has at most one decimal."""
    value = row.published_value if row.derived else None
    return row.published if value is None else f"{value:.0f}" if value == round(value) else f"{value:.1f}"


def without_size(row: Row) -> str:
    """Format a mean that is infinite or not a number."""
    if math.isinf(row.measured_mean):
        return f"{'−' if row.measured_mean < 0 else ''}∞"
    return DIVERGED if DIVERGED in row.reason else "no number"


def _measured(row: Row, write: Callable[[float], str]) -> str:
    if row.measured_mean is None:
        return row.verdict if row.verdict in UNMEASURED else "no value"
    if not math.isfinite(row.measured_mean):
        return without_size(row)
    bound = "≥ " if row.is_bound else ""
    mean = wording.mean_beside(row.measured_mean, row.measured_sd, write)
    spread = f" ± {wording.spread(mean, row.measured_sd, write)}" if row.measured_sd is not None else ""
    return bound + mean + spread + (f" ({row.ratio:.2g} ×)" if row.ratio is not None else "")


def _why(row: Row) -> tuple[str, str]:
    """Return the cause of a deviation, and the reason for a row's verdict without the note that it is derived."""
    derived = f"counted elsewhere: {row.derived}"
    reason = row.reason.removeprefix(derived).removeprefix("; ") or row.reason
    return row.cause if row.verdict == Verdict.DEVIATES else "", reason


def remarks(target: Target) -> list[Remark]:
    """Return the reasons for the verdicts of a target, each with the number of its values and where they are."""
    groups: dict[tuple[Verdict, str, str], list[Row]] = {}
    for row in target.rows:
        if any(_why(row)) and (row.measured_mean is None or not target.is_drawn(row)):
            groups.setdefault((row.verdict, *_why(row)), []).append(row)
    found, order = [], list(Verdict)
    causes = ordered(cause for _, cause, _ in groups)
    for (verdict, cause, reason), rows in sorted(
        groups.items(), key=lambda item: (order.index(item[0][0]), causes.index(item[0][1]))
    ):
        parts = []
        for key in target.key_names():
            values = ordered(row.keys.get(key, "") for row in rows)
            if len(values) < len(target.values(key)) and len(values) <= 8:
                named = ", ".join(name_of(target, key, value) for value in values if value)
                parts.append(named if key in NAMED_KEYS or not named else f"{key_title(target, key)} {named}")
        found.append(Remark(verdict, cause, len(rows), "; ".join(filter(None, parts)), reason))
    return found


def by_cause(remarks: Iterable[Remark]) -> list[list[Remark]]:
    """Return the reasons in groups with one verdict and one cause."""
    return [[*group] for _, group in groupby(remarks, key=lambda one: (one.verdict, one.cause))]
