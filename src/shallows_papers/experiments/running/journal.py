"""The log of a job: a copy of what it prints; an expected error ends the job with one sentence and no traceback."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from shallows.errors import ShallowsError, TrainingInterrupted

from . import batch_system


class _Tee:
    """Writes to two streams, whole lines at a time; everything else, such as ``isatty``, is answered by the first.

    Jobs that run side by side share their output. `print` writes a text and then its end of line, which an unbuffered
    stream passes on one by one, so that the lines of two jobs would run into each other.
    """

    def __init__(self, seen: TextIO, kept: TextIO):
        self.seen, self.kept, self.begun = seen, kept, ""

    def write(self, text: str) -> int:
        self.begun += text
        if self.begun.endswith("\n") or "\r" in text:
            self._pass_on()
        return len(text)

    def _pass_on(self) -> None:
        text, self.begun = self.begun, ""
        # A progress bar redraws its line; only whole lines are worth keeping.
        if "\r" not in text:
            self.kept.write(text)
            self.kept.flush()
        self.seen.write(text)

    def flush(self) -> None:
        if self.begun:
            self._pass_on()
        self.seen.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.seen, name)


@contextmanager
def journal(path: str | Path, resources: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Keep what a job prints in its log, and end the job with one clear sentence where it fails on purpose.

    A job of Slurm that was asked to stop goes back into the queue; its state is saved by then. An error that is no
    `ShallowsError` is a fault: it passes, with its traceback in the log.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    batch_system.declare_memory(resources or {})
    with open(path, "w", encoding="utf-8") as kept:
        streams = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = _Tee(sys.stdout, kept), _Tee(sys.stderr, kept)
        try:
            yield
        except ShallowsError as error:
            if not (isinstance(error, TrainingInterrupted) and batch_system.queue_again()):
                print(f"Error: {error}", file=sys.stderr, flush=True)
            raise SystemExit(1) from None
        except Exception:
            kept.write(traceback.format_exc())
            raise
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            sys.stdout, sys.stderr = streams
