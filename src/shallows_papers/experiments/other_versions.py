"""Runs that were made with other versions of NumPy, SciPy, scikit-learn, numba or CuPy than the installed ones.

Nothing makes such runs out of date, since most of their digits stay the same. They are counted, and `make refresh`
recomputes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .running.record import packages

if TYPE_CHECKING:
    from .planning.runs import PlannedRun

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
#: The folders and endings of the files that stand for a target's table and figure.
KINDS = (("tables", "csv"), ("figures", "svg"))


class FinishedRun(NamedTuple):
    """A finished run of the plan."""

    run: PlannedRun
    path: Path
    record: dict[str, Any]


def other_versions(record: Mapping[str, Any]) -> dict[str, str]:
    """Return what changed since a run, as package -> text; CuPy counts only for a run on a GPU."""
    is_on_gpu = "gpu" in str(record.get("effective", {}).get("device"))
    then, now = record.get("packages", {}), packages()
    names = (name for name in now if name in PACKAGES or (is_on_gpu and name.startswith("cupy")))
    return {name: f"{name} {then[name]} (now {now[name]})" for name in names if then.get(name, now[name]) != now[name]}


def note(records: Iterable[Mapping[str, Any]], scale: str) -> str:
    """Say in one line how many of some runs have other versions, and of which packages; empty if none has."""
    changed = [found for found in map(other_versions, records) if found]
    texts = dict.fromkeys(text for found in changed for text in found.values())
    counted = "1 run was" if len(changed) == 1 else f"{len(changed)} runs were"
    return f"{counted} made with {', '.join(texts)}. To recompute: make refresh SCALE={scale}" if changed else ""


def find_runs(scale: str) -> list[FinishedRun]:
    """Return the finished runs of a scale in the present folder that have other versions."""
    found = {}
    for path in Path("results", scale).glob("runs/*/*/*/record.json"):
        with suppress(OSError, ValueError):
            record = json.loads(path.read_text(encoding="utf-8"))
            if other_versions(record):
                found[path.parent.name.rpartition("-")[2]] = path, record
    if not found:
        return []
    from .planning.plan import Plan

    planned = Plan.load(".", {"scale": scale}).runs(scale)
    return [FinishedRun(planned[name], *given) for name, given in found.items() if name in planned]


def outputs(runs: Iterable[FinishedRun]) -> Iterator[str]:
    """Yield the records of runs, and preconditioners that are older than a record: they have its versions too."""
    for run, path, _ in runs:
        yield path.as_posix()
        if run.preconditioner is not None:
            made = path.parents[4] / run.preconditioner.path
            if made.exists() and made.stat().st_mtime < path.stat().st_mtime:
                yield made.as_posix()


def products(runs: Iterable[FinishedRun], scale: str) -> list[str]:
    """Return what exists and is made of runs: tables and figures of their targets, and a page of all tables."""
    results = Path("results", scale)
    targets = dict.fromkeys(target for one in runs for target in one.run.targets)
    places = [results / kind / f"{target}.{end}" for target in targets for kind, end in KINDS]
    page = results / "report" / "index.html"
    if page.exists():
        from .planning.plan import Plan

        plan = Plan.load(".", {"scale": scale})
        places += [page] if all((results / "tables" / f"{target}.csv").exists() for target in plan.targets) else []
    return [place.as_posix() for place in places if place.exists()]
