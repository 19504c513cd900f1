"""A target's table: published values beside measured ones as a tidy CSV, and a JSON with what rendering needs."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shallows.datasets.files import replacing, write_json

from . import evaluations, verdicts
from .cells import cells, missing
from .claims import claims
from .evaluations import RunResult, points_used
from .measurements import Measurements
from .rows import COLUMNS, dataset_name


def write(evaluation: str | Path, comparison: Mapping[str, Any], csv_path: str | Path, meta_path: str | Path) -> None:
    """Write a target's tidy CSV and the JSON that describes it.

    Parameters
    ----------
    evaluation : path
        What `evaluations.gather` wrote.
    comparison : mapping
        `Plan.comparison` of the target at its scale.
    csv_path, meta_path : path
        Where the two go.
    """
    results = evaluations.read(evaluation, comparison["spec"].get("mark", ""))
    rows = list(rows_of(comparison, results))
    write_rows(csv_path, rows)
    write_json(Path(meta_path), describe(comparison, results, rows))


def write_rows(csv_path: str | Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as a CSV, which carries its name only when it is whole."""
    with replacing(Path(csv_path)) as partial, open(partial, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def rows_of(comparison: Mapping[str, Any], results: Mapping[str, RunResult]) -> Iterator[dict[str, Any]]:
    """All rows of a target: values, data that is missing from a picture, claims."""
    measurements = Measurements(comparison, results)
    yield from cells(measurements)
    if comparison["spec"]["kind"] == "curves":
        yield from missing(measurements)
    yield from claims(measurements)


def describe(
    comparison: Mapping[str, Any], results: Mapping[str, RunResult], rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """What rendering needs besides the numbers."""
    spec, paper, sizes = comparison["spec"], comparison["paper"], comparison["sizes"]
    said, defined = {one["metric"] for one in comparison["published"]}, {**spec["metrics"], **spec.get("claims", {})}
    labels = {name: one["label"] + (f" ({one['unit']})" if one.get("unit") else "") for name, one in defined.items()}
    for word, one in sizes.items():
        name = dataset_name(sizes, word)
        labels[name] = one["title"] if name == one["dataset"] else f"{one['title']} ({word})"
    return {
        "id": comparison["target"],
        "title": spec["title"],
        "source": spec["source"],
        "paper": paper["title"],
        "citation": paper["citation"],
        "kind": "figure" if spec["kind"] == "curves" else "table",
        "caption": spec["caption"],
        "notes": [*spec.get("notes", []), *_no_row(comparison.get("no_row", ()))],
        "scale": comparison["scale"],
        "label": describe_runs(
            [one.record for one in results.values()], comparison["scale"], comparison.get("makes_data", {})
        ),
        "labels": labels,
        "kinds": {name: one["evidence"] for name, one in defined.items() if name in said and "evidence" in one},
        "marks": list(dict.fromkeys(one.along for one in results.values() if one.along)),
        "layout": spec["layout"],
        "figure": spec.get("figure"),
        "verdict_counts": counts_by_kind(rows),
    }


def _no_row(items: Sequence[str]) -> list[str]:
    """A note on what is printed and has no row."""
    return [f"Printed, and without a row here: {'; '.join(items)}."] if items else []


def counts_by_kind(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, list[int]]]:
    """How many printed items of each kind have which verdict, and how many of them by a criterion set after a look.

    An item beside which several rows stand is counted once, with the verdict that `verdicts.PRECEDENCE` names first.
    What is derived from items that are counted elsewhere, and derivations, are counted nowhere.
    """
    items: dict[tuple[str, Any], list[Mapping[str, Any]]] = {}
    for place, row in enumerate(rows):
        if row["published"] != "" and row["evidence"] in verdicts.KINDS and not row["derived"]:
            items.setdefault((row["evidence"], row["item"] or place), []).append(row)
    found: dict[str, dict[str, list[int]]] = {kind: {} for kind in verdicts.KINDS}
    for (kind, _), of_item in items.items():
        verdict = verdicts.of_item(row["verdict"] for row in of_item)
        counts = found[kind].setdefault(verdict, [0, 0])
        counts[0] += 1
        decided = verdict not in (verdicts.NOT_COMPARABLE, verdicts.NOT_RUN)
        counts[1] += decided and any(row["fixed"] == verdicts.AFTER for row in of_item if row["verdict"] == verdict)
    return {kind: counts for kind, counts in found.items() if counts}


def describe_runs(
    records: Sequence[Mapping[str, Any]], scale: str, makes_data: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What a table says on its face of the runs behind it: the data, the seeds, the hardware and the code.

    ``makes_data`` names what analyses draw for themselves, by method, in place of the data that they were handed.
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
    machine, device = record["hardware"], str(record["effective"].get("device") or "")
    gpu = f", {machine['gpu']}" if machine["gpu"] and "gpu" in device else ""
    return f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB{gpu}"


def _code(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The code of all the runs: its commit or commits, and whether any of them had changes beside."""
    codes = [one["code"] for one in records]
    commits = list(dict.fromkeys(code["commit"] for code in codes if code["commit"]))
    return {
        "version": ", ".join(dict.fromkeys(code["version"] for code in codes)),
        "commit": commits[0] if len(commits) == 1 else None,
        "commits": commits,
        "dirty": any(code["dirty"] for code in codes) if commits else None,
    }
