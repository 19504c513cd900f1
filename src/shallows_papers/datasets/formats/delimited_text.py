"""Tables of text, CSV and its kin, parsed by pandas: those of the catalogue, a user's own, and lists of molecules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shallows.errors import MissingExtraError
from shallows_papers.datasets.catalogue import Dataset, Form
from shallows_papers.datasets.formats.containers import open_binary
from shallows_papers.datasets.formats.parts import each_file, files_of, naming, span_of
from shallows_papers.datasets.sources import Block

MissingExtraError.check("data", "A table of text", "pandas")


@dataclass(frozen=True)
class TextLayout:
    """How a table of text is written; a blank as separator means any number of blanks and tabs."""

    separator: str = ","
    skipped: int = 0
    comment: str | None = None
    spaces: bool = False


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table of the catalogue.

    The target is counted from 0, or from the end when negative; with several targets, as many of the last columns. A
    word of `categories` becomes its place in the column's list of words, and `label_end` is cut off the end of a label.
    """

    target: int = -1
    n_targets: int = 1
    dtype: str = "float64"
    categories: Mapping[int, Sequence[str]] = field(default_factory=dict)
    label_end: str = ""
    regression: bool = False

    def targets(self, n_columns: int) -> list[int]:
        """Return the numbers of the columns of the target."""
        if self.n_targets > 1:
            return list(range(n_columns - self.n_targets, n_columns))
        if not -n_columns <= self.target < n_columns:
            raise ValueError(f"its target should be column {self.target}, and it has {n_columns} columns")
        return [self.target % n_columns]


def read(dataset: Dataset, form: Form, paths: Mapping[str, Path], part: str, rows: int) -> Iterator[Block]:
    """Read the tables of a part, or its rows of the table that holds the training rows before the test rows."""
    options = {key: value for key, value in form.options.items() if key not in ("positive", "negative")}
    layout = {key: options.pop(key) for key in ("separator", "comment", "spaces") if key in options}
    layout = TextLayout(**layout, skipped=options.pop("header", 0))
    options["categories"] = {int(column): words for column, words in options.get("categories", {}).items()}
    columns = TableColumns(n_targets=dataset.n_targets, regression=dataset.task == "regression", **options)
    # Skipping rows is faster than parsing and dropping them.
    start, stop = span_of(dataset, paths, part)
    for path in files_of(paths, part):
        with naming(path, "csv"):
            yield from csv_blocks(path, layout, columns, rows, start, stop)


def frames(file: BinaryIO, layout: TextLayout, rows: int | None, **options: Any) -> Any:
    """Read a table by pandas, with columns numbered from 0: data frames of at most `rows` rows, or one of all rows."""
    import pandas

    settings = {"skiprows": layout.skipped, **options}
    return pandas.read_csv(
        file,
        sep=r"\s+" if layout.separator == " " else layout.separator,
        header=None,
        comment=layout.comment,
        skipinitialspace=layout.spaces,
        chunksize=rows,
        **settings,
    )


def csv_blocks(
    path: Path, layout: TextLayout, columns: TableColumns, rows: int | None, start: int = 0, stop: int | None = None
) -> Iterator[Block]:
    """Read the rows start:stop of a table in blocks of at most `rows`, or in one block (None)."""
    with open_binary(path) as file:
        n_columns = len(frames(file, layout, None, nrows=1).columns)
    with open_binary(path, ahead=True) as file:
        yield from table_blocks(file, layout, columns, n_columns, rows, start, stop)


def table_blocks(
    file: BinaryIO,
    layout: TextLayout,
    columns: TableColumns,
    n_columns: int,
    rows: int | None,
    start: int = 0,
    stop: int | None = None,
) -> Iterator[Block]:
    """Do the work of `csv_blocks` on an open file, whose number of columns is known."""
    targets = columns.targets(n_columns)
    types: dict[int, Any] = {column: columns.dtype for column in range(n_columns) if column not in targets}
    types |= dict.fromkeys(columns.categories, "category")
    if columns.regression:
        types |= dict.fromkeys(targets, "float64")
    n_before, n_rows = start, None if stop is None else stop - start
    # A column of integers that lacks a value makes NumPy warn before pandas raises.
    with np.errstate(invalid="ignore"):
        tables = frames(file, layout, rows, skiprows=layout.skipped + start, nrows=n_rows, dtype=types)
        for table in [tables] if rows is None else tables:
            y = table[targets] if len(targets) > 1 else table[targets[0]]
            table = table.drop(columns=targets)
            for column, words in columns.categories.items():
                codes = category_codes(table[column], words)
                if codes.min(initial=0) < 0:
                    row = int(np.argmin(codes))
                    raise ValueError(
                        f"row {n_before + row + 1:,} has in column {column + 1} a word that the catalogue does not "
                        f"list (it lists {len(words)}: {', '.join(list(words)[:5])}, ...)"
                    )
                table[column] = codes.astype(columns.dtype)
            if columns.label_end and not columns.regression:
                y = y.str.removesuffix(columns.label_end)
            n_before += len(table)
            yield Block(table.to_numpy(columns.dtype), y.to_numpy())


def category_codes(column: Any, words: Sequence[str]) -> np.ndarray:
    """Return the place of each value of a column in a list of words, -1 for those that are not on it or missing."""
    import pandas

    return pandas.Index(list(words), dtype=object).get_indexer(column.astype(object))


@each_file
def read_smiles(dataset: Dataset, form: Form, path: Path, rows: int) -> Iterator[Block]:
    """Read molecules from a table: x is an object array of shape (m, 1) of SMILES strings."""
    import pandas

    smiles, target = form.options["smiles"], form.options["target"]
    types = {smiles: "object", target: "float64"}
    with open_binary(path) as file:
        for table in pandas.read_csv(file, usecols=[smiles, target], dtype=types, chunksize=rows):
            yield Block(table[[smiles]].to_numpy(object), table[target].to_numpy())
