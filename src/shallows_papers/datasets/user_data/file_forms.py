"""The forms of users' files, with their readers of the layout and of the rows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from shallows_papers.datasets.catalogue import Dataset
from shallows_papers.datasets.sources import Block, Source
from shallows_papers.datasets.user_data import array_files, table_files, table_layouts


@dataclass(frozen=True)
class FileForm:
    """A file form: its name in sentences and its readers of layout, rows and, for tables, columns."""

    title: str
    layout: Callable[..., Any]
    blocks: Callable[[Path, Mapping[str, Any], int], Iterator[Block]]
    read: Callable[..., dict[int, Any]] | None = None


_TEXT = (partial(table_files.table_blocks, table_files.read_text), table_files.read_text)
_PARQUET = (partial(table_files.table_blocks, table_files.read_parquet), table_files.read_parquet)
_NUMPY = FileForm("a NumPy file", array_files.arrays_layout, array_files.array_blocks)

FORMS = {
    "table": FileForm("a table", table_layouts.text_layout, *_TEXT),
    "arff": FileForm("an ARFF file", table_layouts.arff_layout, *_TEXT),
    "parquet": FileForm("a Parquet file", table_layouts.parquet_layout, *_PARQUET),
    "npy": _NUMPY,
    "npz": _NUMPY,
    "matlab": FileForm("a MATLAB file", array_files.arrays_layout, array_files.array_blocks),
    "libsvm": FileForm("a LIBSVM file", array_files.libsvm_layout, array_files.libsvm_rows),
}


@dataclass(frozen=True)
class UserPart:
    """The rows of one file."""

    path: Path
    options: Mapping[str, Any]

    def blocks(self, rows: int) -> Iterator[Block]:  # noqa: D102
        return FORMS[self.options["form"]].blocks(self.path, self.options, rows)


def open_source(dataset: Dataset, paths: Mapping[str, Path]) -> Source:
    """Open the files of a dataset from `shallows_papers.datasets.user_data.describe.dataset_of`.

    `paths` has the file of "train" and, if there is one, the file of "test"; see
    `shallows_papers.datasets.sources.open_source`.
    """
    options = dataset.options
    test = paths.get("test", paths["train"] if "x_test" in options["layout"] else None)
    of_test = {**options, "layout": options.get("test_layout", options["layout"])}
    of_test = of_test if "test" in paths else array_files.of_test_arrays(options)
    return Source(UserPart(paths["train"], options), test and UserPart(test, of_test))
