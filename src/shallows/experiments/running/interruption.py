"""Saving a run and ending it at SIGTERM, and shortly before the time limit of its job."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import batch_system

if TYPE_CHECKING:
    from shallows.training import Checkpoint


@contextmanager
def stopping_by_signal(checkpoint: Checkpoint) -> Iterator[None]:
    """On SIGTERM, and before the time of a job of Slurm is over, save the state after the step at hand and stop.

    This process watches the time, since Slurm signals Snakemake, which passes nothing on to its jobs.
    """
    with _stopping_in_time(checkpoint), at_sigterm(checkpoint.request_stop):
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
