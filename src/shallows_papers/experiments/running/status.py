"""The status of a run while it lasts, as a small file in the folder of its checkpoints."""

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import psutil

from shallows.errors import TrainingInterrupted
from shallows.training import Observer, Run
from shallows.training.observers import place_of
from shallows.utils import progress
from shallows.utils.atomic import write_json
from shallows.utils.progress import duration

NAME = "status.json"

EVERY_SECONDS = 10.0
"""Seconds between two updates of a run's status."""


class Status(Observer):
    """Writes the progress of a run and its machine for `shallows runs`: a context around the run, and its observer.

    The file is in the folder of its checkpoints. With ``prints``, long steps also print lines.
    """

    def __init__(self, folder: Path, label: str, n_epochs: int | None = None, *, prints: bool = True):
        self.path, self.label, self.n_epochs, self.prints = folder / NAME, label, n_epochs, prints
        self._training = ""
        self._known: dict[str, Any] = {"place": "begins", "share": None, "seconds_left": None, "resumes": 0}
        self._last = -EVERY_SECONDS
        self._listening: Any = None

    def __enter__(self) -> Self:
        self._listening = progress.listening(self.note_part, *([progress.Lines(self.label)] if self.prints else []))
        self._listening.__enter__()
        self._write("running")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        self._listening.__exit__(None, None, None)
        stopped = kind is not None and issubclass(kind, TrainingInterrupted)
        self._write("finished" if kind is None else "stopped" if stopped else "failed")

    def note_part(self, name: str, done: int, total: int | None, seconds: float) -> None:
        """Note the progress of a part of the work, see `shallows.utils.progress`."""
        if time.monotonic() - self._last >= EVERY_SECONDS and (done or not total):
            self._known["place"] = self._training + progress.progress_text(name, done, total, seconds)
            self._write("running")

    def on_batch(self, run: Run) -> None:  # noqa: D102
        if time.monotonic() - self._last >= EVERY_SECONDS:
            self._note(run)

    def _note(self, run: Run) -> None:
        place, share, left = place_of(run, self.n_epochs)
        self._training = f"{place}: "
        self._known = {"place": place, "share": share, "seconds_left": left, "resumes": run.n_resumes}
        self._write("running")

    on_start = on_end = _note

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
        # If the status cannot be written, the run continues: the disk may be full for a while.
        with contextlib.suppress(OSError):
            write_json(self.path, about)


SILENT_AFTER = 12 * EVERY_SECONDS
"""Seconds without a status after which a run counts as silent; a long step writes none."""

COLUMNS = ("state", "where", "place", "left", "resumes", "heard", "run")

ORDER = ("running", "silent", "killed", "failed", "stopped", "finished")


def statuses(folder: Path, *, now: datetime | None = None) -> list[dict[str, str]]:
    """Return the runs with a status below a folder, at any depth, as texts by `COLUMNS`; running ones come first.

    A run is ``running``; ``silent`` if it has not reported for two minutes; ``killed`` if its process no longer exists
    on this machine; ``failed`` after an error; or ``stopped`` as planned. Another machine's clock may differ from
    ``now``.
    """
    found = [_row(status, now or datetime.now(UTC)) for status in _read(folder)]
    found.sort(key=lambda row: (ORDER.index(row["state"]), row["run"]))
    return [row for row in found if row["state"] != "finished"]


def table(rows: list[dict[str, str]]) -> Iterator[str]:
    """Yield the lines of a table of the result of `statuses`."""
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in COLUMNS}
    for row in ({name: name for name in COLUMNS}, *rows):
        yield "  ".join(row[name].ljust(widths[name]) for name in COLUMNS).rstrip()


def _read(folder: Path) -> Iterator[Mapping[str, Any]]:
    for path in sorted(folder.rglob(NAME)):
        try:
            status = json.loads(path.read_text(encoding="utf-8"))
            datetime.fromisoformat(status["written"])
            if status["state"] in ORDER:
                yield status
        except (OSError, ValueError, KeyError, TypeError):
            continue  # a file that was just removed, or another program's file of the same name


def _row(status: Mapping[str, Any], now: datetime) -> dict[str, str]:
    # The time is negative if this machine's clock is behind the clock of the run's machine.
    silent = max(0.0, (now - datetime.fromisoformat(status["written"])).total_seconds())
    state = status["state"]
    if state == "running" and status["host"] == socket.gethostname() and not psutil.pid_exists(status["process"]):
        state = "killed"
    elif state == "running" and silent > SILENT_AFTER:
        state = "silent"
    share = "" if status["share"] is None else f", {100 * status['share']:.0f} %"
    at_work = state == "running" and status["seconds_left"] is not None
    return {
        "state": state,
        "where": f"{status['host']}, " + (f"job {status['job']}" if status["job"] else f"process {status['process']}"),
        "place": f"{status['place']}{share}",
        "left": duration(status["seconds_left"]) if at_work else "",
        "resumes": str(status["resumes"]),
        "heard": f"{duration(silent)} ago",
        "run": status["run"],
    }
