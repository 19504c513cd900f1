"""Open the verified files of a dataset, as blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shallows_papers.datasets.catalogue import Dataset, File, Form
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.formats import READERS
from shallows_papers.datasets.sources import Block, Source

# Formats whose files can be read separately.
_SINGLE_FILES = ("csv", "libsvm", "smiles")


@dataclass(frozen=True)
class FilePart:
    """The training or test rows in the files of a form. The form's options may turn labels into 0 and 1."""

    dataset: Dataset
    form: Form
    paths: Mapping[str, Path]
    part: str

    def blocks(self, rows: int) -> Iterator[Block]:  # noqa: D102
        positive, negative = (self.form.options.get(key) for key in ("positive", "negative"))
        for x, y in READERS[self.form.format](self.dataset, self.form, self.paths, self.part, rows):
            if positive or negative:
                y = (np.isin(y, positive) if positive else ~np.isin(y, negative)).astype(np.int8)
            yield Block(x, y)


def open_source(dataset: Dataset, paths: Mapping[str, Path]) -> Source:
    """Open verified files. The names of the parts in `paths` determine the form."""
    READERS[dataset.format]
    form = dataset.form_with(paths)
    if form is None:
        raise DatasetError(
            f"The files of '{dataset.name}' are incomplete: there are {', '.join(sorted(paths)) or 'none'}, but "
            f"{', '.join(file.part for file in dataset.files)} are needed."
        )
    paths = {file.part: paths[file.part] for file in form.files}
    train, test = (FilePart(dataset, form, paths, part) for part in ("train", "test"))
    return Source(train, None if dataset.n_test == 0 else test)


def problem_of_first_rows(dataset: Dataset, form: Form, file: File, path: Path) -> str | None:
    """Read the first rows of a text file; return what is wrong with them, or None."""
    part = file.part.partition("_")[0]
    if form.format not in _SINGLE_FILES or part not in ("train", "test", "all") or "images" in file.part:
        return None
    try:
        block = next(READERS[form.format](dataset, form, {part: path}, part, 50), None)
    except DatasetError as error:
        return f"its first rows cannot be read: {error.__cause__}"
    if block is None:
        return "it has no rows"
    if block.x.shape[1] != dataset.n_features:
        return f"its rows have {block.x.shape[1]:,} features instead of {dataset.n_features:,}"
    return None
