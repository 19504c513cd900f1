"""The record of a benchmark: its tables with machine, versions, commit, time and memory, as JSON that `pages.py` draws.

It needs the standard library alone, because `run.py` measures in separate processes and environments.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: Records that the repository keeps.
MEASURED = Path(__file__).resolve().parent / "measured"
PACKAGES = ("shallows", "numpy", "scipy", "scikit-learn", "numba", "cupy-cuda13x", "xrfm")


class Record:
    """Tables of one run of a script, written to a file after each change.

    Parameters
    ----------
    script : str
        Name of the script, without its ending.
    path : path or None
        The file; by default the record of this script in the repository.
    resume : bool
        Whether to keep the tables that the file has.
    """

    def __init__(self, script: str, path: Path | None = None, *, resume: bool = False):
        self.path = path or MEASURED / f"{script}.json"
        self._started = time.perf_counter()
        self.content: dict[str, Any] = {
            "script": script,
            "command": " ".join(["python", *sys.argv]),
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
            "commit": commit(),
            "machine": machine(),
            "versions": versions(),
            "tables": [],
        }
        self._before = {"wall": 0.0, "processor": 0.0}
        if resume and self.path.exists():
            earlier = json.loads(self.path.read_text(encoding="utf-8"))
            self.content["tables"], self._before = earlier["tables"], earlier.get("seconds", self._before)

    def add(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> None:
        """Add a table, or replace the one of the same title, and write the file."""
        table = {"title": title, "columns": list(columns), "rows": [list(row) for row in rows], "note": note}
        kept = [one for one in self.content["tables"] if one["title"] != title]
        self.content["tables"] = [*kept, table]
        self.save()

    def rows(self, title: str) -> list[list[Any]]:
        """The rows of a table, none where there is no such table yet."""
        return next((one["rows"] for one in self.content["tables"] if one["title"] == title), [])

    def save(self) -> None:
        """Write the file with what the run, and the calls that it resumes, have taken so far."""
        usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        unit = 1 if sys.platform == "darwin" else 1024
        self.content["seconds"] = {
            "wall": round(self._before["wall"] + time.perf_counter() - self._started, 1),
            "processor": round(self._before["processor"] + sum(one.ru_utime + one.ru_stime for one in usage), 1),
        }
        self.content["peak_memory_gb"] = round(max(one.ru_maxrss for one in usage) * unit / 1e9, 2)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def commit() -> str:
    """The commit of the code, and whether files differ from it."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), "--no-optional-locks", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "--short=12", "HEAD") + (" with changes" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown (no git here)"


def machine() -> dict[str, Any]:
    """Processor, cores that this process may use, memory in 10⁹ bytes, operating system."""
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        found = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
        processor = f"{found['model name']} (family {found['cpu family']}, model {found['model']})"
    except (OSError, KeyError):
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    system = f"{platform.system()} {platform.release()}"
    return {"processor": processor, "cores": cores, "memory_gb": round(memory, 1), "system": system}


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that matter."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def markdown(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of Markdown; numbers are aligned right."""
    rows = [["" if cell is None else str(cell) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows))
