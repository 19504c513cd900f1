"""The table of a target: published and measured values as a tidy CSV, and a JSON file for rendering."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shallows_papers.datasets.files import write_json

from ..parameters import last_name
from ..setting_text import listed
from . import evaluations, verdicts
from .cells import cells, missing
from .claims import claims
from .evaluations import RunResult, points_used
from .measurements import Measurements
from .row_maker import dataset_name
from .table_rows import Row, write_rows
from .verdicts import AGREEING, UNMEASURED, Verdict


def write(evaluation: str | Path, comparison: Mapping[str, Any], csv_path: str | Path) -> None:
    """Write a target's tidy CSV and the JSON file that describes it, from the file of its measured values."""
    results = evaluations.read(evaluation)
    write_rows(csv_path, rows_of(comparison, results))
    write_json(Path(csv_path).with_suffix(".json"), describe(comparison, results))


def rows_of(comparison: Mapping[str, Any], results: Mapping[str, RunResult]) -> Iterator[Row]:
    """Yield all rows of a target: values, data missing from a picture, claims."""
    measurements = Measurements(comparison, results)
    rows = [*cells(measurements)]
    if comparison["spec"]["kind"] == "curves":
        rows += missing(measurements)
    yield from with_ratios(with_orders([*rows, *claims(measurements)], measurements.spec), measurements.counterparts)


def with_orders(rows: Sequence[Row], spec: Mapping[str, Any]) -> list[Row]:
    """Return the rows; a number that a rival method would reproduce as well is undecided if their order is.

    An order claim names rivals and a metric. If a number of this metric agrees with the printed one, and the printed
    number of a rival lies within the same margin, the number counts only if the order is reproduced on the same data.
    """
    found, claims_of, first = [*rows], spec.get("claims", {}), next(iter(spec["metrics"]))
    for name, claim in claims_of.items():
        if not verdicts.is_about_rivals(claim):
            continue
        metric = claim.get("metric", first)
        numbers = {metric, *(other for other, one in claims_of.items() if one.get("metric", first) == metric)}
        of_claim = [row for row in rows if row.metric == name and row.published and row.verdict not in UNMEASURED]
        undone = {row.dataset for row in of_claim if row.verdict not in AGREEING}
        rivals = {*listed(claim.get("of", {}).get("method", [])), verdicts.rival(claim)}
        its = [row for row in rows if row.published and row.metric in numbers and row.method in rivals]
        for place, row in enumerate(found):
            if row in its and row.dataset in undone and _fits_a_rival(row, its):
                why = f"the printed number of another method fits as well, and their order is not reproduced ({name})"
                reason = "; ".join(filter(None, (row.reason, why)))
                found[place] = replace(row, verdict=Verdict.UNDECIDED, reason=reason)
    return found


def _fits_a_rival(row: Row, printed: Sequence[Row]) -> bool:
    """Whether an agreeing number is also within its margin of the number of another method in the same setting."""
    if row.verdict not in AGREEING or row.margin is None or row.measured_mean is None:
        return False
    place = row.dataset, row.setting, row.metric
    return any(
        abs(other.published_value - row.measured_mean) <= row.margin
        for other in printed
        if other.method != row.method and (other.dataset, other.setting, other.metric) == place
        if other.published_value is not None
    )


def with_ratios(rows: Sequence[Row], counterparts: Mapping[str, str]) -> Iterator[Row]:
    """Yield the rows; rows of our methods get the ratio of their mean to the paper's method's mean."""
    means = {
        (row.dataset, counterparts[row.method], row.setting, row.metric): row.measured_mean
        for row in rows
        if row.method in counterparts and row.measured_mean and not row.is_bound
    }
    for row in rows:
        mean = means.get((row.dataset, row.method, row.setting, row.metric))
        is_known = mean is not None and row.measured_mean is not None and not row.is_bound
        is_known = is_known and math.isfinite(row.measured_mean / mean)
        yield replace(row, ratio=row.measured_mean / mean) if is_known else row


