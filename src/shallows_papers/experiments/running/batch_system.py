"""A job in a batch system: its memory, files and time, and how a training is saved and continued in another job."""

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


#: Seconds that Slurm is given to end a job that it puts back into the queue.
SECONDS_TO_END = 60.0
#: Seconds that a file of another node is waited for, as long as a network file system may keep what it knew, and
#: between two looks for it.
LATENCY_SECONDS, LOOK_SECONDS = 60.0, 2.0
#: Variables that batch systems set in their jobs: Slurm, PBS, Grid Engine, LSF, Kubernetes.
IN_A_JOB = {"SLURM_JOB_ID", "PBS_JOBID", "JOB_ID", "LSB_JOBID", "KUBERNETES_SERVICE_HOST"}
#: Seconds before the end of its time at which a job saves its state, where it has hours.
MOST_SECONDS_TO_SAVE = 120.0


def declare_memory(resources: Mapping[str, Any]) -> None:
    """Write the memory that a job of Slurm asked for into its environment, from which Snakemake's plugin takes it out.

    Where a site enforces limits without control groups, nothing else says it.
    """
    if "SLURM_JOB_ID" in os.environ and resources.get("mem_mb"):
        os.environ.setdefault("SLURM_MEM_PER_NODE", str(resources["mem_mb"]))


def wait_for_files(paths: Iterable[Path], sleep: Any = time.sleep) -> None:
    """Wait for files that another node of a batch system wrote and that this one may see late, or empty at first.

    For `LATENCY_SECONDS` at most: what is missing then was lost, and whoever reads it says so. Outside of a batch
    system nothing is waited for.
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
            # A network file system that is asked for the folder's entries learns of new ones.
            with contextlib.suppress(OSError):
                os.listdir(folder)


def seconds_until_saving() -> float | None:
    """Seconds until a job of Slurm should save its state; None where there is no Slurm or no limit to its time.

    A fifth of the time that is left is kept for saving, but no more than `MOST_SECONDS_TO_SAVE`.
    """
    job = os.environ.get("SLURM_JOB_ID")
    if job is None:
        return None
    seconds = slurm.seconds_of(slurm.ask("squeue", "--noheader", f"--jobs={job}", "--format=%L").stdout)
    return None if seconds is None else seconds - min(0.2 * seconds, MOST_SECONDS_TO_SAVE)


def queue_again() -> bool:
    """Ask Slurm to put this job back into its queue, after the state was saved; it then ends the job by itself.

    A job that a person cancelled is not put back: by then Slurm no longer calls it running. False where nothing was put
    back; the job should then fail, to be sent anew by Snakemake.
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
    """On SIGTERM, and before the time of a job of Slurm is over, save the state after the step at hand and stop.

    This process watches the time, since Slurm signals Snakemake, which passes nothing on to its jobs.
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
    """Call an action at SIGTERM; only the main thread can do this, in others nothing changes."""
    try:
        before = signal.signal(signal.SIGTERM, action)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
