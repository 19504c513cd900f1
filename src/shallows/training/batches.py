"""The order of the batches: of a set, in epochs; of a stream, as it comes; of a solver that chooses its own rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import arrays, streams
from ..errors import ShallowsError
from ..utils.plain_numbers import takes_numpy_integers


@takes_numpy_integers
@dataclass(frozen=True)
class Batches:
    """Contiguous batches of rows that were shuffled once, in an order that is new every epoch.

    Without replacement: every row is seen once an epoch. The order is a function of the seed and the epoch, so that a
    run can go on from any place. With ``shuffle`` the rows of each batch are drawn anew in every epoch, as the numbers
    of the rows in ascending order, and the last batch of an epoch is the one that may be smaller.
    """

    n: int
    size: int
    seed: int
    shuffle: bool = False
    names_rows: ClassVar[bool] = True

    def __len__(self) -> int:
        return -(-self.n // self.size)

    def of_epoch(self, epoch: int) -> list[Any]:
        """The batches of an epoch, in their order."""
        slices = list(arrays.blocks(self.n, self.size))
        if self.shuffle:
            order = streams.permutation(self.seed, "rows", epoch, self.n)
            return [np.sort(order[rows]) for rows in slices]
        return [slices[i] for i in streams.permutation(self.seed, "batches", epoch, len(slices))]


@dataclass(frozen=True)
class OwnRows:
    """For a solver that chooses its own rows, as SMO does: a batch is the number of steps that it should take.

    Training ends as soon as the state is ``exhausted``, also within an epoch.

    Parameters
    ----------
    n_steps : int
        Steps of a batch: between two of them checkpoints are written and observers look.
    n_batches : int
        Batches that are called an epoch.
    """

    n_steps: int
    n_batches: int = 1
    names_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.n_steps < 1 or self.n_batches < 1:
            raise ShallowsError(
                f"n_steps and n_batches must be at least 1, got {self.n_steps!r} and {self.n_batches!r}."
            )

    def __len__(self) -> int:
        return self.n_batches

    def of_epoch(self, epoch: int) -> list[int]:
        """As many times the number of steps as there are batches."""
        return [self.n_steps] * self.n_batches


class Stream:
    """Batches that are read once and in their order, from an iterable that need not end.

    Parameters
    ----------
    source : iterable, or callable without arguments that returns one
        Of batches as the solver takes them. A run that is resumed is handed the stream from its beginning, and passes
        over what it has seen.
    """

    names_rows = True

    def __init__(self, source: Iterable[Any] | Callable[[], Iterable[Any]]):
        self.source = source

    def __len__(self) -> int:
        """0: how many batches there are is not known."""
        return 0

    def of_epoch(self, epoch: int) -> Passage:
        """The batches of a pass over the stream."""
        if epoch and not callable(self.source):
            return Passage(iter(()))
        return Passage(iter(self.source() if callable(self.source) else self.source))


class Passage:
    """One pass over a stream, which reads no batch before it is needed."""

    def __init__(self, batches: Iterator[Any]):
        self._batches = batches
        self._next = 0
        self._held: Any = None
        self.ended = False

    def at(self, position: int) -> Any:
        """The batch of a position not before the last one asked for, or None after the end."""
        if position < self._next - 1:
            raise ShallowsError("A stream cannot be read backwards.")
        while self._next <= position and not self.ended:
            try:
                self._held = next(self._batches)
                self._next += 1
            except StopIteration:
                self.ended, self._held = True, None
        return self._held


class Listing:
    """The batches of an epoch as a list, with the interface of a `Passage`."""

    def __init__(self, batches: list[Any]):
        self._batches = batches
        self.ended = False

    def at(self, position: int) -> Any:
        """The batch of a position, or None after the last."""
        self.ended = position >= len(self._batches)
        return None if self.ended else self._batches[position]
