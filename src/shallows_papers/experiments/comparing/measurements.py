"""The measurements of a target's series: curves of metrics, their ratios, and where they pass a level."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from shallows.errors import ShallowsError
from shallows_papers.papers.claim_functions import (
    Curve,
    divide,
    divide_by_first,
    in_order,
    last,
    mean_curve,
    ratio,
    subtract,
)

from ..setting_text import parse_setting, selects
from .evaluations import RunResult
from .uncertainty import standard_error

#: In a reference, the value of an axis that may have any value.
ANY = "any"
#: In a first passage, what is added to a level that is an error in percent on the test points.
STANDARD_ERROR = "standard error"
#: Relative tolerance at a level, for rounding: 48.19 + 0.05 is a little less than 48.24 in binary.
ROUNDING = 1e-9


class Measurements:
    """The series of a target at a scale, from its `Plan.comparison`, with the results of their runs."""

    def __init__(self, comparison: Mapping[str, Any], results: Mapping[str, RunResult]):
        self.comparison = comparison
        self.spec: Mapping[str, Any] = comparison["spec"]
        self.series: list[dict[str, Any]] = list(comparison["series"])
        self._results = results

    @property
    def counterparts(self) -> dict[str, str]:
        """Our method for each of the paper's methods that has one."""
        return {one["ours"]: word for word, one in self.spec["methods"].items() if one and "ours" in one}

    def runs(self, series: Mapping[str, Any]) -> list[RunResult]:
        """The runs of a series, one for each part of the data and seed."""
        return [self._results[run] for run in series["run_ids"]]

    def curves(self, series: Mapping[str, Any], metric: str) -> list[Curve]:
        """Return the curve of a metric for each run of a series.

        A metric with a ``first_passage`` is one number for each run, without an evaluation point. Its curve is empty
        if the run never passed the level. A run that diverged has NaN at the points that it did not reach.
        """
        definition = self.spec["metrics"].get(metric, {})
        if "first_passage" in definition:
            # A run from a reference has its passages, but not the curve from which they were computed.
            passages = self._first_passages(series, definition["first_passage"])
            return [run.curve.get(metric, one) for run, one in zip(self.runs(series), passages, strict=True)]
        name = definition.get("of", metric)
        curves = [dict(run.curve.get(name, {})) for run in self.runs(series)]
        for curve, run in zip(curves, self.runs(series), strict=True):
            if run.diverged:
                curve.update((point, math.nan) for point in self._points_of(series, name) if point not in curve)
        return [divide_by_first(curve) for curve in curves] if definition.get("over") == "first" else curves

    def _points_of(self, series: Mapping[str, Any], name: str) -> list[Any]:
        """Return where a series has a metric: at its marks, or at no point if all other runs have it there."""
        known = [run.curve[name] for run in self._results.values() if name in run.curve]
        if not known and any(run.curve for run in self._results.values()):
            return []
        is_single = bool(known) and all(set(curve) == {None} for curve in known)
        return [None] if is_single or not series["marks"] else list(series["marks"])

    def selected(self, of: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the series that a selection names by ``data``, ``method`` and axes: a value, a list or ``any``."""
        named = {key: value for key, value in of.items() if value != ANY}
        return [one for one in self.series if selects(named, _keys(one))]

    def partner(self, series: Mapping[str, Any], reference: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the series that a reference names; axes that it leaves open are as in the given series."""
        wanted = {"data": series["data"], "method": series["method"], **series["setting"], **reference}
        found = self.selected({key: value for key, value in wanted.items() if key != "metric"})
        if len(found) > 1:
            raise ShallowsError(
                f"The target {self.comparison['target']!r} refers to {dict(reference)}, and {len(found)} series fit "
                "it: name more settings, so that one is left."
            )
        return found[0] if found else None

    def against(
        self, series: Mapping[str, Any], metric: str, claim: Mapping[str, Any], *, ends: bool = False
    ) -> list[Curve]:
        """Return curves of a metric, with ``over`` divided by another curve, with ``less`` minus another curve."""
        curves = self.curves(series, metric)
        for key, function in (("over", divide), ("less", subtract)):
            if key in claim:
                others = self.of_partner(series, claim[key], metric)
                return [function(*pair, ends=ends) for pair in zip(curves, others, strict=True)] if others else []
        return curves

    def passages(self, series: Mapping[str, Any], reference: Mapping[str, Any]) -> list[float]:
        """Return for each run of a series where another series passes a level, a first passage; −∞ where it does not.

        If the seeds of the two differ, every run has the mean.
        """
        others = self.of_partner(series, reference, reference["metric"])
        return [curve.get(None, -math.inf) for curve in others] or [-math.inf] * len(series["run_ids"])

    def lower_bounds(self, series: Mapping[str, Any], metric: str, over: Mapping[str, Any] | None) -> list[float]:
        """Return for each run a lower bound on its first passage, or on its ratio to another series' first passage.

        A run that never passed the level counts with the last evaluation point of its series. If it lacks some of the
        points, it counts with the last point before the first gap. There are no bounds if a run lacks the first point
        or a run of the other series never passed. An analysis has no marks; its points are those of its curves.
        """
        divisors = self.of_partner(series, over, metric) if over else []
        watched = self.curves(series, self.spec["metrics"][metric]["first_passage"]["of"])
        marks = {*series["marks"]} or {point for curve in watched for point in curve if point is not None}

        def bound(passage: Curve, whole: Curve, run: RunResult) -> float:
            if passage:
                return passage[None]
            if marks and (metric in run.curve or marks <= {*whole}):
                return float(max(marks))
            return float(next(point for point in itertools.count() if point + 1 not in whole))

        passed = [*map(bound, self.curves(series, metric), watched, self.runs(series))]
        if over is None:
            return passed if all(passed) else []
        if not divisors or not all(passed) or not all(set(curve) == {None} for curve in divisors):
            return []
        return [ratio(one, divisor[None]) for one, divisor in zip(passed, divisors, strict=True)]

    def _first_passages(self, series: Mapping[str, Any], rule: Mapping[str, Any]) -> list[Curve]:
        """Return for each run the first evaluation point at which the metric is at most the level."""
        levels = self._levels(series, rule["at_most"], rule["of"])
        passages: list[Curve] = []
        for curve, run, level in zip(self.curves(series, rule["of"]), self.runs(series), levels, strict=True):
            plus = rule.get("plus", 0.0)
            if plus == STANDARD_ERROR:
                plus = standard_error(level, run.record["data"]["n_test"])
            limit = level * rule.get("times", 1.0) + plus + ROUNDING * max(1.0, abs(level))
            passage = next((point for point in in_order(curve) if point is not None and curve[point] <= limit), None)
            passages.append({} if passage is None else {None: float(passage)})
        return passages

    def _levels(self, series: Mapping[str, Any], level: Any, metric: str) -> list[float]:
        """Return the level for each run; NaN, which no run passes, where there is no level."""
        n_runs = len(series["run_ids"])
        if not isinstance(level, Mapping):
            return [float(level)] * n_runs
        if "printed" in level:
            return [self._printed(series, level, level.get("metric", metric))] * n_runs
        curves = self.of_partner(series, level, metric)
        return [last(curve) for curve in curves] if curves and all(curves) else [math.nan] * n_runs

    def _printed(self, series: Mapping[str, Any], level: Mapping[str, Any], metric: str) -> float:
        """Return the printed value in another target for the data and settings of a series and the level's method."""
        wanted = {"dataset": series["data"], "method": level.get("method", series["method"]), "metric": metric}
        for row in self.comparison["printed"][level["printed"]]:
            if selects(parse_setting(row["setting"]), _keys(series)) and selects(wanted, row):
                return float(row["published"])
        return math.nan

    def of_partner(self, series: Mapping[str, Any], reference: Mapping[str, Any], metric: str) -> Sequence[Curve]:
        """Return a referenced series' curves run by run; if seeds differ, their mean over each part of the data."""
        other = self.partner(series, reference)
        if other is None:
            return []
        curves = self.curves(other, reference.get("metric", metric))
        here, there = ([run.repetition for run in self.runs(one)] for one in (series, other))
        if here == there:
            return curves
        parts = [[curve for curve, (part, _) in zip(curves, there, strict=True) if part == own] for own, _ in here]
        return [mean_curve(of_part or curves) for of_part in parts]


def _keys(series: Mapping[str, Any]) -> dict[str, Any]:
    return {**series["setting"], "data": series["data"], "method": series["method"]}
