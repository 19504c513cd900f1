"""Published beside measured: a target's tidy table and what its rendering needs besides."""

from __future__ import annotations

import csv
import json
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shallows.datasets.files import replacing, write_json
from shallows.errors import ShallowsError

from ..planning.configuration import format_setting
from ..running import record as records
from . import verdicts
from .measurements import Curve

COLUMNS = (
    "target",
    "dataset",
    "n_train",
    "n_test",
    "method",
    "setting",
    "metric",
    "published",
    "measured_mean",
    "measured_sd",
    "seeds",
    "verdict",
    "scale",
    "reason",
    "unit",
    "tolerance",
    "records",
)


# Gathering -----------------------------------------------------------------------------------------------------------


def gather(paths: Iterable[str | Path], out: str | Path) -> None:
    """Check the records of a target and put them, with their curves, into one file.

    Parameters
    ----------
    paths : iterable of path
        ``record.json`` files; each has its ``curve.csv`` beside it.
    out : path
        JSON: a list of ``folder``, ``record``, ``curve``.

    Raises
    ------
    ShallowsError
        A record that does not agree with its schema.
    """
    gathered = []
    for path in paths:
        folder = Path(path).parent
        record, curve = records.read(folder)
        records.check(record)
        gathered.append({"folder": folder.as_posix(), "record": record, "curve": curve})
    write_json(Path(out), gathered)


@dataclass(frozen=True)
class Measured:
    """One run as a comparison sees it: its place, its record, and its curve as ``metric -> mark -> value``.

    ``along`` is what the marks are called: the target's word for them, or an analysis' own where it has another.
    """

    folder: str
    record: dict[str, Any]
    curve: dict[str, Curve]
    along: str = ""

    @classmethod
    def read(cls, path: str | Path, mark: str = "") -> dict[str, Measured]:
        """Runs by identifier from what :func:`gather` wrote; ``mark`` is a target's word for the x column.

        A row without a mark, as a method that is fitted at once leaves it, has the mark None. The other columns, such
        as seconds, become metrics of their own. A curve with a single column besides runs along that.

        Raises
        ------
        ShallowsError
            Where a curve with several columns has none of the target's name.
        """
        runs = {}
        for one in json.loads(Path(path).read_text(encoding="utf-8")):
            columns = {name for row in one["curve"] for name in row} - {"metric", "value"}
            named = next((name for name in (mark, mark.removesuffix("s")) if name in columns), None)
            if named is None and len(columns) > 1:
                raise ShallowsError(f"The curve in {one['folder']} has no column {mark!r}.")
            column = named or next(iter(columns), "")
            curve: dict[str, Curve] = {}
            for row in one["curve"]:
                place = _mark(row[column]) if row.get(column) else None
                curve.setdefault(row["metric"], {})[place] = float(row["value"])
                for name in columns - {column}:
                    if row.get(name):
                        curve.setdefault(name, {})[place] = float(row[name])
            along = mark if named or not column else column
            runs[one["record"]["run"]["id"]] = cls(one["folder"], one["record"], curve, along)
        return runs


