"""The layout of a user's table, guessed from the first lines or read from the header."""

import base64
import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile

from shallows.errors import MissingExtraError
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.formats import arff
from shallows_papers.datasets.formats.containers import open_binary
from shallows_papers.datasets.user_data.request import DECIMALS, NA_VALUES, FileRequest
from shallows_papers.datasets.user_data.summary import some_of
from shallows_papers.datasets.user_data.table_columns import character, plain_number

# If two separators divide the lines equally well, the earlier one is chosen.
_SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas", " ": "spaces"}
_HEAD_BYTES = 1 << 18
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*")
# Blank lines and comments before the first row.
_PREAMBLE = re.compile(r"([^\S\r\n]*(#[^\r\n]*)?(\r\n|\r|\n))*")
# Names that pandas and Dask give to an index without a name.
_UNNAMED_INDEX = re.compile(r"__index_level_\d+__|__null_dask_index__")


@dataclass(frozen=True)
class TableLayout:
    """The columns of a table, and its text format.

    If the file has no column names, the columns are called "column 0" and so on. The first `index` columns are the
    index of a data frame and are not data. The file declares the columns `declared` as categories. `na_values` are
    words for missing values, in addition to empty cells.
    """

    names: tuple[str, ...]
    named: bool = True
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    skipped: int = 0
    na_values: tuple[str, ...] = NA_VALUES
    index: int = 0
    declared: tuple[int, ...] = ()
    arff: bool = False
    guesses: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """Return the layout as plain data for a record."""
        found = asdict(self)
        del found["guesses"]
        return found | {"names": list(self.names)}

    @contextmanager
    def rows_of(self, path: Path) -> Iterator[io.TextIOBase]:
        """Open a text file at its first row."""
        with open_table(path) as file, io.TextIOWrapper(file, self.encoding, newline="") as text:
            # pandas' skiprows would read a quotation mark in a comment as the beginning of a field.
            for _ in range(self.skipped):
                next(text)
            yield arff.csv_of(text)[1] if self.arff else text


def text_layout(path: Path, request: FileRequest) -> TableLayout:
    """Guess separator, header and encoding of a text table from its first lines; refuse empty and binary files.

    `csv.Sniffer`, DuckDB and pandas do not recognize the header of text columns and do not report what they guessed.
    DuckDB also reads a table with a short row as a single column.
    """
    text, whole, encoding, guesses = _head(path)
    begin = _PREAMBLE.match(text).end()
    begin = begin if text[begin:].strip() else 0
    preamble, text = [*io.StringIO(text[:begin], newline="")], text[begin:]
    skipped = len(preamble)
    na_values = NA_VALUES if request.na_values is None else request.na_values
    separator = request.separator or _separator(path, text)
    rows = _first_rows(path, text, separator, whole)
    _refuse_odd_separators(path, rows)
    decimal = request.decimal or _decimal(rows, separator, na_values)
    header = request.header if request.header is not None else _has_header(rows, decimal, na_values)
    names = tuple(f"column {place}" for place in range(len(rows[0])))
    unnamed = header and not rows[0][0].strip() and all(cell.strip() for cell in rows[0][1:])
    commented = None
    if request.header is not False and not (len(rows) > 1 and _has_header(rows, decimal, na_values)):
        commented = _commented_names(preamble, rows, separator, request.target)
    if commented:
        header, unnamed, names = False, False, commented
        _refuse_repeated_names(path, names)
    if header:
        names = tuple(cell.strip() or name for cell, name in zip(rows[0], names, strict=True))
        _refuse_repeated_names(path, names)
        skipped += next(number for number, row in records(io.StringIO(text, newline=""), separator) if row)
    if header and not rows[1:]:
        raise DatasetError(f"{path} holds a header and no rows.")
    if decimal == "," and not request.decimal:
        guesses.append("numbers are written with a decimal comma")
    is_sheet = path.suffix.lower() == ".xlsx"
    separated = f"columns are separated by {_SEPARATORS.get(separator, repr(separator))}"
    guesses.insert(0, "the first sheet is read" if is_sheet else separated)
    if commented:
        guesses.insert(1, f"a comment names the columns: {some_of(names)}")
    else:
        guesses.insert(1, "the first line names the columns" if header else "the first line is a row and names nothing")
    return TableLayout(
        names,
        header or bool(commented),
        separator,
        decimal,
        encoding,
        skipped,
        na_values=na_values,
        index=int(unnamed),
        guesses=tuple(guesses),
    )


def _commented_names(
    preamble: Sequence[str], rows: Sequence[Sequence[str]], separator: str, target: Any
) -> tuple[str, ...] | None:
    """Return the column names in a comment before the rows, as written by ``numpy.savetxt(header=...)``.

    The names may have another separator than the rows. If several comments could be names, the one with the target's
    name is used, otherwise the last.
    """
    found = []
    for line in preamble:
        text = line.strip(" \r\n").lstrip("#")
        for sign in dict.fromkeys([separator, ",", ";", "\t", " "]):
            cells = [cell.strip() for _, row in records([text], sign) for cell in row]
            if cells and not cells[0] and sign != " ":  # the number sign is the name of the first column
                cells[0] = "#"
            if len(cells) == len(rows[0]) and _are_names(cells, rows, may_repeat=sign != " "):
                found.append(tuple(cells))
                break
    return next((names for names in found if str(target) in names), found[-1] if found else None)


