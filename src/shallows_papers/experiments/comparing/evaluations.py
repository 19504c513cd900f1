"""The measured values of a target's runs, from their records, curves and outputs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows_papers.datasets.files import replacing
from shallows_papers.papers.claim_functions import Curve

from ..running import record as records
from . import output_metrics


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


def evaluate(
    paths: Iterable[str | Path], along: str = "", metrics: Mapping[str, str] | None = None
) -> dict[str, RunResult]:
    """Return the measured values of runs by their identifiers, from the paths of their records.

    ``metrics`` are computed from outputs: the name in the target -> a name in `output_metrics`. They have no evaluation
    point, since a run keeps the outputs of its last one.
    """
    found = {}
    for folder in (Path(path).parent for path in paths):
        record, rows = records.read(folder)
        records.check(record, folder)
        result = RunResult.of(folder.as_posix(), record, rows, along)
        if metrics:
            outputs = records.read_outputs(folder)
            values = {name: output_metrics.compute(one, outputs) for name, one in metrics.items()}
            result.curve.update({name: {None: value} for name, value in values.items() if value is not None})
        found[record["run"]["id"]] = result
    return found


def write(path: str | Path, results: Mapping[str, RunResult]) -> None:
    """Write the measured values of a target's runs; a table needs nothing else of them."""
    content = {}
    for name, one in results.items():
        record = {key: value for key, value in one.record.items() if key != "metrics"}
        curve = {metric: [*points.items()] for metric, points in sorted(one.curve.items())}
        content[name] = {"folder": one.folder, "record": record, "curve": curve, "along": one.along}
    with replacing(Path(path)) as partial:
        partial.write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")


def read(path: str | Path) -> dict[str, RunResult]:
    """Read the file that `write` wrote."""
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    return {
        name: RunResult(**{**one, "curve": {metric: dict(points) for metric, points in one["curve"].items()}})
        for name, one in content.items()
    }


def number(text: str) -> int | float:
    """Read an evaluation point from a curve; whole numbers become integers."""
    value = float(text)
    return int(value) if value.is_integer() else value
