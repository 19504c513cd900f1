"""The runs of a target as they are compared: each with its record and its curve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows_papers.papers.claim_functions import Curve

from ..running import record as records


@dataclass(frozen=True)
class RunResult:
    """One run: its folder, its record, and its curve as ``metric -> evaluation point -> value``.

    ``along`` is what the evaluation points are called: the target's word for them, or an analysis' own.
    """

    folder: str
    record: dict[str, Any]
    curve: dict[str, Curve]
    along: str = ""

    @classmethod
    def of(cls, folder: str, record: dict[str, Any], rows: Iterable[Mapping[str, str]], along: str = "") -> RunResult:
        """A run with the rows of its curve as they are written.

        The curve runs along the column that the target names, or along its only one. Other columns, such as seconds,
        become metrics. A row without an evaluation point has the point None.
        """
        columns = {name for row in rows for name in row} - {"metric", "value"}
        named = next((name for name in (along, along.removesuffix("s")) if name in columns), None)
        if named is None and len(columns) > 1:
            raise ShallowsError(f"The curve in {folder} has no column {along!r}.")
        column = named or next(iter(columns), "")
        curve: dict[str, Curve] = {}
        for row in rows:
            point = number(row[column]) if row.get(column) else None
            curve.setdefault(row["metric"], {})[point] = float(row["value"])
            for name in columns - {column}:
                if row.get(name):
                    curve.setdefault(name, {})[point] = float(row[name])
        return cls(folder, record, curve, along if named or not column else column)

    @property
    def diverged(self) -> bool:
        """Whether its training diverged, so that its curve ends before its last mark."""
        return "diverged" in self.record

    @property
    def repetition(self) -> tuple[Any, int]:
        """Its identity within its series: the part of the data and the seed."""
        return self.record["run"].get("variant"), self.record["run"]["seed"]


def points_used(record: Mapping[str, Any]) -> float:
    """How many training points the run of a record used, where it says so; else infinite, for all of them."""
    used = record.get("effective", {}).get("n_points")
    return used if isinstance(used, int) else math.inf


def read(paths: Iterable[str | Path], along: str = "") -> dict[str, RunResult]:
    """Read and check runs by the paths of their records; returns them by their identifiers."""
    found = {}
    for folder in (Path(path).parent for path in paths):
        record, rows = records.read(folder)
        records.check(record, folder)
        found[record["run"]["id"]] = RunResult.of(folder.as_posix(), record, rows, along)
    return found


def number(text: str) -> int | float:
    """An evaluation point as curves have it: whole numbers are integers."""
    value = float(text)
    return int(value) if value.is_integer() else value
