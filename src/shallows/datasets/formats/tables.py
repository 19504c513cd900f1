"""Tables of text: CSV in its kinds, ARFF, and lists of molecules."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shallows.datasets.formats.containers import is_compressed, open_binary
from shallows.datasets.sources import Block


@dataclass(frozen=True)
class Layout:
    """How a table of text is written.

    Attributes
    ----------
    target : int
        Column of the target, counted from 0, or from the end when negative.
    n_targets : int
        More than 1: as many of the last columns are targets.
    separator : str
        What stands between two columns; a blank means any number of blanks and tabs.
    header : int
        Lines before the first row.
    comment : str or None
        A line that begins so is left out.
    spaces : bool
        Whether blanks after a separator are left out.
    dtype : str
        Type of the features.
    categories : mapping of int to sequence of str
        Columns of words, each with the words it may hold. A word becomes its place in the list.
    label_end : str
        What is cut off the end of a label.
    missing : str
        What stands for a missing number, which becomes NaN.
    quote : str
        What words are set in.
    """

    target: int = -1
    n_targets: int = 1
    separator: str = ","
    header: int = 0
    comment: str | None = None
    spaces: bool = False
    dtype: str = "float64"
    categories: Mapping[int, Sequence[str]] = field(default_factory=dict)
    label_end: str = ""
    missing: str = ""
    quote: str = '"'


def csv_blocks(
    path: Path,
    layout: Layout,
    rows: int | None,
    start: int = 0,
    stop: int | None = None,
    name: str | None = None,
    regression: bool = False,
) -> Iterator[Block]:
    """Read a table in blocks.

    Parameters
    ----------
    path : Path
        The file, compressed or not.
    layout : Layout
    rows : int or None
        Rows of a block at most; None for all of them in one.
    start, stop : int, optional
        The first row, and the row before which to end. What comes before `start` is passed over without parsing.
    name : str, optional
        The name that counts, where the file bears another one for now.
    regression : bool
        Whether targets are numbers; otherwise they are labels, in the type that pandas finds.

    Yields
    ------
    Block
    """
    reopen = partial(open_binary, path, name)
    if start == 0 and stop is None and not is_compressed(path, name) and _fits(path, rows):
        # Given a path and no size of chunks, pandas reads on several threads.
        yield from table_blocks(path, layout, None, regression=regression, reopen=reopen)
        return
    with open_binary(path, name, ahead=True) as file:
        yield from table_blocks(file, layout, rows, start, stop, regression, reopen)


def _fits(path: Path, rows: int | None) -> bool:
    """Tell whether a file of text has at most so many lines, by those at its beginning and with room to spare."""
    if rows is None:
        return True
    with open(path, "rb") as file:
        beginning = file.read(1 << 18)
    n_lines = beginning.count(b"\n") + 1
    return 1.5 * path.stat().st_size * n_lines <= rows * len(beginning)


def table_blocks(
    file: BinaryIO | Path,
    layout: Layout,
    rows: int | None,
    start: int = 0,
    stop: int | None = None,
    regression: bool = False,
    reopen: Any = None,
    n_columns: int | None = None,
) -> Iterator[Block]:
    """Read a table in blocks from an open file, or whole with ``rows=None``; `csv_blocks` tells of the parameters."""
    import pandas

    def rows_of(source: BinaryIO | Path, **options: Any) -> Any:
        return pandas.read_csv(
            source,
            sep=r"\s+" if layout.separator == " " else layout.separator,
            header=None,
            comment=layout.comment,
            skipinitialspace=layout.spaces,
            na_values=[layout.missing] if layout.missing else None,
            quotechar=layout.quote,
            **options,
        )

    if n_columns is None:
        with reopen() as look:
            n_columns = len(rows_of(look, skiprows=layout.header, nrows=1).columns)
    targets = _target_columns(layout, n_columns)
    types: dict[int, Any] = {column: layout.dtype for column in range(n_columns) if column not in targets}
    types |= dict.fromkeys(layout.categories, "category")
    if regression:
        types |= dict.fromkeys(targets, "float64")
    number = start
    # A column of integers that lacks a value makes NumPy warn before pandas raises.
    with np.errstate(invalid="ignore"):
        tables = rows_of(
            file,
            skiprows=layout.header + start,
            nrows=None if stop is None else stop - start,
            dtype=types,
            chunksize=rows,
        )
        for table in [tables] if rows is None else tables:
            y = table[targets] if len(targets) > 1 else table[targets[0]]
            table = table.drop(columns=targets)
            for column, words in layout.categories.items():
                codes = _codes(table[column], words)
                if codes.min(initial=0) < 0:
                    row = int(np.argmin(codes))
                    raise ValueError(
                        f"row {number + row + 1:,} has in column {column + 1} a word that the catalogue does not list "
                        f"(it lists {len(words)}: {', '.join(list(words)[:5])}, ...)"
                    )
                table[column] = codes.astype(layout.dtype)
            if layout.label_end and not regression:
                y = y.str.removesuffix(layout.label_end)
            number += len(table)
            yield Block(table.to_numpy(layout.dtype), y.to_numpy())


def _codes(column: Any, words: Sequence[str]) -> np.ndarray:
    """Return the places of a categorical column's words in a list, -1 for those that are not on it."""
    places = {word: place for place, word in enumerate(words)}
    # The last one serves the code -1, which stands for nothing at all.
    found = np.array([*(places.get(word, -1) for word in column.cat.categories), -1])
    return found[column.cat.codes.to_numpy()]


