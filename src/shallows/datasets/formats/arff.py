"""ARFF files: a header, parsed by liac-arff, and a table of text below it: the one reader of this format."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from shallows.datasets.catalogue import Dataset, Form
from shallows.datasets.formats.containers import open_binary
from shallows.datasets.formats.delimited_text import Columns, TextLayout, table_blocks
from shallows.datasets.formats.parts import Parts, Read, each_part, reader_options
from shallows.datasets.sources import Block

#: How the rows below the header are written.
LAYOUT = TextLayout(comment="%", spaces=True, missing=("?",), quote="'")


def open_parts(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    """Open one file a part."""
    options = {"regression": dataset.task == "regression", **reader_options(form)}
    return each_part(paths, lambda path: Read(path, "arff", lambda rows: arff_blocks(path, rows=rows, **options)))


def arff_blocks(path: Path, target: int | str, rows: int, regression: bool, dtype: str = "float64") -> Iterator[Block]:
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
    """
    with open_binary(path) as file:
        attributes, _ = read_header(file)
        names = [name for name, _ in attributes]
        column = names.index(target) if isinstance(target, str) else target % len(names)
        for name, kind in attributes:
            if kind == "STRING":
                raise ValueError(f"its attribute {name} is of the kind 'string'; numbers and {{lists}} are read")
        words = {place: kind for place, (_, kind) in enumerate(attributes) if isinstance(kind, list)}
        words.pop(column, None)
        columns = Columns(target=column, dtype=dtype, categories=words, regression=regression)
        yield from table_blocks(file, LAYOUT, columns, len(names), rows)


def read_header(file: BinaryIO) -> tuple[list[tuple[str, Any]], int]:
    """Read up to the line that begins with @data.

    Returns
    -------
    attributes : list of (str, str or list of str)
        Names of the columns, with "REAL", "NUMERIC", "INTEGER", "STRING" or the words that a column may hold.
    n_lines : int
        Lines of the header.

    Raises
    ------
    ValueError
        When it is no header of an ARFF file, or names a type that is not read.
    """
    import arff

    lines = []
    for raw in iter(file.readline, b""):
        lines.append(raw.decode("utf-8", "replace").strip())
        if lines[-1].lower().startswith("@data"):
            break
    # A range or a comment behind a type is common, and more than liac-arff takes; so is a header without a relation.
    found = [line for line in lines if line.lower().startswith("@attribute")]
    bare = [re.sub(r"(?i)(\s(?:numeric|real|integer)|\})\s+[\[%].*$", r"\1", line) for line in found]
    if not bare or not lines[-1].lower().startswith("@data"):
        raise ValueError("it has no ARFF header that ends in @data")
    try:
        header = arff.load(io.StringIO("\n".join(["@relation r", *bare, "@data", ""])))
    except arff.BadAttributeType as error:
        name, kind = bare[error.line - 2].split(None, 2)[1:]
        raise ValueError(f"its attribute {name} is of the kind {kind!r}; numbers and {{lists}} are read") from None
    except arff.ArffException as error:
        raise ValueError(f"its ARFF header cannot be read: {error}") from error
    return header["attributes"], len(lines)
