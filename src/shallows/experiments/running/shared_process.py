"""A process that does one job and, when that was short, others that are wanted too.

To start Python and to import everything takes longer than many a short run. What is done besides is only left where a
finished run is looked for; its own job finds it there and brings it to its place. So each job leaves what it is asked
for and nothing else, whatever became of the others.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock, Timeout

from shallows.atomic import replacing
from shallows.errors import ShallowsError, TrainingInterrupted

from ..planning.runs import digest
from . import finished
from .job import Conditions, Job, data_digest, name_of


class Task(Protocol):
    """A job, or what a process may do besides; only the job itself has a place to deliver to."""

    folder: Path

    def is_finished(self) -> bool:
        """Whether its result lies in its folder."""

    def compute(self) -> None:
        """Leave the result in the folder."""

    def deliver(self) -> None:
        """Bring the result from the folder to where the job's outputs belong."""


def work(task: Task, others: Iterable[Task] = (), seconds: float = 0.0) -> None:
    """Do a task and deliver it; then begin others, for so many seconds.

    What another process is at work on is left to it. What fails among the others fails again in a job of its own, which
    tells why.

    Parameters
    ----------
    task : Task
    others : iterable of Task
    seconds : float
        After which nothing more is begun.
    """
    if task.is_finished():
        task.deliver()
        return
    began = time.monotonic()
    with _held(task.folder):
        if not task.is_finished():
            task.compute()
        task.deliver()
    for other in others:
        if time.monotonic() - began > seconds:
            break
        try:
            with _held(other.folder, wait=False):
                if not other.is_finished():
                    other.compute()
        except Timeout:
            continue
        except TrainingInterrupted:
            raise
        except Exception as error:
            print(f"Left to its own job, which will tell more: {error}", file=sys.stderr, flush=True)


@contextmanager
def _held(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Keep other processes of this machine from the same work; where the file system has no locks, nothing does."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder.with_name(f".{folder.name}.lock"), timeout=-1 if wait else 0)
    try:
        lock.acquire()
    except Timeout:  # an OSError too
        raise
    except (OSError, NotImplementedError):
        yield
        return
    try:
        yield
    finally:
        lock.release()


class RunTask:
    """A run: a record and a curve."""

    def __init__(self, job: Job, conditions: Conditions):
        self.job, self.conditions = job, conditions
        self.folder = job.folder

    def is_finished(self) -> bool:
        """See `Task`."""
        return finished.is_there(self.folder)

    def compute(self) -> None:
        """See `Task`."""
        from .run import execute

        try:
            execute(self.job, self.conditions)
        except TrainingInterrupted:
            raise
        except ShallowsError as error:
            raise ShallowsError(f"{name_of(self.job.spec)}: {error}") from error

    def deliver(self) -> None:
        """See `Task`."""
        if not (self.job.out / "record.json").exists():  # which `execute` left where it ran just now
            finished.bring(self.job, self.folder)


def on_prepared_data(
    beside: Iterable[tuple[dict[str, Any], str]], checkpoints: Path, conditions: Conditions
) -> Iterator[RunTask]:
    """Runs whose data are prepared when their turn comes; others are passed over.

    Parameters
    ----------
    beside : iterable of (dict, str)
        Runs, each with the folder of its prepared data.
    checkpoints : Path
    conditions : Conditions
    """
    for spec, prepared in beside:
        try:
            task = RunTask(Job(spec, Path(prepared), None, checkpoints), conditions)
        except (OSError, ValueError):  # no record yet, or half of one
            continue
        yield task


class PreconditionerTask:
    """A preconditioner: one file."""

    def __init__(
        self, spec: dict[str, Any], out: Path | None, prepared: Path, checkpoints: Path, conditions: Conditions
    ):
        self.spec, self.prepared, self.out, self.conditions = spec, prepared, out, conditions
        key = digest(spec["parameters"], spec["seed"], spec["code"], data_digest(prepared), length=16)
        self.folder = checkpoints / f"preconditioner-{spec['id']}-{key}"

    def is_finished(self) -> bool:
        """See `Task`."""
        return (self.folder / "preconditioner.npz").exists()

    def compute(self) -> None:
        """See `Task`."""
        from .run import make_preconditioner

        make_preconditioner(self.spec, self.prepared, self.folder / "preconditioner.npz", self.conditions)

    def deliver(self) -> None:
        """See `Task`."""
        with replacing(self.out) as partial:
            shutil.copyfile(self.folder / "preconditioner.npz", partial)
