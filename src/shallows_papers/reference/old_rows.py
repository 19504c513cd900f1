"""Read rows of older collections, which have no curves, and judge them by the current criteria.

This module can be removed when every scale has complete runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shallows_papers.experiments.comparing import cells, claims, target_table, verdicts
from shallows_papers.experiments.comparing.evaluations import RunResult
from shallows_papers.experiments.comparing.measurements import Measurements
from shallows_papers.experiments.comparing.row_maker import ALL_DATA, RowMaker
from shallows_papers.experiments.comparing.table_rows import OURS, Row
from shallows_papers.experiments.comparing.verdicts import Verdict
from shallows_papers.experiments.running.record import SCHEMA_VERSION
from shallows_papers.experiments.setting_text import parse_setting, selects
from shallows_papers.report.target import Target

from .folder import OldRows

#: Reason shown if a printed value has no run although the scale requests one.
PLANNED = "not run yet at this scale with the present configuration"


def results_of(old: OldRows, target: str) -> dict[str, RunResult]:
    """Return the runs of a target by folder, without curves."""
    found, shared = {}, old.record
    for run in shared["runs"]:
        rest = {key: value for key, value in run.items() if key not in ("folder", "data", "made_by", "run", "metrics")}
        record = {
            "schema_version": SCHEMA_VERSION,
            "run": {**run["run"], "marks": [], "target_ids": [target]},
            "data": shared["data"][run["data"]],
            "metrics": {"final": run["metrics"], "marks": []},
            **shared["made_by"][run["made_by"]],
            **rest,
        }
        found[run["folder"]] = RunResult(run["folder"], record, {})
    return found


def table(comparison: Mapping[str, Any], old: OldRows) -> Target:
    """Return the table of a target with rows judged again and the current description."""
    meta = target_table.describe(comparison, {})
    of_runs = {key: old.record["meta"][key] for key in ("label", "marks") if key in old.record["meta"]}
    return Target(tuple(judged_again(comparison, old)), {**meta, **of_runs})


def judged_again(comparison: Mapping[str, Any], old: OldRows) -> list[Row]:
    """Return the rows of a target with verdicts by the current criteria.

    Rows with runs are judged again. The other rows come from the current configuration.
    """
    maker, runs = RowMaker(comparison), results_of(old, comparison["target"])
    places = {id(one): place for place, one in enumerate(comparison["published"])}
    last, names = len(places), [*comparison["spec"].get("claims", {})]
    rows: list[tuple[tuple[int, ...], Row]] = []  # with a sort key for the order of `target_table.rows_of`

    def add(row: Row, place: int) -> None:
        of_claim = row.metric in names
        key = (2, names.index(row.metric), not row.records) if of_claim else (place == last and not row.records, place)
        rows.append((key, row))

    for row in (row for row in old.rows if row.records):
        printed = _printed(comparison, row)
        judged = _row(maker, row, printed, [runs[one] for one in row.records])
        add(judged, places.pop(id(printed), last))
    rest = [one for one in comparison["published"] if id(one) in places]
    of_cells = iter([places[id(one)] for one in rest if one["metric"] not in names])
    unrun = {**comparison, "series": [], "published": rest}
    asked_for = target_table.rows_of({**unrun, "left_out": PLANNED}, {})
    for row, planned in zip(target_table.rows_of(unrun, {}), asked_for, strict=True):
        row = planned if _is_planned(comparison, row) else row
        add(row, next(of_cells) if row.published and row.metric not in names else last)
    ordered = target_table.with_orders([row for _, row in sorted(rows, key=lambda pair: pair[0])], comparison["spec"])
    counterparts = Measurements(comparison, {}).counterparts
    return [Row.from_text(row.as_text()) for row in target_table.with_ratios(ordered, counterparts)]


def _is_planned(comparison: Mapping[str, Any], row: Row) -> bool:
    """Whether a series of the scale has a row's data, method, setting and evaluation point."""
    setting, words = parse_setting(row.setting), {*row.printed_data} - {"", ALL_DATA}
    mark = setting.pop(comparison["spec"].get("mark", ""), None)
    return any(
        (not words or series["data"] in words)
        and series["method"] == row.method
        and selects(setting, series["setting"])
        and (mark is None or mark in map(str, series["marks"]))
        for series in comparison["series"]
    )


def _row(maker: RowMaker, row: Row, printed: Mapping[str, str] | None, runs: Sequence[RunResult]) -> Row:
    spec, measured = maker.comparison["spec"], row.measured
    claim, metric = spec.get("claims", {}).get(row.metric), spec["metrics"].get(row.metric)
    kind, setting = (claim or metric or {}).get("evidence"), parse_setting(row.setting)
    if row.published == "" or kind not in (*verdicts.KINDS, verdicts.DERIVED) or not measured.repetitions:
        return row
    series = _series(maker.comparison, row)
    number = claims.Number(series, setting, measured)
    is_open = claim is not None and verdicts.is_about_rivals(claim) and measured.repetitions < verdicts.ENOUGH_SEEDS
    by_seed = claim is not None and (measured.is_bound or (claim.get("every_seed") and not is_open))
    needs_values = by_seed and measured.repetitions > 1
    is_planned = "across" in (claim or {}) or "run_ids" in series[0]
    if printed is None or not is_planned or (needs_values and not measured.values):
        keys = {"data": row.printed_data, "method": row.method, "metric": row.metric, **setting}
        verdict, cause, _ = maker.explained(row.verdict, keys)
        evidence, _ = maker.evidence(printed or {"evidence": row.evidence}, keys)
        return replace(row, verdict=verdict, cause=cause, evidence=evidence, as_collected=True)
    if claim is not None:
        # An interval that also depends on counted points cannot be computed from the repetitions.
        interval = (row.low, row.high) if claim.get("paired") == verdicts.COUNTED and row.low is not None else None
        return claims.row_of(maker, row.metric, number, printed, runs, interval)
    return cells.row_of(maker, series[0], row.metric, setting, printed, measured, runs)


def _printed(comparison: Mapping[str, Any], row: Row) -> Mapping[str, str] | None:
    """Return the row of the published file for judging a row, or None for our own rows."""
    if row.series == OURS or row.verdict == Verdict.MEASURED:
        return None
    about = [one for one in comparison["published"] if one["metric"] == row.metric]
    if row.metric in comparison["spec"].get("claims", {}):
        number = claims.Number(_series(comparison, row), parse_setting(row.setting), row.measured)
        return next((one for one in about if number.answers(one)), None)
    wanted = cells.key_of({**row.keys, "dataset": row.printed_data[0], "setting": row.setting})
    return {cells.key_of(one): one for one in about}.get(wanted)


def _series(comparison: Mapping[str, Any], row: Row) -> list[Mapping[str, Any]]:
    """Return the series of a row; for a number over several series, one for each dataset."""
    setting = parse_setting(row.setting)
    for series in comparison["series"]:
        own = {axis: str(value) for axis, value in series["setting"].items()}
        if (series["data"],) == row.printed_data and series["method"] == row.method and own.items() <= setting.items():
            return [series]
    return [{"data": word, "method": row.method} for word in row.printed_data]
