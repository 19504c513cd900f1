"""Tables of columns with names and types of their own: CSV and its kin, ARFF, Parquet."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shallows.datasets.files import DatasetError
from shallows.datasets.own.request import Request
from shallows.datasets.sources import Block
from shallows.errors import MissingExtraError

# What stands for a missing value, beside an empty field.
MISSING = ["", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A", "-nan", "<NA>"]
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_HEAD_BYTES = 1 << 18
_BLOCK_BYTES = 16 << 20
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")


@dataclass(frozen=True)
class Layout:
    """How the columns of a table are found in its file.

    Attributes
    ----------
    names : tuple of str
        Of all columns; made up where the file has none.
    named : bool
        Whether the file names them.
    separator : str
        A space stands for any white space.
    decimal : str
    encoding : str
    skipped : int
        Lines before the first row.
    comment : str or None
        What a line that is no row begins with.
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
    guesses: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """The layout for a record."""
        return {
            "names": list(self.names),
            "named": self.named,
            "separator": self.separator,
            "decimal": self.decimal,
            "encoding": self.encoding,
            "skipped": self.skipped,
            "comment": self.comment,
        }


# CSV and its kin ------------------------------------------------------------------------------------------------------


def table_layout(path: Path, request: Request) -> Layout:
    """Find out separator, header and encoding of a text table from its first lines.

    Raises
    ------
    DatasetError
        When there is nothing in it, or it is no text.
    """
    from shallows.datasets.formats import open_binary

    with open_binary(path) as file:
        head = file.read(_HEAD_BYTES)
    if not head.strip():
        raise DatasetError(f"{path} is empty.")
    if b"\0" in head:
        raise DatasetError(f"{path} is no text: it holds zero bytes. Give it the ending of what it is.")
    if head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        raise DatasetError(f"{path} is a web page and no table. Download the data themselves.")
    encoding, guesses = "utf-8-sig", []
    try:
        text = head.decode(encoding)
    except UnicodeDecodeError as error:
        if error.start > len(head) - 4:  # a letter cut in two by the end of what was read
            text = head[: error.start].decode(encoding)
        else:
            encoding = "latin-1"
            text = head.decode(encoding)
            guesses.append("it is not UTF-8 and was read as Latin-1")
    lines = text.splitlines() if len(head) < _HEAD_BYTES else text.splitlines()[:-1]
    skipped = next((place for place, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    lines = [line for line in lines[skipped:] if line.strip()][:200]
    separator = request.separator or _separator(path, lines)
    rows = list(csv.reader(lines, delimiter=separator)) if separator != " " else [line.split() for line in lines]
    header = request.header if request.header is not None else _has_header(rows)
    width = len(rows[0])
    if header:
        names = tuple(cell.strip() or f"column {place}" for place, cell in enumerate(rows[0]))
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise DatasetError(f"Two columns of {path} are called {twice!r}. Give each a name of its own.")
    else:
        names = tuple(f"column {place}" for place in range(width))
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
    return Layout(names, header, separator, decimal, encoding, skipped + header, None, tuple(guesses))


def _separator(path: Path, lines: Sequence[str]) -> str:
    if ".tsv" in [suffix.lower() for suffix in path.suffixes]:
        return "\t"
    best, most = ",", (0.0, 0)
    for separator in _SEPARATORS:
        rows = [line.split() for line in lines] if separator == " " else list(csv.reader(lines, delimiter=separator))
        widths = [len(row) for row in rows]
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


def check_shape(path: Path, layout: Layout) -> int:
    """Count the rows, and tell of the first one that has not the columns of the others.

    Raises
    ------
    DatasetError
        It names the line.
    """
    from shallows.datasets.formats import open_binary

    width, n_rows = len(layout.names), 0
    separator = layout.separator.encode()
    with open_binary(path) as file:
        quoted = False
        for number, line in enumerate(file, start=1):
            if number <= layout.skipped or not line.strip() or _is_comment(line, layout):
                continue
            if b'"' in line:
                quoted = True
                break
            found = len(line.split()) if separator == b" " else line.count(separator) + 1
            if found != width:
                raise DatasetError(_ragged(path, number, found, width))
            n_rows += 1
    return _check_quoted(path, layout) if quoted else n_rows


def _check_quoted(path: Path, layout: Layout) -> int:
    """Do the same where fields may hold separators and line ends between quotation marks."""
    from shallows.datasets.formats import open_binary

    n_rows = 0
    with open_binary(path) as file, io.TextIOWrapper(file, layout.encoding, newline="") as text:
        for _ in range(layout.skipped):
            next(text)
        reader = csv.reader(text, delimiter=layout.separator, skipinitialspace=layout.separator == " ")
        for row in reader:
            if not row or (layout.comment and row[0].startswith(layout.comment)):
                continue
            if len(row) != len(layout.names):
                raise DatasetError(_ragged(path, layout.skipped + reader.line_num, len(row), len(layout.names)))
            n_rows += 1
    return n_rows


def _is_comment(line: bytes, layout: Layout) -> bool:
    return layout.comment is not None and line.lstrip().startswith(layout.comment.encode())


def _ragged(path: Path, line: int, found: int, width: int) -> str:
    return (
        f"Line {line:,} of {path} has {found} fields, where the first line has {width}. Every row needs the same "
        "columns: mend or remove that line, or state the separator."
    )


def table_chunks(
    path: Path, layout: Layout, types: Mapping[int, Any] | None = None, only: Sequence[int] | None = None
) -> Iterator[Any]:
    """Give the rows of a text table, or `only` some columns of them, as data frames with columns numbered from 0."""
    import pandas

    from shallows.datasets.formats import open_binary

    width = len(layout.names)
    rows = max(1024, min(65_536, _BLOCK_BYTES // (16 * width)))
    whitespace = layout.separator == " "
    with open_binary(path, ahead=True) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", pandas.errors.DtypeWarning)
        try:
            yield from pandas.read_csv(
                file,
                sep=r"\s+" if whitespace else layout.separator,
                header=None,
                names=range(width),
                index_col=False,
                usecols=only,
                skiprows=layout.skipped,
                comment=layout.comment,
                dtype=types,
                decimal=layout.decimal,
                encoding=layout.encoding,
                na_values=MISSING,
                keep_default_na=False,
                skipinitialspace=True,
                chunksize=rows,
            )
        except (ValueError, EOFError, OSError) as error:
            raise DatasetError(f"{path} cannot be read as a table: {error}.") from error


# ARFF -----------------------------------------------------------------------------------------------------------------

_ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^']|\\')*'|\"[^\"]*\"|\S+)\s+(.+)", re.IGNORECASE)


def arff_layout(path: Path, request: Request) -> Layout:
    """Read the header of an ARFF file; its data are a CSV table."""
    from shallows.datasets.formats import open_binary

    names: list[str] = []
    with open_binary(path) as file:
        for number, raw in enumerate(file, start=1):
            line = raw.decode("utf-8", errors="replace").strip()
            if line.lower().startswith("@data"):
                break
            if match := _ATTRIBUTE.match(line):
                names.append(match[1].strip("'\""))
                if match[2].strip().lower().startswith(("relational", "date")):
                    raise DatasetError(f"The attribute {names[-1]} of {path} is of type {match[2]}, which is not read.")
            elif line and not line.startswith("%") and not line.lower().startswith(("@relation", "@end")):
                raise DatasetError(f"Line {number} of {path} is no part of an ARFF header: {line[:60]!r}.")
        else:
            raise DatasetError(f"{path} has no line @data, which an ARFF file needs.")
        first = next((line for raw in file if (line := raw.strip()) and not line.startswith(b"%")), b"")
    if first.startswith(b"{"):
        raise DatasetError(f"{path} is a sparse ARFF file, which is not read here. Write it in LIBSVM form.")
    if not names:
        raise DatasetError(f"{path} names no attributes.")
    if not first:
        raise DatasetError(f"{path} holds a header and no rows.")
    return Layout(tuple(names), True, ",", ".", "utf-8", number, "%", ("its header names the columns",))


# Parquet --------------------------------------------------------------------------------------------------------------


def parquet_layout(path: Path, request: Request) -> Layout:
    """Read the names of a Parquet file's columns."""
    with _parquet(path) as file:
        return Layout(tuple(file.schema_arrow.names), guesses=("it names the columns itself",))


def parquet_rows(path: Path, layout: Layout) -> int:
    """Count the rows."""
    with _parquet(path) as file:
        return file.metadata.num_rows


def parquet_chunks(
    path: Path, layout: Layout, types: Mapping[int, Any] | None = None, only: Sequence[int] | None = None
) -> Iterator[Any]:
    """Give the rows of a Parquet file, or `only` some columns of them, as data frames with columns numbered from 0."""
    wanted = list(range(len(layout.names)) if only is None else only)
    rows = max(1024, min(65_536, _BLOCK_BYTES // (16 * len(layout.names))))
    with _parquet(path) as file:
        for batch in file.iter_batches(batch_size=rows, columns=[layout.names[place] for place in wanted]):
            table = batch.to_pandas()[[layout.names[place] for place in wanted]]
            table.columns = wanted
            # Text may lie there as a dictionary, or as bytes.
            for place, kind in table.dtypes.items():
                if str(kind) == "category":
                    table[place] = table[place].astype(object)
            yield table


def _parquet(path: Path) -> Any:
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtraError("parquet", f"The Parquet file {path}") from None
    try:
        return ParquetFile(path)
    except (ArrowInvalid, OSError) as error:
        raise DatasetError(f"{path} is no Parquet file: {error}.") from error


# Rows for the preparation ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TablePart:
    """The rows of a table as numbers: categories by their codes, missing values as NaN.

    Attributes
    ----------
    path : Path
    options : mapping
        The description that `shallows.datasets.own.describe` made.
    """

    path: Path
    options: Mapping[str, Any]

    def blocks(self, rows: int) -> Iterator[Block]:
        """See `shallows.datasets.sources.Part.blocks`."""
        from shallows.datasets.own.forms import FORMS

        layout = Layout(**self.options["layout"])
        features, targets = self.options["features"], self.options["targets"]
        types: dict[int, Any] = {one["column"]: np.float64 if one["values"] is None else str for one in features}
        types |= dict.fromkeys(targets, str if self.options["text_target"] else np.float64)
        for table in FORMS[self.options["form"]].chunks(self.path, layout, types):
            for start in range(0, len(table), rows):
                yield self._block(table.iloc[start : start + rows], features, targets)

    def _block(self, table: Any, features: Sequence[Mapping[str, Any]], targets: Sequence[int]) -> Block:
        x = np.empty((len(table), len(features)))
        for place, one in enumerate(features):
            column = table[one["column"]]
            if one["values"] is None:
                x[:, place] = column.to_numpy(dtype=np.float64, na_value=np.nan)
            else:
                x[:, place] = _codes(column, one["values"])
        if self.options["text_target"]:
            y = table[targets[0]].astype(str).to_numpy(dtype=object)
        else:
            y = np.column_stack([table[column].to_numpy(dtype=np.float64, na_value=np.nan) for column in targets])
            y = y[:, 0] if len(targets) == 1 else y
        return Block(x, y)


def _codes(column: Any, values: Sequence[str]) -> np.ndarray:
    """Return the place of each text among `values`; NaN where it is missing."""
    import pandas

    gaps = column.isna().to_numpy()
    texts = np.where(gaps, "", column.astype(object).astype(str).to_numpy(dtype=object))
    codes = pandas.Index(list(values), dtype=object).get_indexer(texts)
    return np.where(gaps | (codes < 0), np.nan, codes.astype(np.float64))
