"""The memory, time and threads that a job requests, from its estimated cost and the limits of a job."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .costs import Cost

#: A job with an estimate above this, in seconds, gets all the threads that a job may have.
LONG_SECONDS = 20.0
#: Memory of the Snakemake processes that a batch system starts in addition to the computing process.
SNAKEMAKE_MEGABYTES = 400
#: Factor by which requests exceed the estimates.
MEMORY_ROOM, TIME_ROOM = 1.7, 4.0
#: Minutes in addition to the estimate, for the start of Python on a slow disk: for a job, and for a job in a group.
START_MINUTES, START_MINUTES_TOGETHER = 10, 2
#: A job that failed requests twice as much in each further attempt, up to this factor.
MOST_TIMES = 4


@dataclass(frozen=True)
class Requests:
    """Requests of jobs, each within a limit."""

    most_threads: int = 16  # of a long job; a short job gets a single thread
    most_minutes: int | None = None  # a longer training saves its state and continues in another job
    most_megabytes: int | None = None
    group_seconds: float = 0.0  # jobs with a shorter estimate are sent to a batch system in groups

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Requests:
        """Make requests with the limits of ``config.yaml``."""
        limits = settings["limits"]
        memory = limits.get("memory")
        if memory is not None:
            from shallows.arrays import parse_bytes

            memory = parse_bytes(memory) // 10**6
        threads = limits.get("threads") or cls.most_threads
        return cls(threads, limits.get("minutes"), memory, settings["group_seconds"])

    def is_short(self, cost: Cost) -> bool:
        """Whether a job is sent to a batch system in a group."""
        return cost.seconds < self.group_seconds

    def threads(self, cost: Cost) -> int:
        """Threads of a job."""
        return self.most_threads if cost.seconds > LONG_SECONDS else 1

    def megabytes(self, cost: Cost, attempt: int = 1, ranks: int = 1) -> int:
        """Return the memory in whole megabytes, with room to spare, and more in every further attempt.

        Several processes (`ranks`) divide what is large, the kernel matrix; each loads Python and the libraries.
        """
        wanted = math.ceil(_more(attempt) * MEMORY_ROOM * cost.memory_bytes / 1e6) + ranks * SNAKEMAKE_MEGABYTES
        return wanted if self.most_megabytes is None else min(wanted, self.most_megabytes)

    def minutes(self, cost: Cost, attempt: int = 1) -> int:
        """Return the time in whole minutes, and more in every further attempt; the times of a group add up."""
        start = START_MINUTES_TOGETHER if self.is_short(cost) else START_MINUTES
        wanted = int(_more(attempt) * (TIME_ROOM * cost.seconds / 60 + start))
        return wanted if self.most_minutes is None else min(wanted, self.most_minutes)


def _more(attempt: int) -> int:
    return min(2 ** (attempt - 1), MOST_TIMES)
