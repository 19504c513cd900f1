"""A dataset on its way through a preparation: the rows kept and what is done to every block of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shallows.datasets.catalogue import Dataset
from shallows.datasets.files import DatasetError
from shallows.datasets.formats import Raw

BLOCK_BYTES = 16 << 20

Transform = Callable[[np.ndarray], np.ndarray]


@dataclass
class Table:
    """A dataset on its way: raw features, the rows that are kept, and what is done to every block of them.

    Attributes
    ----------
    dataset : Dataset
    x : dict of str to array
        Raw features, in the type of the files (or sparse), of the parts that `rows` point into.
    y : dict of str to ndarray
        Coded targets of all raw rows.
    rows : dict of str to (str, ndarray)
        For the parts "train" and "test": the raw part and the row numbers in it.
    transforms : list of callables
        Each takes a float64 block of rows and returns one.
    n_features : int
        Columns after all transforms so far.
    value_range : (float, float) or None
        The range of every feature as it is now, where that is known.
    classes : list of str or None
        Names of the classes by index; None in regression.
    target_coding : {"class indices", "signs", "values"}
    """

    dataset: Dataset
    x: dict[str, Any]
    y: dict[str, np.ndarray]
    rows: dict[str, tuple[str, np.ndarray]]
    n_features: int
    value_range: tuple[float, float] | None
    classes: list[str] | None
    target_coding: str
    transforms: list[Transform] = field(default_factory=list)

    @classmethod
    def of(cls, dataset: Dataset, raw: Raw) -> Table:
        """Make a table of raw data, its targets coded."""
        if dataset.task == "classification":
            y_train, y_test, classes = _class_indices(dataset, raw.y_train, raw.y_test)
            coding = "class indices"
        else:
            y_train, y_test, classes = _values(dataset, raw.y_train), _values(dataset, raw.y_test), None
            coding = "values"
        return cls(
            dataset=dataset,
            x={"train": raw.x_train, "test": raw.x_test},
            y={"train": y_train, "test": y_test},
            rows={"train": ("train", np.arange(len(y_train))), "test": ("test", np.arange(len(y_test)))},
            n_features=raw.x_train.shape[1],
            value_range=dataset.value_range,
            classes=classes,
            target_coding=coding,
        )

    def n_rows(self, part: str) -> int:
        """Return the number of rows of "train" or "test" as it is now."""
        return len(self.rows[part][1])

    def targets(self, part: str) -> np.ndarray:
        """Return the targets of a part as they are now."""
        raw_part, rows = self.rows[part]
        return self.y[raw_part][rows]

    def blocks(self, part: str) -> Iterator[np.ndarray]:
        """Give the rows of a part in float64 blocks, after all transforms so far."""
        raw_part, rows = self.rows[part]
        x = self.x[raw_part]
        widest = max(self.n_features, x.shape[1])
        n_block = max(1, BLOCK_BYTES // (8 * widest))
        for start in range(0, len(rows), n_block):
            chosen = rows[start : start + n_block]
            block = x[chosen]
            block = (block.toarray() if hasattr(block, "toarray") else block).astype(np.float64)
            self._refuse_what_is_no_number(block, raw_part, chosen)
            for transform in self.transforms:
                block = transform(block)
            yield block

    def _refuse_what_is_no_number(self, block: np.ndarray, part: str, rows: np.ndarray) -> None:
        finite = np.isfinite(block)
        if finite.all():
            return
        row, column = np.argwhere(~finite)[0]
        raise DatasetError(
            f"The {'training' if part == 'train' else 'test'} part of '{self.dataset.name}' holds "
            f"{block[row, column]} in row {rows[row] + 1:,}, feature {column + 1:,}. Every value must be "
            "a finite number: remove such rows or fill them in."
        )


def _class_indices(
    dataset: Dataset, y_train: np.ndarray, y_test: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    labels = np.unique(y_train)
    strangers = np.setdiff1d(y_test, labels)
    if len(strangers):
        raise DatasetError(
            f"The test part of '{dataset.name}' has the class {_label(strangers[0])}, which the training part lacks."
        )
    if len(labels) < 2:
        raise DatasetError(f"The training part of '{dataset.name}' has one class only: {_label(labels[0])}.")
    if dataset.n_classes and len(labels) != dataset.n_classes:
        raise DatasetError(
            f"The training part of '{dataset.name}' has {len(labels)} classes, where the catalogue "
            f"says {dataset.n_classes}."
        )
    names = list(dataset.classes) or [_label(label) for label in labels]
    return np.searchsorted(labels, y_train), np.searchsorted(labels, y_test), names


def _label(label: Any) -> str:
    """Return a label as a person writes it: 3, not 3.0."""
    if isinstance(label, np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label)


def _values(dataset: Dataset, y: np.ndarray) -> np.ndarray:
    y = y.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(y))
    if len(bad):
        raise DatasetError(f"The target of row {bad[0] + 1:,} of '{dataset.name}' is {y[bad[0]]}, not a finite number.")
    return y
