"""Progress of long work: its parts report how far they are to whoever listens."""

from __future__ import annotations

import contextlib
import contextvars
import sys
import threading
import time
from collections.abc import Callable, Iterator

Listener = Callable[[str, int, int | None, float], None]
"""Told the name of a part, what is done of it, how much there is to be done (None: unknown), and its seconds so far."""

EVERY_SECONDS = 0.5
"""A part reports at most so often."""

_LISTENERS: contextvars.ContextVar[tuple[Listener, ...]] = contextvars.ContextVar("listeners", default=())


@contextlib.contextmanager
def listening(*listeners: Listener) -> Iterator[None]:
    """Report all parts of the work inside the block to listeners, beside those who listen already."""
    token = _LISTENERS.set((*_LISTENERS.get(), *listeners))
    try:
        yield
    finally:
        _LISTENERS.reset(token)


class Part:
    """A part of some work, which counts what is done of it; see `part`."""

    def __init__(self, name: str, total: int | None):
        self.name, self.total, self.done = name, total, 0
        self._listeners, self._lock = _LISTENERS.get(), threading.Lock()
        self._began = self._last = time.monotonic()

    def advance(self, n: int = 1) -> None:
        """Count n more as done; may be called from several threads."""
        if not self._listeners:
            return
        with self._lock:
            self.done += n
            now = time.monotonic()
            if now - self._last < EVERY_SECONDS:
                return
            self._last = now
            self.tell()

    def tell(self) -> None:
        """Tell the listeners how far it is."""
        for listener in self._listeners:
            listener(self.name, self.done, self.total, time.monotonic() - self._began)


def part(name: str, total: int | None = None) -> Part:
    """Begin a part of some work.

    ``name``: what is being made, such as "kernel matrix". ``total``: how much there is to do, in any unit.
    """
    begun = Part(name, total)
    begun.tell()
    return begun


class Lines:
    """A listener that prints a line now and then, to stderr.

    ``label``: what the work is called in these lines. ``every_seconds``: between two lines, and before the first one.
    """

    def __init__(self, label: str, every_seconds: float = 15.0):
        self.label, self.every_seconds, self._last = label, every_seconds, time.monotonic()

    def __call__(self, name: str, done: int, total: int | None, seconds: float) -> None:
        """Print a line if it is time; of a part that only begins, if it will tell no more."""
        now = time.monotonic()
        if total and not done:
            return
        if now - self._last >= self.every_seconds:
            self._last = now
            print(f"{self.label}: {progress_text(name, done, total, seconds)}", file=sys.stderr, flush=True)


def progress_text(name: str, done: int, total: int | None, seconds: float) -> str:
    """Return how far a part is in words: its share and the time left, or the time it took where no share is known."""
    if not total:
        return f"{name}, {duration(seconds)} so far"
    left = "" if not done or done >= total else f", about {duration(seconds * (total - done) / done)} left"
    return f"{name}, {100 * done / total:.0f} %{left}"


def duration(seconds: float) -> str:
    """A time for people, such as "25 s", "3 min" or "1.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
