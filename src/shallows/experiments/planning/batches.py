"""Which jobs go to a batch system together, since each alone would take less time than to be queued."""

from __future__ import annotations

from collections.abc import Hashable

from .costs import Cost
from .requests import Requests

#: Names of batches, which a profile must list for Snakemake to keep the jobs of each together.
NAMES = tuple(f"batch{number}" for number in range(1, 401))
#: Seconds that a job takes to start in a batch, beyond its own estimate.
START_SECONDS = 5.0
#: Most jobs of a batch: a failure of one lets Snakemake count all of them as failed.
MOST_TOGETHER = 40


class Batches:
    """Batches of short jobs of one kind with the same inputs, each of some minutes by the estimates.

    Snakemake asks for the inputs of all jobs before it puts them into groups; there `want` notes the job.

    Parameters
    ----------
    requests : Requests
    seconds : float
        About how long a batch should take; jobs of more than half of it stay by themselves. 0 for no batches.
    """

    def __init__(self, requests: Requests, seconds: float):
        self.requests, self.seconds = requests, seconds
        self._wanted: dict[tuple[Hashable, ...], dict[str, Cost]] = {}
        self._names: dict[tuple[Hashable, ...], str | None] = {}
        self._sizes: dict[str, int] = {}
        self._begun = 0

    def want(self, kind: tuple[Hashable, ...], name: str, cost: Cost) -> None:
        """Note a job that is wanted.

        Parameters
        ----------
        kind : tuple
            Its rule and its inputs. Jobs of different kinds share no batch.
        name : str
            Which of its kind it is.
        cost : Cost
        """
        if self.is_short(cost):
            self._wanted.setdefault((*kind, self.requests.threads(cost)), {})[name] = cost

    def is_short(self, cost: Cost) -> bool:
        """Whether a job of this cost is put into a batch."""
        return cost.seconds <= self.seconds / 2 if self.seconds else False

    def batch_of(self, kind: tuple[Hashable, ...], name: str, cost: Cost) -> str | None:
        """The name of the batch of a job; None where it stays by itself."""
        if not self.is_short(cost):
            return None
        self.want(kind, name, cost)
        key = (*kind, self.requests.threads(cost))
        if (*key, name) not in self._names:
            for other in self._wanted:
                self._divide(other)
        return self._names[(*key, name)]

    def has_company(self, kind: tuple[Hashable, ...], name: str, cost: Cost) -> bool:
        """Whether others are in the batch of a job."""
        batch = self.batch_of(kind, name, cost)
        return batch is not None and self._sizes[batch] > 1

    def _divide(self, key: tuple[Hashable, ...]) -> None:
        """Give a batch to the jobs of a kind that have none; those of like memory come together."""
        ordered = sorted(self._wanted[key].items(), key=lambda job: (job[1].memory_bytes, job[0]))
        most_minutes = self.requests.most_minutes or float("inf")
        n_jobs, seconds, minutes = 0, 0.0, 0
        for name, cost in ordered:
            if (*key, name) in self._names:
                continue
            more = self.requests.minutes(cost, together=True)
            seconds += cost.seconds + START_SECONDS
            minutes += more
            full = n_jobs == MOST_TOGETHER or seconds > self.seconds or minutes > most_minutes
            if n_jobs == 0 or full:
                n_jobs, seconds, minutes = 0, cost.seconds + START_SECONDS, more
                self._begun += 1
            n_jobs += 1
            batch = NAMES[self._begun - 1] if self._begun <= len(NAMES) else None
            self._names[(*key, name)] = batch
            if batch is not None:
                self._sizes[batch] = n_jobs