def _target_columns(layout: Layout, n_columns: int) -> list[int]:
    if layout.n_targets > 1:
        return list(range(n_columns - layout.n_targets, n_columns))
    if not -n_columns <= layout.target < n_columns:
        raise ValueError(f"its target should be column {layout.target}, and it has {n_columns} columns")
    return [layout.target % n_columns]


_ATTRIBUTE = re.compile(r"""@attribute\s+('[^']*'|"[^"]*"|\S+)\s+(.*)""", re.IGNORECASE)


def arff_blocks(
    path: Path, target: int | str, rows: int, regression: bool, dtype: str = "float64", name: str | None = None
) -> Iterator[Block]:
    """Read an ARFF file in blocks; nominal columns become the places of their words in the header.

    Parameters
    ----------
    path : Path
        The file, compressed or not.
    target : int or str
        Column of the target: its number or its name.
    rows : int
        Rows of a block at most.
    regression : bool
        Whether the target is a number.
    dtype : str
        Type of the features.
    name : str, optional
        The name that counts, where the file bears another one for now.
    """
    with open_binary(path, name) as file:
        names, words = _arff_header(file)
        column = names.index(target) if isinstance(target, str) else target % len(names)
        layout = Layout(
            target=column,
            comment="%",
            spaces=True,
            dtype=dtype,
            categories={number: listed for number, listed in words.items() if number != column},
            missing="?",
            quote="'",
        )
        yield from table_blocks(file, layout, rows, regression=regression, n_columns=len(names))


def _arff_header(file: BinaryIO) -> tuple[list[str], dict[int, list[str]]]:
    names: list[str] = []
    words: dict[int, list[str]] = {}
    for line in iter(file.readline, b""):
        text = line.decode("utf-8", "replace").strip()
        if text.lower().startswith("@data"):
            if not names:
                break
            return names, words
        if (found := _ATTRIBUTE.match(text)) is None:
            continue
        name, kind = found.groups()
        kind = kind.partition("%")[0].strip()
        if kind.startswith("{"):
            listed = next(csv.reader([kind.strip("{}")], quotechar="'", skipinitialspace=True))
            words[len(names)] = [word.strip() for word in listed]
        elif kind.split()[0].lower() not in ("numeric", "real", "integer"):
            raise ValueError(f"its attribute {name} is of the kind {kind!r}; numbers and {{lists}} are read")
        names.append(name.strip("'\""))
    raise ValueError("it has no ARFF header that ends in @data")


def smiles_blocks(path: Path, smiles: str, target: str, rows: int, name: str | None = None) -> Iterator[Block]:
    """Read a CSV of molecules in blocks: x is an object array of shape (m, 1) of SMILES strings."""
    import pandas

    with open_binary(path, name) as file:
        tables = pandas.read_csv(
            file, usecols=[smiles, target], dtype={smiles: "object", target: "float64"}, chunksize=rows
        )
        for table in tables:
            yield Block(table[[smiles]].to_numpy(object), table[target].to_numpy())
