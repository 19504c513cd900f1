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
from shallows.datasets.user_data.request import DECIMALS, NA_VALUES, Request
from shallows.errors import MissingExtraError

# In the order in which they are preferred where two of them divide the lines alike.
_SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas", " ": "spaces"}
_HEAD_BYTES = 1 << 18
#: What a number looks like, by its decimal sign.
_NUMBERS = {
    sign: re.compile(rf"\s*[+-]?(\d+{point}?\d*|{point}\d+)([eE][+-]?\d+)?\s*")
    for sign, point in ((".", r"\."), (",", ","))
}
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*")


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
    na_values : tuple of str
        The words that stand for a missing value, beside an empty cell.
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
    na_values: tuple[str, ...] = NA_VALUES
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
            missing=("", *self.na_values),
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
    na_values = NA_VALUES if request.na_values is None else request.na_values
    separator = request.separator or _separator(path, lines)
    rows = _fields(lines, separator)
    decimal = request.decimal or _decimal(rows, separator, na_values)
    header = request.header if request.header is not None else _has_header(rows, decimal, na_values)
    names = tuple(f"column {place}" for place in range(len(rows[0])))
    if header:
        names = tuple(cell.strip() or name for cell, name in zip(rows[0], names, strict=True))
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise DatasetError(f"Two columns of {path} are called {twice!r}. Give each a name of its own.")
    if header and not rows[1:]:
        raise DatasetError(f"{path} holds a header and no rows.")
    if decimal == "," and not request.decimal:
        guesses.append("numbers are written with a decimal comma")
    guesses.insert(0, f"columns are separated by {_SEPARATORS.get(separator, repr(separator))}")
    guesses.insert(1, "the first line names the columns" if header else "the first line is a row and names nothing")
    return TableLayout(
        names,
        header,
        separator,
        decimal,
        encoding,
        skipped + header,
        na_values=na_values,
        guesses=tuple(guesses),
    )


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
    """The separator that gives most lines the same number of columns, then the one that gives most numbers."""
    if ".tsv" in [suffix.lower() for suffix in path.suffixes]:
        return "\t"
    best, most = ",", (0.0, 0.0, 0)
    for separator in _SEPARATORS:
        rows = _fields(lines, separator)
        widths = [len(row) for row in rows]
        width = max(set(widths), key=widths.count)
        if width < 2:
            continue
        numbers = max(sum(bool(_NUMBERS[sign].fullmatch(cell)) for row in rows for cell in row) for sign in DECIMALS)
        score = (widths.count(width) / len(widths), numbers / sum(widths), width)
        # Spaces within texts are common; where commas divide as evenly, they are the separator of numbers alone.
        if separator == " " and most[0] > 0.9 and (best != "," or score[1] <= max(0.5, most[1])):
            continue
        if score > most:
            best, most = separator, score
    return best


def _columns(rows: Sequence[Sequence[str]], width: int, na_values: Sequence[str]) -> list[list[str]]:
    """The cells of each column that are not missing."""
    missing = {"", *na_values}
    cells = ([row[place].strip() for row in rows if place < len(row)] for place in range(width))
    return [[cell for cell in column if cell not in missing] for column in cells]


def _are_numbers(cells: Sequence[str], decimal: str) -> bool:
    return sum(map(bool, map(_NUMBERS[decimal].fullmatch, cells))) > 0.5 * len(cells)


def _decimal(rows: Sequence[Sequence[str]], separator: str, na_values: Sequence[str]) -> str:
    """The sign by which more columns hold numbers with decimals; columns of text do not count."""
    columns = _columns(rows[1:] or rows, len(rows[0]), na_values)
    points, commas = (
        [cells for cells in columns if any(sign in cell for cell in cells) and _are_numbers(cells, sign)]
        for sign in DECIMALS
    )
    if separator == ",":  # There, quoted commas often divide thousands.
        commas = [cells for cells in commas if not all(_THOUSANDS.fullmatch(cell) for cell in cells if "," in cell)]
    return "," if len(commas) > len(points) else "."


def _has_header(rows: Sequence[Sequence[str]], decimal: str, na_values: Sequence[str]) -> bool:
    width = len(rows[0])
    first = [cells[0] if cells else "" for cells in _columns(rows[:1], width, na_values)]
    numbers = [cell for cell in first if _NUMBERS[decimal].fullmatch(cell)]
    if numbers:
        # pandas numbers columns without names, and writes that.
        return len(numbers) > 2 and numbers == [str(place) for place in range(len(numbers))]
    below = _columns(rows[1:], width, na_values)
    if any(word and cells and _are_numbers(cells, decimal) for word, cells in zip(first, below, strict=True)):
        return True
    # All columns are text: a header's words do not come again below it.
    return not any(word in cells for word, cells in zip(first, below, strict=True))


def arff_layout(path: Path, request: Request) -> TableLayout:
    """Read the header of an ARFF file; its data are a table of text, in which "?" alone is a missing value."""
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
        names,
        skipped=n_lines,
        comment=known.comment,
        quote=known.quote,
        na_values=("?",) if request.na_values is None else request.na_values,
        guesses=("its header names the columns",),
    )


def parquet_layout(path: Path, request: Request) -> TableLayout:
    """Read the names of a Parquet file's columns."""
    with open_parquet(path) as file:
        return TableLayout(tuple(file.schema_arrow.names), na_values=(), guesses=("it names the columns itself",))


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
