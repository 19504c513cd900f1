"""Markdown and HTML tables of published and measured values, from one pivot of the tidy rows."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from shallows_papers.experiments.comparing.table_rows import OURS, Row, counts_by_kind
from shallows_papers.experiments.comparing.verdicts import Verdict

from .criteria import criteria
from .pivot import Pivot, by_cause, pivot, remarks, tabulated
from .target import Target, read, write_text
from .wording import decimals, heading_of, is_number, key_title, label, name_of

FIGURE_SPACE = "\u2007"  # as wide as a digit
PUNCTUATION_SPACE = "\u2008"  # as wide as a full stop
CAPTION_WORDS = 40  # shown of a caption, or its first sentence if that is longer; the rest is folded
#: The space after a sentence. "Dai et al. (2014)" and the like do not end a sentence.
_SENTENCE_END = r"(?<=[.!?])(?<!\bal\.)(?<!\bcf\.)(?<!\bvs\.)(?<!e\.g\.)(?<!i\.e\.)(?<!\bFig\.)(?<!\bEq\.)(?<!\bSec\.) "
WORDY = 12  # characters; a longer published entry is a claim, and is set as text
LONG = 8  # rows; a longer table with only measured values is folded if a figure shows them


@dataclass(frozen=True)
class TablePart:
    """A part of a target's values with its own table, which may be folded until the reader clicks it."""

    title: str  # what the part contains; empty for the first
    table: Pivot
    is_folded: bool


def parts_of(target: Target, is_drawn: bool = False) -> list[TablePart]:
    """Split a target's values: printed and measured, only measured, printed and not run, quoted."""
    whole, rows = pivot(target), tabulated(target)
    printed = _beside(whole, rows, [row for row in rows if row.published or row.ratio is not None])
    if not printed:
        is_long = len(whole.rows) > LONG or whole.n_rows > len(whole.rows)
        fold = is_drawn and is_long and not target.meta.get("layout", {}).get("open")
        return [TablePart("The numbers as a table" if fold else "", whole, fold)]
    compared = _beside(whole, printed, [row for row in printed if row.measured_mean is not None])
    besides = _without(rows, printed)
    unmeasured = _without(printed, compared)
    quoted = [row for row in unmeasured if row.verdict == Verdict.QUOTATION]
    absent = _without(unmeasured, quoted)
    found = [
        (compared, ""),
        (besides, f"{_values(len(besides))} more measured; the source prints none of them"),
        (absent, f"{_values(len(absent))} printed and not run here"),
        (quoted, f"{_values(len(quoted))} quoted, which cannot be run again"),
    ]
    return [TablePart(title, pivot(target, some), bool(title)) for some, title in found if some]


def _without(rows: Sequence[Row], taken: Sequence[Row]) -> list[Row]:
    places = {id(row) for row in taken}
    return [row for row in rows if id(row) not in places]


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count:,} values"


def _beside(whole: Pivot, rows: Sequence[Row], chosen: Sequence[Row]) -> list[Row]:
    """Return the rows that share both their line and their column of the table with a chosen row."""
    lines, columns = (set(places) for places in zip(*map(whole.place_of, chosen), strict=True)) if chosen else ((), ())
    return [row for row in rows if whole.place_of(row)[0] in lines and whole.place_of(row)[1] in columns]


def notes(target: Target, table: Pivot) -> list[str]:
    """Return the sentences below the table, in both forms."""
    sentences = []
    if table.n_rows > len(table.rows):
        sentences.append(f"{len(table.rows)} of {table.n_rows:,} rows are shown; the CSV has all of them.")
    if table.n_drawn:
        sentences.append(f"The {table.n_drawn:,} values along the curves are in the CSV.")
    if not table.printed_columns and target.paper_is_known:
        sentences.append("The source prints no numbers here.")
    if table.has_spread:
        sentences.append("Measured: mean ± standard deviation over the repetitions (seeds, or parts of the data).")
    if any(row.series == OURS for row in target.rows):
        sentences.append(
            "Methods are judged as their authors ran them. Methods of this project (ours) are shown for comparison and "
            "not judged; in brackets, ours over the authors', both as measured here."
        )
    if any(row.derived for row in target.rows):
        sentences.append("Values that are derived from other printed values, or repeat them, are counted there alone.")
    return sentences


