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
    seconds = batch_system.seconds_until_saving()
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
