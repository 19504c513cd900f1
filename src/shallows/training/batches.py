"""The order of the batches: shuffled in every epoch, as a stream comes, or chosen by the solver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from .. import arrays, streams
from ..errors import ShallowsError
from ..utils.plain_numbers import takes_numpy_integers


class BatchSource(Protocol):
    """The source of the batches of a training."""

    names_rows: bool
    """Whether a batch names its rows. If the solver chooses them, the run ends once the solver is exhausted."""

    def __len__(self) -> int:
        """Batches of an epoch, 0 if unknown."""

    def of_epoch(self, epoch: int) -> list[Any] | Iterator[Any]:
        """The batches of an epoch, in their order."""


@takes_numpy_integers
@dataclass(frozen=True)
class Batches:
    """Contiguous batches of rows that were shuffled once, in a new order every epoch.

    Every row is seen once an epoch. The order is a function of the seed and the epoch, so that a run can continue from
    any place. With ``shuffle`` the rows of each batch are drawn again in every epoch, as row numbers in ascending
    order, and only the last batch of an epoch may be smaller. ``first_epoch``: epochs of the fits before this one.
    """

    n: int
    size: int
    seed: int
    shuffle: bool = False
    first_epoch: int = 0
    names_rows: ClassVar[bool] = True

    def __len__(self) -> int:
        return -(-self.n // self.size)

    def of_epoch(self, epoch: int) -> list[Any]:
        """The batches of an epoch, in their order."""
        slices, epoch = list(arrays.blocks(self.n, self.size)), self.first_epoch + epoch
        if self.shuffle:
            order = streams.permutation(self.seed, "rows", epoch, self.n)
            return [np.sort(order[rows]) for rows in slices]
        return [slices[i] for i in streams.permutation(self.seed, "batches", epoch, len(slices))]


class InOrderThenShuffled(Batches):
    """Batches that the first epoch visits in the order of the rows, and later epochs in a random order.

    The rows of a fit are already in a random order. During the first epoch, only the columns of visited rows are
    computed of a kernel matrix that is not kept.
    """

    def of_epoch(self, epoch: int) -> list[Any]:
        """The batches of an epoch, in their order."""
        first = self.first_epoch + epoch == 0
        return list(arrays.blocks(self.n, self.size)) if first else super().of_epoch(epoch)


class InOrderThenDrawn(InOrderThenShuffled):
    """Batches that the first epoch visits in order, and later epochs draw with replacement."""

    def of_epoch(self, epoch: int) -> list[Any]:
        """The batches of an epoch, in their order."""
        slices, epoch = list(arrays.blocks(self.n, self.size)), self.first_epoch + epoch
        if epoch == 0:
            return slices
        return [slices[int(i % len(slices))] for i in streams.integers(self.seed, "drawn batches", epoch, len(slices))]


@dataclass(frozen=True)
class OwnRows:
    """For a solver that chooses its own rows, like SMO: a batch is a number of steps.

    Training ends as soon as the state is ``exhausted``, also within an epoch.

    Parameters
    ----------
    n_steps : int
        Steps of a batch. Checkpoints are written and observers called between two batches.
    n_batches : int
        Batches of an epoch.
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
        """The number of steps, once for every batch."""
        return [self.n_steps] * self.n_batches


class Stream:
    """Batches that are read once and in their order, from an iterable that may be endless.

    Parameters
    ----------
    source : iterable, or callable without arguments that returns one
        The batches. A resumed run reads the stream from its beginning and skips what it has seen.
    """

    names_rows = True

    def __init__(self, source: Iterable[Any] | Callable[[], Iterable[Any]]):
        self.source = source

    def __len__(self) -> int:
        """0: the number of batches is unknown."""
        return 0

    def of_epoch(self, epoch: int) -> Iterator[Any]:
        """The batches of a pass over the stream."""
        if epoch and not callable(self.source):
            return iter(())
        return iter(self.source() if callable(self.source) else self.source)
