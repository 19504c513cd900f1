"""SARCOS: one MATLAB matrix a part, whose last columns are the targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from shallows.datasets.catalogue import Dataset, Form
from shallows.datasets.formats.matlab import load_matlab
from shallows.datasets.formats.parts import Parts, Read, each_part
from shallows.datasets.sources import ArrayPart, Block


def open_parts(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    """Open one MATLAB file a part."""
    return each_part(paths, lambda path: Read(path, "MATLAB", partial(matlab_table_blocks, path, dataset.n_targets)))


def matlab_table_blocks(path: Path, n_targets: int, rows: int) -> Iterator[Block]:
    """Read the one matrix of a MATLAB file; its last columns are the targets."""
    tables = [value for value in load_matlab(path).values() if getattr(value, "ndim", 0) == 2]
    if len(tables) != 1:
        raise ValueError(f"it holds {len(tables)} matrices where one is expected")
    yield from ArrayPart(tables[0][:, :-n_targets], tables[0][:, -n_targets:]).blocks(rows)
