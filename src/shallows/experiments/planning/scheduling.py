"""What memory this machine has, and which short jobs may share a process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shallows import memory_limits

from .plan import Plan
from .runs import Preconditioner, Run

MEMORY_BESIDE = 2 * 10**8
"""Bytes by which the estimate of another run may exceed that of the job; twice as many are asked for beyond it."""

MOST_BESIDE = 40
"""Runs on other data that a process is told of: enough for the time it has, few enough to be listed for every job."""


def main_memory() -> int:
    """Bytes of main memory that this machine has, or that a container's or a batch system's share of it holds."""
    import psutil

    return min([psutil.virtual_memory().total, *(limit.size for limit in memory_limits.limits())])


class Sharing:
    """Which short jobs of one call of Snakemake may share a process.

    Snakemake asks for the inputs of every job that it considers before it starts any; there `want` notes the job. When
    one starts, `others` tells the noted ones that are short and need the same inputs, which are there by then. The
    process that is done with its own job can go on with these, and after them with what `beside` tells.

    Parameters
    ----------
    plan : Plan
    device_of : callable
        Where a job is done: a process does those of its own device.
    """

    def __init__(self, plan: Plan, device_of: Callable[[Run | Preconditioner], str] = lambda _: ""):
        self.plan, self._device_of = plan, device_of
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
            self.plan.job(one) for _, one in sorted(noted.items()) if one.id != member.id and self._fits(one, member)
        ]

    def beside(
        self, scale: str, member: Run | Preconditioner, is_open: Callable[[Run], bool]
    ) -> list[tuple[dict[str, Any], str, str]]:
        """Noted runs on other data that are still to be done and could be, each with its dataset and variant.

        Parameters
        ----------
        scale : str
        member : Run or Preconditioner
            The job whose process asks.
        is_open : callable
            Whether the data of a run are prepared and it is not finished.

        Notes
        -----
        They are those of the groups that follow in a fixed order, so that the processes of different groups begin at
        different places. None of them takes a preconditioner: a file that is there may be one that is made anew.
        """
        if not self._is_short(member):
            return []
        own, groups = _inputs(scale, member), sorted(self._wanted)
        start = groups.index(own) + 1 if own in self._wanted else 0
        found: list[tuple[dict[str, Any], str, str]] = []
        for group in (*groups[start:], *groups[:start]):
            if group[:2] != ("train", scale) or group[4] or group == own:
                continue
            for _, one in sorted(self._wanted[group].items()):
                if len(found) == MOST_BESIDE:
                    return found
                if self._fits(one, member) and is_open(one):
                    found.append((self.plan.job(one), one.dataset, one.variant))
        return found

    def _fits(self, one: Run | Preconditioner, member: Run | Preconditioner) -> bool:
        """Whether the memory that is asked for a job is enough for another one as well, on the same device."""
        enough = one.cost.memory_bytes <= member.cost.memory_bytes + MEMORY_BESIDE
        return enough and self._device_of(one) == self._device_of(member)

    def _is_short(self, member: Run | Preconditioner) -> bool:
        return member.cost.seconds < self.seconds


def _inputs(scale: str, member: Run | Preconditioner) -> tuple[str, ...]:
    if isinstance(member, Preconditioner):
        return ("precondition", scale, member.dataset, member.variant)
    needed = member.preconditioner.id if member.preconditioner else ""
    return ("train", scale, member.dataset, member.variant, needed)
