"""Records and tables in a compact form, without paths and names of the machine that made them."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows_papers.experiments.comparing.table_rows import Row
from shallows_papers.experiments.running.record import SCHEMA_VERSION
from shallows_papers.report.target import Target

#: Bytes of a table from which on the points of its curves are thinned.
LARGEST_TABLE = 400_000

_MADE_BY = ("code", "packages", "hardware", "blas")
_ROOTS = r"(?<![\w.:/])/(?:home|root|tmp|Users|mnt|scratch|var)/"


def compact_records(records: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Records of runs, by their folders, without their curves.

    The lists ``data`` and ``made_by`` (code, machine) hold once what many records share; each of ``runs`` refers to its
    own entries by their places.
    """
    data: list[Any] = []
    made_by: list[Any] = []
    runs = []
    for folder, record in records.items():
        rest = {key: value for key, value in record.items() if key not in (*_MADE_BY, "data", "schema_version")}
        rest["run"] = {key: value for key, value in record["run"].items() if key not in ("marks", "target_ids")}
        rest["metrics"] = record["metrics"]["final"]
        by = {key: record[key] for key in _MADE_BY}
        runs.append({"folder": folder, "data": _place(data, record["data"]), "made_by": _place(made_by, by), **rest})
    return {"data": data, "made_by": made_by, "runs": runs}


def whole_record(run: Mapping[str, Any], shared: Mapping[str, Any], target: str) -> dict[str, Any]:
    """The record of one of the ``runs`` of `compact_records` again, with no evaluation points and for one target."""
    rest = {key: value for key, value in run.items() if key not in ("folder", "data", "made_by", "run", "metrics")}
    return {
        "schema_version": SCHEMA_VERSION,
        "run": {**run["run"], "marks": [], "target_ids": [target]},
        "data": shared["data"][run["data"]],
        "metrics": {"final": run["metrics"], "marks": []},
        **shared["made_by"][run["made_by"]],
        **rest,
    }


def _place(values: list[Any], value: Any) -> int:
    if value not in values:
        values.append(value)
    return values.index(value)


def with_run_ids(row: Row) -> Row:
    """The row with the identifier of each run in place of its folder, whose name ends in it."""
    return replace(row, records=tuple(folder.rsplit("-", 1)[-1] for folder in row.records))


def thinned(target: Target) -> tuple[list[Row], int]:
    """The rows of a target, with fewer points of its curves where the table is larger than `LARGEST_TABLE`.

    What stands beside a printed value, and what is no point of a curve, is always kept. Of the points, every second or
    third and so on is kept, counted along each curve from its first, and the last. The number that is returned beside
    them says which: 1 for all.
    """
    places: dict[Any, list[int]] = {}
    marks = {*target.marks, target.figure.get("x", "index")}
    for place, row in enumerate(target.rows):
        if target.is_drawn(row):
            curve = tuple((name, value) for name, value in row.keys.items() if name not in marks)
            places.setdefault(curve, []).append(place)
    every, kept = 1, list(target.rows)
    while _size(kept) > LARGEST_TABLE and every < max(map(len, places.values()), default=0):
        every += 1
        dropped = {one for curve in places.values() for one in curve[:-1] if curve.index(one) % every}
        kept = [row for place, row in enumerate(target.rows) if place not in dropped]
    return kept, every


def _size(rows: Iterable[Row]) -> int:
    return sum(len(",".join(row.as_text().values())) + 1 for row in rows)


def check_that_nothing_is_private(text: str, what: str, root: str | Path) -> None:
    """Refuse a text that names a folder of this machine or the machine itself."""
    folders = {str(Path(root).resolve()), str(Path.home())} - {"/"}
    words = [rf"(?<![\w.:/]){re.escape(one)}(?![\w-])" for one in sorted(folders)] + [_ROOTS]
    if len(platform.node()) > 5 and platform.node() != "localhost":
        words.append(rf"\b{re.escape(platform.node())}\b")
    found = re.search("|".join(words), text)
    if found:
        place = text[max(0, found.start() - 40) : found.end() + 40]
        raise ShallowsError(f"{what} would reveal a path on this machine, or its name: …{place}…")
