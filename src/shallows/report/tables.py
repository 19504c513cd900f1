"""Markdown and HTML tables, published beside measured, from one pivot of the tidy rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError

from .target import (
    NAMED_KEYS,
    VERDICTS,
    Row,
    Target,
    Verdict,
    is_number,
    label,
    ordered,
    read,
    words,
    write_text,
)

EN_DASH = "–"
FIGURE_SPACE = "\u2007"  # as wide as a digit
PUNCTUATION_SPACE = "\u2008"  # as wide as a full stop

# A curve of a thousand points is no table for people: a numeric row key with more values than LONG is shown
# at about SHOWN of them, evenly spaced in the logarithm. The CSV keeps them all.
LONG, SHOWN = 24, 16
WORDY = 12  # characters; a longer published entry is a claim in words, and is set as text


@dataclass(frozen=True)
class Cell:
    """What one compared value shows."""

    published: str
    measured: str
    verdict: Verdict


@dataclass(frozen=True)
class Remark:
    """Why some values carry the verdict they carry."""

    verdict: Verdict
    count: int
    where: str
    reason: str


@dataclass(frozen=True)
class Pivot:
    """A target's values, arranged as its layout says; Markdown and HTML both are written from it.

    Attributes
    ----------
    row_keys, column_keys : tuple of str
        The keys that go down and the keys that go across.
    rows, columns : tuple of tuple of str
        Their values, one tuple a row or a column.
    cells : dict
        From a row and a column to a ``Cell``; a combination that the target does not have is absent.
    constant : tuple of (str, str)
        Keys that have one value throughout, and are in no heading.
    has_published : bool
        Whether the source prints any number here. Where it prints none, the column for them is left out.
    verdicts : tuple of Verdict
        Those that occur.
    remarks : tuple of Remark
        The reasons.
    tolerances : tuple of str
        Those that occur.
    n_rows : int
        Rows before a long table was thinned.
    n_drawn : int
        Values that the figure shows and the table does not.
    """

    row_keys: tuple[str, ...]
    column_keys: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    columns: tuple[tuple[str, ...], ...]
    cells: dict[tuple[tuple[str, ...], tuple[str, ...]], Cell]
    constant: tuple[tuple[str, str], ...]
    has_published: bool
    verdicts: tuple[Verdict, ...]
    remarks: tuple[Remark, ...]
    tolerances: tuple[str, ...]
    n_rows: int
    n_drawn: int

    @property
    def has_gaps(self) -> bool:
        """Whether the source prints some of the numbers and leaves others out."""
        return self.has_published and not all(cell.published for cell in self.cells.values())

    @property
    def parts(self) -> tuple[str, ...]:
        """Headings below each column."""
        return ("published", "measured") if self.has_published else ("measured",)


def pivot(target: Target) -> Pivot:
    """Arrange a target's values as ``layout`` in its JSON says.

    Keys that tell rows apart but stand nowhere in the layout become row headings, so that no value is lost.

    Raises
    ------
    ShallowsError
        Where the layout names a key that no row has, or two rows have the same keys.
    """
    layout = target.meta.get("layout") or {}
    row_keys, column_keys = list(layout.get("rows", ())), list(layout.get("columns", ()))
    known = target.key_names()
    unknown = [key for key in (*row_keys, *column_keys) if target.rows and key not in known]
    if unknown:
        raise ShallowsError(
            f"The layout of {target.id} names {', '.join(unknown)}, but its rows have only {', '.join(known)}."
        )

    # What a figure draws is left to the figure, where there is anything else to tabulate; of what goes along with it
    # the end is told.
    rest = [row for row in target.rows if not target.is_drawn(row) and not target.is_passed(row)]
    rest = rest if any(row.published or row.mean is not None for row in rest) else list(target.rows)
    # Rows that were not run and have no printed number have nothing to show; their reasons stand below.
    shown = [row for row in rest if row.verdict != "not run" or row.published] or rest

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
            {tuple(row.keys.get(key, "") for key in keys) for row in shown},
            key=lambda values: [rank[key].get(value, 0) for key, value in zip(keys, values, strict=True)],
        )
        for keys in (row_keys, column_keys)
    )
    cells: dict[tuple[tuple[str, ...], tuple[str, ...]], Cell] = {}
    styles = {
        metric: _style([row for row in shown if row.keys["metric"] == metric]) for metric in target.values("metric")
    }
    for row in shown:
        place = tuple(tuple(row.keys.get(key, "") for key in keys) for keys in (row_keys, column_keys))
        if place in cells:
            described = ", ".join(f"{key}={value}" for key, value in row.keys.items())
            raise ShallowsError(f"Two rows of {target.id} have the same keys: {described}.")
        cells[place] = Cell(row.published, styles[row.keys["metric"]](row), VERDICTS[row.verdict])

    n_rows, rows = len(rows), _thinned(rows, row_keys, cells)
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
        has_published=any(row.published for row in shown),
        verdicts=tuple(VERDICTS[name] for name in VERDICTS if any(row.verdict == name for row in shown)),
        remarks=tuple(_remarks(target)),
        tolerances=tuple(dict.fromkeys(row.tolerance for row in target.rows if row.tolerance)),
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
        numbers = [value for value in ordered(row[place] for row in rows) if value]
        if len(numbers) <= LONG or not all(map(is_number, numbers)):
            continue
        # Curves need not share their marks: chosen are those that fill most columns, where they suffice.
        cover = {value: sum(filled[row] for row in rows if row[place] == value) for value in numbers}
        full = [value for value in numbers if cover[value] == max(cover.values())]
        numbers = full if len(full) >= SHOWN else numbers
        last = len(numbers) - 1
        places = {round((last + 1) ** (step / (SHOWN - 1))) - 1 for step in range(SHOWN)}
        chosen = {numbers[one] for one in places} | {""}
        kept = [row for row in kept if row[place] in chosen]
    return kept


def _style(rows: Sequence[Row]) -> Callable[[Row], str]:
    """How the measured values of one metric are written: with the digits of the printed ones."""
    printed = [row.published.lower() for row in rows if is_number(row.published)]
    percent = any(row.unit in ("%", "percent") or row.keys["metric"].endswith("_percent") for row in rows)
    if any("e" in text for text in printed):

        def write(value: float) -> str:
            return _tidy(f"{value:.1e}")
    elif printed or percent:
        decimals = max((_decimals(text) for text in printed), default=2)

        def write(value: float) -> str:
            return f"{value:z,.{decimals}f}"
    else:

        def write(value: float) -> str:
            return _tidy(f"{value:.3g}")

    def measured(row: Row) -> str:
        if row.mean is None:
            return "not run" if row.verdict == "not run" else EN_DASH
        if not math.isfinite(row.mean):
            return str(row.mean)
        bound = "≥ " if row.is_bound else ""
        return bound + write(row.mean) + (f" ± {write(row.sd)}" if row.sd is not None else "")

    return measured


def _tidy(text: str) -> str:
    mantissa, sign, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if sign else text


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


def _remarks(target: Target) -> Iterable[Remark]:
    reasoned = [row for row in target.rows if row.reason and not (row.mean is not None and target.is_drawn(row))]
    place = {name: number for number, name in enumerate(VERDICTS)}
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in reasoned:
        groups.setdefault((row.verdict, row.reason), []).append(row)
    for (verdict, reason), rows in sorted(groups.items(), key=lambda item: place[item[0][0]]):
        parts = []
        for key in target.key_names():
            values = ordered(row.keys.get(key, "") for row in rows)
            if len(values) < len(target.values(key)) and len(values) <= 8:
                named = ", ".join(name_of(target, key, value) for value in values if value)
                parts.append(named if key in NAMED_KEYS or not named else f"{key_title(target, key)} {named}")
        yield Remark(VERDICTS[verdict], len(rows), "; ".join(filter(None, parts)), reason)


def name_of(target: Target, key: str, value: str) -> str:
    """A value of a key for people; ``labels`` in the JSON overrules."""
    labels = target.meta.get("labels") or {}
    if key == "metric":
        unit = next((row.unit for row in target.rows if row.keys["metric"] == value and row.unit), "")
        return words(str(labels.get(value, value)), unit)
    if value in labels:
        return str(labels[value])
    if key in NAMED_KEYS:
        return value
    if is_number(value):
        return f"{int(value):,}" if value.isdigit() else value
    text = value.replace("_", " ")
    return text[0].upper() + text[1:] if len(text) > 1 else text


def heading_of(target: Target, key: str, value: str) -> str:
    """A value of a key as the heading of a column; a bare number or letter says what it is of."""
    name = name_of(target, key, value)
    return f"{key_title(target, key)} {name}" if is_number(value) or len(value) == 1 else name


def key_title(target: Target, key: str) -> str:
    """A key's name as a heading."""
    labels = target.meta.get("labels") or {}
    return str(labels.get(key, words(key)))


