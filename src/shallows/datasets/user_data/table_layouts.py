"""How the columns of a user's table are found in its file: guessed from the first lines, or read from its header."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shallows.datasets.files import DatasetError
from shallows.datasets.formats import arff
from shallows.datasets.formats.containers import open_binary
from shallows.datasets.formats.delimited_text import TextLayout
from shallows.datasets.user_data.request import Request
from shallows.errors import MissingExtraError

# What stands for a missing value, beside an empty field.
MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A", "-nan", "<NA>")
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_HEAD_BYTES = 1 << 18
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")


@dataclass(frozen=True)
class TableLayout:
    """The columns of a table.

    Attributes
    ----------
    names : tuple of str
        Of all columns; made up where the file has none.
    named : bool
        Whether the file names them.
    separator, decimal, encoding, skipped, comment, quote
        As in `shallows.datasets.formats.delimited_text.TextLayout`.
    guesses : tuple of str
        What was guessed, in words.
    """

    names: tuple[str, ...]
    named: bool = True
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    skipped: int = 0
    comment: str | None = None
    quote: str = '"'
    guesses: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """The layout for a record."""
        found = asdict(self)
        del found["guesses"]
        return found | {"names": list(self.names)}

    @property
    def text(self) -> TextLayout:
        """How its text is written."""
        return TextLayout(
            separator=self.separator,
            skipped=self.skipped,
            comment=self.comment,
            spaces=True,
            decimal=self.decimal,
            encoding=self.encoding,
            quote=self.quote,
            missing=MISSING,
            only_these_missing=True,
        )


def text_layout(path: Path, request: Request) -> TableLayout:
    """Find out separator, header and encoding of a text table from its first lines.

    By hand, since neither `csv.Sniffer` nor DuckDB nor pandas tells columns of text without a header from those with
    one, nor what it guessed; DuckDB also takes a table with a short row for one of one column.

    Raises
    ------
    DatasetError
        When there is nothing in it, or it is no text.
    """
    text, whole, encoding, guesses = _head(path)
    lines = text.splitlines() if whole else text.splitlines()[:-1]
    skipped = next((place for place, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    lines = [line for line in lines[skipped:] if line.strip()][:200]
    separator = request.separator or _separator(path, lines)
    rows = _fields(lines, separator)
    header = request.header if request.header is not None else _has_header(rows)
    names = tuple(f"column {place}" for place in range(len(rows[0])))
    if header:
        names = tuple(cell.strip() or name for cell, name in zip(rows[0], names, strict=True))
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise DatasetError(f"Two columns of {path} are called {twice!r}. Give each a name of its own.")
    body = rows[1:] if header else rows
    if not body:
        raise DatasetError(f"{path} holds a header and no rows.")
    decimal = "."
    texts = [cell for row in body for cell in row if cell.strip() and not _NUMBER.fullmatch(cell)]
    if separator != "," and texts and sum(map(bool, map(_DECIMAL_COMMA.fullmatch, texts))) > 0.5 * len(texts):
        decimal = ","
        guesses.append("numbers are written with a decimal comma")
    guesses.insert(0, f"columns are separated by {_SEPARATORS.get(separator, repr(separator))}")
    guesses.insert(1, "the first line names the columns" if header else "the first line is a row and names nothing")
    return TableLayout(names, header, separator, decimal, encoding, skipped + header, guesses=tuple(guesses))


def _head(path: Path) -> tuple[str, bool, str, list[str]]:
    """Return the beginning of a file, whether that is all of it, its encoding, and what was guessed."""
    with open_binary(path) as file:
        head = file.read(_HEAD_BYTES)
    if not head.strip():
        raise DatasetError(f"{path} is empty.")
    if b"\0" in head:
        raise DatasetError(f"{path} is no text: it holds zero bytes. Give it the ending of what it is.")
    if head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        raise DatasetError(f"{path} is a web page and no table. Download the data themselves.")
    whole = len(head) < _HEAD_BYTES
    try:
        return head.decode("utf-8-sig"), whole, "utf-8-sig", []
    except UnicodeDecodeError as error:
        if error.start > len(head) - 4:  # a letter cut in two by the end of what was read
            return head[: error.start].decode("utf-8-sig"), whole, "utf-8-sig", []
    return head.decode("latin-1"), whole, "latin-1", ["it is not UTF-8 and was read as Latin-1"]


def _fields(lines: Sequence[str], separator: str) -> list[list[str]]:
    return [line.split() for line in lines] if separator == " " else list(csv.reader(lines, delimiter=separator))


def _separator(path: Path, lines: Sequence[str]) -> str:
    if ".tsv" in [suffix.lower() for suffix in path.suffixes]:
        return "\t"
    best, most = ",", (0.0, 0)
    for separator in _SEPARATORS:
        widths = [len(row) for row in _fields(lines, separator)]
        width = max(set(widths), key=widths.count)
        if width > 1 and (score := (widths.count(width) / len(widths), width)) > most:
            # Spaces within texts are common; they separate only where nothing else does so evenly.
            if separator == " " and most[0] > 0.9:
                continue
            best, most = separator, score
    return best


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    first, others = rows[0], rows[1:]
    if any(_NUMBER.fullmatch(cell) for cell in first):
        return False
    if not others:
        return True
    below = [[row[place] for row in others if place < len(row)] for place in range(len(first))]
    if any(cells and sum(map(bool, map(_NUMBER.fullmatch, cells))) > 0.5 * len(cells) for cells in below):
        return True
    # All columns are text: a header's words do not come again below it.
    return not any(cell in cells for cell, cells in zip(first, below, strict=True))


def arff_layout(path: Path, request: Request) -> TableLayout:
    """Read the header of an ARFF file; its data are a table of text."""
    with open_binary(path) as file:
        try:
            attributes, n_lines = arff.read_header(file)
        except ValueError as error:
            raise DatasetError(f"{path} cannot be read: {error}.") from error
        first = next((line for raw in file if (line := raw.strip()) and not line.startswith(b"%")), b"")
    if first.startswith(b"{"):
        raise DatasetError(f"{path} is a sparse ARFF file, which is not read here. Write it in LIBSVM form.")
    if not first:
        raise DatasetError(f"{path} holds a header and no rows.")
    names, known = tuple(name for name, _ in attributes), arff.LAYOUT
    return TableLayout(
        names, skipped=n_lines, comment=known.comment, quote=known.quote, guesses=("its header names the columns",)
    )


def parquet_layout(path: Path, request: Request) -> TableLayout:
    """Read the names of a Parquet file's columns."""
    with open_parquet(path) as file:
        return TableLayout(tuple(file.schema_arrow.names), guesses=("it names the columns itself",))


def open_parquet(path: Path) -> Any:
    """Open a Parquet file by pyarrow (extra ``parquet``)."""
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtraError("parquet", f"The Parquet file {path}") from None
    try:
        return ParquetFile(path)
    except (ArrowInvalid, OSError) as error:
        raise DatasetError(f"{path} is no Parquet file: {error}.") from error
