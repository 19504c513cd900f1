"""The runs of a target, each with its record and its curve, as the comparison uses them."""

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

    ``along`` names the evaluation points, in the target's words or the analysis' own.
    """

    folder: str
    record: dict[str, Any]
    curve: dict[str, Curve]
    along: str = ""

    @classmethod
    def of(cls, folder: str, record: dict[str, Any], rows: Iterable[Mapping[str, str]], along: str = "") -> RunResult:
        """Make a run from its record and the rows of its curve.

        The column that the target names, or the only column, has the evaluation points. Other columns, such as
        seconds, become metrics. A row without an evaluation point has the point None.
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
        """Whether the training diverged, so that the curve ends before its last mark."""
        return "diverged" in self.record

    @property
    def repetition(self) -> tuple[Any, int]:
        """The part of the data and the seed, which identify the run within its series."""
        return self.record["run"].get("variant"), self.record["run"]["seed"]


def points_used(record: Mapping[str, Any]) -> float:
    """Return how many training points a run used; infinite where its record does not say, which means all points."""
    used = record.get("effective", {}).get("n_points")
    return used if isinstance(used, int) else math.inf


def read(paths: Iterable[str | Path], along: str = "") -> dict[str, RunResult]:
    """Read and check runs by the paths of their records, and return them by their identifiers."""
    found = {}
    for folder in (Path(path).parent for path in paths):
        record, rows = records.read(folder)
        records.check(record, folder)
        found[record["run"]["id"]] = RunResult.of(folder.as_posix(), record, rows, along)
    return found


def number(text: str) -> int | float:
    """Read an evaluation point from a curve; whole numbers become integers."""
    value = float(text)
    return int(value) if value.is_integer() else value
