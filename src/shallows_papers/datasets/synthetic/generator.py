"""Base class of the generators, which make examples by their numbers, in blocks of any size, without a state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shallows import streams
from shallows.errors import ShallowsError
from shallows_papers.datasets.parameter_rules import broken_rule

# Maximal numbers per chunk: some megabytes, so that a chunk fits into the processor's cache.
_CHUNK_NUMBERS = 1 << 18
_MOST_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Generator(ABC):
    """Examples 0, 1, 2, ... of a seed. The parameters are dataclass fields with their rules as metadata.

    Examples are made in whole chunks of a fixed number of rows. The random numbers of a chunk come from
    `shallows.streams` and depend on the chunk's number. So an example does not depend on the order or the bounds of
    blocks, and on one machine it is always identical. On another machine integers and pixels are identical, and other
    numbers agree up to the rounding of mathematical functions.
    """

    name: ClassVar[str]  # Its name for `make`
    # {"classification", "regression", "none"}: the targets are class indices or numbers, or ``y`` has no columns
    task: ClassVar[str]
    d: ClassVar[int]  # Features of an example
    n: ClassVar[int | None] = None  # Number of examples; None: unlimited
    n_classes: ClassVar[int] = 0  # 0 unless the task is classification
    # For generators that transform another dataset: the parameter for its rows
    made_of: ClassVar[str | None] = None

    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer) or self.seed < 0:
            raise ShallowsError(f"The seed of '{self.name}' must be a whole number of at least 0, not {self.seed!r}.")
        problem = self._problem()
        if problem:
            raise ShallowsError(f"The generator '{self.name}' cannot be used: {problem}.")

    def block(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the examples ``start``, ..., ``stop - 1``."""
        for bound in (start, stop):
            if isinstance(bound, bool) or not isinstance(bound, int | np.integer):
                raise ShallowsError(f"The bounds of a block of '{self.name}' must be whole numbers, not {bound!r}.")
        start, stop = int(start), int(stop)
        if not 0 <= start <= stop or (self.n is not None and stop > self.n):
            end = "" if self.n is None else f" and at most {self.n:,}"
            raise ShallowsError(f"There is no block {start:,} to {stop:,} of '{self.name}': bounds ascend from 0{end}.")
        rows = self._rows_per_chunk()
        x, y = self._empty(stop - start)
        for chunk in range(start // rows, -(-stop // rows)):
            first = chunk * rows
            here = slice(max(start, first) - start, min(stop, first + rows) - start)
            there = slice(max(start, first) - first, min(stop, first + rows) - first)
            x_chunk, y_chunk = self._chunk(chunk, rows)
            x[here], y[here] = x_chunk[there], y_chunk[there]
        return x, y

    def blocks(self, start: int, stop: int, n_rows: int = 8192) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the examples ``start``, ..., ``stop - 1`` in blocks of at most `n_rows`; each is computed once."""
        # If blocks are larger than chunks, they end at whole chunks. Otherwise they are slices of a few chunks.
        chunk = self._rows_per_chunk()
        step = max(n_rows // chunk, 1) * chunk
        while start < stop:
            end = min(start - start % step + step, stop)
            x, y = self.block(start, end)
            for first in range(0, end - start, n_rows):
                yield x[first : first + n_rows], y[first : first + n_rows]
            start = end

    def truth(self, x: np.ndarray) -> np.ndarray:
        """Return the target at `x` of shape (n, d) without noise, or the scores or probabilities of the classes."""
        raise ShallowsError(f"The true function of '{self.name}' is unknown.")

    def test_rows(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return test rows of the dataset that this is made from, in the form of the generated rows."""
        return x, y

    def _problem(self) -> str | None:
        """Return what is wrong with the parameters, or None."""
        return broken_rule(self)

    def _numbers_per_row(self) -> int:
        """Return the memory for making one example, as a count of numbers."""
        return self.d

    def _rows_per_chunk(self) -> int:
        # This defines the data: another number of rows gives other examples.
        return max(1, min(_MOST_ROWS, _CHUNK_NUMBERS // max(1, self._numbers_per_row())))

    def _empty(self, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        x = np.empty((n_rows, self.d))
        if self.task == "none":
            return x, np.empty((n_rows, 0))
        return x, np.empty(n_rows, np.int64 if self.task == "classification" else np.float64)

    def _noisy(self, target: np.ndarray, chunk: int) -> np.ndarray:
        """Return the targets of a chunk plus normal noise with standard deviation `noise`."""
        if not self.noise:
            return target
        return target + self.noise * streams.normal(self.seed, f"{self.name}/noise", chunk, target.shape)

    @abstractmethod
    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the examples of a chunk."""


def points(x: Any, d: int) -> np.ndarray:
    """Return `x` as float64 rows of `d` features. If d is 1, a flat array is one column."""
    x = np.asarray(x, dtype=np.float64)
    if x.ndim <= 1 and d == 1:
        x = x.reshape(-1, 1)
    if x.ndim != 2 or x.shape[1] != d:
        raise ShallowsError(f"Points must have {d} features: expected shape (n, {d}), got {x.shape}.")
    return x
