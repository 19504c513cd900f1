"""What a target measured: its series with their runs, and its metrics as curves along the marks."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shallows.errors import ShallowsError

from ..planning.configuration import parse_setting

if TYPE_CHECKING:
    from .compare import Measured

#: A value of an axis in a reference that is satisfied with any.
ANY = "any"

ROUNDING = 1e-9
"""Share of a level, or of one, by which a value may miss it."""

Mark = int | float | None
Curve = dict[Mark, float]


class Measurements:
    """The series of a target at a scale, with what their runs left.

    Parameters
    ----------
    comparison : mapping
        `Plan.comparison` of the target.
    measured : mapping
        Runs by identifier.
    """

    def __init__(self, comparison: Mapping[str, Any], measured: Mapping[str, Measured]):
        self.comparison = comparison
        self.spec: Mapping[str, Any] = comparison["spec"]
        self.series: list[dict[str, Any]] = list(comparison["series"])
        self._measured = measured

    def runs(self, series: Mapping[str, Any]) -> list[Measured]:
        """The runs of a series, one for each seed and part of the data."""
        return [self._measured[run] for run in series["run_ids"]]

    def curves(self, series: Mapping[str, Any], metric: str) -> list[Curve]:
        """A metric of the target for each run of a series: mark -> value; the mark is None where there is none.

        A metric that is ``reached`` has one value at no mark, and none where it was not.
        """
        definition = self.spec["metrics"].get(metric, {})
        if "reached" in definition:
            return [{} if at is None else {None: float(at)} for at in self._reached(series, definition["reached"])]
        return [_curve(run, metric, definition) for run in self.runs(series)]

    def selected(self, of: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The series that a selection by ``data``, ``method`` and axes names, each by a value or a list."""
        return [one for one in self.series if all(self._has(one, key, wanted) for key, wanted in of.items())]

    def partner(self, series: Mapping[str, Any], reference: Mapping[str, Any]) -> dict[str, Any] | None:
        """The series that a reference names, which is as the one at hand in all that it does not name.

        Raises
        ------
        ShallowsError
            Where several are meant.
        """
        where = {"data": series["data"], "method": series["method"], **series["setting"]}
        where.update({key: value for key, value in reference.items() if key != "metric"})
        found = self.selected({key: value for key, value in where.items() if value != ANY})
        if len(found) > 1:
            raise ShallowsError(
                f"The target {self.comparison['target']!r} refers to {dict(reference)}, and {len(found)} series answer "
                "to it: name more of their settings."
            )
        return found[0] if found else None

    def divided(
        self, series: Mapping[str, Any], metric: str, over: str | Mapping[str, Any] | None, *, ends: bool = False
    ) -> list[Curve]:
        """Curves of a metric, divided mark by mark by their first value or by those of another series or metric.

        With ``ends`` curves that have no mark in common, such as those of a net and of a kernel machine, are divided at
        their ends.
        """
        curves = self.curves(series, metric)
        if over is None:
            return curves
        if over == "first":
            return [_over_first(curve) for curve in curves]
        other = self.partner(series, over)
        if other is None:
            return []
        return [
            _quotient(curve, below, ends=ends)
            for curve, below in zip(curves, self._paired(series, other, over.get("metric", metric)), strict=True)
        ]

    def at_least(self, series: Mapping[str, Any], metric: str, over: str | Mapping[str, Any] | None) -> list[float]:
        """Bounds from below on where a level was reached, over those of another series, one for each run.

        A run that did not reach it counts with the last mark up to which it was looked at without a gap. There are none
        where a run was not looked at from the first mark on, or the other series has a run that did not reach it.
        """
        other = self.partner(series, over) if isinstance(over, Mapping) else None
        below = [] if other is None else self._paired(series, other, over.get("metric", metric))
        looked = self.curves(series, self.spec["metrics"][metric]["reached"]["of"])
        above = [
            curve.get(None) or float(_without_a_gap(whole))
            for curve, whole in zip(self.curves(series, metric), looked, strict=True)
        ]
        if not below or not all(above) or not all(set(curve) == {None} for curve in below):
            return []
        return [ratio(one, two[None]) for one, two in zip(above, below, strict=True)]

    def _has(self, series: Mapping[str, Any], key: str, wanted: Any) -> bool:
        own = series[key] if key in ("data", "method") else series["setting"].get(key)
        return str(own) in [str(one) for one in (wanted if isinstance(wanted, list) else [wanted])]

    def _reached(self, series: Mapping[str, Any], rule: Mapping[str, Any]) -> list[Mark]:
        """For each run the first mark at which the metric is at most (or at least) the level."""
        side = "at_most" if "at_most" in rule else "at_least"
        sign = 1.0 if side == "at_most" else -1.0
        levels = self._levels(series, rule[side], rule["of"])
        curves = self.curves(series, rule["of"])
        if levels is None:
            return [None] * len(curves)
        plus, wide = rule.get("plus", 0.0), rule.get("standard_errors", 0.0)
        errors = [
            wide * standard_error(level, run.record["data"]["n_test"]) if wide else 0.0
            for run, level in zip(self.runs(series), levels, strict=True)
        ]
        # 48.19 + 0.05 is a little less than 48.24 in binary.
        limits = [
            sign * level + plus + error + ROUNDING * max(1.0, abs(level))
            for level, error in zip(levels, errors, strict=True)
        ]
        return [
            first(curve, lambda value, limit=limit: sign * value <= limit)
            for curve, limit in zip(curves, limits, strict=True)
        ]

    def _levels(self, series: Mapping[str, Any], level: Any, metric: str) -> list[float] | None:
        if not isinstance(level, Mapping):
            return [float(level)] * len(series["run_ids"])
        if "printed" in level:
            printed = self._printed(series, level, level.get("metric", metric))
            return None if printed is None else [printed] * len(series["run_ids"])
        other = self.partner(series, level)
        if other is None:
            return None
        curves = self._paired(series, other, level.get("metric", metric))
        return [last(curve) for curve in curves] if all(curves) else None

    def _printed(self, series: Mapping[str, Any], level: Mapping[str, Any], metric: str) -> float | None:
        """What a target's paper prints for the data and settings of a series, for the method that the level names."""
        wanted = {"dataset": series["data"], "method": level.get("method", series["method"]), "metric": metric}
        for row in self.comparison["printed"][level["printed"]]:
            setting = parse_setting(row["setting"]).items()
            here = all(self._has(series, axis, value) for axis, value in setting)
            if here and all(row[key] == value for key, value in wanted.items()):
                return float(row["published"])
        return None

    def _paired(self, series: Mapping[str, Any], other: Mapping[str, Any], metric: str) -> list[Curve]:
        """Curves of another series run by run; their mean, over each part of the data, where seeds are not the same."""
        curves = self.curves(other, metric)
        here, there = ([run.record["run"] for run in self.runs(one)] for one in (series, other))
        if [_repetition(run) for run in here] == [_repetition(run) for run in there]:
            return curves
        parts = [[curve for curve, run in zip(curves, there, strict=True) if _part(run) == _part(one)] for one in here]
        return [_mean(of_part or curves) for of_part in parts]


