"""Summaries of a user's rows and targets, updated block by block."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.sources import Block

#: Largest accepted number in single precision, and the largest number whose square is also accepted, with a margin.
LARGEST, LARGEST_UNSCALED = float(np.finfo(np.float32).max), 1e18


@dataclass
class TargetSummary:
    """Summary of the targets."""

    n_rows: int = 0
    width: int = 1
    values: Counter[Any] | None = field(default_factory=Counter)
    text: bool = False
    whole: bool = True

    MOST = 10_000

    def update(self, y: np.ndarray) -> None:
        """Add the next targets, shape (m,) or (m, k)."""
        self.width = 1 if y.ndim == 1 else y.shape[1]
        self.n_rows += len(y)
        if y.dtype.kind in "OUS":
            self.text, self.whole = True, False
        else:
            self.whole = self.whole and bool((np.floor(y) == y).all())
        if self.values is not None and self.width == 1:
            self.values.update(y.tolist())
            self.values = self.values if len(self.values) <= self.MOST else None

    @property
    def how_many(self) -> str:
        """The number of different values as text."""
        return f"{len(self.values):,}" if self.values else f"more than {self.MOST:,}"


@dataclass
class FileSummary:
    """Summary of a user's files."""

    n_train: int = 0
    n_test: int = 0
    n_features: int = 0
    target: TargetSummary = field(default_factory=TargetSummary)
    missing: int = 0
    first_missing: str = ""
    missing_in_target: str = ""
    #: The smallest and the largest value of each feature; None if not needed.
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    sparse: bool = False
    #: The largest magnitudes of features and of targets, with their places as text.
    largest: tuple[float, str] = (0.0, "")
    largest_target: tuple[float, str] = (0.0, "")
    options: dict[str, Any] = field(default_factory=dict)
    categorical: tuple[int, ...] = ()
    guesses: list[str] = field(default_factory=list)
    #: Sentences that are shown on separate lines.
    notes: list[str] = field(default_factory=list)
    #: Words that were taken for missing ("" for an empty cell), with column and number of cells.
    taken_for_missing: list[tuple[str, str, int]] = field(default_factory=list)

    def add(self, block: Block, is_test: bool, name_of: Callable[[int], str]) -> None:
        """Add rows of the training or the test part. `name_of` returns the name of a column."""
        before, x, y = self.n_test if is_test else self.n_train, block.x, np.asarray(block.y)

        def place(row: int, column: str) -> str:
            return f"row {before + row + 1:,}, {column}"

        value, row, column = largest_of(x)
        self.largest = max(self.largest, (value, place(row, name_of(column))), key=lambda one: one[0])
        if y.dtype.kind in "fiub":
            value, row, _ = largest_of(y.reshape(len(y), -1))
            self.largest_target = max(self.largest_target, (value, place(row, "target")), key=lambda one: one[0])
        lacking = np.isnan(y) if y.dtype.kind == "f" else y == "" if y.dtype.kind == "U" else np.zeros(1, dtype=bool)
        if lacking.any():
            self.missing_in_target = self.missing_in_target or place(int(np.argwhere(lacking)[0][0]), "")[:-2]
        else:
            self.target.update(y)
        self._add_missing(x, place, name_of)
        self._add_range(x)
        if is_test:
            self.n_test += len(y)
        else:
            self.n_train += len(y)

    def _add_missing(self, x: Any, place: Callable[[int, str], str], name_of: Callable[[int], str]) -> None:
        sparse = hasattr(x, "indptr")
        gaps = np.isnan(x.data if sparse else x) if x.dtype.kind == "f" else np.zeros((0, 0), dtype=bool)
        if gaps.any():
            self.missing += int(gaps.sum())
            if not self.first_missing:
                row, column = (0, 0) if sparse else map(int, np.argwhere(gaps)[0])
                self.first_missing = "one of its rows" if sparse else place(row, name_of(column))

    def _add_range(self, x: Any) -> None:
        if hasattr(x, "indptr"):
            from sklearn.utils.sparsefuncs import min_max_axis

            low, high = min_max_axis(x, axis=0)
            if self.low is not None:  # columns beyond the width of a block are 0 in its rows
                width = max(len(low), len(self.low))
                parts = (low, high, self.low, self.high)
                low, high, self.low, self.high = (np.pad(one, (0, width - len(one))) for one in parts)
        else:
            if self.n_features and x.shape[1] != self.n_features:
                raise DatasetError(
                    f"The test rows have {x.shape[1]:,} features, but the training rows have {self.n_features:,}."
                )
            self.n_features = x.shape[1]
            with np.errstate(invalid="ignore"):
                low, high = np.fmin.reduce(x, axis=0), np.fmax.reduce(x, axis=0)
        self.low = low if self.low is None else np.fmin(self.low, low)
        self.high = high if self.high is None else np.fmax(self.high, high)


def largest_of(x: Any, nan: float = 0.0) -> tuple[float, int, int]:
    """Return the largest magnitude in an array of shape (m, d) with its row and column. NaN counts as `nan`."""
    values = np.abs(np.asarray(x.data if hasattr(x, "indptr") else x, dtype=np.float64))
    if not values.size:
        return 0.0, 0, 0
    values = np.nan_to_num(values, nan=nan, posinf=np.inf)
    at = np.unravel_index(values.argmax(), values.shape)
    if hasattr(x, "indptr"):
        return float(values[at]), int(np.searchsorted(x.indptr, at[0], side="right")) - 1, int(x.indices[at])
    return float(values[at]), int(at[0]), int(at[1])


def cells_of(taken: Sequence[tuple[str, str, int]], most: int = 20) -> str:
    """Return missing cells as text such as ``'NA' in country (12 cells), no value in age (3 cells)``."""
    return some_of([f"{repr(w) if w else 'no value'} in {name} ({count_of(n, 'cell')})" for w, name, n in taken], most)


def count_of(number: int, noun: str) -> str:
    """Return a number with a noun, such as "1 row" or "2,000 rows"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def some_of(names: Sequence[str], most: int = 6) -> str:
    """Return the first `most` names and the number of other names as text."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def plain_value(value: Any) -> str:
    """Return a value as text, with 3 instead of 3.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else repr(value)
