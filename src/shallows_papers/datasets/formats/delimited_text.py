"""The reader of CSV and similar text tables by pandas, for the catalogue, users' files and lists of molecules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from shallows.errors import MissingExtraError
from shallows_papers.datasets.catalogue import Dataset, Form
from shallows_papers.datasets.formats.containers import each_file, files_of, naming, open_binary, span_of
from shallows_papers.datasets.sources import Block

MissingExtraError.check("data", "A table of text", "pandas")


@dataclass(frozen=True)
class TableForm:
    """Format and columns of a table. The attributes have the same names as the options in the catalogue.

    A blank as separator means any number of blanks and tabs. The first `header` lines are skipped. The target is a
    column number from 0, or from the end if negative. Several targets are the last columns. A word of `categories`
    becomes its index in the column's list of words. `label_end` is removed from the end of labels.
    """

    separator: str = ","
    header: int = 0
    comment: str | None = None
    spaces: bool = False
    target: int = -1
    n_targets: int = 1
    dtype: str = "float64"
    categories: Mapping[int | str, Sequence[str]] = field(default_factory=dict)
    label_end: str = ""
    regression: bool = False

    def targets(self, n_columns: int) -> list[int]:
        """Return the column numbers of the target."""
        if self.n_targets > 1:
            return list(range(n_columns - self.n_targets, n_columns))
        if not -n_columns <= self.target < n_columns:
            raise ValueError(f"its target should be column {self.target}, but it has {n_columns} columns")
        return [self.target % n_columns]

    def parse(self, file: IO, skipped: int = 0, **options: Any) -> Any:
        """Parse a table by pandas without its first `skipped` rows; columns are numbered from 0."""
        import pandas

        separator = r"\s+" if self.separator == " " else self.separator
        layout = {"sep": separator, "header": None, "comment": self.comment, "skipinitialspace": self.spaces}
        return pandas.read_csv(file, skiprows=self.header + skipped, **layout, **options)

    def column(self, path: Path, name: str) -> int:
        """Return the number of a column by its name in the last line of the header."""
        if not self.header:
            raise ValueError(
                f"its target should be the column {name!r}, but 'header' is 0, so no line has names. Set 'header' to "
                "the number of lines before the data, or give the target's number"
            )
        with open_binary(path) as file:
            line = self.parse(file, -1, nrows=1, dtype=str, keep_default_na=False)
        names = [str(word).strip() for word in line.iloc[0]]
        if names.count(name) != 1:
            raise ValueError(
                f"its target should be the column {name!r}, but {names.count(name) or 'none'} of its columns have this "
                f"name: {', '.join(names)}"
            )
        return names.index(name)


def read(dataset: Dataset, form: Form, paths: Mapping[str, Path], part: str, rows: int) -> Iterator[Block]:
    """Read the tables of a part, or the part's rows of a table with training rows before test rows."""
    options = {key: value for key, value in form.options.items() if key not in ("positive", "negative")}
    name = options.pop("target") if isinstance(options.get("target"), str) else None
    table = TableForm(n_targets=dataset.n_targets, regression=dataset.task == "regression", **options)
    # Skipping rows is faster than parsing and dropping them.
    start, stop = span_of(dataset, paths, part)
    for path in files_of(paths, part):
        with naming(path, "csv"):
            named = table if name is None else replace(table, target=table.column(path, name))
            yield from csv_blocks(path, named, rows, start, stop)


def csv_blocks(path: Path, form: TableForm, rows: int, start: int = 0, stop: int | None = None) -> Iterator[Block]:
    """Read the rows start:stop of a table in blocks of at most `rows`."""
    with open_binary(path) as file:
        n_columns = len(form.parse(file, nrows=1).columns)
    with open_binary(path) as file:
        yield from table_blocks(file, form, n_columns, rows, start, stop)


def table_blocks(
    file: IO, form: TableForm, n_columns: int, rows: int, start: int = 0, stop: int | None = None
) -> Iterator[Block]:
    """As `csv_blocks`, for an open file with a known number of columns."""
    targets, categories = form.targets(n_columns), {int(column): words for column, words in form.categories.items()}
    types: dict[int, Any] = {column: form.dtype for column in range(n_columns) if column not in targets}
    types |= dict.fromkeys(categories, "category")
    if form.regression:
        types |= dict.fromkeys(targets, "float64")
    n_rows = None if stop is None else stop - start
    # If a column of integers lacks a value, NumPy warns before pandas raises.
    with np.errstate(invalid="ignore"):
        for table in form.parse(file, start, chunksize=rows, nrows=n_rows, dtype=types):
            y = table[targets] if len(targets) > 1 else table[targets[0]]
            table = table.drop(columns=targets)
            for column, words in categories.items():
                codes = category_codes(table[column], words)
                if codes.min(initial=0) < 0:
                    row = int(np.argmin(codes))
                    raise ValueError(
                        f"row {start + row + 1:,}, column {column + 1} has a word that the catalogue does not "
                        f"list (it lists {len(words)}: {', '.join(list(words)[:5])}, ...)"
                    )
                table[column] = codes.astype(form.dtype)
            if form.label_end and not form.regression:
                y = y.str.removesuffix(form.label_end)
            start += len(table)
            yield Block(table.to_numpy(form.dtype), y.to_numpy())


def category_codes(column: Any, words: Sequence[str]) -> np.ndarray:
    """Return the index of each value in a list of words; -1 if it is missing or not in the list."""
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
