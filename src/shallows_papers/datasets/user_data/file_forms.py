"""The forms of a user's own file, each with its readers of the layout and of the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shallows_papers.datasets.catalogue import Dataset
from shallows_papers.datasets.sources import Source
from shallows_papers.datasets.user_data import array_files, table_files, table_layouts


@dataclass(frozen=True)
class FileForm:
    """One form of file: its name in a sentence, and the functions that read its layout and its rows.

    Tables also have a function that reads their columns.
    """

    title: str
    layout: Callable[..., Any]
    part: Callable[..., Any]
    read: Callable[..., dict[int, Any]] | None = None


_TEXT = (table_files.TextTablePart, table_files.read_text)
_PARQUET = (table_files.ParquetPart, table_files.read_parquet)

FORMS = {
    "table": FileForm("a table", table_layouts.text_layout, *_TEXT),
    "arff": FileForm("an ARFF file", table_layouts.arff_layout, *_TEXT),
    "parquet": FileForm("a Parquet file", table_layouts.parquet_layout, *_PARQUET),
    "npy": FileForm("a NumPy file", array_files.arrays_layout, array_files.ArrayFilePart),
    "npz": FileForm("a NumPy file", array_files.arrays_layout, array_files.ArrayFilePart),
    "matlab": FileForm("a MATLAB file", array_files.arrays_layout, array_files.ArrayFilePart),
    "libsvm": FileForm("a LIBSVM file", array_files.libsvm_layout, array_files.LibsvmPart),
}


def open_source(dataset: Dataset, paths: Mapping[str, Path]) -> Source:
    """Open the files of a dataset as `shallows_papers.datasets.user_data.describe.dataset_of` gives it.

    `paths` are the file of "train", and that of "test" where there is one; see
    `shallows_papers.datasets.sources.open_source`.
    """
    open_part = FORMS[dataset.options["form"]].part
    train = open_part(paths["train"], dataset.options)
    if "test" in paths:
        layout = dataset.options.get("test_layout", dataset.options["layout"])
        return Source(train, open_part(paths["test"], {**dataset.options, "layout": layout}))
    if "x_test" in dataset.options["layout"]:
        return Source(train, open_part(paths["train"], dataset.options, "test"))
    return Source(train)
