"""A run that a batch system stops: a checkpoint and an orderly end at SIGTERM, and shortly before the time limit."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from shallows.training import Checkpoint

from . import batch_system


@contextmanager
def stopping_by_signal(checkpoint: Checkpoint) -> Iterator[None]:
    """On SIGTERM, and before the time of a job of Slurm is over, save the state after the step at hand and stop.

    The time is looked after here, since Slurm's own signal ends with Snakemake, which waits for its jobs and passes
    nothing on to them.
    """
    with _stopping_in_time(checkpoint), _stopping_at_sigterm(checkpoint):
        yield


@contextmanager
def _stopping_in_time(checkpoint: Checkpoint) -> Iterator[None]:
    seconds = batch_system.seconds_until_saving()
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, checkpoint.request_stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _stopping_at_sigterm(checkpoint: Checkpoint) -> Iterator[None]:
    try:
        before = signal.signal(signal.SIGTERM, checkpoint.request_stop)
    except ValueError:  # not the main thread, which alone may do this
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
