"""Read a user's table by pandas: its columns, and its rows as numbers for the preparation."""

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shallows.arrays.memory import available_memory
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.formats.delimited_text import category_codes
from shallows_papers.datasets.sources import Block
from shallows_papers.datasets.user_data.table_columns import Column, as_words, plain_number
from shallows_papers.datasets.user_data.table_layouts import TableLayout, open_parquet, records

# Memory that pandas needs for a table, as a multiple of the file size.
_MEMORY = 6


def _refuse_too_large(path: Path) -> None:
    needed, free = _MEMORY * path.stat().st_size, available_memory()
    if needed > free:
        raise DatasetError(
            f"{path} needs about {needed / 1e9:,.1f} GB of memory as a table, but {free / 1e9:,.1f} GB are free. Save "
            "its numbers with numpy.save as .npy, or in LIBSVM form. These files are read in blocks."
        )


def check_rows(path: Path, layout: TableLayout) -> None:
    """Refuse a row with another number of columns; name its line. pandas would fill short rows silently."""
    width = len(layout.names)
    try:
        with layout.rows_of(path) as rows:
            for line, row in records(rows, layout.separator):
                if row and len(row) != width:
                    raise DatasetError(
                        f"Line {layout.skipped + line:,} of {path} has {len(row)} fields, but the first line has "
                        f"{width}. Every row needs the same columns: correct or remove that line, or state the "
                        "separator."
                    )
    except (ValueError, EOFError, OSError) as error:
        raise DatasetError(f"{path} cannot be read as a table: {error}") from error


def read_text(
    path: Path, layout: TableLayout, as_text: Collection[int] = (), only: Sequence[int] | None = None
) -> dict[int, Column]:
    """Read all columns of a text table, or `only` some, by number. Columns in `as_text` are read as words."""
    _refuse_too_large(path)
    if not layout.arff:  # the ARFF reader checks this itself
        check_rows(path, layout)
    found = _parse(path, layout, only, as_text)
    # pandas converts some words to booleans and long numbers to Python integers.
    words = [place for place, column in found.items() if column.dtype == bool or column.dtype == object]
    found |= _parse(path, layout, words, words) if words else {}
    return {place: _cleaned(layout, place, column, place in as_text) for place, column in found.items()}


def _parse(path: Path, layout: TableLayout, only: Sequence[int] | None, as_text: Collection[int]) -> dict[int, Any]:
    import pandas

    try:
        with layout.rows_of(path) as rows:
            table = pandas.read_csv(
                rows,
                sep=r"\s+" if layout.separator == " " else layout.separator,
                names=range(len(layout.names)),
                index_col=False,
                usecols=only,
                dtype=dict.fromkeys(as_text, str),
                skipinitialspace=True,
                decimal=layout.decimal,
                na_values=[""],
                keep_default_na=False,
                low_memory=False,
            )
    except (ValueError, EOFError, OSError) as error:
        raise DatasetError(f"{path} cannot be read as a table: {error}.") from error
    return dict(table.items())


def _cleaned(layout: TableLayout, place: int, values: Any, as_text: bool) -> Column:
    """Mark words for missing values as missing, strip blanks, and find the numbers among the words."""
    import pandas

    column = Column(layout.names[place], values)
    missing = {float(number): word for word in layout.na_values if (number := plain_number(word))}
    if pandas.api.types.is_numeric_dtype(values):
        if missing and (gaps := values.isin([*missing])).any():
            column.taken.update({missing[number]: n for number, n in values[gaps].value_counts().items()})
            column.values = values.mask(gaps)
        return column
    # If commas separate the fields and decimals have a point, a comma within a field is not a decimal sign.
    thousands = {",": ".", ".": "," if layout.separator == "," else ""}[layout.decimal]
    changed: dict[str, Any] = {}
    for cell, n in values.value_counts(sort=False).items():
        word = cell if layout.arff else cell.strip()
        number = None if as_text or layout.arff else plain_number(word, layout.decimal, thousands)
        if word in layout.na_values or (number and float(number) in missing):
            column.taken[word] += n
            changed[cell] = np.nan
        elif word != cell:
            changed[cell] = word or np.nan
        if number and number != word:
            column.plain[word] = number
    if changed:
        column.values = values.map(lambda cell: changed.get(cell, cell), na_action="ignore")
    # As words, whole numbers keep digits that float64 would round.
    if not as_text and column.is_number and not column.exceeds_integers:
        column = Column(column.name, pandas.to_numeric(column.plain_values), taken=column.taken)
    return column


def read_parquet(
    path: Path, layout: TableLayout, as_text: Collection[int] = (), only: Sequence[int] | None = None
) -> dict[int, Column]:
    """Read the columns of a Parquet file as `read_text` does."""
    _refuse_too_large(path)
    wanted = range(len(layout.names)) if only is None else only
    with open_parquet(path) as file:
        table = file.read(columns=[layout.names[place] for place in wanted])
    return {
        place: Column(layout.names[place], _series(table.column(layout.names[place]), place in as_text))
        for place in wanted
    }


def _series(column: Any, as_text: bool) -> Any:
    import pyarrow

    kinds = pyarrow.types
    if kinds.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kinds.is_decimal(column.type) and column.type.scale <= 0:
        with contextlib.suppress(pyarrow.ArrowInvalid):
            column = column.cast(pyarrow.int64())
    if as_text and kinds.is_integer(column.type):  # pandas would convert integers with gaps to floats
        column = column.cast(pyarrow.string())
    if as_text or not (kinds.is_integer(column.type) or kinds.is_floating(column.type)):
        return as_words(column.to_pandas())
    return column.to_pandas()


# Rows for the preparation


def row_blocks(columns: Mapping[int, Column], options: Mapping[str, Any], rows: int) -> Iterator[Block]:
    """Yield the rows of a table as numbers: categories as codes, missing values as NaN."""
    features, targets = options["features"], [columns[place] for place in options["targets"]]
    for start in range(0, len(targets[0].values), rows):
        part = slice(start, start + rows)
        x = [codes_of(columns[one["column"]], one["values"], part) for one in features]
        y = [column.values[part] for column in targets]
        if options["text_target"]:
            y = as_words(y[0]).to_numpy(dtype=object)
        elif len(y) == 1 and y[0].dtype.kind in "iu":
            y = y[0].to_numpy()
        else:
            y = np.column_stack([column.numbers[part] for column in targets])
            y = y[:, 0] if y.shape[1] == 1 else y
        yield Block(np.column_stack(x) if x else np.empty((len(y), 0)), y)


def codes_of(column: Column, words: Sequence[str] | None, part: slice = slice(None)) -> np.ndarray:
    """Return numbers, or the indices of categories in a list of words; NaN for other values."""
    if words is None:
        return column.numbers[part]
    codes = category_codes(as_words(column.values[part]), words)
    return np.where(codes < 0, np.nan, codes)


def table_blocks(
    read: Callable[..., dict[int, Column]], path: Path, options: Mapping[str, Any], rows: int
) -> Iterator[Block]:
    """Read the rows of a table as numbers. `read` reads its columns."""
    words = [one["column"] for one in options["features"] if one["values"] is not None]
    words += options["targets"] if options["text_target"] else []
    yield from row_blocks(read(path, TableLayout(**options["layout"]), words), options, rows)
