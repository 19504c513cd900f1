"""The generated datasets of the catalogue, as blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shallows_papers.datasets import sources
from shallows_papers.datasets.catalogue import Dataset, get
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.synthetic import GENERATORS, make
from shallows_papers.datasets.synthetic.generator import Generator

_READ_ROWS = 8192


@dataclass(frozen=True)
class GeneratedRows:
    """The examples ``start``, ..., ``stop - 1`` of a generator."""

    generator: Generator
    start: int
    stop: int

    def blocks(self, rows: int) -> Iterator[sources.Block]:  # noqa: D102
        for x, y in self.generator.blocks(self.start, self.stop, rows):
            yield sources.Block(x, y)


def open_source(dataset: Dataset, paths: Mapping[str, Path]) -> sources.Source:
    """Open a generated dataset.

    Its entry has under ``generator`` the ``name`` of the generator, its parameters, and under ``made_from`` the dataset
    that it is made from, if any (digits, molecules), whose files are `paths`. The test part is that dataset's, or else
    the examples that follow those of the training part.
    """
    parameters = dict(dataset.generator)
    name = parameters.pop("name")
    made_from = parameters.pop("made_from", None)
    n_train, n_test = dataset.n_train, dataset.n_test
    if made_from is None:
        generator = make(name, **parameters)
        test = GeneratedRows(generator, n_train, n_train + n_test) if n_test else None
        return sources.Source(GeneratedRows(generator, 0, n_train), test)
    parameter = GENERATORS[name].made_of
    if parameter is None:
        raise DatasetError(f"'{dataset.name}' cannot be made from '{made_from}': the generator '{name}' takes no data.")
    if not paths:
        raise DatasetError(f"'{dataset.name}' is made from '{made_from}', whose files are not there. Fetch it again.")
    base = sources.open_source(get(made_from), paths)
    generator = make(name, **parameters, **{parameter: _whole(base.train)})
    if generator.n is not None and n_train > generator.n:
        raise DatasetError(
            f"'{dataset.name}' is to have {n_train:,} training rows, and '{made_from}' gives {generator.n:,}."
        )
    test = None
    if n_test and base.test is not None:
        test = sources.ArrayPart(*generator.test_rows(*_whole(base.test)))
    return sources.Source(GeneratedRows(generator, 0, n_train), test)


def _whole(part: sources.DataPart) -> tuple[Any, np.ndarray]:
    blocks = list(part.blocks(_READ_ROWS))
    return np.concatenate([block.x for block in blocks]), np.concatenate([block.y for block in blocks])
