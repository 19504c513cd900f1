"""The records and curves of a target's runs, gathered into one file and read again."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shallows.datasets.files import write_json
from shallows.errors import ShallowsError

from ..claim_functions import Curve
from ..running import record as records


def gather(paths: Iterable[str | Path], out: str | Path) -> None:
    """Check the records of a target and write them, with the curve beside each, into one file of JSON."""
    gathered = []
    for folder in (Path(path).parent for path in paths):
        record, curve = records.read(folder)
        records.check(record, folder)
        gathered.append({"folder": folder.as_posix(), "record": record, "curve": curve})
    write_json(Path(out), gathered)


@dataclass(frozen=True)
class RunResult:
    """One run: its folder, its record, and its curve as ``metric -> evaluation point -> value``.

    ``along`` is what the evaluation points are called: the target's word for them, or an analysis' own.
    """

    folder: str
    record: dict[str, Any]
    curve: dict[str, Curve]
    along: str = ""

    @property
    def repetition(self) -> tuple[Any, int]:
        """Its identity within its series: the part of the data and the seed."""
        return self.record["run"].get("variant"), self.record["run"]["seed"]


def points_used(record: Mapping[str, Any]) -> float:
    """How many training points the run of a record used, where it says so; else infinite, for all of them."""
    used = record.get("effective", {}).get("n_points")
    return used if isinstance(used, int) else math.inf


def read(path: str | Path, along: str = "") -> dict[str, RunResult]:
    """Read by identifier the runs that `gather` wrote.

    Their curves run along the column that the target names, or along their only one. Other columns, such as seconds,
    become metrics. A row without an evaluation point has the point None.
    """
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    return {one["record"]["run"]["id"]: _run_result(one, along) for one in found}


def _run_result(one: Mapping[str, Any], along: str) -> RunResult:
    columns = {name for row in one["curve"] for name in row} - {"metric", "value"}
    named = next((name for name in (along, along.removesuffix("s")) if name in columns), None)
    if named is None and len(columns) > 1:
        raise ShallowsError(f"The curve in {one['folder']} has no column {along!r}.")
    column = named or next(iter(columns), "")
    curve: dict[str, Curve] = {}
    for row in one["curve"]:
        point = _number(row[column]) if row.get(column) else None
        curve.setdefault(row["metric"], {})[point] = float(row["value"])
        for name in columns - {column}:
            if row.get(name):
                curve.setdefault(name, {})[point] = float(row[name])
    return RunResult(one["folder"], one["record"], curve, along if named or not column else column)


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number
