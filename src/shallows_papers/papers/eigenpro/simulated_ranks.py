"""Fits by threads in the role of processes, without MPI, to count what each process would compute and send."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from shallows import arrays, training
from shallows.distributed.mpi import Mpi


class Operations:
    """Operations of sums over processes, with their MPI names."""

    SUM, LOR, MIN = np.add, np.logical_or, np.minimum


class SimulatedCommunicator:
    """The part of an MPI communicator that `Mpi` uses, for threads of one process.

    If a thread fails, the barrier breaks, so that the other threads fail instead of waiting forever.
    """

    def __init__(self, rank: int, held: list[Any], barrier: threading.Barrier):
        self._rank, self._held, self._barrier = rank, held, barrier

    def allgather(self, value: Any) -> list[Any]:
        """The values of all ranks, by rank."""
        self._held[self._rank] = value
        self._barrier.wait()
        found = list(self._held)
        self._barrier.wait()
        return found

    def bcast(self, value: Any, root: int) -> Any:
        """The value of rank ``root``."""
        return self.allgather(value)[root]

    def allreduce(self, value: Any, op: Callable[[Any, Any], Any]) -> Any:
        """All values, reduced in the order of the ranks."""
        return functools.reduce(op, self.allgather(value))

    def Allreduce(self, given: np.ndarray, total: np.ndarray, op: Callable[[Any, Any], Any]) -> None:
        """Reduce arrays into ``total``."""
        # A copy, because another rank may read it after this rank has continued.
        total[...] = self.allreduce(given.copy(), op)

    def Reduce(self, given: np.ndarray, total: np.ndarray, op: Callable[[Any, Any], Any], root: int) -> None:
        """Reduce arrays into ``total`` of rank ``root`` only."""
        found = self.allgather(given.copy())
        if self._rank == root:
            total[...] = functools.reduce(op, found)

    def Bcast(self, array: np.ndarray, root: int) -> None:
        """Copy the array of rank ``root`` to all other ranks."""
        found = self.allgather(array)[root]
        if self._rank != root:
            array[...] = found
        self._barrier.wait()  # rank ``root`` must not change its array before all have copied it


class SimulatedRanks(Mpi):
    """One of several ranks, which are threads of this process."""

    def __init__(self, communicator: SimulatedCommunicator, rank: int, size: int):
        self._mpi, self._comm = Operations, communicator
        self.rank, self.size, self.on_this_node = rank, size, size

    def sharing_processors(self) -> contextlib.AbstractContextManager[None]:  # noqa: D102
        return contextlib.nullcontext()

    ending_together = sharing_processors


def fit(
    estimators: Sequence[Any],
    X: Any,
    y: Any,
    *,
    observers: Callable[[SimulatedRanks], Sequence[training.Observer]] = lambda ranks: (),
) -> list[SimulatedRanks]:
    """Fit equal estimators, each in its own thread as one process of `shallows.distributed.Mpi`.

    Afterwards every estimator has the whole model. The result has the counts ``n_values`` and ``n_bytes`` of each rank.
    """
    size = len(estimators)
    held, barrier = [None] * size, threading.Barrier(size)
    ranks = [SimulatedRanks(SimulatedCommunicator(rank, held, barrier), rank, size) for rank in range(size)]

    def share(rank: int) -> None:
        try:
            estimator = estimators[rank]
            with arrays.one_blas_thread():
                estimator.fit(X, y, observers=observers(ranks[rank]), ranks=ranks[rank])
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        done = [pool.submit(contextvars.copy_context().run, share, rank) for rank in range(size)]
    errors = [error for error in (future.exception() for future in done) if error is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError)):
        raise error  # the cause, not the broken barriers
    return ranks
