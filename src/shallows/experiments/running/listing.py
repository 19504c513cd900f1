"""The list of runs that are under way or unfinished, for `shallows runs`."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from shallows.utils.progress import duration

from .status import EVERY_SECONDS, NAME

SILENT_AFTER = 12 * EVERY_SECONDS
"""Seconds without a status after which a run counts as silent; a long step writes none."""

COLUMNS = ("state", "where", "place", "left", "resumes", "heard", "run")

ORDER = ("running", "silent", "killed", "failed", "stopped", "finished")


def statuses(folder: Path, *, now: datetime | None = None) -> list[dict[str, str]]:
    """The runs with a status below a folder, at any depth, those at work first; as texts by `COLUMNS`.

    A run is ``running``; ``silent`` if nothing was heard of it for two minutes; ``killed`` if its process is gone from
    this machine; ``failed`` by an error; or ``stopped`` in good order. Another machine's clock may differ from ``now``.
    """
    found = [_row(status, now or datetime.now(UTC)) for status in _read(folder)]
    found.sort(key=lambda row: (ORDER.index(row["state"]), row["run"]))
    return [row for row in found if row["state"] != "finished"]


def table(rows: list[dict[str, str]]) -> Iterator[str]:
    """Lines of a table of what `statuses` gave."""
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
            continue  # a file that goes away meanwhile, or another's of the same name


def _row(status: Mapping[str, Any], now: datetime) -> dict[str, str]:
    # A clock that lags behind that of the run's machine makes the time negative.
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
