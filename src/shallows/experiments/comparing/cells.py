"""Rows of single values, each beside the printed one, and of the points that a figure draws."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..claim_functions import Point, common_points
from ..setting_text import parse_setting
from . import uncertainty, verdicts
from .evaluations import RunResult
from .measurements import Measurements
from .rows import Rows


def cells(measurements: Measurements) -> Iterator[dict[str, Any]]:
    """Rows of single values: first what the paper prints, in its order; then what was measured beyond it."""
    comparison, spec, rows = measurements.comparison, measurements.spec, Rows(measurements.comparison)
    along = [run.along for series in measurements.series for run in measurements.runs(series)]
    axes = dict.fromkeys((*spec["settings"], spec.get("mark"), *along))  # in the target's order, the point last
    found = {
        _key(series["data"], series["method"], _setting(measurements, series, point), metric): (series, point, curves)
        for series in measurements.series
        for metric in spec["metrics"]
        for curves in [measurements.curves(series, metric)]
        for point in _points(spec, series, metric, curves)
    }
    printed = {
        _key(one["dataset"], one["method"], parse_setting(one["setting"]), one["metric"]): one
        for one in comparison["published"]
        if one["metric"] not in spec.get("claims", {})
    }
    for key in {**printed, **found}:
        word, method, items, metric = key
        setting, row = {axis: dict(items)[axis] for axis in axes if axis in dict(items)}, printed.get(key)
        if key not in found:
            yield rows.not_run(word, method, setting, row, metric)
            continue
        series, point, curves = found[key]
        runs, definition = measurements.runs(series), spec["metrics"][metric]
        values = [curve[point] for curve in curves if point in curve]
        shown = values if len(values) == len(runs) or point is not None else []
        text, tolerance = (row or {}).get("published", ""), definition.get("tolerance", {})
        spread = (row or {}).get("spread", "")
        margin = None if number_in(text) is None else uncertainty.margin(text, tolerance, values, runs, spread)
        judgement = _judged(measurements, rows, series, metric, point, values, number_in(text), margin)
        words = verdicts.criterion_of(definition) if margin is not None and tolerance else ""
        yield rows.row(word, method, setting, metric, judgement, row, shown, runs, tolerance=words, margin=margin)


def missing(measurements: Measurements) -> Iterator[dict[str, Any]]:
    """A row for each dataset of the paper that is not there, so that a picture can say so."""
    comparison, spec, rows = measurements.comparison, measurements.spec, Rows(measurements.comparison)
    for word, reason in comparison["missing"].items():
        setting, metric = spec["published_data"].get(word, {}).get("setting", {}), next(iter(spec["metrics"]))
        yield rows.row(word, comparison["method"], setting, metric, (verdicts.NOT_RUN, reason))


def _judged(
    measurements: Measurements,
    rows: Rows,
    series: Mapping[str, Any],
    metric: str,
    point: Point,
    values: Sequence[float],
    number: float | None,
    margin: float | None,
) -> tuple[str, str]:
    """The verdict on one cell, and why."""
    spec, n_runs = measurements.spec, len(series["run_ids"])
    definition, along = spec["metrics"][metric], spec.get("mark", "")
    incomparable = unlike(rows, definition, series, measurements.runs(series))
    if len(values) < n_runs:
        if "first_passage" not in definition:
            missed = f" in {n_runs - len(values)} of {n_runs} runs" if values else ""
            what = f"training ended before {point} {along}" if point is not None else "not measured"
            return verdicts.NOT_RUN, what + missed
        if not series["marks"] or not any(measurements.curves(series, definition["first_passage"]["of"])):
            return verdicts.NOT_RUN, "it has no curve"
        end = max(series["marks"])
        reason = f"not reached within {end} {along}"
        if values:
            others = " and ".join(f"{value:g}" for value in values)
            reason += f" by {n_runs - len(values)} of {n_runs} runs, by the others after {others}"
        if incomparable:
            return verdicts.NOT_COMPARABLE, f"{reason}; {incomparable}"
        if number is None or number > end:
            return verdicts.NOT_RUN, f"{reason}, where the runs of this scale end"
        return verdicts.DEVIATES, reason
    if incomparable:
        return verdicts.NOT_COMPARABLE, incomparable
    if number is None:
        drawn = spec["kind"] == "curves" and point is not None
        silent = "the paper draws this curve and prints no number" if drawn else "the paper prints no number"
        return verdicts.NOT_COMPARABLE, silent
    side = good_side(definition, series["method"])
    return verdicts.judge(number, statistics.fmean(values), margin or 0.0, side), ""


def unlike(
    rows: Rows, definition: Mapping[str, Any], series: Mapping[str, Any], runs: Sequence[RunResult]
) -> str | None:
    """Why what a series measured cannot stand beside a printed number, or None where it can."""
    altered = [f"{name} = {ours} instead of {theirs}" for name, (ours, theirs) in series["altered"].items()]
    other_data = definition.get("incomparable") or rows.incomparable(series["data"], runs)
    return other_data or ("measured with " + ", ".join(altered) if altered else None)


def good_side(definition: Mapping[str, Any], method: str) -> str:
    """On which side of a printed number a method's is better: what the metric says, neither for a baseline of it."""
    return "neither" if method in definition.get("baselines", ()) else definition.get("better", "lower")


def number_in(text: str) -> float | None:
    """The number that a published text is, or None where it is empty or words."""
    try:
        return float(text)
    except ValueError:
        return None


def _points(
    spec: Mapping[str, Any], series: Mapping[str, Any], metric: str, curves: Sequence[Mapping[Point, float]]
) -> list[Point]:
    """Where a series has cells of a metric: at the points that were asked for, at none, or where a figure draws it."""
    if "first_passage" in spec["metrics"][metric]:
        return [None] if series["marks"] else []
    if not any(curves):
        return []
    points: list[Point] = [point for point in common_points(curves) if point is not None]
    alone = not points and None in curves[0]  # what was chosen for a training belongs to none of its points
    if series["marks"] and not alone and (points or spec["kind"] == "table"):
        return list(series["marks"])
    single: list[Point] = [None] if None in curves[0] else []
    return single + (thinned(points, spec.get("drawn", 0)) if spec["kind"] == "curves" else [])


def thinned(points: Sequence[Point], count: int) -> list[Point]:
    """At most ``count`` points, evenly spaced in the logarithm of their place, both ends included; 0 for all."""
    if not 0 < count < len(points):
        return list(points)
    return [points[place - 1] for place in log_spaced(len(points), count)]


def log_spaced(last: int, count: int) -> list[int]:
    """At most ``count`` whole numbers from 1 to ``last``, evenly spaced in the logarithm, both ends included."""
    if last <= 1 or count <= 1:
        return [1]
    return sorted({round(last ** (step / (count - 1))) for step in range(count)})


def _setting(measurements: Measurements, series: Mapping[str, Any], point: Point) -> dict[str, Any]:
    if point is None:
        return series["setting"]
    return {**series["setting"], measurements.runs(series)[0].along: point}


def _key(word: str, method: str, setting: Mapping[str, Any], metric: str) -> tuple[Any, ...]:
    return word, method, frozenset((axis, str(value)) for axis, value in setting.items()), metric
