"""A run that a batch system stops: SIGTERM becomes a checkpoint and an orderly end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from shallows.training import Checkpoint


@contextmanager
def stopping_by_signal(checkpoint: Checkpoint) -> Iterator[None]:
    """On SIGTERM, as batch systems send it before their time limit, save the state after the step at hand and stop."""
    try:
        before = signal.signal(signal.SIGTERM, checkpoint.request_stop)
    except ValueError:  # not the main thread, which alone may do this
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
