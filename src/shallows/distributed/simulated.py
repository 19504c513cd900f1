"""Trainings shared by threads that stand in for processes, to count what each would compute and send; without MPI."""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .. import arrays, training
from .fitting import fit_share, kind_of
from .mpi import Mpi


class Operations:
    """The operations of sums over processes, by the names that MPI gives them."""

    SUM, LOR, MIN = np.add, np.logical_or, np.minimum


class SimulatedCommunicator:
    """What `Mpi` uses of an MPI communicator, between threads of one process.

    Where one thread fails their barrier is broken, so that the others fail rather than wait for ever.
    """

    def __init__(self, rank: int, held: list[Any], barrier: threading.Barrier):
        self._rank, self._held, self._barrier = rank, held, barrier

    def allgather(self, value: Any) -> list[Any]:
        """What every rank gave, by rank."""
        self._held[self._rank] = value
        self._barrier.wait()
        found = list(self._held)
        self._barrier.wait()
        return found

    def bcast(self, value: Any, root: int) -> Any:
        """What the rank ``root`` gave."""
        return self.allgather(value)[root]

    def allreduce(self, value: Any, op: Callable[[Any, Any], Any]) -> Any:
        """All values, reduced in the order of the ranks."""
        return functools.reduce(op, self.allgather(value))

    def Allreduce(self, given: np.ndarray, total: np.ndarray, op: Callable[[Any, Any], Any]) -> None:
        """The same of arrays, into ``total``."""
        # A copy, since another rank may read it when this one has gone on.
        total[...] = self.allreduce(given.copy(), op)

    def Reduce(self, given: np.ndarray, total: np.ndarray, op: Callable[[Any, Any], Any], root: int) -> None:
        """The same for the rank ``root`` alone."""
        found = self.allgather(given.copy())
        if self._rank == root:
            total[...] = functools.reduce(op, found)

    def Bcast(self, array: np.ndarray, root: int) -> None:
        """The array of the rank ``root``, into those of all others."""
        found = self.allgather(array)[root]
        if self._rank != root:
            array[...] = found
        self._barrier.wait()  # not before all have it may the rank ``root`` change its own


class SimulatedRanks(Mpi):
    """One of several ranks that are threads of this process."""

    def __init__(self, communicator: SimulatedCommunicator, rank: int, size: int):
        self._mpi, self._comm = Operations, communicator
        self.rank, self.size, self.on_this_node = rank, size, size


def fit(
    estimators: Sequence[Any],
    X: Any,
    y: Any,
    *,
    observers: Callable[[SimulatedRanks], Sequence[training.Observer]] = lambda ranks: (),
) -> list[SimulatedRanks]:
    """Fit equal estimators by as many threads as there are, each with the share of one process and one BLAS thread.

    Every estimator is the whole fitted model afterwards, as by `shallows.distributed.fit` in as many processes. The
    ranks know what each computed (``n_values``) and gave to sums (``n_bytes``).
    """
    size = len(estimators)
    held, barrier = [None] * size, threading.Barrier(size)
    ranks = [SimulatedRanks(SimulatedCommunicator(rank, held, barrier), rank, size) for rank in range(size)]

    def share(rank: int) -> None:
        try:
            estimator = estimators[rank]
            with arrays.one_blas_thread():
                fit_share(estimator, kind_of(estimator), ranks[rank], X, y, observers=observers(ranks[rank]))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        done = [pool.submit(contextvars.copy_context().run, share, rank) for rank in range(size)]
    errors = [error for error in (one.exception() for one in done) if error is not None]
    for error in sorted(errors, key=lambda one: isinstance(one, threading.BrokenBarrierError)):
        raise error  # the cause rather than what it did to the others
    return ranks