def _curve(run: Measured, metric: str, definition: Mapping[str, Any]) -> Curve:
    values = run.curve.get(definition.get("of", metric), {})
    over = definition.get("over")
    if over is None:
        return dict(values)
    return _over_first(values) if over == "first" else _quotient(values, run.curve.get(over, {}))


def _part(run: Mapping[str, Any]) -> Any:
    return run.get("variant")


def _repetition(run: Mapping[str, Any]) -> tuple[Any, int]:
    return _part(run), run["seed"]


def _mean(curves: Sequence[Curve]) -> Curve:
    return {mark: statistics.fmean(curve[mark] for curve in curves) for mark in common_marks(curves)}


def _without_a_gap(curve: Mapping[Mark, float]) -> int:
    """The last of the marks 1, 2, 3 and so on, all of which a curve has; 0 where it does not begin with 1."""
    return next(mark for mark in itertools.count() if mark + 1 not in curve)


def standard_error(percentage: float, n: int) -> float:
    """Of a rate that was counted on n points, in percentage points; of one at an end, about that of one error."""
    share = percentage / 100.0
    return 100.0 * math.sqrt(max(share * (1.0 - share), 1.0 / n) / n)


def _over_first(curve: Mapping[Mark, float]) -> Curve:
    if not curve:
        return {}
    start = curve[next(iter(in_order(curve)))]
    return {mark: ratio(value, start) for mark, value in curve.items()}


def _quotient(curve: Mapping[Mark, float], below: Mapping[Mark, float], *, ends: bool = False) -> Curve:
    """Mark by mark; what stands at no mark divides all."""
    if set(below) == {None}:
        return {mark: ratio(value, below[None]) for mark, value in curve.items()}
    if ends and curve and below and not set(curve) & set(below):
        return {in_order(curve)[-1]: ratio(last(curve), last(below))}
    return {mark: ratio(value, below[mark]) for mark, value in curve.items() if mark in below}


def ratio(above: float, below: float) -> float:
    """A quotient, infinite or not a number where there is none."""
    if below:
        return above / below
    return float("nan") if above == 0 or above != above else float("inf") if above > 0 else float("-inf")


def in_order(marks: Iterable[Mark]) -> list[Mark]:
    """Marks ascending, none first."""
    return sorted(marks, key=lambda mark: (mark is not None, mark or 0))


def last(curve: Mapping[Mark, float]) -> float:
    """The value at the last mark, or at none where there is but that."""
    return curve[in_order(curve)[-1]]


def first(curve: Mapping[Mark, float], good: Callable[[float], bool]) -> Mark:
    """The first mark at which a value is good, or None."""
    return next((mark for mark in in_order(curve) if mark is not None and good(curve[mark])), None)


def common_marks(curves: Sequence[Mapping[Mark, float]]) -> list[Mark]:
    """The marks of the first curve that all the others have, ascending."""
    if not curves:
        return []
    return [mark for mark in in_order(curves[0]) if all(mark in curve for curve in curves)]
