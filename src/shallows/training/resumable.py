"""Long work in independent pieces: finished ones are kept on disk and found again after a kill; progress is printed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..errors import TrainingInterrupted
from ..utils import progress
from .checkpoints import Checkpoint

Item = TypeVar("Item")


class ResumableLoop:
    """Does pieces of work one after the other; what is finished is not done again.

    Used as a context: it reads the checkpoint on entering and keeps its folder locked until it is left. Without a
    checkpoint it is a plain loop that keeps nothing, and without a label no lines of progress are printed.
    ``seconds_before`` are those that the work took in processes before this one.
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
        """Results of a function for each of some items, in their order.

        The name says what the pieces are, in the plural, as in "steps for batches of 64"; calls of one loop that share
        it are taken to do the same work. Results must be what JSON holds; floats keep all their digits.
        """
        results = self._results.setdefault(name, [])
        found = len(results)
        started, told = time.monotonic(), progress.Part(name, len(items) - found)
        for item in items[found:]:
            # As the checkpoint holds it, so that a result is the same whether it was computed or found.
            results.append(json.loads(json.dumps(function(item))))
            told.advance()
            self._print_progress(name, len(results), len(items), (time.monotonic() - started) / (len(results) - found))
            if self.checkpoint is not None and self.checkpoint.due():
                self._save()
        return list(results)

    def _save(self) -> None:
        seconds = self.seconds_before + time.monotonic() - self._started
        self.checkpoint.save({}, {"results": self._results, "seconds": seconds})
        if self.checkpoint.stop_requested:
            raise TrainingInterrupted(f"The work was stopped; {self.checkpoint.path} holds what was finished.")

    def _print_progress(self, name: str, done: int, total: int, seconds_each: float) -> None:
        now = time.monotonic()
        if not self.label or now - self._last_line < self.every_seconds:
            return
        self._last_line = now
        left = f", about {seconds_each * (total - done):.0f} s left" if done < total else ""
        print(f"{self.label}: {done} of {total} {name}{left}", file=sys.stderr, flush=True)
