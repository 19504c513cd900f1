"""Work, memory and messages of each process of a distributed training, by the number of processes.

R processes share n points, batches of m points and c outputs (`shallows.distributed`). In a step a process of EigenPro
computes m n/R kernel values, and adds up m c + (q + 1) c numbers with the others for a preconditioner of rank q; with p
centers these are p m/R values and p c + c numbers; by doubly stochastic gradients with T blocks of m features about
m² T/R feature values and 2 m c numbers. The size of the messages does not depend on n. It depends on R only by the
network's way of summation.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shallows import arrays, streams, training
from shallows.distributed.mpi import Mpi
from shallows.errors import ShallowsError
from shallows.estimators.doubly_stochastic.dsg_regressor import DoublyStochasticRegressor
from shallows.estimators.least_squares.kernel_ridge import KernelRidgeRegressor
from shallows.fitting.machine import LEAST_MEMORY, Options
from shallows.solvers import DoublyStochastic, EigenPro, ProjectedEigenPro

from ..results import AnalysisResult
from ..timing import in_turn, most_bytes

BATCH = 250  # points of a batch, and features of a block of doubly stochastic gradients
N_CENTRES = 300


@dataclass(frozen=True)
class _LittleMemory(Options):
    """Options with the budget of the smallest fit."""

    def budget(self, device: arrays.Device, least: int = LEAST_MEMORY) -> int:
        return least


class _NothingKept(KernelRidgeRegressor):
    """EigenPro with so little memory that no kernel values are stored, so that steps are timed by their arithmetic."""

    def _options(self) -> Options:
        return _LittleMemory(**vars(super()._options()))


_EIGENPRO = {"rank": 20, "n_subsample": 200, "batch_size": BATCH, "tol": 0.0}


def _kernel_ridge(kept: bool, solver: Any, same: dict[str, Any], **own: Any) -> Any:
    """Kernel ridge regression with a solver; ``same`` has the parameters shared by all methods."""
    rest = dict(same)
    options = Options(device=rest.pop("device"), dtype=rest.pop("dtype"))
    solver = solver(**_EIGENPRO, max_epochs=rest.pop("max_epochs"))
    return (KernelRidgeRegressor if kept else _NothingKept)(solver=solver, options=options, **own, **rest)


_STEPS = DoublyStochastic(
    schedule="constant", step_size=1e-3, preconditioning=None, block_size=BATCH, batch_size=BATCH, form="cosine"
)
METHODS: dict[str, Callable[..., Any]] = {
    "eigenpro": lambda kept, **same: _kernel_ridge(kept, EigenPro, same),
    "centres": lambda kept, **same: _kernel_ridge(True, ProjectedEigenPro, same, centers=N_CENTRES),
    "doubly_stochastic": lambda kept, max_epochs, device, dtype, **same: DoublyStochasticRegressor(
        solver=replace(_STEPS, max_epochs=max_epochs), options=Options(device=device, dtype=dtype), **same
    ),
}


class _Steps(training.Observer):
    """Records after every batch the computed values, sent bytes and processor time of a simulated process."""

    def __init__(self, ranks: SimulatedRanks):
        self._ranks = ranks
        self.noted: list[tuple[int, int, float]] = []

    def on_batch(self, run: Any) -> None:
        self.noted.append((self._ranks.n_values, self._ranks.n_bytes, time.thread_time()))

    def of_a_step(self) -> np.ndarray:
        """Return the medians of values, bytes and processor seconds per step, without the first step."""
        return np.median(np.diff(self.noted, axis=0), axis=0)


def rank_scaling(
    data: Any = None,
    *,
    method: str = "eigenpro",
    ranks: Sequence[int] = (1, 2, 4),
    n_points: int = 4000,
    points_grow: bool = False,
    n_inputs: int = 50,
    n_outputs: int = 4,
    rounds: int = 2,
    random_state: int = 0,
) -> AnalysisResult:
    """Work, memory and messages of a process in an epoch of several simulated processes.

    The processes are threads that run the steps of `shallows.distributed`, so MPI is not needed. The numbers do not
    include network time and waiting.

    Points are normal numbers, and targets linear functions of them. `n_points`, a multiple of 250, is the total for all
    processes, or the number for each process with `points_grow`. "eigenpro" has all points as centers, "centres" 300 of
    them, and "doubly_stochastic" a block of 250 features per batch. All numbers of processes take turns in each round,
    and the shortest time of each counts.

    Over the numbers of processes, for the busiest process: ``values``, the kernel or feature values computed in a step,
    and ``processor``, processor seconds of a step without stored values, both in units of the first number of
    processes; ``sent``, the bytes sent for sums over the processes in a step, None for a single process; and ``held``,
    the peak memory of NumPy and Python in addition to the data with stored kernel values, divided by the number of
    processes.
    """
    if method not in METHODS or n_points % BATCH or n_points < 2 * BATCH:
        raise ShallowsError(
            f"method is one of {', '.join(METHODS)} and n_points a multiple of {BATCH} above {BATCH}, not {method!r} "
            f"and {n_points}."
        )
    steps: dict[int, list[np.ndarray]] = {size: [] for size in ranks}
    held = {}
    for turn, size in in_turn(ranks, rounds):
        x, y = _problem(random_state, n_points * (size if points_grow else 1), n_inputs, n_outputs)
        if turn == 0:  # the first round includes loading and compilation
            models = _models(method, size, random_state, n_inputs, kept=True)
            held[size] = most_bytes(fit, models, x, y) / size
        else:
            steps[size].append(_most_of_a_step(method, size, random_state, x, y))
    values, sent, seconds = ([min(one[place] for one in steps[size]) for size in ranks] for place in range(3))
    curve = {
        "values": [value / values[0] for value in values],
        "processor": [value / seconds[0] for value in seconds],
        "sent": [value if size > 1 else None for size, value in zip(ranks, sent, strict=True)],
        "held": [held[size] for size in ranks],
    }
    effective = {"method": method, "n_points": n_points, "points_grow": points_grow, "rounds": rounds}
    return AnalysisResult(list(ranks), curve, effective=effective)


def _problem(seed: int, n: int, d: int, c: int) -> tuple[np.ndarray, np.ndarray]:
    x = streams.normal(seed, "rank scaling points", n, (n, d)).astype(np.float32)
    return x, (x @ streams.normal(seed, "rank scaling targets", d, (d, c)) / math.sqrt(d)).astype(np.float32)


def _models(method: str, size: int, seed: int, n_inputs: int, kept: bool) -> list[Any]:
    same = {"bandwidth": math.sqrt(2.0 * n_inputs), "max_epochs": 1, "random_state": seed}
    return [METHODS[method](kept, **same, device="cpu", dtype="float32") for _ in range(size)]


def _most_of_a_step(method: str, size: int, seed: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the largest values, bytes and processor seconds of a step over the processes."""
    observers: list[_Steps] = []

    def observe(ranks: SimulatedRanks) -> list[_Steps]:
        observers.append(_Steps(ranks))
        return observers[-1:]

    fit(_models(method, size, seed, x.shape[1], kept=False), x, y, observers=observe)
    return np.max([one.of_a_step() for one in observers], axis=0)


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
