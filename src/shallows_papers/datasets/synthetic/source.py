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

    In the catalogue entry, ``generator`` has the ``name`` of the generator, its parameters and, if the data are made
    from another dataset (digits, molecules), its name ``made_from``. `paths` are the files of the other dataset. The
    test part comes from the other dataset or, without one, from the examples after the training part.
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
        raise DatasetError(f"'{dataset.name}' is made from '{made_from}', but its files are missing. Fetch it again.")
    base = sources.open_source(get(made_from), paths)
    generator = make(name, **parameters, **{parameter: _read_all(base.train)})
    if generator.n is not None and n_train > generator.n:
        raise DatasetError(
            f"'{dataset.name}' should have {n_train:,} training rows, but '{made_from}' gives only {generator.n:,}."
        )
    test = None
    if n_test and base.test is not None:
        test = sources.ArrayPart(*generator.test_rows(*_read_all(base.test)))
    return sources.Source(GeneratedRows(generator, 0, n_train), test)


def _read_all(part: sources.DataPart) -> tuple[Any, np.ndarray]:
    blocks = list(part.blocks(_READ_ROWS))
    return np.concatenate([block.x for block in blocks]), np.concatenate([block.y for block in blocks])