def _are_names(cells: Sequence[str], rows: Sequence[Sequence[str]], *, may_repeat: bool) -> bool:
    """Return whether the cells of a comment can be column names, and not a row or a sentence."""
    words = [place for place, cell in enumerate(cells) if not _is_number(cell, ".")]
    of_a_row = any(cells[place] in (row[place].strip() for row in rows if place < len(row)) for place in words)
    return bool(words) and all(cells) and not of_a_row and (may_repeat or len(set(cells)) == len(cells))


def open_table(path: Path) -> BinaryIO:
    """Open a text file, or the first sheet of an Excel file as CSV with openpyxl."""
    if path.suffix.lower() != ".xlsx":
        return open_binary(path)
    import pandas

    try:
        sheet = pandas.read_excel(path, header=None, dtype=str, keep_default_na=False, engine="openpyxl")
    except ImportError:
        raise DatasetError(
            f"The Excel file {path} needs the package openpyxl: pip install openpyxl. Or save it as CSV or Parquet."
        ) from None
    except (ValueError, OSError, KeyError, BadZipFile) as error:
        raise DatasetError(f"{path} cannot be read as an Excel file: {error}.") from error
    return io.BytesIO(sheet.to_csv(index=False, header=False).encode())


def _head(path: Path) -> tuple[str, bool, str, list[str]]:
    """Return the beginning of a file, whether it is the whole file, its encoding, and the guesses."""
    with open_table(path) as file:
        head = file.read(_HEAD_BYTES)
    if not head.strip():
        raise DatasetError(f"{path} is empty.")
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DatasetError(f"{path} is text in UTF-16. Save it again as UTF-8 (in Excel: 'CSV UTF-8').")
    if b"\0" in head:
        raise DatasetError(f"{path} is not text: it holds zero bytes. Give it the ending of its format.")
    if head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        raise DatasetError(f"{path} is a web page and not a table. Download the data file itself.")
    whole = len(head) < _HEAD_BYTES
    try:
        return head.decode("utf-8-sig"), whole, "utf-8-sig", []
    except UnicodeDecodeError as error:
        if error.start > len(head) - 4:  # the last letter may be cut off
            return head[: error.start].decode("utf-8-sig"), whole, "utf-8-sig", []
    return head.decode("latin-1"), whole, "latin-1", ["it is not UTF-8 and was read as Latin-1"]