def notes(target: Target, table: Pivot) -> list[str]:
    """Sentences that stand below the table, in both forms."""
    told = []
    if table.constant:
        told.append(
            "Throughout: "
            + ", ".join(f"{key_title(target, key)} {name_of(target, key, value)}" for key, value in table.constant)
            + "."
        )
    if table.n_rows > len(table.rows):
        told.append(f"{len(table.rows)} of {table.n_rows:,} rows are shown; the CSV holds them all.")
    if table.n_drawn:
        told.append(f"The {table.n_drawn:,} values along the curves stand in the CSV.")
    if not table.has_published and target.paper_is_known:
        told.append("The source prints no numbers here.")
    if any(cell.measured.find("±") > 0 for cell in table.cells.values()):
        told.append("Measured: mean ± standard deviation over the repetitions (seeds, or parts of the data).")
    if 0 < len(table.tolerances) <= 3:
        told.append(f"Tolerance, fixed before the run: {'; '.join(table.tolerances)}.")
    return told


# Markdown -------------------------------------------------------------------------------------------------


def markdown(target: Target) -> str:
    """The target as a Markdown document of its own."""
    table = pivot(target)
    headings = [_escaped(key_title(target, key)) for key in table.row_keys]
    for column in table.columns:
        names = [heading_of(target, key, value) for key, value in zip(table.column_keys, column, strict=True)]
        headings += [_escaped(" · ".join([*names, part])) for part in table.parts]
    lines = [
        f"# {_escaped(target.title)}",
        "",
        f"`{target.id}`" + (f", {_escaped(target.source)}" if target.source else ""),
        "",
    ]
    if target.meta.get("caption"):
        lines += [str(target.meta["caption"]), ""]
    lines += [
        _line(headings),
        _line([":--"] * len(table.row_keys) + ["--:"] * (len(headings) - len(table.row_keys))),
    ]
    for row in table.rows:
        texts = [_escaped(name_of(target, key, value)) for key, value in zip(table.row_keys, row, strict=True)]
        for column in table.columns:
            cell = table.cells.get((row, column))
            if cell is None:
                texts += [""] * len(table.parts)
                continue
            texts += [_escaped(cell.published) or EN_DASH] * table.has_published
            texts.append(f"{cell.measured} {cell.verdict.mark}".strip())
        lines.append(_line(texts))
    lines.append("")
    lines += [f"- {f'{verdict.mark} {verdict.name}'.strip()}: {verdict.meaning}" for verdict in table.verdicts]
    if table.has_gaps:
        lines.append(f"- {EN_DASH} the source prints no number")
    lines += ["", *(f"{note}  " for note in notes(target, table))]
    if table.remarks:
        lines += ["", "Why:", ""]
        lines += [f"- {remark_text(remark)}" for remark in table.remarks]
    for note in target.notes:
        lines += ["", note]
    lines += ["", *(f"{name}: {text}  " for name, text in label(target.meta)), ""]
    return "\n".join(lines)


