"""Long work in independent pieces, with finished pieces stored on disk and printed progress."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from shallows.errors import TrainingInterrupted
from shallows.training import Checkpoint
from shallows.utils import progress

Item = TypeVar("Item")


class ResumableLoop:
    """Runs pieces of work in order and skips finished pieces.

    As a context manager it reads the checkpoint on entry and locks its folder until exit. Without a checkpoint nothing
    is stored, and without a label no progress is printed. ``seconds_before`` counts the time of earlier processes.
    """

    def __init__(self, label: str = "", checkpoint: Checkpoint | None = None, every_seconds: float = 15.0):
        self.label, self.checkpoint, self.every_seconds = label, checkpoint, every_seconds
        self.seconds_before = 0.0
        self._results: dict[str, list[Any]] = {}
        self._started = self._last_line = time.monotonic()

    def __enter__(self) -> ResumableLoop:
        self._started = self._last_line = time.monotonic()
        if self.checkpoint is not None:
            self.checkpoint.acquire()
            try:
                restored = self.checkpoint.restore()
            except BaseException:
                self.checkpoint.release()
                raise
            if restored is not None:
                self._results, self.seconds_before = restored[1]["results"], restored[1]["seconds"]
        return self

    def __exit__(self, *_: Any) -> None:
        if self.checkpoint is not None:
            self.checkpoint.release()

    def map(self, name: str, function: Callable[[Item], Any], items: Sequence[Item]) -> list[Any]:
        """Results of a function for each item, in their order.

        The name describes the pieces in the plural, like "steps for batches of 64"; calls of one loop with one name
        do the same work. Results must be storable as JSON; floats keep all their digits.
        """
        results = self._results.setdefault(name, [])
        found = len(results)
        started, shown = time.monotonic(), progress.Part(name, len(items) - found)
        for item in items[found:]:
            # As the checkpoint stores it, so that computed and found results are the same.
            results.append(json.loads(json.dumps(function(item))))
            shown.advance()
            self._print_progress(name, len(results), len(items), (time.monotonic() - started) / (len(results) - found))
            if self.checkpoint is not None and self.checkpoint.due():
                self._save()
        return list(results)

    def _save(self) -> None:
        seconds = self.seconds_before + time.monotonic() - self._started
        self.checkpoint.save({}, {"results": self._results, "seconds": seconds})
        if self.checkpoint.stop_requested:
            raise TrainingInterrupted(f"The work was stopped; {self.checkpoint.path} has the finished pieces.")

    def _print_progress(self, name: str, done: int, total: int, seconds_each: float) -> None:
        now = time.monotonic()
        if not self.label or now - self._last_line < self.every_seconds:
            return
        self._last_line = now
        left = f", about {seconds_each * (total - done):.0f} s left" if done < total else ""
        print(f"{self.label}: {done} of {total} {name}{left}", file=sys.stderr, flush=True)
