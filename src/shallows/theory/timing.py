"""Times of pieces of work as ratios within one process.

Times go with the machine and with what else it does, so no result is a number of seconds. Pieces that are compared run
in turn, round after round, and the fastest round of each is taken. On a processor the time is that of the process, not
of the clock, with one thread in BLAS: other work on the machine then hardly matters (by the clock, ratios near 1 came
out anywhere between 0.6 and 2 on a loaded machine), and work that runs in parallel counts as if it did not. On a
graphics processor the time is that of the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array


def seconds_by_round(
    work: Mapping[Any, Callable[[], Any]], rounds: int, clock: Callable[[], float] = time.process_time
) -> dict[Any, np.ndarray]:
    """Seconds of each piece of work in each of some rounds, to take a median of or a minimum.

    In a round all of them run in turn, and every second round goes backwards, so that no piece always follows the same
    other one. A first round is thrown away.
    """
    names = list(work)
    seconds: dict[Any, list[float]] = {name: [] for name in names}
    with arrays.one_blas_thread():
        for turn in range(rounds + 1):
            for name in names if turn % 2 else reversed(names):
                started = clock()
                work[name]()
                if turn:
                    seconds[name].append(clock() - started)
    return {name: np.array(values) for name, values in seconds.items()}


def fastest(work: Mapping[Any, Callable[[], Any]], rounds: int, like: Array) -> dict[Any, float]:
    """Seconds of the fastest round of each piece of work, by the clock that suits the device of an array."""
    clock = time.process_time if arrays.is_numpy(like) else time.perf_counter
    return {name: float(values.min()) for name, values in seconds_by_round(work, rounds, clock).items()}