def throughout(target: Target, table: Pivot) -> str:
    """Name the keys that have one value in the whole table in a sentence; empty if there are no such keys."""
    said = ", ".join(f"{key_title(target, key)} {titled(target, key, value)}" for key, value in table.constant)
    return f"Throughout: {said}." if said else ""


def titled(target: Target, key: str, value: str, name: Callable[[Target, str, str], str] = name_of) -> str:
    """Return a value of a key for readers, after the kind of evidence if the target has several kinds."""
    kinds = target.meta.get("kinds") or {}
    kind = kinds.get(value, "") if key == "metric" and len({*kinds.values()}) > 1 else ""
    return f"{kind}: " * bool(kind) + name(target, key, value)


def markdown(target: Target) -> str:
    """Return the target as a separate Markdown document."""
    table = pivot(target)
    headings = [_escaped(key_title(target, key)) for key in table.row_keys]
    for column in table.columns:
        names = [titled(target, key, value, heading_of) for key, value in zip(table.column_keys, column, strict=True)]
        headings += [_escaped(" · ".join([*names, part])) for part in table.parts(column)]
    source = f", {_escaped(target.source)}" if target.source else ""
    lines = [f"# {_escaped(target.title)}", "", f"`{target.id}`{source}", ""]
    if target.meta.get("lead"):
        lines += [f"**{target.meta['lead']}**", ""]
    if target.meta.get("caption"):
        lines += [str(target.meta["caption"]), ""]
    lines += [
        _line(headings),
        _line([":--"] * len(table.row_keys) + ["--:"] * (len(headings) - len(table.row_keys))),
    ]
    for row in table.rows:
        texts = [_escaped(titled(target, key, value)) for key, value in zip(table.row_keys, row, strict=True)]
        for column in table.columns:
            cell = table.cells.get((row, column))
            if cell is None:
                texts += [""] * len(table.parts(column))
                continue
            texts += [_escaped(cell.published)] * (len(table.parts(column)) - 1)
            texts.append(f"{cell.measured} {cell.verdict.mark}".strip())
        lines.append(_line(texts))
    lines.append("")
    lines += [f"- {f'{verdict.mark} {verdict}'.strip()}: {verdict.meaning}" for verdict in table.verdicts]
    if table.has_gaps:
        lines.append("- no entry under published: the source prints no number")
    said = [throughout(target, table), *notes(target, table)]
    lines += ["", *(f"{note}  " for note in filter(None, said))]
    if judged := criteria(target):
        lines += ["", _line(["judged", "criterion", "reason", "set"]), _line([":--"] * 4)]
        lines += [
            _line([_escaped(cell) for cell in ("; ".join(one.judged), one.limit, one.reason, one.fixed)])
            for one in judged
        ]
    reasons = remarks(target)
    lines += ["", "Why:", ""] if reasons else []
    for one in reasons:
        where = f", {one.where}" if one.where else ""
        why = ": ".join(filter(None, (one.cause, one.reason)))
        lines.append(f"- {one.verdict} ({_values(one.count)}{where}): {why}")
    for note in target.notes:
        lines += ["", note]
    if target.sources:
        lines += ["", "Where the settings come from:", ""]
        lines += [f"- {_escaped(setting)}: {_escaped(source)}" for setting, source in target.sources]
    lines += ["", *(f"{name}: {text}  " for name, text in label(target.meta)), ""]
    return "\n".join(lines)


