"""Reference results judged again by the present criteria, from the values or statistics that their rows hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shallows.errors import UnknownNameError
from shallows_papers.experiments.comparing import cells, claims, target_table, verdicts
from shallows_papers.experiments.comparing.evaluations import RunResult
from shallows_papers.experiments.comparing.measurements import Measurements
from shallows_papers.experiments.comparing.row_maker import ALL_DATA, RowMaker
from shallows_papers.experiments.comparing.table_rows import OURS, Row
from shallows_papers.experiments.comparing.verdicts import UNMEASURED, Verdict
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.setting_text import listed, parse_setting, selects

from . import collection, compaction, folder

#: Why a printed value has no run, where the scale asks for one.
PLANNED = "not run yet at this scale with the present configuration"


def judge(plan: Plan, scale: str, reference: str | Path, wanted: Iterable[str] = ()) -> Iterator[str]:
    """Give rows of the reference the verdicts, and targets the words, of the present configuration; yield what changed.

    A criterion that changed needs no run to be made again. Where a row holds the mean and the standard deviation
    instead of the values, what needs the values stays as collected, and the row says so. A claim that is computed in
    another way needs the runs, and gets another name. A target none of whose values is left is listed as not run.
    """
    reference = Path(reference)
    index = folder.read_index(reference)
    for target in [*wanted] or [*index["targets"]]:
        plan.target(target)
        UnknownNameError.check(f"target in the reference of the scale {scale},", target, index["targets"])
        files, comparison = folder.read_target(reference, target, index), plan.comparison(target, scale)
        rows = judged_again(comparison, files, collection.written_out(plan.configuration.root))
        before, now = _verdicts(files.rows), _verdicts(rows)
        for place in {**before, **now}:
            if before.get(place) != now.get(place):
                yield f"{target} ({place}): {before.get(place, 'no row')} before, {now.get(place, 'no row')} now"
        if not any(row.records for row in rows):
            del index["targets"][target]
            index["not_run"][target] = PLANNED
            continue
        machine = collection.of_the_machine(plan, target)
        record = {**files.record, "of_the_machine": machine, "meta": described_again(comparison, files)}
        if [row.as_text() for row in rows] != [row.as_text() for row in files.rows] or record != files.record:
            index["targets"][target] |= folder.write_target(reference, target, rows, record) | {"rows": len(rows)}
    folder.write_index(reference, index)


def _verdicts(rows: Iterable[Row]) -> dict[str, str]:
    return {", ".join(filter(None, (row.dataset, row.method, row.setting, row.metric))): row.verdict for row in rows}


def judged_again(
    comparison: Mapping[str, Any],
    files: folder.TargetFiles,
    written_out: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Row]:
    """The rows of a target with the verdicts of the present criteria, as they are read from a file.

    Rows with runs behind them are judged again; the others are those that the present configuration gives. Rows of a
    method that has other parameters now are those of our counterpart, where this has them, and else are left out: what
    is printed beside them then was not run. ``written_out`` has, by the method of a run, parameters that it had without
    naming them.
    """
    maker, runs = RowMaker(comparison), {}
    for run in files.record["runs"]:
        record = compaction.whole_record(run, files.record, comparison["target"])
        runs[run["run"]["id"]] = RunResult(run["run"]["id"], record, {})
    present = _of_the_present_methods(comparison, files.rows, runs, written_out or {})
    places = {id(one): place for place, one in enumerate(comparison["published"])}
    last, names = len(places), [*comparison["spec"].get("claims", {})]
    rows: list[tuple[tuple[int, ...], Row]] = []  # with a key that sorts them as `target_table.rows_of` does

    def add(row: Row, place: int) -> None:
        of_claim = row.metric in names
        key = (2, names.index(row.metric), not row.records) if of_claim else (place == last and not row.records, place)
        rows.append((key, row))

    for row in (row for row in present if row.records):
        printed = _printed(comparison, row)
        judged = _row(maker, row, printed, [runs[one] for one in row.records])
        add(judged, places.pop(id(printed), last))
    rest = [one for one in comparison["published"] if id(one) in places]
    cells = iter([places[id(one)] for one in rest if one["metric"] not in names])
    unrun = {**comparison, "series": [], "published": rest}
    asked_for = target_table.rows_of({**unrun, "left_out": PLANNED}, {})
    for row, planned in zip(target_table.rows_of(unrun, {}), asked_for, strict=True):
        row = planned if _is_planned(comparison, row) else row
        add(row, next(cells) if row.published and row.metric not in names else last)
    ordered = [row for _, row in sorted(rows, key=lambda pair: pair[0])]
    counterparts = Measurements(comparison, {}).counterparts
    return [Row.from_text(row.as_text()) for row in target_table.with_ratios(ordered, counterparts)]


def _of_the_present_methods(
    comparison: Mapping[str, Any],
    rows: Iterable[Row],
    runs: Mapping[str, RunResult],
    written_out: Mapping[str, Mapping[str, Any]],
) -> Iterator[Row]:
    """The rows whose runs have the present parameters of their method, or of ours, under the name of that method."""
    rows, ours, methods = [*rows], Measurements(comparison, {}).counterparts, comparison["spec"]["methods"]
    told = {one["method"] for one in comparison["series"] if "parameters" in one}
    past: list[tuple[Row, str | None]] = []  # with our method that has the parameters of its runs
    for row in (row for row in rows if row.records and row.method):
        of_row = [runs[one].record["run"] for one in row.records]
        words = _methods_with(comparison, of_row, written_out) if row.method in told else set()
        if row.method not in methods or (row.method in told and row.method not in words):
            past.append((row, ours.get(row.method) if ours.get(row.method) in words else None))
    for row in rows:
        claim = comparison["spec"].get("claims", {}).get(row.metric, {})
        concerned = [(one, name) for one, name in past if _rests_on(row, claim, one)]
        if not concerned or not row.records:
            yield row
        elif all(name for _, name in concerned):
            bare = dict.fromkeys(("published", "evidence", "item", "derived", "tolerance", "fixed", "cause"), "")
            names = {one.method: name for one, name in concerned}
            if row.method in names:
                bare |= {"method": names[row.method], "series": OURS}
            if row.verdict not in UNMEASURED:
                bare |= {"verdict": Verdict.MEASURED, "reason": ""}
            yield replace(row, margin=None, as_collected=False, **bare)


def _rests_on(row: Row, claim: Mapping[str, Any], other: Row) -> bool:
    """Whether a row has runs of another row's method and series, or divides by these or subtracts them."""
    own = (row.method, *listed(claim.get("of", {}).get("method", ())))
    if other.method in own and {*row.records} & {*other.records}:
        return True
    here, there = ({**parse_setting(one.setting), "data": one.printed_data} for one in (row, other))
    for beside in (claim[key] for key in ("over", "less") if key in claim):
        left_open = {*here} & {*there} - {*beside}
        agrees = all({*listed(here[key])} & {*listed(there[key])} for key in left_open)
        if agrees and other.method in listed(beside.get("method", row.method)):
            return True
    return False


