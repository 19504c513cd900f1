"""Which runs are under way or were left unfinished, where, how far, and when they were last heard of."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shallows.utils.progress import duration

from .status import EVERY_SECONDS, NAME

SILENT_AFTER = 12 * EVERY_SECONDS
"""Seconds without a word after which a run is not said to be running: a long step tells nothing while it lasts."""

COLUMNS = ("state", "where", "place", "left", "resumes", "heard", "run")

ORDER = ("running", "silent", "killed", "failed", "stopped", "finished")


def statuses(folder: Path, *, now: datetime | None = None) -> list[dict[str, str]]:
    """The runs of which a folder tells, those at work first.

    Parameters
    ----------
    folder : Path
        Which has the checkpoints of runs, at any depth: ``results``, or a scale's own.
    now : datetime, optional
        The time by which to tell when a run was last heard of; another machine's clock may differ.

    Returns
    -------
    list of dict
        By `COLUMNS`. A run is ``running``; ``silent`` if nothing was heard of it for two minutes; ``killed`` if its
        process is gone from this machine; ``failed`` by an error; or ``stopped`` in good order.
    """
    found = [_row(told, now or datetime.now(UTC)) for told in _told(folder)]
    found.sort(key=lambda row: (ORDER.index(row["state"]), row["run"]))
    return [row for row in found if row["state"] != "finished"]


def table(rows: list[dict[str, str]]) -> Iterator[str]:
    """Lines of a table of what `statuses` gave."""
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in COLUMNS}
    for row in ({name: name for name in COLUMNS}, *rows):
        yield "  ".join(row[name].ljust(widths[name]) for name in COLUMNS).rstrip()


def _told(folder: Path) -> Iterator[Mapping[str, Any]]:
    for path in sorted(folder.rglob(NAME)):
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            datetime.fromisoformat(told["written"])
            if told["state"] in ORDER:
                yield told
        except (OSError, ValueError, KeyError, TypeError):
            continue  # a file that goes away meanwhile, or another's of the same name


def _row(told: Mapping[str, Any], now: datetime) -> dict[str, str]:
    # A clock that lags behind that of the run's machine makes the time negative.
    silent = max(0.0, (now - datetime.fromisoformat(told["written"])).total_seconds())
    state = told["state"]
    if state == "running" and told["host"] == socket.gethostname() and not _is_alive(told["process"]):
        state = "killed"
    elif state == "running" and silent > SILENT_AFTER:
        state = "silent"
    share = "" if told["share"] is None else f", {100 * told['share']:.0f} %"
    at_work = state == "running" and told["seconds_left"] is not None
    return {
        "state": state,
        "where": f"{told['host']}, " + (f"job {told['job']}" if told["job"] else f"process {told['process']}"),
        "place": f"{told['place']}{share}",
        "left": duration(told["seconds_left"]) if at_work else "",
        "resumes": str(told["resumes"]),
        "heard": f"{duration(silent)} ago",
        "run": told["run"],
    }


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to somebody else
        return True
    return True
