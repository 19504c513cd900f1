"""Rows of a target: its values at marks or at none, beside the printed ones, and the points that a figure draws."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..planning.configuration import parse_setting
from . import verdicts
from .compare import Measured, Row
from .measurements import Mark, Measurements, common_marks


def rows(comparison: Mapping[str, Any], measured: Mapping[str, Measured]) -> Iterator[dict[str, Any]]:
    """All rows of a target: values, data that is missing from a picture, claims."""
    from .claims import claims

    found = Measurements(comparison, measured)
    yield from values(found)
    if comparison["spec"]["kind"] == "curves":
        yield from missing(found)
    yield from claims(found)


def values(found: Measurements) -> Iterator[dict[str, Any]]:
    """Rows of single values: first what the paper prints, in its order; then what was measured beyond it."""
    comparison, spec = found.comparison, found.spec
    row = Row(comparison)
    along = dict.fromkeys(run.along for series in found.series for run in found.runs(series))
    axes = (*spec["settings"], spec.get("mark"), *along)
    cells: dict[tuple[Any, ...], tuple[dict[str, Any], Mark]] = {}
    for series in found.series:
        for metric in spec["metrics"]:
            for mark in _places(found, series, metric):
                cells[_key(series["data"], series["method"], _setting(found, series, mark), metric)] = (series, mark)
    printed = {
        _key(one["dataset"], one["method"], parse_setting(one["setting"]), one["metric"]): one["published"]
        for one in comparison["published"]
        if one["metric"] not in spec.get("claims", {})
    }
    for key in [*printed, *(key for key in cells if key not in printed)]:
        word, method, setting, metric = key[0], key[1], _in_order(dict(key[2]), axes), key[3]
        published = printed.get(key, "")
        if key not in cells:
            reason = comparison["missing"].get(word) or comparison["left_out"] or "not asked for at this scale"
            yield row(word, method, setting, metric, verdicts.NOT_RUN, published=published, reason=reason)
            continue
        series, mark = cells[key]
        runs = found.runs(series)
        numbers = [curve[mark] for curve in found.curves(series, metric) if mark in curve]
        verdict, reason = _judged(found, row, series, metric, mark, numbers, published)
        definition = spec["metrics"][metric]
        tolerance = definition.get("tolerance", NO_TOLERANCE)
        told = "±({absolute:g} + {relative:.0%} of the published value)".format(**tolerance)
        yield row(
            word,
            method,
            setting,
            metric,
            verdict,
            published=published,
            values=numbers if len(numbers) == len(runs) or mark is not None else [],
            runs=runs,
            reason=reason,
            tolerance=f"{definition['label']} {told}" if published else "",
        )


NO_TOLERANCE = {"absolute": 0.0, "relative": 0.0}


def _judged(
    found: Measurements,
    row: Row,
    series: Mapping[str, Any],
    metric: str,
    mark: Mark,
    numbers: Sequence[float],
    published: str,
) -> tuple[str, str]:
    """The verdict on one cell, and why."""
    spec = found.spec
    definition, along = spec["metrics"][metric], spec.get("mark", "")
    incomparable = row.incomparable(series["data"]) or _altered(series)
    number = _number(published)
    if len(numbers) < len(series["run_ids"]):
        if "reached" not in definition:
            return verdicts.NOT_RUN, f"training ended before {mark} {along}" if mark is not None else "not measured"
        if not series["marks"] or not any(found.curves(series, definition["reached"]["of"])):
            return verdicts.NOT_RUN, "it has no curve"
        end = max(series["marks"])
        reason = f"not reached within {end} {along}"
        if numbers:
            told = " and ".join(f"{number:g}" for number in numbers)
            n_runs = len(series["run_ids"])
            reason += f" by {n_runs - len(numbers)} of {n_runs} runs, by the others after {told}"
        if incomparable:
            return verdicts.NOT_COMPARABLE, f"{reason}; {incomparable}"
        if number is None or number > end:
            return verdicts.NOT_RUN, f"{reason}, where the runs of this scale end"
        return verdicts.DEVIATES, reason
    if incomparable:
        return verdicts.NOT_COMPARABLE, incomparable
    if number is None:
        drawn = spec["kind"] == "curves" and mark is not None
        silent = "the paper draws this curve and prints no number" if drawn else "the paper prints no number"
        return verdicts.NOT_COMPARABLE, silent
    better = definition.get("better", "lower")
    tolerance = definition.get("tolerance", NO_TOLERANCE)
    return verdicts.judge(number, statistics.fmean(numbers), tolerance, better), ""


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _places(found: Measurements, series: Mapping[str, Any], metric: str) -> list[Mark]:
    """Where a series has cells of a metric: at the marks that were asked for, at none, or where a figure draws it."""
    curves = found.curves(series, metric)
    if "reached" in found.spec["metrics"][metric]:
        return [None] if series["marks"] else []
    if not any(curves):
        return []
    marks: list[Mark] = [mark for mark in common_marks(curves) if mark is not None]
    alone = not marks and None in curves[0]  # what was chosen for a training stands at none of its marks
    if series["marks"] and not alone and (marks or found.spec["kind"] == "marks"):
        return list(series["marks"])
    single: list[Mark] = [None] if None in curves[0] else []
    return single + (thinned(marks, found.spec.get("drawn", 0)) if found.spec["kind"] == "curves" else [])


def thinned(marks: Sequence[Mark], count: int) -> list[Mark]:
    """At most ``count`` of some marks, evenly spaced in the logarithm of their place, both ends included; 0: all."""
    if not 0 < count < len(marks):
        return list(marks)
    return [marks[place - 1] for place in log_spaced(len(marks), count)]


def log_spaced(last: int, count: int) -> list[int]:
    """At most ``count`` whole numbers from 1 to ``last``, evenly spaced in the logarithm, both ends included."""
    if last <= 1 or count <= 1:
        return [1]
    return sorted({round(last ** (step / (count - 1))) for step in range(count)})


def missing(found: Measurements) -> Iterator[dict[str, Any]]:
    """A row for each dataset of the paper that is not there, so that a picture can say so."""
    row, spec = Row(found.comparison), found.spec
    metric = next(iter(spec["metrics"]))
    for word, reason in found.comparison["missing"].items():
        where = spec["published_data"].get(word, {}).get("setting", {})
        yield row(word, found.comparison["method"], where, metric, verdicts.NOT_RUN, reason=reason)


def _setting(found: Measurements, series: Mapping[str, Any], mark: Mark) -> dict[str, Any]:
    if mark is None:
        return dict(series["setting"])
    return {**series["setting"], next(run.along for run in found.runs(series)): mark}


def _key(word: str, method: str, setting: Mapping[str, Any], metric: str) -> tuple[Any, ...]:
    return word, method, tuple(sorted((name, str(value)) for name, value in setting.items())), metric


def _in_order(setting: Mapping[str, str], axes: Sequence[str | None]) -> dict[str, str]:
    """A setting with its axes in the target's order, the mark last."""
    return {axis: setting[axis] for axis in dict.fromkeys(axes) if axis in setting}


def _altered(series: Mapping[str, Any]) -> str:
    changed = [f"{name} = {ours} instead of {theirs}" for name, (ours, theirs) in series["altered"].items()]
    return "measured with " + ", ".join(changed) if changed else ""
