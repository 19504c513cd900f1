"""The training and the test part of a dataset: files or rows of one, and their check against the catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shallows_papers.datasets.catalogue import Dataset, Form
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.formats.containers import CONTAINER_ERRORS
from shallows_papers.datasets.sources import Block, DataPart

#: The parts "train" and "test" of a dataset, or "all" where one part is divided in the order of its rows.
Parts = dict[str, DataPart]


def each_part(paths: Mapping[str, Path], one: Callable[[Path], DataPart]) -> Parts:
    """Open the parts "train", "test" and "all", each of its one file or of its numbered ones in their order."""
    parts = {}
    for kind in ("train", "test", "all"):
        numbered = [name for name in paths if name.startswith(f"{kind}_") and name[len(kind) + 1 :].isdigit()]
        names = ([kind] if kind in paths else []) + sorted(numbered, key=lambda name: int(name.rpartition("_")[2]))
        if names:
            files = [one(paths[name]) for name in names]
            parts[kind] = files[0] if len(files) == 1 else Chain(files)
    return parts


def reader_options(form: Form) -> dict[str, Any]:
    """Return the options of a form without those on labels, which every format has (see `TwoClasses`)."""
    return {key: value for key, value in form.options.items() if key not in ("positive", "negative")}


@dataclass(frozen=True)
class Chain:
    """The rows of several files, one file after the other."""

    parts: Sequence[DataPart]

    def blocks(self, rows: int) -> Iterator[Block]:  # noqa: D102
        for part in self.parts:
            yield from part.blocks(rows)


@dataclass(frozen=True)
class RowRange:
    """The rows start:stop of a part."""

    part: DataPart
    start: int
    stop: int | None = None

    def blocks(self, rows: int) -> Iterator[Block]:  # noqa: D102
        position = 0
        for x, y in self.part.blocks(rows):
            low = max(self.start - position, 0)
            high = len(y) if self.stop is None else min(self.stop - position, len(y))
            if low < high:
                yield Block(x[low:high], y[low:high])
            position += len(y)
            if self.stop is not None and position >= self.stop:
                return


@dataclass(frozen=True)
class Read:
    """Rows that a function reads; an error of it is raised with the name of the file."""

    path: Path
    format: str
    reader: Callable[[int], Iterator[Block]]

    def blocks(self, rows: int) -> Iterator[Block]:  # noqa: D102
        try:
            yield from self.reader(rows)
        except (ValueError, KeyError, *CONTAINER_ERRORS) as error:
            raise unreadable_error(self.path, self.format, error) from error


def unreadable_error(path: Path, format: str, error: BaseException) -> DatasetError:
    """Return the error that a file cannot be read."""
    return DatasetError(
        f"{path} cannot be read ({format} format): {error}. "
        "Remove it and fetch it again, or check the format in the catalogue."
    )


@dataclass(frozen=True)
class TwoClasses:
    """Labels as 0 and 1: the listed ones against all others."""

    part: DataPart
    positive: tuple[Any, ...] = ()
    negative: tuple[Any, ...] = ()

    def blocks(self, rows: int) -> Iterator[Block]:  # noqa: D102
        for x, y in self.part.blocks(rows):
            second = np.isin(y, self.positive) if self.positive else ~np.isin(y, self.negative)
            yield Block(x, second.astype(np.int8))


@dataclass(frozen=True)
class CheckedPart:
    """A part whose rows, columns and classes are compared with the catalogue while they are read."""

    part: DataPart
    dataset: Dataset
    name: str
    n: int | None

    def blocks(self, rows: int) -> Iterator[Block]:  # noqa: D102
        counts: Counter = Counter()
        counted = bool(self.dataset.class_counts) and self.name == "training"
        n = 0
        for block in self.part.blocks(rows):
            if block.x.shape[1] != self.dataset.n_features or len(block.y) != block.x.shape[0]:
                raise self._differs(n + block.x.shape[0], block)
            n += len(block.y)
            if counted:
                counts.update(block.y.tolist())
            yield block
        if self.n is not None and n != self.n:
            raise self._differs(n)
        if counted and tuple(counts[label] for label in sorted(counts)) != self.dataset.class_counts:
            found = ", ".join(f"{label}: {counts[label]:,}" for label in sorted(counts))
            wanted = ", ".join(f"{count:,}" for count in self.dataset.class_counts)
            raise DatasetError(
                f"The training part of '{self.dataset.name}' has the classes {found}, where the catalogue says "
                f"{wanted}."
            )

    def _differs(self, n: int, block: Block | None = None) -> DatasetError:
        of = f" of {block.x.shape[1]:,} features and {len(block.y):,} targets" if block is not None else ""
        wanted = f"{self.n:,} rows of " if self.n is not None else ""
        return DatasetError(
            f"The {self.name} part of '{self.dataset.name}' holds {n:,} rows{of}, where the catalogue says "
            f"{wanted}{self.dataset.n_features:,} features."
        )