def _mark(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


# The table -----------------------------------------------------------------------------------------------------------


def write(evaluation: str | Path, comparison: Mapping[str, Any], csv_path: str | Path, meta_path: str | Path) -> None:
    """Write a target's tidy CSV and the JSON that describes it.

    Parameters
    ----------
    evaluation : path
        What :func:`gather` wrote.
    comparison : mapping
        `Plan.comparison` of the target at its scale.
    csv_path, meta_path : path
        Where the two go.
    """
    from .values import rows as rows_of

    measured = Measured.read(evaluation, comparison["spec"].get("mark", ""))
    rows = list(rows_of(comparison, measured))
    with replacing(Path(csv_path)) as partial, open(partial, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    write_json(Path(meta_path), describe(comparison, measured, rows))


def describe(
    comparison: Mapping[str, Any], measured: Mapping[str, Measured], rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """What rendering needs besides the numbers."""
    spec, paper = comparison["spec"], comparison["paper"]
    used = [one.record for one in measured.values()]
    labels = {
        name: one["label"] + (f" ({one['unit']})" if one.get("unit") else "")
        for name, one in {**spec["metrics"], **spec.get("claims", {})}.items()
    }
    for word, one in comparison["sizes"].items():
        name = dataset_name(comparison["sizes"], word)
        labels[name] = one["title"] if name == one["dataset"] else f"{one['title']} ({word})"
    return {
        "id": comparison["target"],
        "title": spec["title"],
        "source": spec["source"],
        "paper": paper["title"],
        "citation": paper["citation"],
        "kind": "figure" if spec["kind"] == "curves" else "table",
        "caption": spec["caption"],
        "notes": list(spec.get("notes", [])),
        "scale": comparison["scale"],
        "label": describe_runs(used, comparison["scale"]),
        "labels": labels,
        "marks": _distinct(one.along for one in measured.values() if one.along),
        "layout": spec["layout"],
        "figure": spec.get("figure"),
        "verdict_counts": {name: count for name, count in _counts(rows).items() if count},
    }


def describe_runs(used: Sequence[Mapping[str, Any]], scale: str) -> dict[str, Any]:
    """What a table says on its face of the runs behind it: the data, the seeds, the hardware and the code."""
    data: dict[str, dict[str, Any]] = {}
    for one in used:
        data[one["run"]["dataset"] + one["run"]["variant"]] = {
            key: one["data"][key] for key in ("title", "n_train", "n_test", "n_features")
        }
    return {
        "scale": scale,
        "data": list(data.values()),
        "seeds": sorted({one["run"]["seed"] for one in used}),
        "hardware": _distinct(_hardware(one) for one in used),
        "code": _code(used),
        "versions": used[0]["packages"] if used else {},
    }


def dataset_name(sizes: Mapping[str, Mapping[str, Any]], word: str) -> str:
    """The dataset that stands for a paper's word, with the word where it stands for several of them."""
    if word not in sizes:
        return word
    dataset = sizes[word]["dataset"]
    shared = sum(one["dataset"] == dataset for one in sizes.values()) > 1
    return f"{dataset} ({word})" if shared else dataset


def _counts(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    counted = Counter(row["verdict"] for row in rows if row["published"] != "" or row["verdict"] == verdicts.NOT_RUN)
    return {name: counted[name] for name in verdicts.VERDICTS}


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _hardware(record: Mapping[str, Any]) -> str:
    own = record["hardware"]
    device = record["effective"].get("device") or ""
    gpu = f", {own['gpu']}" if own["gpu"] and "gpu" in str(device) else ""
    return f"{own['cpu']}, {own['cores']} cores, {own['memory_bytes'] / 2**30:.0f} GiB{gpu}"


def _code(used: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The code of all the runs: its commit or commits, and whether any of them had changes beside."""
    codes = [one["code"] for one in used]
    commits = _distinct(code["commit"] for code in codes if code["commit"])
    return {
        "version": ", ".join(_distinct(code["version"] for code in codes)),
        "commit": commits[0] if len(commits) == 1 else None,
        "commits": commits,
        "dirty": any(code["dirty"] for code in codes) if commits else None,
    }


class Row:
    """Fills the columns that the rows of one target share."""

    def __init__(self, comparison: Mapping[str, Any]):
        self.comparison = comparison

    def __call__(
        self,
        word: str,
        method: str,
        setting: Mapping[str, Any],
        metric: str,
        verdict: str,
        *,
        published: str = "",
        values: Sequence[float] = (),
        runs: Sequence[Measured] = (),
        reason: str = "",
        tolerance: str = "",
    ) -> dict[str, Any]:
        """One row: a dataset by the paper's word, what was measured there over some runs, and the verdict."""
        size = self.comparison["sizes"].get(word, {})
        spec = {**self.comparison["spec"]["metrics"], **self.comparison["spec"].get("claims", {})}
        return {
            "target": self.comparison["target"],
            "dataset": dataset_name(self.comparison["sizes"], word),
            "n_train": size.get("n_train", ""),
            "n_test": size.get("n_test", ""),
            "method": method,
            "setting": format_setting(setting),
            "metric": metric,
            "published": published,
            "measured_mean": _number(statistics.fmean(values)) if values else "",
            "measured_sd": _number(_deviation(values)) if len(values) > 1 else "",
            "seeds": " ".join(map(str, sorted({run.record["run"]["seed"] for run in runs}))),
            "verdict": verdict,
            "scale": self.comparison["scale"],
            "reason": reason,
            "unit": spec.get(metric, {}).get("unit", ""),
            "tolerance": tolerance,
            "records": ";".join(run.folder for run in runs),
        }

    def incomparable(self, word: str) -> str | None:
        """Why the data of this scale cannot stand beside the paper's."""
        size = self.comparison["sizes"].get(word)
        if size is None:
            return None
        return verdicts.incomparable_data(word, self.comparison["spec"]["published_data"].get(word), size)


def _number(value: float) -> str:
    return f"{value:.8g}"


def _deviation(values: Sequence[float]) -> float:
    return statistics.stdev(values) if all(map(math.isfinite, values)) else math.nan