def describe(comparison: Mapping[str, Any], results: Mapping[str, RunResult]) -> dict[str, Any]:
    """Return what rendering needs in addition to the numbers."""
    spec, paper, sizes = comparison["spec"], comparison["paper"], comparison["sizes"]
    said, defined = {one["metric"] for one in comparison["published"]}, {**spec["metrics"], **spec.get("claims", {})}
    labels = {name: one["label"] + (f" ({one['unit']})" if one.get("unit") else "") for name, one in defined.items()}
    for word, one in sizes.items():
        name = dataset_name(sizes, word)
        labels[name] = one["title"] if name == one["dataset"] else f"{one['title']} ({word})"
    notes, no_row = list(spec.get("notes", [])), comparison.get("no_row")
    if no_row:
        notes.append(f"Printed, and without a row here: {'; '.join(no_row)}.")
    records = [one.record for one in results.values()]
    decimals = {name: one["decimals"] for name, one in spec["metrics"].items() if "decimals" in one}
    return {
        "id": comparison["target"],
        "title": spec["title"],
        "source": spec["source"],
        "paper": paper["title"],
        "citation": paper["citation"],
        "kind": "figure" if spec["kind"] == "curves" else "table",
        "caption": spec["caption"],
        "notes": notes,
        "scale": comparison["scale"],
        "label": describe_runs(records, comparison["scale"], comparison.get("makes_data", {})),
        "labels": labels,
        "kinds": {name: one["evidence"] for name, one in defined.items() if name in said and "evidence" in one},
        "marks": list(dict.fromkeys(one.along for one in results.values() if one.along)),
        "layout": spec["layout"],
        "sources": _sources(comparison),
        "figure": spec.get("figure"),
        **({"decimals": decimals} if decimals else {}),
    }


def _sources(comparison: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {
        word: {
            last_name(name): "; ".join(f"{kind}: {place}" for kind, place in source.items())
            for name, source in sources.items()
        }
        for word, sources in comparison["sources"].items()
        if sources
    }


def describe_runs(
    records: Sequence[Mapping[str, Any]], scale: str, makes_data: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Describe the runs behind a table: the data, the seeds, the hardware and the code.

    ``makes_data`` names, by method, the data that an analysis generates itself instead of using the given data.
    """
    data: dict[str, dict[str, Any]] = {}
    for one in records:
        made = (makes_data or {}).get(one["run"].get("method"))
        if made:
            data[made] = {"title": made}
        else:
            shown = {key: one["data"][key] for key in ("title", "n_train", "n_test", "n_features")}
            key, used = one["run"]["dataset"] + one["run"]["variant"], min(shown["n_train"], points_used(one))
            others = data.get(key, {}).get("n_train", 0)
            data[key] = {**shown, "n_train": max(used, others)}
    return {
        "scale": scale,
        "data": list(data.values()),
        "seeds": sorted({one["run"]["seed"] for one in records}),
        "hardware": list(dict.fromkeys(map(_hardware, records))),
        "code": _code(records),
        "versions": records[0]["packages"] if records else {},
    }


def _hardware(record: Mapping[str, Any]) -> str:
    has_used_gpu = "gpu" in str(record["effective"].get("device") or "")
    return machine_text(record["hardware"] if has_used_gpu else {**record["hardware"], "gpu": None})


def machine_text(machine: Mapping[str, Any]) -> str:
    """Describe a machine for readers, from the ``hardware`` of a record."""
    gpu = f", {machine['gpu']}" if machine["gpu"] else ""
    cores = f"{machine['cores']} core" + "s" * (machine["cores"] != 1)
    return f"{machine['cpu']}, {cores}, {machine['memory_bytes'] / 2**30:.0f} GiB{gpu}"


def _code(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the code of all runs: its commits, and whether there were uncommitted changes."""
    codes = [one["code"] for one in records]
    commits = list(dict.fromkeys(code["commit"] for code in codes if code["commit"]))
    return {
        "version": ", ".join(dict.fromkeys(code["version"] for code in codes)),
        "commit": commits[0] if len(commits) == 1 else None,
        "commits": commits,
        "dirty": any(code["dirty"] for code in codes) if commits else None,
    }
