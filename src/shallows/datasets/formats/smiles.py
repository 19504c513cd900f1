"""Lists of molecules: a CSV file with a column of SMILES strings and one of the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from shallows.datasets.catalogue import Dataset, Form
from shallows.datasets.formats.containers import open_binary
from shallows.datasets.formats.parts import Parts, Read, each_part
from shallows.datasets.sources import Block


def open_parts(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    """Open one file a part."""
    return each_part(
        paths, lambda path: Read(path, "smiles", lambda rows: smiles_blocks(path, rows=rows, **form.options))
    )


def peek(dataset: Dataset, form: Form, path: Path, name: str) -> Block | None:
    """Read the first rows of a file under its later name."""
    return next(smiles_blocks(path, rows=50, name=name, **form.options), None)


def smiles_blocks(path: Path, smiles: str, target: str, rows: int, name: str | None = None) -> Iterator[Block]:
    """Read a CSV of molecules in blocks: x is an object array of shape (m, 1) of SMILES strings."""
    import pandas

    with open_binary(path, name) as file:
        tables = pandas.read_csv(
            file, usecols=[smiles, target], dtype={smiles: "object", target: "float64"}, chunksize=rows
        )
        for table in tables:
            yield Block(table[[smiles]].to_numpy(object), table[target].to_numpy())
