"""The reader of ARFF files: liac-arff parses them into lines of CSV."""

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
from shallows_papers.datasets.formats.containers import open_binary
from shallows_papers.datasets.formats.delimited_text import TableForm, table_blocks
from shallows_papers.datasets.formats.parts import each_file
from shallows_papers.datasets.sources import Block

# A row of ARFF without these is a row of CSV.
_SPECIAL = re.compile(r"[\"'{}\\\s]")
# Missing values of columns of numbers, beside the question mark.
_NAN = ("NaN", "nan", "NAN")


@each_file
def read(dataset: Dataset, form: Form, path: Path, rows: int) -> Iterator[Block]:
    """Read an ARFF file; nominal columns become places in their lists of words.

    The option ``target`` is the number or the name of a column.
    """
    with open_binary(path) as file, io.TextIOWrapper(file, "utf-8", "replace") as text:
        lines = CsvRows(text)
        names, target = [name for name, _ in lines.attributes], form.options["target"]
        column = names.index(target) if isinstance(target, str) else target % len(names)
        for name, kind in lines.attributes:
            if kind == "STRING":
                raise ValueError(f"its attribute {name} holds text; numbers and {{lists}} are read")
        words = {place: kind for place, (_, kind) in enumerate(lines.attributes) if isinstance(kind, list)}
        words.pop(column, None)
        table = TableForm(spaces=True, target=column, categories=words, regression=dataset.task == "regression")
        yield from table_blocks(lines, table, len(names), rows)


class CsvRows(io.TextIOBase):
    """The rows of an ARFF file as CSV, each on the line where it stands in the file.

    liac-arff resolves quotes, escapes and sparse rows. It takes seven times as long as pandas, so a row that is CSV
    already is passed on as it is. A missing value becomes an empty field.

    `attributes` are the names of the columns, each with its type or the words that it may hold. Lines that break the
    grammar, and words that the header does not list, are a `ValueError` while rows are read.
    """

    def __init__(self, text: Iterable[str]):
        lines = iter(text)
        header = _header(lines)
        self.attributes = _load(header)["attributes"]
        self._lines = itertools.chain(["\n"] * len(header), self._rows(lines, header))

    def readable(self) -> bool:
        """Return True."""
        return True

    def readline(self, size: int = -1) -> str:
        """Return the next line, whatever its size, or an empty text at the end."""
        return next(self._lines, "")

    def read(self, size: int = -1) -> str:
        """Return the next lines, of `size` characters or a few more; all of them where it is negative."""
        found, n = [], 0
        while (size < 0 or n < size) and (line := self.readline()):
            found.append(line)
            n += len(line)
        return "".join(found)

    def _rows(self, lines: Iterator[str], header: list[str]) -> Iterator[str]:
        import arff

        # Numbers stay text, so that a label of many digits does not pass through floating point.
        declared = [re.sub(r"(?i)\s(numeric|real|integer)$", " string", line) for line in header]
        waiting: deque[str] = deque()
        rows = _load(declared, iter(waiting.popleft, None))["data"]
        words = {place: {*kind, "?", ""} for place, (_, kind) in enumerate(self.attributes) if isinstance(kind, list)}
        numeric = {place for place, (_, kind) in enumerate(self.attributes) if kind in ("NUMERIC", "REAL", "INTEGER")}
        written = io.StringIO()
        writer = csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for number, line in enumerate(map(str.strip, lines), start=len(header) + 1):
            if not line or line.startswith("%"):
                yield "\n"
                continue
            bare = line.replace(", ", ",")
            cells = bare.split(",")
            plain = not _SPECIAL.search(bare) and len(cells) == len(self.attributes)
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
            writer.writerow(["" if place in numeric and cell in _NAN else cell for place, cell in enumerate(cells)])
            yield written.getvalue()
            written.seek(0)
            written.truncate()


def _header(lines: Iterator[str]) -> list[str]:
    """Take the lines up to @data, written as liac-arff reads them; all others are empty."""
    header = []
    for line in lines:
        line = re.sub(r"\s+", " ", line.strip(), count=1)
        is_attribute, is_data = (line.lower().startswith(word) for word in ("@attribute", "@data"))
        # A range or a comment behind a type is common, and more than liac-arff takes; so are dates, which are words.
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
        raise ValueError(f"its attribute {name} is of the kind {kind!r}; numbers and {{lists}} are read") from None
    except arff.ArffException as error:
        raise ValueError(f"its ARFF header cannot be read: {error}") from error


def _refuse_repeated_indices(line: str, number: int) -> None:
    """Refuse a sparse row that states a column twice, of which liac-arff keeps the last."""
    if not line.startswith("{"):
        return
    bare = re.sub(r"'(\\.|[^'\\])*'|\"(\\.|[^\"\\])*\"", "", line)
    indices = re.findall(r"[{,]\s*(\d+)\s", bare)
    if len(set(map(int, indices))) < len(indices):
        raise ValueError(f"line {number:,}: a sparse row states a column twice")
