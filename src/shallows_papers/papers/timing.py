"""Times of pieces of work as ratios within one process.

Times go with the machine and with what else it does, so no result is a number of seconds. Pieces that are compared run
in turn, round after round, and the fastest round of each is taken. On a processor the time is that of the process, not
of the clock, with one thread in BLAS: other work on the machine then hardly matters (by the clock, ratios near 1 came
out anywhere between 0.6 and 2 on a loaded machine), and work that runs in parallel counts as if it did not. On a
graphics processor the time is that of the clock.
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

LEAST_SECONDS = 0.05  # processor seconds over which a short piece of work is repeated


def processor_seconds(work: Callable[..., Any], *arguments: Any) -> float:
    """Processor seconds of one call, which other work on the machine hardly changes."""
    started = time.process_time()
    work(*arguments)
    return time.process_time() - started


def repeated_seconds(work: Callable[[], Any], rounds: int) -> float:
    """Processor seconds of a short piece of work: the fastest round, each repeated until the clock can measure it."""
    work()
    repeats = max(1, int(LEAST_SECONDS / max(processor_seconds(work), 1e-6)))

    def repeated() -> None:
        for _ in range(repeats):
            work()

    return min(processor_seconds(repeated) for _ in range(rounds)) / repeats


def most_bytes(work: Callable[..., Any], *arguments: Any) -> int:
    """The most bytes that Python and NumPy hold at a time during a call, beyond those before it."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        work(*arguments)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def in_turn(cases: Sequence[Case], rounds: int) -> Iterator[tuple[int, Case]]:
    """All cases in each round, with the round's number; 0 is for warming up, and every second round goes backwards."""
    for turn in range(rounds + 1):
        for case in cases if turn % 2 else reversed(cases):
            yield turn, case


def seconds_by_round(
    work: Mapping[Any, Callable[[], Any]], rounds: int, clock: Callable[[], float] = time.process_time
) -> dict[Any, np.ndarray]:
    """Seconds of each piece of work in each of some rounds, to take a median of or a minimum.

    In a round all of them run in turn, and every second round goes backwards, so that no piece always follows the same
    other one. A first round is thrown away.
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
    """Seconds of the fastest round of each piece of work, by the clock that suits the device of an array."""
    clock = time.process_time if arrays.is_numpy(like) else time.perf_counter
    return {name: float(values.min()) for name, values in seconds_by_round(work, rounds, clock).items()}
