"""Sources of rows: the protocol that file formats, generators and users' files have in common.

A source gives its parts in blocks, from the beginning at every call, and holds no more than a block in memory. The
preparation reads each part once and keeps what it needs itself, so a source neither caches nor looks ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from shallows.lazy_tables import LazyTable

if TYPE_CHECKING:
    import numpy as np

    from shallows.datasets.catalogue import Dataset


class Block(NamedTuple):
    """Consecutive rows.

    Attributes
    ----------
    x : ndarray or scipy.sparse.csr_matrix, shape (m, d)
        Features as numbers, in the type of the file (uint8 for pixels): the same type and d in every block of both
        parts, or CSR in all of them.
    y : ndarray, shape (m,) or (m, k)
        Labels (numbers or text) or targets, as they stand in the file.
    """

    x: Any
    y: np.ndarray


class Part(Protocol):
    """The training or the test rows of a source."""

    def blocks(self, rows: int) -> Iterator[Block]:
        """Give all rows in their order, at most `rows` at a time and never none; every call begins anew."""
        ...


@dataclass(frozen=True)
class Source:
    """The rows of a dataset; `test` is None where nobody made a test part."""

    train: Part
    test: Part | None = None


@dataclass(frozen=True)
class ArrayPart:
    """Rows that lie in memory, or in a memory map."""

    x: Any
    y: np.ndarray

    def blocks(self, rows: int) -> Iterator[Block]:
        """See `Part.blocks`."""
        for start in range(0, len(self.y), rows):
            yield Block(self.x[start : start + rows], self.y[start : start + rows])


# Who opens the datasets of a state; all others are files of a format of the catalogue.
_OPENERS = LazyTable(
    "origin of rows",
    "shallows.datasets",
    {
        "generated": ".synthetic.source:open_source",
        "user": ".user_data.file_forms:open_source",
        "files": ".formats.source:open_source",
    },
)


def open_source(dataset: Dataset, paths: Mapping[str, Path]) -> Source:
    """Open a dataset whose files have been verified.

    Parameters
    ----------
    dataset : Dataset
        Its entry in the catalogue.
    paths : mapping of str to Path
        The file of every part; empty for what is generated from nothing.

    Returns
    -------
    Source

    Raises
    ------
    DatasetError
        When a file cannot be read; also later, when a block is reached that cannot be.
    """
    opener = _OPENERS[dataset.state if dataset.state in _OPENERS else "files"]
    return opener(dataset, paths)


def label_text(label: Any) -> str:
    """Return a label as a person writes it: 3, not 3.0."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
