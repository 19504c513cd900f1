"""Runs taken from the present reference where a collection lacks them, with their rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shallows_papers.experiments.claim_functions import Curve
from shallows_papers.experiments.comparing.evaluations import RunResult, number
from shallows_papers.experiments.comparing.table_rows import Measured, Row
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.planning.runs import PlannedRun
from shallows_papers.experiments.setting_text import parse_setting

from . import compaction, folder


def run_of_reference(
    plan: Plan, run: PlannedRun, target: str, reference: Path, index: Mapping[str, Any]
) -> RunResult | None:
    """A run from the records and tables that the reference holds, those of a target first; None where none has it.

    Its curve has the evaluation points that stand in these tables, and none of a metric whose first passage the target
    looks for, which would come out too late; these passages are those that stand in the tables.
    """
    record, curve, metrics = None, dict[str, Curve](), plan.target(target)["metrics"]
    passages = {name: one for name, one in metrics.items() if "first_passage" in one}
    watched = {one["first_passage"]["of"] for one in passages.values()}
    for name in filter(index["targets"].__contains__, dict.fromkeys((target, *run.targets))):
        files, spec = folder.read_target(reference, name, index), plan.target(name)
        kept = next((one for one in files.record["runs"] if one["folder"] == run.folder), None)
        if kept is None:
            continue
        record = record or compaction.whole_record(kept, files.record, name)
        for row in files.rows:
            if (
                row.metric in passages
                and run.id in row.records
                and spec["metrics"].get(row.metric) == metrics[row.metric]
            ):
                if len(row.values) == len(row.records):
                    curve[row.metric] = {None: row.values[row.records.index(run.id)]}
                elif row.passed == 0:
                    curve[row.metric] = {}
            # Repetitions that are all alike may have no values of their own.
            values = row.values or ((row.measured_mean,) * len(row.records) if row.measured_sd == 0.0 else ())
            if row.metric in plain(spec) and run.id in row.records and len(values) == len(row.records):
                point = parse_setting(row.setting).get(spec.get("mark", ""))
                value = values[row.records.index(run.id)]
                if point is None or row.metric not in watched:
                    curve.setdefault(row.metric, {}).setdefault(None if point is None else number(point), value)
    # A run of which no value is known would count as one that never passed a level.
    if record is None or (passages and not curve):
        return None
    return RunResult(run.folder, record, curve, plan.target(target).get("mark", ""))


def plain(spec: Mapping[str, Any]) -> set[str]:
    """The metrics of a target whose rows hold points of a curve as they are: no claims, passages or ratios."""
    return {name for name, one in spec["metrics"].items() if not {"first_passage", "of", "over"} & {*one}}


def by_points(spec: Mapping[str, Any]) -> set[str]:
    """The metrics that are `plain`, and claims about the last point of one, which tables hold."""
    metrics, first = plain(spec), next(iter(spec["metrics"]))
    return metrics | {
        name
        for name, one in spec.get("claims", {}).items()
        if "at" not in one and one.get("reduce") == "last" and one.get("metric", first) in metrics
    }


def by_passages(spec: Mapping[str, Any], kept: Iterable[RunResult]) -> set[str]:
    """First passages that all runs from a reference have, but for those that set the level, and claims about them."""
    found = set()
    for name, one in spec["metrics"].items():
        if rule := one.get("first_passage"):
            levels = {level.get("method") for level in rule.values() if isinstance(level, Mapping)}
            of_level = {spec["methods"][word]["method"] for word in levels if word in spec["methods"]}
            if all(name in run.curve for run in kept if run.record["run"]["method"] not in of_level):
                found.add(name)
    first = next(iter(spec["metrics"]))
    return found | {name for name, one in spec.get("claims", {}).items() if one.get("metric", first) in found}


def with_earlier_rows(
    rows: Iterable[Row],
    earlier: Iterable[Row],
    kept: Collection[str],
    decided: Collection[str],
    known: Collection[str] = (),
) -> Iterator[Row]:
    """The rows that a part of the curves of kept runs suffices for, and those of these runs as they stood before.

    A row of kept runs alone is the earlier one. One of kept and of other runs needs whole curves, unless it is one of
    ``decided``, and is left out; so is one of kept runs alone that there was not before. Earlier rows of kept runs
    whose metric or claim is in ``known`` stay where there is none now. ``kept`` holds the identifiers of the runs that
    were taken from the reference.
    """
    before = {tuple(row.keys.items()): found for row in earlier if (found := _of_runs(row, kept)) is not None}
    given = set()
    for row in rows:
        key, of_kept = tuple(row.keys.items()), {*row.records} & {*kept}
        if of_kept == {*row.records} and key in before:
            given.add(key)
            yield before[key]
        elif not of_kept or row.metric in decided:
            given.add(key)
            yield row
    # The table keeps some values as means alone, of which no curve could be made.
    yield from (row for key, row in before.items() if key not in given and row.metric in known)


def _of_runs(row: Row, kept: Collection[str]) -> Row | None:
    """A row without the repetitions of other runs than those that are kept; None where that leaves nothing."""
    places = [place for place, one in enumerate(row.records) if one in kept]
    if len(places) == len(row.records):
        return row if places else None
    if not places or len(row.values) != len(row.records):
        return None
    left = Measured(tuple(row.values[place] for place in places))
    return replace(
        row,
        records=tuple(row.records[place] for place in places),
        seeds=" ".join(row.seeds.split()[place] for place in places),
        values=left.values,
        measured_mean=left.mean,
        measured_sd=left.deviation,
        repetitions=left.repetitions,
        passed=None if row.passed is None else left.repetitions,
    )