def records(lines: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row with the number of its last line; a blank line has no fields.

    A line break within quotes belongs to its field. A field that is too long for the csv module raises a ValueError.
    """
    if separator == " ":
        lines = (line.replace("\t", " ").strip() + "\n" for line in lines)
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    try:
        for row in reader:
            yield reader.line_num, row if len(row) != 1 or row[0].strip() else []
    except csv.Error as error:
        raise ValueError(f"{error} up to line {reader.line_num:,}; is a quotation mark left open?") from error


def _first_rows(path: Path, text: str, separator: str, whole: bool) -> list[list[str]]:
    try:
        rows = [row for _, row in itertools.islice(records(io.StringIO(text, newline=""), separator), 200) if row]
    except ValueError as error:
        raise DatasetError(f"{path} cannot be read as a table: {error}") from error
    return rows if whole or len(rows) == 1 else rows[:-1]


def _refuse_odd_separators(path: Path, rows: Sequence[Sequence[str]]) -> None:
    """Refuse rows with one field if they seem to have several fields with an unsupported separator."""
    for sign in "\u00a0\u2007\u2009\u202f\u3000\uff0c\uff1b":
        if max(map(len, rows)) == 1 and sum(sign in row[0] for row in rows) > 0.9 * len(rows):
            raise DatasetError(
                f"The columns of {path} seem to be separated by the character {character(sign)}. Replace it by commas, "
                "semicolons or tabs."
            )


def _refuse_repeated_names(path: Path, names: Sequence[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DatasetError(f"Two columns of {path} are called {twice!r}. Give them different names.")


def _separator(path: Path, text: str) -> str:
    """Return the separator that gives most lines the same number of columns; break ties by the count of numbers."""
    if ".tsv" in [suffix.lower() for suffix in path.suffixes]:
        return "\t"
    best, most = ",", (0.0, 0.0, 0)
    for separator in _SEPARATORS:
        rows = _first_rows(path, text, separator, True)
        widths = [len(row) for row in rows]
        width = max(set(widths), key=widths.count)
        if width < 2:
            continue
        numbers = max(sum(_is_number(cell.strip(), sign) for row in rows for cell in row) for sign in DECIMALS)
        score = (widths.count(width) / len(widths), numbers / sum(widths), width)
        # Texts often contain spaces. If commas divide the lines as evenly, spaces are the separator only of numbers.
        if separator == " " and most[0] > 0.9 and (best != "," or score[1] <= max(0.5, most[1])):
            continue
        if score > most:
            best, most = separator, score
    return best


def _columns(rows: Sequence[Sequence[str]], width: int, na_values: Sequence[str]) -> list[list[str]]:
    """Return the cells of each column that are not missing."""
    missing = {"", *na_values}
    cells = ([row[place].strip() for row in rows if place < len(row)] for place in range(width))
    return [[cell for cell in column if cell not in missing] for column in cells]


def _is_number(cell: str, decimal: str) -> bool:
    return plain_number(cell, decimal) is not None


def _are_numbers(cells: Sequence[str], decimal: str) -> bool:
    return sum(_is_number(cell, decimal) for cell in cells) > 0.5 * len(cells)


def _decimal(rows: Sequence[Sequence[str]], separator: str, na_values: Sequence[str]) -> str:
    """Return the decimal sign with which more columns are decimal numbers; ignore columns of text."""
    columns = _columns(rows[1:] or rows, len(rows[0]), na_values)
    points, commas = (
        [cells for cells in columns if any(sign in cell for cell in cells) and _are_numbers(cells, sign)]
        for sign in DECIMALS
    )
    if separator == ",":  # quoted commas often separate thousands
        commas = [cells for cells in commas if not _has_thousands(cells, ",")]
    elif commas:
        points = [cells for cells in points if not _has_thousands(cells, ".")]
    return "," if len(commas) > len(points) else "."


def _has_thousands(cells: Sequence[str], sign: str) -> bool:
    """Return whether a sign can be the thousands separator in all cells that contain it."""
    return all(_THOUSANDS.fullmatch(cell.replace(sign, ",")) for cell in cells if sign in cell)


def _has_header(rows: Sequence[Sequence[str]], decimal: str, na_values: Sequence[str]) -> bool:
    width = len(rows[0])
    first = [cells[0] if cells else "" for cells in _columns(rows[:1], width, na_values)]
    numbers = [cell for cell in first if _is_number(cell, decimal)]
    if numbers:
        # pandas writes numbers for columns without names.
        return len(numbers) > 2 and numbers == [str(place) for place in range(len(numbers))]
    below = _columns(rows[1:], width, na_values)
    if any(word and cells and _are_numbers(cells, decimal) for word, cells in zip(first, below, strict=True)):
        return True
    # All columns are text: words of a header do not occur again below it.
    return not any(word in cells for word, cells in zip(first, below, strict=True))


def arff_layout(path: Path, request: FileRequest) -> TableLayout:
    """Read the header of an ARFF file. Its data are a text table with ? for missing values."""
    encoding = _head(path)[2]
    try:
        with open_table(path) as file, io.TextIOWrapper(file, encoding, newline="") as text:
            attributes, rows = arff.csv_of(text)
    except ValueError as error:
        raise DatasetError(f"{path} cannot be read: {error}.") from error
    if not any(map(str.strip, rows)):
        raise DatasetError(f"{path} holds a header and no rows.")
    return TableLayout(
        tuple(name for name, _ in attributes),
        encoding=encoding,
        na_values=request.na_values or (),
        declared=tuple(place for place, (_, kind) in enumerate(attributes) if isinstance(kind, list)),
        arff=True,
        guesses=("its header names the columns",),
    )


def parquet_layout(path: Path, request: FileRequest) -> TableLayout:
    """Read the column names of a Parquet file, with the data frame's index first, and which columns are categories."""
    with open_parquet(path) as file:
        schema, stored = file.schema_arrow, (file.metadata.metadata or {}).get(b"ARROW:schema")
    described = schema.pandas_metadata or {}
    index = [name for name in described.get("index_columns", ()) if isinstance(name, str) and name in schema.names]
    names = [name for name in index if not _UNNAMED_INDEX.fullmatch(name)]
    n_index = len(names)
    names += [name for name in schema.names if name not in index]
    _refuse_repeated_names(path, names)
    # Parquet stores categories as values. The schema of Arrow or pandas marks them as categories.
    categories = {one["field_name"] for one in described.get("columns", ()) if one["pandas_type"] == "categorical"}
    if stored is not None:
        import pyarrow

        fields = pyarrow.ipc.read_schema(pyarrow.py_buffer(base64.b64decode(stored)))
        categories |= {field.name for field in fields if pyarrow.types.is_dictionary(field.type)}
    declared = tuple(place for place, name in enumerate(names) if name in categories)
    guesses = ("it names the columns itself",)
    return TableLayout(tuple(names), na_values=(), index=n_index, declared=declared, guesses=guesses)


def open_parquet(path: Path) -> Any:
    """Open a Parquet file with pyarrow (extra ``parquet``)."""
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtraError("parquet", f"The Parquet file {path}") from None
    try:
        return ParquetFile(path)
    except (ArrowInvalid, OSError) as error:
        raise DatasetError(f"{path} is not a Parquet file: {error}.") from error
