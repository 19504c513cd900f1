"""Opens the verified files of a dataset by the reader of their format, as blocks of rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from shallows_papers.datasets.catalogue import Dataset, File, Form
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.formats import READERS
from shallows_papers.datasets.formats.parts import CheckedPart, RowRange, TwoClasses
from shallows_papers.datasets.sources import Source

# Formats of which one file can be read without the others.
_SINGLE_FILES = ("csv", "libsvm", "smiles")


def open_source(dataset: Dataset, paths: Mapping[str, Path]) -> Source:
    """Open verified files as parts that are compared with the catalogue while they are read.

    The names of the parts in `paths` say which of the dataset's forms the files are. See
    `shallows_papers.datasets.sources.open_source`.
    """
    READERS[dataset.format]
    form = dataset.form_with(paths)
    if form is None:
        raise DatasetError(
            f"The files of '{dataset.name}' are not whole: there are {', '.join(sorted(paths)) or 'none'}, and "
            f"{', '.join(file.part for file in dataset.files)} are needed."
        )
    parts = READERS[form.format](dataset, form, {file.part: paths[file.part] for file in form.files})
    if "all" in parts:
        whole = parts.pop("all")
        if dataset.n_test:
            parts |= {"train": RowRange(whole, 0, dataset.n_train), "test": RowRange(whole, dataset.n_train)}
        else:
            parts["train"] = whole
    labels = {key: tuple(form.options[key]) for key in ("positive", "negative") if key in form.options}
    if labels:
        parts = {name: TwoClasses(part, **labels) for name, part in parts.items()}
    n = {"train": dataset.n_train, "test": dataset.n_test} if dataset.exact else {"train": None, "test": None}
    return Source(
        CheckedPart(parts["train"], dataset, "training", n["train"]),
        CheckedPart(parts["test"], dataset, "test", n["test"]) if "test" in parts else None,
    )


def problem_of_first_rows(dataset: Dataset, form: Form, file: File, path: Path) -> str | None:
    """Read the first rows of a text file; return what is wrong with them, or None."""
    if form.format not in _SINGLE_FILES or not re.fullmatch(r"(train|test|all)(_\d+)?", file.part):
        return None
    part = next(iter(READERS[form.format](dataset, form, {file.part: path}).values()))
    try:
        block = next(part.blocks(50), None)
    except DatasetError as error:
        return f"its first rows cannot be read: {error.__cause__}"
    if block is None:
        return "it holds no row"
    if block.x.shape[1] != dataset.n_features:
        return f"its rows have {block.x.shape[1]:,} features instead of {dataset.n_features:,}"
    return None
