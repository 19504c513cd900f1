"""A dataset during its preparation: raw rows (in memory or a file), selected rows, and transforms of each block."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

import numpy as np

from shallows_papers.datasets.catalogue import Dataset
from shallows_papers.datasets.files import DatasetError, existing_parent
from shallows_papers.datasets.sources import Source, label_text

# Statistics are summed block by block, so their last digits depend on the block size. The size depends only on this
# number and the data, not on the available memory.
BLOCK_BYTES = 16 << 20
# Rows per request to a source: fewer if rows are wide, but enough to keep the call overhead small.
_READ_ROWS = (1024, 65_536)
_TARGET_ROWS = 65_536

Transform = Callable[[Any], Any]


@dataclass
class Table:
    """A dataset during its preparation.

    ``transforms, target_transforms``: functions from a float64 block of rows to a block of rows.
    """

    dataset: Dataset
    x: RowStore  # Raw features as in the files, dense or CSR: the publisher's training rows, then the test rows
    y: RowStore  # Raw targets if they are numbers; empty for classes
    codes: np.ndarray | None  # Class indices of the raw rows; None if the targets are numbers
    rows: dict[str, np.ndarray]  # Row numbers of the current "train" and "test" parts, ascending
    first_test: int  # Number of the first raw row of the publisher's test part
    # For "train" and "test": the raw rows that they were drawn from, and the number of stored values in them
    densities: dict[str, tuple[int, int]]
    n_features: int  # Columns after all transforms so far
    value_range: tuple[float, float] | None  # The current range of every feature, if known
    classes: list[str] | None  # Names of the classes by index; None in regression
    target_coding: str  # {"class indices", "signs", "indicators", "values"}
    target_shape: tuple[int, ...]  # Shape of one row's target; empty for a number
    target_dtype: np.dtype
    sparse: bool  # Whether blocks are CSR after all transforms so far
    # Height, width, channels and order of the images, if the features are currently pixels
    image: Mapping[str, Any] | None = None
    views: list[tuple[int, int]] | None = None  # Columns of the two views, if there are views
    categorical: tuple[int, ...] = ()  # Columns whose numbers are codes of categories
    classes_coded: bool = False  # Whether the targets were class indices before they became signs
    transforms: list[Transform] = field(default_factory=list)
    target_transforms: list[Transform] = field(default_factory=list)
    may_miss: bool = False  # Whether raw values may be NaN because a later step fills them in

    @classmethod
    def read(cls, dataset: Dataset, source: Source, memory: int, folder: Path) -> Table:
        """Read each part of a source once and code its targets. Rows beyond `memory` bytes go to a file in `folder`."""
        is_class, shape, known, labels, densities = dataset.task == "classification", (), {}, [], {}
        file = SpooledTemporaryFile(max(1, memory), dir=existing_parent(folder))  # noqa: SIM115 (closed with the table)
        x, y = RowStore(file), RowStore(file)
        wanted = max(_READ_ROWS[0], min(_READ_ROWS[1], BLOCK_BYTES // (8 * (dataset.n_features or 1024))))
        for part, rows in (("train", source.train), ("test", source.test)):
            first, n_values, n_known = x.n_rows, x.n_values, len(known)
            for block in rows.blocks(wanted) if rows is not None else ():
                if first and block.x.shape[1] != x.width:
                    raise DatasetError(
                        f"'{dataset.name}' has {x.width:,} features in its training part, but {block.x.shape[1]:,} in "
                        "its test part."
                    )
                n_read, shape = x.n_rows - first, np.shape(block.y)[1:]
                x.append(block.x)
                if is_class and not shape:
                    labels.append(_note_labels(known, np.asarray(block.y), n_read, dataset.name))
                else:
                    y.append(_numbers(dataset.name, block.y, n_read))
            densities[part] = (x.n_rows - first, x.n_values - n_values)
        if not first:
            raise DatasetError(f"The training part of '{dataset.name}' holds no rows.")
        classes, codes, coding, dtype = None, None, "values", np.dtype("<f8")
        if is_class and not shape:
            coding, dtype, found = "class indices", np.dtype("<i8"), list(known)
            classes = _class_names(dataset, sorted(found[:n_known]), found[n_known:])
            place = np.empty(len(found), np.int64)
            place[[known[label] for label in sorted(found)]] = np.arange(len(found))
            codes = place[np.concatenate(labels)]
        elif is_class:
            classes, coding, dtype = ["0", "1"], "indicators", np.dtype("<i8")
        return cls(
            dataset=dataset,
            x=x,
            y=y,
            codes=codes,
            rows={"train": np.arange(first), "test": np.arange(first, x.n_rows)},
            first_test=first,
            densities=densities,
            n_features=x.width,
            value_range=dataset.value_range,
            classes=classes,
            target_coding=coding,
            target_shape=shape,
            target_dtype=dtype,
            sparse=x.sparse,
            image=dict(dataset.picture) or None,
            categorical=tuple(dataset.categorical),
        )

    def n_rows(self, part: str) -> int:
        """Return the current number of rows of "train" or "test"."""
        return len(self.rows[part])

    def class_codes(self, part: str) -> np.ndarray | None:
        """Return the class indices of a part's rows for any target coding, or None without classes.

        If an earlier preparation coded the targets, its arrays do not have the classes, and this is an error.
        """
        if self.classes_coded and self.codes is None:
            raise DatasetError(
                f"A step needs the classes of '{self.dataset.name}', but the variant that this variant continues has "
                f"converted them to {self.target_coding}. Move the step signs to the steps of this "
                "variant. A subset or a split does not need classes with 'stratify: false'."
            )
        return None if self.codes is None else self.codes[self.rows[part]]

    def strata(self, part: str, stratify: bool | None) -> np.ndarray | None:
        """Return the classes for a stratified draw of rows, or None for a draw that ignores classes."""
        if stratify is False:
            return None
        codes = self.class_codes(part)
        if stratify and codes is None:
            raise DatasetError(
                f"'{self.dataset.name}' has no classes to stratify by: its targets are {self.target_coding}."
            )
        return codes

    def require_coding(self, coding: str, step: str) -> None:
        """Refuse a step if the targets do not have the coding ("class indices" or "values") that it needs."""
        if self.target_coding == coding:
            return
        needed = "is for regression" if coding == "values" else f"needs {coding}, so it comes before signs"
        raise DatasetError(f"The step {step} {needed}, but the targets are {self.target_coding}.")

    def replace_features(self, n_features: int) -> None:
        """Update the description after the features were replaced by `n_features` new features."""
        self.n_features, self.sparse = n_features, False
        self.value_range, self.image, self.views, self.categorical = None, None, None, ()

    def add(self, transform: Transform, *, keeps_sparse: bool = False) -> None:
        """Add a transform of the features. Blocks are made dense first unless it keeps sparse blocks."""
        if self.sparse and not keeps_sparse:
            self.make_dense()
        self.transforms.append(transform)

    def make_dense(self) -> None:
        """Make the blocks dense after the transforms so far."""
        if self.sparse:
            self.transforms.append(lambda block: block.toarray())
            self.sparse = False

    def blocks(self, part: str) -> Iterator[Any]:
        """Yield the rows of a part in float64 blocks, dense or CSR, after all transforms so far."""
        n_rows, n_values = self.densities[part]
        dense_bytes, sparse_bytes = 8 * max(self.n_features, self.x.width), 16 * max(1, n_values)
        n_block = max(1, BLOCK_BYTES * n_rows // sparse_bytes if self.sparse else BLOCK_BYTES // dense_bytes)
        for start in range(0, self.n_rows(part), n_block):
            chosen = self.rows[part][start : start + n_block]
            block = self.x.take(chosen).astype(np.float64)
            self._refuse_non_finite(block, chosen)
            for transform in self.transforms:
                block = transform(block)
            yield block

    def gather(self, rows: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        """Return training rows by their ascending numbers, as a dense array, after all transforms so far."""
        x, start = np.empty((len(rows), self.n_features), dtype), 0
        for block in self.blocks("train"):
            first, last = np.searchsorted(rows, (start, start + len(block)))
            x[first:last] = block[rows[first:last] - start]
            start += len(block)
        return x

    def target_blocks(self, part: str) -> Iterator[np.ndarray]:
        """Yield the targets of a part in blocks, after all target transforms so far."""
        for start in range(0, self.n_rows(part), _TARGET_ROWS):
            chosen = self.rows[part][start : start + _TARGET_ROWS]
            block = self.y.take(chosen) if self.codes is None else self.codes[chosen]
            for transform in self.target_transforms:
                block = transform(block)
            yield block

    def _refuse_non_finite(self, block: Any, rows: np.ndarray) -> None:
        sparse = hasattr(block, "indptr")
        values = block.data if sparse else block
        bad = np.isinf(values) if self.may_miss else ~np.isfinite(values)
        if not bad.any():
            return
        place = tuple(np.argwhere(bad)[0])
        if sparse:
            row, column = np.searchsorted(block.indptr, place[0], side="right") - 1, block.indices[place[0]]
        else:
            row, column = place
        name, first = ("training", 0) if rows[row] < self.first_test else ("test", self.first_test)
        raise DatasetError(
            f"The {name} part of '{self.dataset.name}' holds {values[place]} in row {rows[row] - first + 1:,}, feature "
            f"{column + 1:,}. Every value must be a finite number: remove such rows or fill them in."
        )


def _note_labels(known: dict[Any, int], labels: np.ndarray, first: int, name: str) -> np.ndarray:
    """Add new labels to the known ones and return the index of each label. `first` is the number of the first row."""
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise DatasetError(f"The target of row {first + row + 1:,} of '{name}' is {labels[row]}, which is not a class.")
    distinct, inverse = np.unique(labels, return_inverse=True)
    return np.asarray([known.setdefault(label, len(known)) for label in distinct.tolist()], np.int32)[inverse]


def _class_names(dataset: Dataset, labels: list[Any], strangers: list[Any]) -> list[str]:
    """Return the class names.

    Refuse `strangers` (labels that only the test part has), a wrong number of classes, and labels in another order.
    """
    if strangers:
        raise DatasetError(
            f"The test part of '{dataset.name}' has the class {label_text(min(strangers))}, which the training part "
            "lacks."
        )
    if len(labels) < 2:
        raise DatasetError(f"The training part of '{dataset.name}' has only one class: {label_text(labels[0])}.")
    if dataset.n_classes and len(labels) != dataset.n_classes:
        raise DatasetError(
            f"The training part of '{dataset.name}' has {len(labels)} classes, but the catalogue "
            f"says {dataset.n_classes}."
        )
    texts = [label_text(label) for label in labels]
    if sorted(dataset.classes) == sorted(texts) and list(dataset.classes) != texts:
        raise DatasetError(
            f"The catalogue lists the classes of '{dataset.name}' as {', '.join(dataset.classes)}, but the sorted "
            f"labels of the files are {', '.join(texts)}. Write 'classes' (and 'class_counts') in this order."
        )
    return list(dataset.classes) or texts


def _numbers(name: str, y: Any, first: int) -> np.ndarray:
    y = np.asarray(y).astype(np.float64)
    bad = np.argwhere(~np.isfinite(y))
    if len(bad):
        place = tuple(bad[0])
        raise DatasetError(
            f"The target of row {first + place[0] + 1:,} of '{name}' is {y[place]}, not a finite number."
        )
    return y


# Rows are stored in blocks of about this size.
_KEPT_BYTES = 8 << 20


class RowStore:
    """Dense or CSR rows of the same width.

    Blocks are pickled into a file that several stores share. A memory map would need the number of rows beforehand, its
    touched pages would count as memory of the process, and a full disk would kill the process.

    The width of single numbers is 1. `n_values` counts the stored values of sparse rows.
    """

    def __init__(self, file: SpooledTemporaryFile):
        self.n_rows = self.width = self.n_values = 0
        self.sparse = False
        self._file = file
        self._empty: Any = None  # zero rows of the same kind
        self._starts: list[int] = []  # the first row of each block
        self._places: list[int] = []  # the position of each block in the file

    def append(self, rows: Any) -> None:
        """Add rows at the end."""
        self._check(rows)
        if self.sparse:
            rows = rows.tocsr()
            rows.sum_duplicates()
        size = rows.data.nbytes + rows.indices.nbytes if self.sparse else rows.nbytes
        at_once = max(1, int(_KEPT_BYTES * rows.shape[0] / max(1, size)))
        for start in range(0, rows.shape[0], at_once):
            block = rows[start : start + at_once]
            self._starts.append(self.n_rows)
            self._places.append(self._file.seek(0, 2))
            pickle.dump(block, self._file, pickle.HIGHEST_PROTOCOL)
            self.n_rows += block.shape[0]
            self.n_values += block.nnz if self.sparse else block.size

    def take(self, rows: np.ndarray) -> Any:
        """Return rows by their ascending numbers."""
        if self._empty is None:
            raise DatasetError("There are no rows to read.")
        holders = np.searchsorted(self._starts, rows, side="right") - 1
        bounds = np.flatnonzero(np.diff(holders, prepend=-1, append=len(self._starts)))
        pieces = [self._empty]
        for first, last in itertools.pairwise(bounds):
            self._file.seek(self._places[holders[first]])
            wanted, block = rows[first:last] - self._starts[holders[first]], pickle.load(self._file)
            whole = wanted[-1] + 1 - wanted[0] == len(wanted)
            pieces.append(block[wanted[0] : wanted[-1] + 1] if whole else block[wanted])
        if self.sparse:
            from scipy.sparse import vstack

            return vstack(pieces, format="csr")
        return np.concatenate(pieces)

    def _check(self, rows: Any) -> None:
        """Store the kind of the first rows, and refuse later rows of another kind."""
        if self._empty is None:
            self.sparse, self._empty = hasattr(rows, "indptr"), rows[:0].copy()
            self.width = int(np.prod(rows.shape[1:], dtype=np.int64))
            if rows.dtype.hasobject:
                raise DatasetError("The features are text. Only numbers can be prepared.")
        known = self._empty
        if rows.shape[1:] != known.shape[1:] or hasattr(rows, "indptr") != self.sparse:
            raise DatasetError(
                f"Rows of shape {rows.shape[1:]} come after rows of shape {known.shape[1:]}; all rows of a dataset "
                "must be alike."
            )
