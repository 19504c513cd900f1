"""The rows of a user's table: counted, as data frames, and as the numbers that a preparation takes."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.formats.delimited_text import category_codes, frames
from shallows_papers.datasets.sources import Block
from shallows_papers.datasets.user_data.number_text import plain_number
from shallows_papers.datasets.user_data.table_layouts import TableLayout, open_parquet, records

_BLOCK_BYTES = 16 << 20


def _rows_at_once(layout: TableLayout) -> int:
    return max(1024, min(65_536, _BLOCK_BYTES // (16 * len(layout.names))))


# Tables of text


def count_text_rows(path: Path, layout: TableLayout) -> int:
    """Count the rows; refuse the first one that has another number of columns, by its line.

    By the csv module, since pandas fills a short row with missing values in silence, and pyarrow reads neither comments
    nor columns that several blanks separate.
    """
    n_rows, width = 0, len(layout.names)
    try:
        with layout.rows_of(path) as rows:
            for line, row in records(rows, layout.separator):
                if row and len(row) != width:
                    raise DatasetError(
                        f"Line {layout.skipped + line:,} of {path} has {len(row)} fields, where the first line has "
                        f"{width}. Every row needs the same columns: mend or remove that line, or state the separator."
                    )
                n_rows += bool(row)
    except (ValueError, EOFError, OSError) as error:
        raise DatasetError(f"{path} cannot be read as a table: {error}") from error
    return n_rows


def text_frames(
    path: Path, layout: TableLayout, types: Mapping[int, Any] | None = None, only: Sequence[int] | None = None
) -> Iterator[Any]:
    """Give the rows of a text table, or `only` some columns of them, as data frames with columns numbered from 0.

    Columns of `types` are text, the others numbers where that is possible.
    """
    import pandas

    names = range(len(layout.names))
    with layout.rows_of(path, ahead=True) as rows, warnings.catch_warnings():
        warnings.simplefilter("ignore", pandas.errors.DtypeWarning)
        try:
            for table in frames(
                rows, layout.text, _rows_at_once(layout), names=names, index_col=False, usecols=only, dtype=types
            ):
                for place in () if layout.arff else table.columns:
                    if not pandas.api.types.is_numeric_dtype(table[place]):
                        table[place] = _clean_cells(table[place], layout, as_text=place in (types or {}))
                yield table
        except (ValueError, EOFError, OSError) as error:
            raise DatasetError(f"{path} cannot be read as a table: {error}.") from error


def _clean_cells(column: Any, layout: TableLayout, *, as_text: bool) -> Any:
    """Remove the blanks around words, and write numbers as ``float`` reads them unless the column is text.

    pandas removes only blanks in front of a word, and none within quotes.
    """
    # A comma within a field cannot be the decimal sign where commas separate the fields and decimals have a point.
    thousands = {",": ".", ".": "," if layout.separator == "," else ""}[layout.decimal]
    changed = {}
    for cell in column.unique():
        if isinstance(cell, str):
            word = cell.strip()
            plain = None if as_text or word.isalnum() else plain_number(word, layout.decimal, thousands)
            if (clean := plain or word) != cell:
                changed[cell] = np.nan if clean in layout.text.missing else clean
    return column.map(lambda cell: changed.get(cell, cell), na_action="ignore") if changed else column


# Parquet


def count_parquet_rows(path: Path, layout: TableLayout) -> int:
    """Count the rows."""
    with open_parquet(path) as file:
        return file.metadata.num_rows


def parquet_frames(
    path: Path, layout: TableLayout, types: Mapping[int, Any] | None = None, only: Sequence[int] | None = None
) -> Iterator[Any]:
    """Give the rows of a Parquet file, or `only` some columns of them, as data frames with columns numbered from 0."""
    import pandas

    wanted = range(len(layout.names)) if only is None else only
    names = [layout.names[place] for place in wanted]
    with open_parquet(path) as file:
        for batch in file.iter_batches(batch_size=_rows_at_once(layout), columns=names):
            yield pandas.DataFrame(
                {
                    place: _series(batch.column(name), as_text=types is not None and types.get(place) is str)
                    for place, name in zip(wanted, names, strict=True)
                }
            )


def _series(column: Any, *, as_text: bool) -> Any:
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pyarrow.types.is_decimal(column.type) and column.type.scale <= 0:
        with contextlib.suppress(pyarrow.ArrowInvalid):
            column = column.cast(pyarrow.int64())
    if as_text and pyarrow.types.is_integer(column.type):  # pandas would make floats of integers with gaps
        column = column.cast(pyarrow.string())
    return column.to_pandas()


# Rows for the preparation


def targets_of(table: Any, targets: Sequence[int], *, text: bool) -> np.ndarray:
    """Return the targets in the rows of a data frame: words, whole numbers with all their digits, or float64."""
    if text:
        return table[targets[0]].astype(object).astype(str).to_numpy(dtype=object)
    if len(targets) == 1 and (y := table[targets[0]].to_numpy()).dtype.kind in "iu":
        return y
    y = np.column_stack([table[column].to_numpy(dtype=np.float64, na_value=np.nan) for column in targets])
    return y[:, 0] if len(targets) == 1 else y


@dataclass(frozen=True)
class TextTablePart:
    """The rows of a table as numbers: categories by their codes, missing values as NaN."""

    path: Path
    options: Mapping[str, Any]

    frames = staticmethod(text_frames)

    def blocks(self, rows: int) -> Iterator[Block]:  # noqa: D102
        layout = TableLayout(**self.options["layout"])
        features, targets = self.options["features"], self.options["targets"]
        types: dict[int, Any] = {one["column"]: str for one in features if one["values"] is not None}
        types |= dict.fromkeys(targets, str) if self.options["text_target"] else {}
        for table in self.frames(self.path, layout, types):
            for start in range(0, len(table), rows):
                yield self._block(table.iloc[start : start + rows], features, targets)

    def _block(self, table: Any, features: Sequence[Mapping[str, Any]], targets: Sequence[int]) -> Block:
        x = np.empty((len(table), len(features)))
        for place, one in enumerate(features):
            column = table[one["column"]]
            if one["values"] is None:
                x[:, place] = column.to_numpy(dtype=np.float64, na_value=np.nan)
            else:
                gaps = column.isna().to_numpy()
                codes = category_codes(column.astype(object).astype(str), one["values"])
                x[:, place] = np.where(gaps | (codes < 0), np.nan, codes)
        return Block(x, targets_of(table, targets, text=self.options["text_target"]))


class ParquetPart(TextTablePart):
    """The rows of a Parquet file as numbers."""

    frames = staticmethod(parquet_frames)
