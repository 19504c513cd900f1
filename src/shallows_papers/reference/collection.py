"""Collects finished runs of a scale as reference results: their tables made anew, their records in a compact form."""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from shallows.errors import ShallowsError
from shallows_papers.experiments.comparing import evaluations, target_table
from shallows_papers.experiments.comparing.table_rows import Row
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.planning.runs import PlannedRun
from shallows_papers.experiments.running import job
from shallows_papers.experiments.running import record as records
from shallows_papers.report.target import Target

from . import compaction, earlier, folder


class NotFinishedError(ShallowsError):
    """A target that cannot be collected, and why."""


def collect(
    plan: Plan,
    scale: str,
    results: str | Path,
    reference: str | Path,
    wanted: Iterable[str] = (),
    *,
    older: bool = False,
) -> Iterator[str]:
    """Collect the targets of a scale whose runs are finished, or those that are wanted, and tell what became of each.

    The folder of results is only read. What the reference holds of other targets stays. With ``older``, runs of other
    code than the present one are collected too, the record of each with its commit. A run that the results lack is then
    taken from the reference where this holds it; where neither does, its rows of a target that the reference holds
    are not run yet.
    """
    results, reference, wanted = Path(results), Path(reference), [*wanted]
    for target in wanted:
        plan.target(target)
    index = folder.read_index(reference) if (reference / folder.INDEX).exists() else {"targets": {}, "not_run": {}}
    listed, reasons = dict(index["targets"]), dict(index["not_run"])
    for target in wanted or plan.targets:
        try:
            listed[target] = _collect_one(
                plan, target, scale, results, reference, {"targets": listed} if older else None
            )
            yield f"{target}: {listed[target]['rows']} rows, {listed[target]['runs']} runs"
        except NotFinishedError as error:
            kept = "; what the reference holds of it stays" if target in listed else ""
            yield f"{target}: not collected, {error}{kept}"
            reasons[target] = str(error)
    folder.write_index(
        reference,
        {
            "scale": scale,
            "targets": {one: listed[one] for one in plan.targets if one in listed},
            "not_run": {one: reasons.get(one, "not collected") for one in plan.targets if one not in listed},
        },
    )


def _collect_one(
    plan: Plan, target: str, scale: str, results: Path, reference: Path, index: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Write the files of one target, and return its entry of the index; with an index, from older runs too."""
    runs = plan.runs_of(target, scale)
    if not runs:
        raise NotFinishedError("nothing of it is run at this scale")
    made = [run for run in runs if (results / run.folder / "record.json").exists()]
    absent = [run for run in runs if run not in made]
    kept, before = {}, list[Row]()
    if index is not None and target in index["targets"]:
        held = [earlier.run_of_reference(plan, run, target, reference, index) for run in absent]
        kept = {one.folder: one for one in held if one is not None}
        before = folder.read_target(reference, target, index).rows
    if (n_absent := len(absent) - len(kept)) and not (before and n_absent < len(runs)):
        raise NotFinishedError(f"{n_absent} of its {len(runs)} runs are not finished")
    runs = [run for run in runs if run in made or run.folder in kept]
    found = {run.folder: records.read(results / run.folder)[0] for run in made}
    for place, record in found.items():
        records.check(record, results / place)
    found = {run.folder: found[run.folder] if run.folder in found else kept[run.folder].record for run in runs}
    current = not n_absent and all(is_current(plan, run, found[run.folder]) for run in runs)
    if not current and index is None:
        raise NotFinishedError("some of its runs are of other code or parameters than the present ones")
    comparison, there = dict(plan.comparison(target, scale)), {run.id for run in runs}
    comparison["series"] = [one for one in comparison["series"] if there.issuperset(one["run_ids"])]
    paths = [results / run.folder / "record.json" for run in made]
    measured = evaluations.read(paths, comparison["spec"].get("mark", ""))
    measured |= {one.record["run"]["id"]: one for one in kept.values()}
    meta = target_table.describe(comparison, measured)
    rows: Iterable[Row] = map(compaction.with_run_ids, target_table.rows_of(comparison, measured))
    if kept:
        of_kept = [one.record["run"]["id"] for one in kept.values()]
        spec = comparison["spec"]
        decided = earlier.by_points(spec) | earlier.by_passages(spec, kept.values())
        known = earlier.plain(spec) | {*spec.get("claims", ())}
        rows = earlier.with_earlier_rows(rows, before, of_kept, decided, known)
    table, every = compaction.thinned(Target(tuple(rows), meta))
    content = {
        "target": target,
        "scale": scale,
        "thinned": every,
        "of_the_machine": of_the_machine(plan, target),
        "timed_runs": [run.id for run in runs if run.unit == "seconds"],
        "meta": meta,
        **compaction.compact_records(found),
    }
    cells = [row.as_text() for row in table]
    for text in (json.dumps(content, ensure_ascii=False), json.dumps(cells, ensure_ascii=False)):
        compaction.check_that_nothing_is_private(text, f"The reference of {target}", plan.configuration.root)
    sums = folder.write_target(reference, target, table, content)
    return {**sums, "rows": len(table), "thinned": every, "of_the_collecting_code": current, **facts(found.values())}


def is_current(plan: Plan, run: PlannedRun, record: Mapping[str, Any]) -> bool:
    """Whether a record is of the present code, parameters and data."""
    return job.key_of(plan.job(run), record["data"]["sha256"]) == record["run"]["key"]


def facts(found: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """By which commit, on what machine, when and how long the runs of a target were made."""
    found = [*found]
    codes = [one["code"] for one in found]
    return {
        "runs": len(found),
        "commits": folder.distinct(one["commit"] for one in codes),
        "with_changes_beside": any(one["dirty"] for one in codes),
        "machines": folder.distinct(
            {key: one["hardware"][key] for key in ("cpu", "cores", "memory_bytes", "gpu")} for one in found
        ),
        "finished": max((one["finished"] for one in found), default=None),
        "seconds": round(sum(one["times"]["total"] for one in found), 1),
        "collected": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def machine_metrics(root: str | Path, target: str) -> list[str]:
    """What of a target depends on the speed of a machine, by ``config/reference.yaml``; nothing without that file."""
    named = _configured(root).get("of_the_machine")
    return [*named["times"], *named["targets"].get(target, ())] if named else []


def written_out(root: str | Path) -> dict[str, dict[str, Any]]:
    """By methods, parameters that their runs had before the configuration named them (``config/reference.yaml``)."""
    found: dict[str, dict[str, Any]] = {}
    for entry in _configured(root).get("written_out", ()):
        for method in entry["methods"]:
            found.setdefault(method, {}).update(entry["parameters"])
    return found


def _configured(root: str | Path) -> dict[str, Any]:
    path = Path(root) / "config" / "reference.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}


def of_the_machine(plan: Plan, target: str) -> list[str]:
    """Metrics and claims of a target on which two machines need not agree."""
    return among(plan.target(target), machine_metrics(plan.configuration.root, target))


def among(spec: Mapping[str, Any], named: Collection[str]) -> list[str]:
    """The metrics of a target that are named, and its claims that are named or are about one of these metrics."""
    defined = {**spec["metrics"], **spec.get("claims", {})}
    return [name for name, one in defined.items() if name in named or one.get("metric") in named]
