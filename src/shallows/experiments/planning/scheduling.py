"""What jobs ask of the machine, what it has, and which short jobs may share a process."""

from __future__ import annotations

from typing import Any

from shallows import memory_limits

from .costs import Cost
from .plan import Plan
from .runs import Preconditioner, Run

#: A long job takes what the machine or the batch system gives, up to this; a short one a single core.
MOST_THREADS = 16
#: An estimate above this, in seconds, is worth all cores of the machine.
LONG_SECONDS = 20.0
#: A job that failed is given this much more of its estimate at each further attempt, up to `MOST_TIMES` as much.
MORE_EACH_ATTEMPT, MOST_TIMES = 0.5, 3.0


def main_memory() -> int:
    """Bytes of main memory that this machine has, or that a container's or a batch system's share of it holds."""
    import psutil

    return min([psutil.virtual_memory().total, *(limit.size for limit in memory_limits.limits())])


def threads(cost: Cost) -> int:
    """Threads of a job."""
    return MOST_THREADS if cost.seconds > LONG_SECONDS else 1


def megabytes(cost: Cost, attempt: int = 1) -> int:
    """Memory to ask for in whole megabytes, with room to spare, and more at every further attempt."""
    return int(_more(attempt) * 1.25 * cost.memory_bytes / 1e6) + 1


def minutes(cost: Cost, attempt: int = 1) -> int:
    """Time to ask for in whole minutes, and more at every further attempt: estimates are rough."""
    return int(_more(attempt) * (3 * cost.seconds / 60 + 10))


def _more(attempt: int) -> float:
    return min(1.0 + MORE_EACH_ATTEMPT * (attempt - 1), MOST_TIMES)


class Sharing:
    """Which short jobs of one call of Snakemake may share a process.

    Snakemake asks for the inputs of every job that it considers before it starts any; there `want` notes the job. When
    one starts, `others` tells the noted ones that are short and need the same inputs, which are there by then. The
    process that is done with its own job can go on with these.

    Parameters
    ----------
    plan : Plan
    """

    def __init__(self, plan: Plan):
        self.plan = plan
        self.seconds: float = plan.configuration.settings["batch_seconds"]
        self._wanted: dict[tuple[str, ...], dict[str, Run | Preconditioner]] = {}

    def want(self, scale: str, member: Run | Preconditioner) -> list[str]:
        """Note a job; the list of files, which is empty, lets this be an input function."""
        if self._is_short(member):
            self._wanted.setdefault(_inputs(scale, member), {})[member.id] = member
        return []

    def others(self, scale: str, member: Run | Preconditioner) -> list[dict[str, Any]]:
        """What the process of a job may do besides: the noted jobs as the scripts take them, in a fixed order."""
        if not self._is_short(member):
            return []
        noted = self._wanted.get(_inputs(scale, member), {})
        return [
            self.plan.job(one)
            for _, one in sorted(noted.items())
            if one.id != member.id and one.cost.memory_bytes <= member.cost.memory_bytes
        ]

    def _is_short(self, member: Run | Preconditioner) -> bool:
        return member.cost.seconds < self.seconds


def _inputs(scale: str, member: Run | Preconditioner) -> tuple[str, ...]:
    if isinstance(member, Preconditioner):
        return ("precondition", scale, member.dataset, member.variant)
    needed = member.preconditioner.id if member.preconditioner else ""
    return ("train", scale, member.dataset, member.variant, needed)
