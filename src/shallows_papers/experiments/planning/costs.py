"""Estimates of the time and memory of jobs, what a job requests by them, groups of short jobs and `make explain`.

A method names its kind of cost in ``methods.yaml``. Each kind has a formula for the number of operations and one for
the numbers in memory, each with a measured factor (`KINDS`). The factors come from 1,759 runs of the demo and laptop
scales on two cores of a 2020s server. The estimated time is within a factor of 3 for half of the runs over three
seconds, and within a factor of 30 for nine of ten. Memory is estimated high: with the room of `Requests`, all but 4
runs fit their first request, and all fit their second.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

START_SECONDS = 1.0
PROCESS_BYTES = 400_000_000  # of a process that has imported everything
PREPARED_VALUES = 1.0e6  # values a second that a preparation reads, or draws, and writes
KEPT_PREPARED_BYTES = 4_000_000_000  # the most memory that a preparation gets for rows
KEPT_PAIRS = 1.7e9  # numbers of the largest kernel matrix that is kept between epochs, with arrays computed from it
KEPT_FEATURES = 5e8  # numbers of the largest matrix of features that is kept
DEFAULT_WIDTH = 2000  # random features, landmarks or points of a method without a given number


class Kind(NamedTuple):
    """The measured factors of a kind of cost."""

    seconds: float  # for an operation
    bytes: float  # for a number in memory


SMALL = "small"  # formulas and small matrices, for data of any size
KINDS = {
    "rows": Kind(4e-7, 8.0),  # n·d: passes over the rows, also of a neural net
    "features": Kind(5e-11, 12.0),  # n·m: products of rows with m features, centers or landmarks
    "pairs": Kind(3e-11, 8.0),  # n²: products with the kernel matrix
    "dense": Kind(2e-10, 40.0),  # n² held in float64 several times, and n³: eigensystems of a matrix
    "timed": Kind(1e-10, 40.0),  # n·m, in an analysis that measures the time of the device
}


@dataclass(frozen=True)
class ProblemSize:
    """Sizes of prepared data."""

    n_train: int
    n_test: int
    n_features: int
    n_classes: int


@dataclass(frozen=True)
class Cost:
    """Estimated seconds and peak bytes."""

    seconds: float = 0.0
    memory_bytes: int = 0


def estimate(
    kind: str, size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int] = (), unit: str = "epoch"
) -> Cost:
    """Estimate the cost of a run; ``parameters`` are by their last names, and ``unit`` is the unit of ``marks``."""

    def number_of(*names: str) -> float | None:
        found = (parameters.get(name) for name in names)
        return next((value for value in found if isinstance(value, (int, float)) and value), None)

    if kind == SMALL:
        return Cost(2 * START_SECONDS, PROCESS_BYTES)
    n, d, c = size.n_train, size.n_features, size.n_classes
    iterations = number_of("n_iter", "n_iterations", "max_blocks")
    end = max(marks, default=0) or iterations or number_of("max_epochs") or 10
    by_iteration = unit == "iteration" or iterations is not None
    visited = end * min(n, number_of("batch_size") or 256) if by_iteration else end * n
    chosen = number_of("centers", "n_features", "max_features", "n_subsample", "n_grids")
    growing = number_of("block_size")  # for a function that grows by a block in each iteration
    width = chosen or (growing * (end if by_iteration else 10) / 2 if growing else DEFAULT_WIDTH)
    points = number_of("n_points", "n_subsample") or (1.5 * DEFAULT_WIDTH if kind == "timed" else n)
    if kind == "rows":
        operations, held = visited * d, 0.0
    elif kind == "features":
        operations = visited * width * (d + c)
        held = (
            (min(n * width, KEPT_FEATURES) if chosen else 0.0) + 2 * width * (c + min(d, 1000)) + min(width, 5000) ** 2
        )
    elif kind == "pairs":
        operations = n * (n + size.n_test) * d + visited * n * (c if n * n < 2 * KEPT_PAIRS else d)
        held = min(n * n, KEPT_PAIRS)
    else:
        operations = n * DEFAULT_WIDTH * (d + c) if kind == "timed" else points**2 * (points + d)
        held = points**2
    seconds = 1.2 * end if unit == "seconds" else START_SECONDS + KINDS[kind].seconds * operations
    data = 8 * (n + size.n_test) * d
    return Cost(seconds, int(PROCESS_BYTES + data + KINDS[kind].bytes * held))


def preparation(n_rows: int, n_features: int, size: ProblemSize) -> Cost:
    """Estimate the cost of reading published rows and of the steps to data of a given size."""
    values = n_rows * n_features + (size.n_train + size.n_test) * size.n_features
    # If there are more rows than this, they are kept on disk.
    return Cost(2 + values / PREPARED_VALUES, PROCESS_BYTES + min(8 * values, KEPT_PREPARED_BYTES) + 60 * n_rows)


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
    def of(cls, settings: Mapping[str, Any]) -> Self:
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
