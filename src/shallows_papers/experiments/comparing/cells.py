"""Table rows of single measured values with their printed values, and of the points that a figure draws."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shallows_papers.papers.claim_functions import Point, common_points

from ..parameters import last_name
from ..setting_text import parse_setting
from . import uncertainty, verdicts
from .evaluations import RunResult
from .measurements import Measurements
from .row_maker import RowMaker
from .table_rows import Measured, Row, number_in
from .verdicts import Verdict


def cells(measurements: Measurements) -> Iterator[Row]:
    """Yield the rows of single values: first the printed ones in their order, then values that only we measured."""
    comparison, spec, maker = measurements.comparison, measurements.spec, RowMaker(measurements.comparison)
    along = [run.along for series in measurements.series for run in measurements.runs(series)]
    axes = dict.fromkeys((*spec["settings"], spec.get("mark"), *along))  # in the target's order, the point last
    found = {
        _key(series["data"], series["method"], _setting(measurements, series, point), metric): (series, point, curves)
        for series in measurements.series
        for metric in spec["metrics"]
        for curves in [measurements.curves(series, metric)]
        for point in _points(spec, series, metric, curves)
    }
    printed = {key_of(one): one for one in comparison["published"] if one["metric"] not in spec.get("claims", {})}
    for key in {**printed, **found}:
        word, method, items, metric = key
        known, row = dict(items), printed.get(key)
        setting = {axis: known[axis] for axis in axes if axis in known}
        if key not in found:
            yield maker.not_run(word, method, setting, row, metric)
            continue
        series, point, curves = found[key]
        values, passed = tuple(curve[point] for curve in curves if point in curve), None
        passage, runs = spec["metrics"][metric].get("first_passage"), measurements.runs(series)
        # This is unknown without a curve, unless the run comes from a reference, which stores its passages.
        if passage and (any(measurements.curves(series, passage["of"])) or any(metric in run.curve for run in runs)):
            passed = len(values)
        measured = Measured(values, len(series["run_ids"]), passed)
        yield row_of(maker, series, metric, setting, row, measured, runs)


def missing(measurements: Measurements) -> Iterator[Row]:
    """Yield a row for each dataset of the paper that is missing, so that a picture can name it."""
    comparison, spec, maker = measurements.comparison, measurements.spec, RowMaker(measurements.comparison)
    for word, reason in comparison["missing"].items():
        setting, metric = spec["published_data"].get(word, {}).get("setting", {}), next(iter(spec["metrics"]))
        yield maker.row([word], comparison["method"], setting, metric, (Verdict.NOT_RUN, reason))


def row_of(
    maker: RowMaker,
    series: Mapping[str, Any],
    metric: str,
    setting: Mapping[str, Any],
    printed: Mapping[str, str] | None,
    measured: Measured,
    runs: Sequence[RunResult],
) -> Row:
    """Make the row of a measured metric and judge it by the printed number if there is one.

    ``setting`` is the setting of the series, with the evaluation point if there is one.
    """
    point = next((value for axis, value in setting.items() if axis not in series["setting"]), None)
    definition, text = maker.comparison["spec"]["metrics"][metric], (printed or {}).get("published", "")
    tolerance, number, margin, scattered = definition.get("tolerance", {}), number_in(text), None, False
    if number is not None:
        spread = printed.get("spread", "")
        margin = uncertainty.margin(text, tolerance, measured, runs, spread)
        scattered = uncertainty.scatters(text, margin, tolerance, runs, spread)
    interval = _interval(series, definition, measured)
    judgement = _judged(maker, series, metric, measured, number, margin, scattered, interval, runs, point)
    return maker.row(
        [series["data"]],
        series["method"],
        setting,
        metric,
        judgement,
        printed,
        measured,
        runs,
        is_shown=not measured.n_without or point is not None,
        tolerance=verdicts.criterion_of(definition) if margin is not None and tolerance else "",
        margin=margin,
        interval=interval if number is not None and judgement[0] in verdicts.DECIDED_BY_INTERVAL else None,
    )


def _interval(
    series: Mapping[str, Any], definition: Mapping[str, Any], measured: Measured
) -> tuple[float, float] | None:
    """Return a 95 % interval of the mean; runs that never passed a level count with their last point as lower bound."""
    if not (measured.n_without and "first_passage" in definition and measured.passed is not None):
        return uncertainty.interval(measured)
    end = float(max(series["marks"]))
    least = (sum(measured.values) + measured.n_without * end) / measured.repetitions
    return math.nextafter(least, math.inf), math.inf


def _judged(
    maker: RowMaker,
    series: Mapping[str, Any],
    metric: str,
    measured: Measured,
    number: float | None,
    margin: float | None,
    scattered: bool,
    interval: tuple[float, float] | None,
    runs: Sequence[RunResult],
    point: str | None,
) -> tuple[Verdict, str]:
    spec, n_runs = maker.comparison["spec"], measured.repetitions
    definition, along = spec["metrics"][metric], spec.get("mark", "")
    changes = series["altered"].items()
    altered = ", ".join(f"{last_name(path)} = {ours} instead of {theirs}" for path, (ours, theirs) in changes)
    is_derived = definition.get("evidence") == verdicts.DERIVED
    incomparable = (not is_derived and definition.get("why")) or maker.incomparable(series["data"], runs)
    incomparable = incomparable or (f"measured with {altered}" if altered and number is not None else None)
    n_diverged = sum(run.diverged for run in runs)
    if n_diverged and measured.mean is not None and math.isnan(measured.mean):
        reason = verdicts.diverged(sum(map(math.isnan, measured.values)), n_runs)
        if incomparable:
            return Verdict.NOT_COMPARABLE, f"{reason}; {incomparable}"
        if number is None:
            return Verdict.NOT_COMPARABLE, f"{reason}; the paper prints no number"
        return Verdict.DEVIATES, reason
    if measured.n_without:
        if "first_passage" not in definition:
            missed = f" in {measured.n_without} of {n_runs} runs" if measured.values else ""
            what = f"training ended before {point} {along}" if point is not None else "not measured"
            return Verdict.NOT_RUN, what + missed
        if measured.passed is None:
            return Verdict.NOT_RUN, "it has no curve"
        end = max(series["marks"])
        reason = f"not reached within {end} {along}"
        if measured.values:
            others = " and ".join(f"{value:g}" for value in measured.values)
            reason += f" by {measured.n_without} of {n_runs} runs, by the others after {others}"
        if n_diverged:
            reason += f"; {verdicts.diverged(n_diverged, n_runs)}"
        if incomparable:
            return Verdict.NOT_COMPARABLE, f"{reason}; {incomparable}"
        if number is None or number > end:
            return Verdict.NOT_RUN, f"{reason}, where the runs of this scale end"
        if n_diverged:
            return Verdict.DEVIATES, reason  # a run that diverged never reaches the level
        return verdicts.judge(number, math.nan, margin or 0.0, interval=interval)[0], reason
    if is_derived:
        return Verdict.DERIVATION, definition["why"]
    if incomparable:
        return Verdict.NOT_COMPARABLE, incomparable
    if number is None:
        drawn = spec["kind"] == "curves" and point is not None
        silent = "the paper draws this curve and prints no number" if drawn else "the paper prints no number"
        return Verdict.NOT_COMPARABLE, silent
    if reason := verdicts.halved(runs):
        return Verdict.UNDECIDED, reason
    return verdicts.judge(number, measured.mean, margin or 0.0, scattered, interval)


def _points(
    spec: Mapping[str, Any], series: Mapping[str, Any], metric: str, curves: Sequence[Mapping[Point, float]]
) -> list[Point]:
    """Return where a series has cells of a metric: at the requested points, at no point, or where a figure draws it."""
    if "first_passage" in spec["metrics"][metric]:
        return [None] if series["marks"] else []
    if not any(curves):
        return []
    points: list[Point] = [point for point in common_points(curves) if point is not None]
    alone = not points and None in curves[0]  # a value chosen for a whole training has no evaluation point
    if series["marks"] and not alone and (points or spec["kind"] == "table"):
        return list(series["marks"])
    single: list[Point] = [None] if None in curves[0] else []
    return single + (thinned(points, spec.get("drawn", 0)) if spec["kind"] == "curves" else [])


def thinned(points: Sequence[Point], count: int) -> list[Point]:
    """Return at most ``count`` points with both ends, evenly spaced in the logarithm of their index; 0 keeps all."""
    if not 0 < count < len(points):
        return list(points)
    places = {round(len(points) ** (step / max(1, count - 1))) for step in range(count)}
    return [points[place - 1] for place in sorted(places)]


def _setting(measurements: Measurements, series: Mapping[str, Any], point: Point) -> dict[str, Any]:
    if point is None:
        return series["setting"]
    return {**series["setting"], measurements.runs(series)[0].along: point}


def key_of(printed: Mapping[str, str]) -> tuple[Any, ...]:
    """Return the keys that identify a row of the published file."""
    return _key(printed["dataset"], printed["method"], parse_setting(printed["setting"]), printed["metric"])


def _key(word: str, method: str, setting: Mapping[str, Any], metric: str) -> tuple[Any, ...]:
    return word, method, frozenset((axis, str(value)) for axis, value in setting.items()), metric
