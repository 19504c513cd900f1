"""Progress of long work: each part of the work reports to listeners how far it is."""

import contextlib
import contextvars
import sys
import threading
import time
from collections.abc import Callable, Iterator

Listener = Callable[[str, int, int | None, float], None]
"""Gets the name of a part, how much is done, how much there is to do (None: unknown), and its seconds so far."""

EVERY_SECONDS = 0.5
"""Seconds between two reports of a part."""

_LISTENERS: contextvars.ContextVar[tuple[Listener, ...]] = contextvars.ContextVar("listeners", default=())


@contextlib.contextmanager
def listening(*listeners: Listener) -> Iterator[None]:
    """Add listeners for all parts of the work inside the block."""
    token = _LISTENERS.set((*_LISTENERS.get(), *listeners))
    try:
        yield
    finally:
        _LISTENERS.reset(token)


class Part:
    """Part of some work, which counts what is done. Its start is reported.

    ``name``: what is computed, such as "kernel matrix". ``total``: how much there is to do, in any unit.
    """

    def __init__(self, name: str, total: int | None = None):
        self.name, self.total, self.done = name, total, 0
        self._listeners, self._lock = _LISTENERS.get(), threading.Lock()
        self._began = self._last = time.monotonic()
        if self._listeners:
            self._report()

    def advance(self, n: int = 1) -> None:
        """Count n more as done; may be called from several threads."""
        if not self._listeners:
            return
        with self._lock:
            self.done += n
            now = time.monotonic()
            if now - self._last >= EVERY_SECONDS:
                self._last = now
                self._report()

    def _report(self) -> None:
        for listener in self._listeners:
            listener(self.name, self.done, self.total, time.monotonic() - self._began)


class Lines:
    """A listener that prints a line to stderr from time to time.

    ``label``: name of the work in these lines. ``every_seconds``: time between two lines, and before the first line.
    """

    def __init__(self, label: str, every_seconds: float = 15.0):
        self.label, self.every_seconds, self._last = label, every_seconds, time.monotonic()

    def __call__(self, name: str, done: int, total: int | None, seconds: float) -> None:
        """Print a line if it is time. The start of a part is printed only if its total is unknown."""
        now = time.monotonic()
        if (done or not total) and now - self._last >= self.every_seconds:
            self._last = now
            print(f"{self.label}: {progress_text(name, done, total, seconds)}", file=sys.stderr, flush=True)


def progress_text(name: str, done: int, total: int | None, seconds: float) -> str:
    """Progress of a part as text: its share and the time left, or its duration if the total is unknown."""
    if not total:
        return f"{name}, {duration(seconds)} so far"
    left = "" if not done or done >= total else f", about {duration(seconds * (total - done) / done)} left"
    return f"{name}, {100 * done / total:.0f} %{left}"


def duration(seconds: float) -> str:
    """A time as text, such as "25 s", "3 min" or "1.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
