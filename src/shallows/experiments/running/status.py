"""The status of a run while it lasts, in a small file in the folder of its checkpoints."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from shallows.errors import TrainingInterrupted
from shallows.training import Observer, Run
from shallows.training.observers import place_of
from shallows.utils import progress
from shallows.utils.atomic import write_json

NAME = "status.json"

EVERY_SECONDS = 10.0
"""How often a run writes where it is."""


class Status(Observer):
    """Writes where a run is, and on which machine, for `shallows runs`: a context around the run, and its observer.

    The file lies in the folder of its checkpoints. With ``prints``, lines of long parts of the work are printed too.
    """

    def __init__(self, folder: Path, label: str, n_epochs: int | None = None, *, prints: bool = True):
        self.path, self.label, self.n_epochs, self.prints = folder / NAME, label, n_epochs, prints
        self._training = ""
        self._known: dict[str, Any] = {"place": "begins", "share": None, "seconds_left": None, "resumes": 0}
        self._last = -EVERY_SECONDS
        self._listening: Any = None

    def __enter__(self) -> Self:
        self._listening = progress.listening(self.hear, *([progress.Lines(self.label)] if self.prints else []))
        self._listening.__enter__()
        self._write("running")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        self._listening.__exit__(None, None, None)
        stopped = kind is not None and issubclass(kind, TrainingInterrupted)
        self._write("finished" if kind is None else "stopped" if stopped else "failed")

    def hear(self, name: str, done: int, total: int | None, seconds: float) -> None:
        """Note how far a part of the work is, see `shallows.utils.progress`."""
        if time.monotonic() - self._last >= EVERY_SECONDS and (done or not total):
            self._known["place"] = self._training + progress.progress_text(name, done, total, seconds)
            self._write("running")

    def on_start(self, run: Run) -> None:  # noqa: D102
        self._note(run)

    def on_batch(self, run: Run) -> None:  # noqa: D102
        if time.monotonic() - self._last >= EVERY_SECONDS:
            self._note(run)

    def on_end(self, run: Run) -> None:  # noqa: D102
        self._note(run)

    def _note(self, run: Run) -> None:
        place, share, left = place_of(run, self.n_epochs)
        self._training = f"{place}: "
        self._known = {"place": place, "share": share, "seconds_left": left, "resumes": run.n_resumes}
        self._write("running")

    def _write(self, state: str) -> None:
        self._last = time.monotonic()
        about = {
            "run": self.label,
            "state": state,
            **self._known,
            "host": socket.gethostname(),
            "process": os.getpid(),
            "job": os.environ.get("SLURM_JOB_ID"),
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        # A failed status write must not stop the run: the disk may be full for a while.
        with contextlib.suppress(OSError):
            write_json(self.path, about)
