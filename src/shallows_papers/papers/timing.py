"""Times of pieces of work as ratios within one process.

Times depend on the machine and its load, so no result is in seconds. Compared pieces run in turn, round after round,
and the fastest round of each counts. On a CPU, processor time with one BLAS thread is used, so that other work on the
machine hardly matters. By the wall clock, ratios near 1 varied between 0.6 and 2 on a loaded machine. Parallel work
counts as if it were sequential. On a GPU, wall-clock time is used.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from shallows import arrays
from shallows.arrays import Array

Case = TypeVar("Case")

LEAST_SECONDS = 0.05  # a short piece of work is repeated for this number of processor seconds


def processor_seconds(work: Callable[..., Any], *arguments: Any) -> float:
    """Return the processor seconds of one call."""
    started = time.process_time()
    work(*arguments)
    return time.process_time() - started


def repeated_seconds(work: Callable[[], Any], rounds: int) -> float:
    """Return processor seconds of a short piece of work in the fastest round; calls are repeated to be measurable."""
    work()
    repeats = max(1, int(LEAST_SECONDS / max(processor_seconds(work), 1e-6)))

    def repeated() -> None:
        for _ in range(repeats):
            work()

    return min(processor_seconds(repeated) for _ in range(rounds)) / repeats


def most_bytes(work: Callable[..., Any], *arguments: Any) -> int:
    """Return the peak memory of Python and NumPy during a call, in addition to the memory before it."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        work(*arguments)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def in_turn(cases: Sequence[Case], rounds: int) -> Iterator[tuple[int, Case]]:
    """Yield the round and all cases for each round. Round 0 is a warm-up; every second round is in reverse order."""
    for turn in range(rounds + 1):
        for case in cases if turn % 2 else reversed(cases):
            yield turn, case


def seconds_by_round(
    work: Mapping[Any, Callable[[], Any]], rounds: int, clock: Callable[[], float] = time.process_time
) -> dict[Any, np.ndarray]:
    """Return the seconds of each piece of work in each round.

    In a round all pieces run in turn. Every second round is in reverse order, so that no piece always follows the same
    piece. The first round is discarded.
    """
    seconds: dict[Any, list[float]] = {name: [] for name in work}
    with arrays.one_blas_thread():
        for turn, name in in_turn(list(work), rounds):
            started = clock()
            work[name]()
            if turn:
                seconds[name].append(clock() - started)
    return {name: np.array(values) for name, values in seconds.items()}


def fastest(work: Mapping[Any, Callable[[], Any]], rounds: int, like: Array) -> dict[Any, float]:
    """Return the seconds of the fastest round of each piece of work, by the clock for the device of `like`."""
    clock = time.process_time if arrays.is_numpy(like) else time.perf_counter
    return {name: float(values.min()) for name, values in seconds_by_round(work, rounds, clock).items()}
