"""Sources of rows: the protocol shared by file formats, generators and users' files.

A source yields its parts in blocks, starts from the beginning at every call, and keeps at most one block in memory. The
preparation reads each part once and stores what it needs, so a source needs no cache.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from shallows.utils.lazy_tables import LazyTable
from shallows_papers.datasets.files import DatasetError
from shallows_papers.lazy_numpy import np

if TYPE_CHECKING:
    from shallows_papers.datasets.catalogue import Dataset


class Block(NamedTuple):
    """Consecutive rows.

    Features have the type of the file (uint8 for pixels). Type, width and whether they are dense or CSR are the same in
    all blocks of both parts. Targets have shape (m,) or (m, k) and are the values in the file.
    """

    x: Any
    y: np.ndarray


class DataPart(Protocol):
    """The training or the test rows of a source."""

    def blocks(self, rows: int) -> Iterator[Block]:
        """Yield all rows in order, in nonempty blocks of at most `rows`. Every call starts from the beginning."""
        ...


@dataclass(frozen=True)
class Source:
    """The rows of a dataset. Without a test part, `test` has the value None."""

    train: DataPart
    test: DataPart | None = None


@dataclass(frozen=True)
class ArrayPart:
    """Rows in memory, or in a memory map."""

    x: Any
    y: np.ndarray

    def blocks(self, rows: int) -> Iterator[Block]:  # noqa: D102
        for start in range(0, len(self.y), rows):
            yield Block(self.x[start : start + rows], self.y[start : start + rows])


class NpyRows:
    """The rows of an .npy file. It is mapped only while rows are copied, because a map counts as process memory."""

    def __init__(self, path: Path):
        self.path = path
        mapped = self._mapped()
        self.shape, self.dtype, self.by_columns = mapped.shape, mapped.dtype, not mapped.flags.c_contiguous

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self._mapped()[rows].copy(order="C")

    def _mapped(self) -> np.ndarray:
        return np.load(self.path, mmap_mode="r", allow_pickle=False)


# Functions that open the datasets of some states. Datasets of other states are files in a format of the catalogue.
_OPENERS = LazyTable(
    "origin of rows",
    "shallows_papers.datasets",
    {
        "generated": ".synthetic.source:open_source",
        "user": ".user_data.file_forms:open_source",
        "files": ".formats.source:open_source",
    },
)


def open_source(dataset: Dataset, paths: Mapping[str, Path]) -> Source:
    """Open a dataset whose files have been verified.

    `paths` are the files of all parts; generated data may need none. A file that cannot be read raises `DatasetError`,
    here or when a block is read.
    """
    source = _OPENERS[dataset.state if dataset.state in _OPENERS else "files"](dataset, paths)
    test = source.test and CheckedPart(source.test, dataset, "test", dataset.n_test)
    return Source(CheckedPart(source.train, dataset, "training", dataset.n_train), test)


def open_verified(dataset: Dataset, stamp: Path) -> Source:
    """Open a dataset by the ``verified.json`` that was written for it."""
    files = json.loads(stamp.read_text(encoding="utf-8"))["files"]
    return open_source(dataset, {file["part"]: stamp.resolve().parent / file["path"] for file in files})


@dataclass(frozen=True)
class CheckedPart:
    """A part whose rows, columns and classes are compared with the catalogue while they are read."""

    part: DataPart
    dataset: Dataset
    name: str
    n: int | None

    def blocks(self, rows: int) -> Iterator[Block]:  # noqa: D102
        dataset, n, d, counts = self.dataset, 0, self.dataset.n_features, Counter()
        counted = dataset.class_counts and self.name == "training"
        for block in self.part.blocks(rows):
            width, n = block.x.shape[1], n + len(block.y)
            if width != (d or width) or len(block.y) != block.x.shape[0]:
                raise self._differs(n, width)
            d = width
            if counted:
                counts.update(block.y.tolist())
            yield block
        if dataset.exact and n != (n if self.n is None else self.n):
            raise self._differs(n, d)
        if counted and tuple(counts[label] for label in sorted(counts)) != dataset.class_counts:
            found = ", ".join(f"{label}: {counts[label]:,}" for label in sorted(counts))
            wanted = ", ".join(f"{count:,}" for count in dataset.class_counts)
            raise DatasetError(
                f"The training part of '{dataset.name}' has the classes {found}, but the catalogue says {wanted}."
            )

    def _differs(self, n: int, width: int) -> DatasetError:
        rows = "any number of" if self.n is None else f"{self.n:,}"
        return DatasetError(
            f"The {self.name} part of '{self.dataset.name}' has {n:,} rows of {width:,} features, but the "
            f"catalogue says {rows} rows of {self.dataset.n_features or width:,}."
        )


def label_text(label: Any) -> str:
    """Return a label as text, with 3 instead of 3.0."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
