"""The reader of ARFF files. liac-arff converts them to CSV."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from shallows_papers.datasets.catalogue import Dataset, Form
from shallows_papers.datasets.formats.containers import each_file, open_binary
from shallows_papers.datasets.formats.delimited_text import TableForm, table_blocks
from shallows_papers.datasets.sources import Block

# An ARFF row without these characters is also a CSV row.
_SPECIAL = re.compile(r"[\"'{}\\\s]")
# Words for missing values in columns of numbers, in addition to the question mark.
_NAN = ("NaN", "nan", "NAN")


@each_file
def read(dataset: Dataset, form: Form, path: Path, rows: int) -> Iterator[Block]:
    """Read an ARFF file. Nominal columns become indices into their lists of words.

    The option ``target`` is the number or the name of a column.
    """
    with open_binary(path) as file, io.TextIOWrapper(file, "utf-8", "replace") as text:
        attributes, lines = csv_of(text)
        names, target = [name for name, _ in attributes], form.options["target"]
        column = names.index(target) if isinstance(target, str) else target % len(names)
        for name, kind in attributes:
            if kind == "STRING":
                raise ValueError(f"its attribute {name} holds text; use numbers or {{lists}}")
        words = {place: kind for place, (_, kind) in enumerate(attributes) if isinstance(kind, list)}
        words.pop(column, None)
        table = TableForm(spaces=True, target=column, categories=words, regression=dataset.task == "regression")
        yield from table_blocks(lines, table, len(names), rows)


def csv_of(text: Iterable[str]) -> tuple[list[tuple[str, Any]], io.StringIO]:
    """Return the columns of an ARFF file, each with its type or its words, and its rows as CSV on the same lines.

    liac-arff resolves quotes, escapes and sparse rows. It takes seven times as long as pandas, so rows that are valid
    CSV skip it. A missing value becomes an empty field. Lines with wrong syntax and words that the header does not list
    raise a `ValueError`.
    """
    lines = iter(text)
    header = _header(lines)
    attributes = _load(header)["attributes"]
    return attributes, io.StringIO("".join(["\n"] * len(header) + [*_csv_rows(lines, header, attributes)]))


def _csv_rows(lines: Iterator[str], header: list[str], attributes: list[tuple[str, Any]]) -> Iterator[str]:
    import arff

    # Numbers stay text, so that a label with many digits is not rounded.
    declared = [re.sub(r"(?i)\s(numeric|real|integer)$", " string", line) for line in header]
    waiting: deque[str] = deque()
    rows = _load(declared, iter(waiting.popleft, None))["data"]
    words = {place: {*kind, "?", ""} for place, (_, kind) in enumerate(attributes) if isinstance(kind, list)}
    numeric = {place for place, (_, kind) in enumerate(attributes) if kind in ("NUMERIC", "REAL", "INTEGER")}
    for number, line in enumerate(map(str.strip, lines), start=len(header) + 1):
        if not line or line.startswith("%"):
            yield "\n"
            continue
        bare = line.replace(", ", ",")
        cells = bare.split(",")
        plain = not _SPECIAL.search(bare) and len(cells) == len(attributes)
        if plain and all(cells[place] in known for place, known in words.items()):
            if "?" not in bare and "nan" not in bare.lower():
                yield bare + "\n"
                continue
            cells = ["" if cell == "?" else cell for cell in cells]
        else:
            _refuse_repeated_indices(line, number)
            waiting.append(line)
            try:
                cells = next(rows)
            except (arff.ArffException, ValueError) as error:
                why = re.sub(r",? (at|in) line %d\.?", "", getattr(error, "message", str(error)))
                raise ValueError(f"line {number:,}: {why}") from error
        written = io.StringIO()
        cells = ["" if place in numeric and cell in _NAN else cell for place, cell in enumerate(cells)]
        csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(cells)
        yield written.getvalue()


def _header(lines: Iterator[str]) -> list[str]:
    """Return the lines up to @data in liac-arff's syntax; all other lines are empty."""
    header = []
    for line in lines:
        line = re.sub(r"\s+", " ", line.strip(), count=1)
        is_attribute, is_data = (line.lower().startswith(word) for word in ("@attribute", "@data"))
        # Ranges or comments after a type, and dates, are common, but liac-arff does not read them. Dates become words.
        line = re.sub(r"(?i)(\s(?:numeric|real|integer|string)|\})\s+[\[%].*$", r"\1", line)
        line = re.sub(r"(?i)^(@attribute ('[^']*'|\"[^\"]*\"|[^'\"\s]+)\s+)date\b.*$", r"\1string", line)
        header.append(line if is_attribute else "@data" if is_data else "")
        if is_data:
            break
    if not any(header[:-1]) or header[-1] != "@data":
        raise ValueError("it has no ARFF header that ends in @data")
    return header


def _load(header: list[str], rows: Iterable[str] = ()) -> dict[str, Any]:
    import arff

    try:
        return arff.load(itertools.chain(["@relation r"], header, rows), return_type=arff.DENSE_GEN)
    except arff.BadAttributeType as error:
        name, kind = header[error.line - 2].split(None, 2)[1:]
        raise ValueError(f"its attribute {name} has the type {kind!r}; use numbers or {{lists}}") from None
    except arff.ArffException as error:
        raise ValueError(f"its ARFF header cannot be read: {error}") from error


def _refuse_repeated_indices(line: str, number: int) -> None:
    """Refuse a sparse row that has a column twice; liac-arff would keep the last value."""
    if not line.startswith("{"):
        return
    bare = re.sub(r"'(\\.|[^'\\])*'|\"(\\.|[^\"\\])*\"", "", line)
    indices = re.findall(r"[{,]\s*(\d+)\s", bare)
    if len(set(map(int, indices))) < len(indices):
        raise ValueError(f"line {number:,}: a sparse row has a column twice")
