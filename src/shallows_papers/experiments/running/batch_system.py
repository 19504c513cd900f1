"""A job in a batch system: its memory, files and time, and how to save a training and continue it in another job."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..planning import slurm

if TYPE_CHECKING:
    from shallows.training import Checkpoint


#: Seconds that Slurm gives a job to end before it queues the job again.
SECONDS_TO_END = 60.0
#: Seconds to wait for a file of another node, as long as a network file system may keep outdated entries, and seconds
#: between two checks for it.
LATENCY_SECONDS, LOOK_SECONDS = 60.0, 2.0
#: Variables that batch systems set in their jobs: Slurm, PBS, Grid Engine, LSF, Kubernetes.
IN_A_JOB = {"SLURM_JOB_ID", "PBS_JOBID", "JOB_ID", "LSB_JOBID", "KUBERNETES_SERVICE_HOST"}
#: Seconds before the end of its time at which a job with hours of time saves its state.
MOST_SECONDS_TO_SAVE = 120.0


def declare_memory(resources: Mapping[str, Any]) -> None:
    """Write the memory that a Slurm job requested into its environment, from which Snakemake's plugin removes it.

    If a site enforces limits without control groups, this is the only source of the number.
    """
    if "SLURM_JOB_ID" in os.environ and resources.get("mem_mb"):
        os.environ.setdefault("SLURM_MEM_PER_NODE", str(resources["mem_mb"]))


def wait_for_files(paths: Iterable[Path], sleep: Any = time.sleep) -> None:
    """Wait for files that another node of a batch system wrote, if they are still missing or empty on this node.

    Wait for `LATENCY_SECONDS` at most. A file that is missing then is lost, and reading it raises an error. Outside of
    a batch system there is no wait.
    """
    if not IN_A_JOB & set(os.environ):
        return
    missing, waited = [*paths], 0.0
    while missing := [path for path in missing if not path.exists() or path.stat().st_size == 0]:
        if waited >= LATENCY_SECONDS:
            return
        sleep(LOOK_SECONDS)
        waited += LOOK_SECONDS
        for folder in {path.parent for path in missing}:
            # A request for the folder's entries makes a network file system look for new files.
            with contextlib.suppress(OSError):
                os.listdir(folder)


def seconds_until_saving() -> float | None:
    """Return the seconds until a Slurm job should save its state; None without Slurm or without a time limit.

    A fifth of the remaining time is reserved for saving, but at most `MOST_SECONDS_TO_SAVE`.
    """
    job = os.environ.get("SLURM_JOB_ID")
    if job is None:
        return None
    seconds = slurm.seconds_of(slurm.ask("squeue", "--noheader", f"--jobs={job}", "--format=%L").stdout)
    return None if seconds is None else seconds - min(0.2 * seconds, MOST_SECONDS_TO_SAVE)


def queue_again() -> bool:
    """Ask Slurm to queue this job again after its state was saved; Slurm then ends the job.

    A job that the user canceled is not queued again, since Slurm no longer lists it as running. Return False if the
    job was not queued. The job should then fail, so that Snakemake sends it again.
    """
    job = os.environ.get("SLURM_JOB_ID")
    if job is None or slurm.ask("squeue", "--noheader", f"--jobs={job}", "--format=%T").stdout.strip() != "RUNNING":
        return False
    print("The time of this job is nearly over and its state is saved: Slurm queues it again.", flush=True)
    done = slurm.ask("scontrol", "requeue", job)
    if done.returncode != 0:
        print(f"Slurm does not queue it again: {(done.stderr or done.stdout).strip()}", file=sys.stderr, flush=True)
        return False
    time.sleep(SECONDS_TO_END)
    return True


@contextmanager
def stopping_by_signal(checkpoint: Checkpoint) -> Iterator[None]:
    """On SIGTERM, and shortly before the time of a Slurm job is over, save the state after the present step and stop.

    This process watches the time, since Slurm signals Snakemake, which does not pass the signal on to its jobs.
    """
    seconds = seconds_until_saving()
    timer = threading.Timer(seconds or 0.0, checkpoint.request_stop)
    timer.daemon = True
    if seconds is not None:
        timer.start()
    try:
        with at_sigterm(checkpoint.request_stop):
            yield
    finally:
        timer.cancel()


@contextmanager
def at_sigterm(action: Callable[..., Any]) -> Iterator[None]:
    """Call an action at SIGTERM; this has an effect only in the main thread."""
    try:
        before = signal.signal(signal.SIGTERM, action)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
