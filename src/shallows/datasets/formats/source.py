"""Opens the verified files of a dataset by the reader of their format, as blocks of rows."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

from shallows.datasets.catalogue import Dataset, Form
from shallows.datasets.files import DatasetError
from shallows.datasets.formats import READERS
from shallows.datasets.formats.parts import Checked, Rows, TwoClasses
from shallows.datasets.sources import Source


def open_source(dataset: Dataset, paths: Mapping[str, Path]) -> Source:
    """Open verified files as parts that are held against the catalogue as they pass.

    See `shallows.datasets.sources.open_source`. Which of the dataset's forms the files are is told by the names of the
    parts in `paths`.

    Raises
    ------
    UnknownNameError
        When the format is none that is read.
    DatasetError
        When the parts are of no form of the dataset. While blocks are read: when a file cannot be read, or does not
        have the rows, columns and classes that the catalogue states.
    """
    READERS[dataset.format]
    form = dataset.form_with(paths)
    if form is None:
        raise DatasetError(
            f"The files of '{dataset.name}' are not whole: there are {', '.join(sorted(paths)) or 'none'}, and "
            f"{', '.join(file.part for file in dataset.files)} are needed."
        )
    open_parts = READERS[form.format]
    parts = open_parts(dataset, form, {file.part: paths[file.part] for file in form.files})
    if "all" in parts:
        whole = parts.pop("all")
        if dataset.n_test:
            parts |= {"train": Rows(whole, 0, dataset.n_train), "test": Rows(whole, dataset.n_train)}
        else:
            parts["train"] = whole
    labels = {key: tuple(form.options[key]) for key in ("positive", "negative") if key in form.options}
    if labels:
        parts = {name: TwoClasses(part, **labels) for name, part in parts.items()}
    n = {"train": dataset.n_train, "test": dataset.n_test} if dataset.exact else {"train": None, "test": None}
    return Source(
        Checked(parts["train"], dataset, "training", n["train"]),
        Checked(parts["test"], dataset, "test", n["test"]) if "test" in parts else None,
    )


def peek(dataset: Dataset, form: Form, path: Path, name: str) -> str | None:
    """Read the first rows of a text file under its later name; return what is wrong with them, or None."""
    reader = importlib.import_module(READERS.module_of(form.format))
    if not hasattr(reader, "peek"):
        return None
    try:
        block = reader.peek(dataset, form, path, name)
    except NotImplementedError:
        return None
    except (ValueError, KeyError, OSError, EOFError) as error:
        return f"its first rows cannot be read: {error}"
    if block is None:
        return "it holds no row"
    if block.x.shape[1] != dataset.n_features:
        return f"its rows have {block.x.shape[1]:,} features instead of {dataset.n_features:,}"
    return None