def _line(texts: Iterable[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


@dataclass(frozen=True)
class Heading:
    """One heading of an HTML table."""

    text: str
    span: int
    scope: str


def heading_rows(target: Target, table: Pivot) -> list[list[Heading]]:
    """Return the headings of the columns: a line for each key, in which equal neighbors are joined."""
    levels = []
    for level, key in enumerate(table.column_keys):
        line = []
        for prefix, group in groupby(table.columns, key=lambda column: column[: level + 1]):
            span = sum(len(table.parts(column)) for column in group)
            line.append(Heading(titled(target, key, prefix[-1], heading_of), span, "colgroup"))
        levels.append(line)
    return levels


def row_headings(target: Target, table: Pivot) -> list[list[Heading]]:
    """Return the headings of each row. A heading that repeats the row above is left out; the one above spans both."""
    lines: list[list[Heading]] = [[] for _ in table.rows]
    for level, key in enumerate(table.row_keys):
        start = 0
        for prefix, group in groupby(table.rows, key=lambda row: row[: level + 1]):
            span = len(list(group))
            scope = "rowgroup" if span > 1 else "row"
            lines[start].append(Heading(titled(target, key, prefix[-1]), span, scope))
            start += span
    return lines


def aligned(texts: Sequence[str]) -> list[str]:
    """Pad numbers on the right with spaces as wide as digits, so that their decimal points are aligned.

    No zero is added: a source that prints 15 and 15.3 did not print 15.0.
    """
    most = max((decimals(text) for text in texts if _is_plain(text)), default=0)
    padded = []
    for text in texts:
        if _is_plain(text) and most:
            n_decimals = decimals(text)
            text += (PUNCTUATION_SPACE if not n_decimals else "") + FIGURE_SPACE * (most - n_decimals)
        padded.append(text)
    return padded


def _is_plain(text: str) -> bool:
    return is_number(text.replace(",", "")) and "e" not in text.lower()


def html_context(target: Target, is_drawn: bool = False) -> dict[str, Any]:
    """Return all values for the HTML templates of a target; ``is_drawn`` says whether a figure is above the table."""
    table = pivot(target)
    return {
        "target": target,
        "table": table,
        "parts": [_part_context(target, part) for part in parts_of(target, is_drawn)],
        "notes": notes(target, table),
        "label": label(target.meta),
        "kinds": counts_by_kind(target.rows),
        "criteria": criteria(target),
        "remarks": remarks(target),
    }


def _part_context(target: Target, part: TablePart) -> dict[str, Any]:
    table, printed = part.table, {}
    for column in table.columns:
        cells = [table.cells.get((row, column)) for row in table.rows]
        texts = aligned([cell.published if cell else "" for cell in cells])
        printed[column] = dict(zip(table.rows, texts, strict=True))
    return {
        "title": part.title,
        "is_folded": part.is_folded,
        "table": table,
        "throughout": throughout(target, table),
        "row_titles": [key_title(target, key) for key in table.row_keys],
        "heading_rows": heading_rows(target, table),
        "row_headings": row_headings(target, table),
        "printed": printed,
        "wordy": {column for (_, column), cell in table.cells.items() if len(cell.published) > WORDY},
    }


@cache
def environment():
    """Return the environment of the templates, which are part of this package."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("shallows_papers.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["Verdict"] = Verdict
    made.globals.update(split_caption=split_caption, by_cause=by_cause)
    return made


def split_caption(text: str) -> tuple[str, str]:
    """Split a caption into its first sentence, with further ones up to `CAPTION_WORDS` words in all, and the rest."""
    sentences = re.split(_SENTENCE_END, text)
    shown = 1
    while shown < len(sentences) and len(" ".join(sentences[: shown + 1]).split()) <= CAPTION_WORDS:
        shown += 1
    head = " ".join(sentences[:shown])
    return head, text[len(head) :].strip()


def html(target: Target) -> str:
    """Return the target as a separate HTML document, which a browser can open from disk."""
    return environment().get_template("table.html").render(s=html_context(target))


def render(csv_path: str | Path) -> None:
    """Write a target's table as Markdown and HTML to the folder of its tidy CSV and its JSON."""
    target, path = read(csv_path), Path(csv_path)
    write_text(path.with_suffix(".md"), markdown(target))
    write_text(path.with_suffix(".html"), html(target))