def _methods_with(
    comparison: Mapping[str, Any],
    runs: Iterable[Mapping[str, Any]],
    written_out: Mapping[str, Mapping[str, Any]],
) -> set[str]:
    """The target's methods that have series with the parameters of runs, named or not."""

    def has(now: Mapping[str, Any], run: Mapping[str, Any]) -> bool:
        unnamed = {name: value for name, value in written_out.get(run.get("method"), {}).items() if name in now}
        return {**unnamed, **run["parameters"]} == now

    told = [one for one in comparison["series"] if "parameters" in one]
    return {one["method"] for one in told if any(has(one["parameters"], run) for run in runs)}


def _is_planned(comparison: Mapping[str, Any], row: Row) -> bool:
    """Whether a series of the scale has a row's data, method and setting, and its evaluation point."""
    setting, words = parse_setting(row.setting), {*row.printed_data} - {"", ALL_DATA}
    mark = setting.pop(comparison["spec"].get("mark", ""), None)
    return any(
        (not words or series["data"] in words)
        and series["method"] == row.method
        and selects(setting, series["setting"])
        and (mark is None or mark in map(str, series["marks"]))
        for series in comparison["series"]
    )


def described_again(comparison: Mapping[str, Any], files: folder.TargetFiles) -> dict[str, Any]:
    """What a target's record says for the page, in the present words; what it says of its runs stays."""
    meta = target_table.describe(comparison, {})
    return {**meta, **{key: files.record["meta"][key] for key in ("label", "marks") if key in files.record["meta"]}}


def _row(maker: RowMaker, row: Row, printed: Mapping[str, str] | None, runs: Sequence[RunResult]) -> Row:
    spec, measured = maker.comparison["spec"], row.measured
    claim, metric = spec.get("claims", {}).get(row.metric), spec["metrics"].get(row.metric)
    kind, setting = (claim or metric or {}).get("evidence"), parse_setting(row.setting)
    if row.published == "" or kind not in (*verdicts.KINDS, verdicts.DERIVED) or not measured.repetitions:
        return row
    series = _series(maker.comparison, row)
    number = claims.Number(series, setting, measured)
    needs_values = claim is not None and (claim.get("every_seed") or measured.is_bound) and measured.repetitions > 1
    is_planned = "across" in (claim or {}) or "run_ids" in series[0]
    if printed is None or not is_planned or (needs_values and not measured.values):
        keys = {"data": row.printed_data, "method": row.method, "metric": row.metric, **setting}
        verdict, cause, _ = maker.explained(row.verdict, keys)
        return replace(row, verdict=verdict, cause=cause, as_collected=True)
    if claim is not None:
        # An interval that counts points besides the repetitions does not follow from these.
        interval = (row.low, row.high) if claim.get("counted_on") and row.low is not None else None
        return claims.row_of(maker, row.metric, number, printed, runs, interval)
    return cells.row_of(maker, series[0], row.metric, setting, printed, measured, runs)


def _printed(comparison: Mapping[str, Any], row: Row) -> Mapping[str, str] | None:
    """The row of the published file that a row is judged by; ours is judged by none."""
    if row.series == OURS or row.verdict == Verdict.MEASURED:
        return None
    about = [one for one in comparison["published"] if one["metric"] == row.metric]
    if row.metric in comparison["spec"].get("claims", {}):
        number = claims.Number(_series(comparison, row), parse_setting(row.setting), row.measured)
        return next((one for one in about if number.answers(one)), None)
    wanted = cells.key_of({**row.keys, "dataset": row.printed_data[0], "setting": row.setting})
    return {cells.key_of(one): one for one in about}.get(wanted)


def _series(comparison: Mapping[str, Any], row: Row) -> list[Mapping[str, Any]]:
    """The series of a row; of a number over several, one for each dataset."""
    setting = parse_setting(row.setting)
    for series in comparison["series"]:
        own = {axis: str(value) for axis, value in series["setting"].items()}
        if (series["data"],) == row.printed_data and series["method"] == row.method and own.items() <= setting.items():
            return [series]
    return [{"data": word, "method": row.method} for word in row.printed_data]