def remark_text(remark: Remark) -> str:
    """A remark as one line of plain text."""
    values = "1 value" if remark.count == 1 else f"{remark.count:,} values"
    where = f", {remark.where}" if remark.where else ""
    return f"{remark.verdict.name} ({values}{where}): {remark.reason}"


def _line(texts: Iterable[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


# HTML -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heading:
    """One heading of an HTML table."""

    text: str
    span: int
    scope: str


def heading_rows(target: Target, table: Pivot) -> list[list[Heading]]:
    """Headings of the columns, a line a key, equal neighbours joined."""
    parts = len(table.parts)
    levels = []
    for level, key in enumerate(table.column_keys):
        line = []
        for prefix, group in groupby(table.columns, key=lambda column: column[: level + 1]):
            line.append(Heading(heading_of(target, key, prefix[-1]), parts * len(list(group)), "colgroup"))
        levels.append(line)
    return levels


def row_headings(target: Target, table: Pivot) -> list[list[Heading]]:
    """Headings of each row; one that continues the row above is left out, and spans from there."""
    lines: list[list[Heading]] = [[] for _ in table.rows]
    for level, key in enumerate(table.row_keys):
        start = 0
        for prefix, group in groupby(table.rows, key=lambda row: row[: level + 1]):
            span = len(list(group))
            scope = "rowgroup" if span > 1 else "row"
            lines[start].append(Heading(name_of(target, key, prefix[-1]), span, scope))
            start += span
    return lines


def aligned(texts: Sequence[str]) -> list[str]:
    """Pad numbers on the right with spaces as wide as digits, so that their decimal points are in a line.

    No zero is added: a source that prints 15 and 15.3 did not print 15.0.
    """
    most = max((_decimals(text) for text in texts if is_number(text) and "e" not in text.lower()), default=0)
    padded = []
    for text in texts:
        if is_number(text) and "e" not in text.lower() and most:
            decimals = _decimals(text)
            text += (PUNCTUATION_SPACE if not decimals else "") + FIGURE_SPACE * (most - decimals)
        padded.append(text)
    return padded


def html_context(target: Target) -> dict[str, Any]:
    """Everything the HTML templates ask of one target's table."""
    table = pivot(target)
    printed = {
        column: dict(
            zip(
                table.rows,
                aligned([cell.published if (cell := table.cells.get((row, column))) else "" for row in table.rows]),
                strict=True,
            )
        )
        for column in table.columns
    }
    return {
        "target": target,
        "table": table,
        "row_titles": [key_title(target, key) for key in table.row_keys],
        "heading_rows": heading_rows(target, table),
        "row_headings": row_headings(target, table),
        "printed": printed,
        "wordy": {column for (_, column), cell in table.cells.items() if len(cell.published) > WORDY},
        "notes": notes(target, table),
        "label": label(target.meta),
        "counts": target.counts(),
        "verdicts": VERDICTS,
        "en_dash": EN_DASH,
    }


@cache
def environment():
    """The templates, which are data of this package."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("shallows.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def html(target: Target) -> str:
    """The target as an HTML document of its own, which opens from disk."""
    return environment().get_template("table.html").render(**html_context(target))


def render(csv_path: str | Path, meta_path: str | Path, md_path: str | Path, html_path: str | Path) -> None:
    """Write a target's table as Markdown and as HTML.

    Parameters
    ----------
    csv_path : path
        The tidy CSV: one row a compared value.
    meta_path : path
        The JSON beside it: title, source, layout, label.
    md_path, html_path : path
        Where the two forms go.
    """
    target = read(csv_path, meta_path)
    write_text(md_path, markdown(target))
    write_text(html_path, html(target))
