"""Rows of claims: numbers that summarise what was measured, judged by criteria that the configuration fixes."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..claim_functions import ACROSS, ACROSS_CURVES, REDUCTIONS, Curve
from ..setting_text import parse_setting
from . import uncertainty, verdicts
from .evaluations import RunResult
from .measurements import Measurements
from .rows import Rows

#: The dataset of a claim that is about several at once.
ALL_DATA = "all data"
_OURS = "our criterion for this claim:"
_AT_LEAST = (
    "at least this: {}; they count with the last epoch up to which they were looked at after each, so that it is no "
    "measured number and decides nothing"
)


@dataclass(frozen=True)
class Number:
    """A claim's number over one or several series.

    Attributes
    ----------
    series : sequence of mapping
        Where it was measured.
    setting : mapping
        The settings that its row tells.
    values : sequence
        One value a repetition.
    never_passed : str
        Which runs never passed the level that the claim is about. The values then are lower bounds, if there are any.
    passed : sequence of float
        The values of the runs that did.
    without : str
        The series that are left out, which can change nothing.
    missing : str
        Which runs have no value at all.
    counted : float, optional
        A variance of the mean by the points on which all runs are counted.
    end : float, optional
        The last evaluation point of runs that never passed a level.
    """

    series: Sequence[Mapping[str, Any]]
    setting: Mapping[str, Any]
    values: Sequence[Any]
    never_passed: str = ""
    passed: Sequence[float] = ()
    without: str = ""
    missing: str = ""
    counted: float | None = None
    end: float | None = None

    @property
    def words(self) -> list[str]:
        """The datasets, by the paper's words."""
        return list(dict.fromkeys(one["data"] for one in self.series))

    @property
    def word(self) -> str:
        """The dataset, or that it is about all of them."""
        return self.words[0] if len(self.words) == 1 else ALL_DATA

    @property
    def method(self) -> str:
        """The method; empty where there are several."""
        methods = {one["method"] for one in self.series}
        return methods.pop() if len(methods) == 1 else ""

    def answers(self, printed: Mapping[str, str]) -> bool:
        """Whether it is what a published row is about."""
        setting = {key: str(value) for key, value in self.setting.items()}
        return (
            printed["dataset"] in ("", self.word)
            and printed["method"] in ("", self.method)
            and parse_setting(printed["setting"]).items() <= setting.items()
        )


def claims(measurements: Measurements) -> Iterator[dict[str, Any]]:
    """Rows of a target's claims: of each what was measured first, then what the paper says and was not measured."""
    comparison, rows = measurements.comparison, Rows(measurements.comparison)
    for name, claim in measurements.spec.get("claims", {}).items():
        published = [one for one in comparison["published"] if one["metric"] == name]
        answered = []
        for number in _numbers(measurements, claim):
            printed = next((one for one in published if number.answers(one)), None)
            answered.append(printed)
            if not printed and (number.never_passed or number.missing or not number.values):
                continue
            runs = [run for one in number.series for run in measurements.runs(one)]
            margin = None
            if printed and "tolerance" in claim:
                margin = uncertainty.margin(
                    printed["published"], claim["tolerance"], number.values, runs, printed.get("spread", "")
                )
            interval = interval_of(claim, number.values, number.counted)
            verdict, reason = judgement_of(rows, claim, number, printed, runs, margin, interval)
            values = [statistics.fmean(number.values)] if number.never_passed and number.values else number.values
            values = [] if verdict == verdicts.NOT_RUN else values
            judgement = verdict, "; ".join(filter(None, (reason, number.without)))
            judged = printed and claim["evidence"] in verdicts.KINDS
            yield rows.row(
                number.word,
                number.method,
                number.setting,
                name,
                judgement,
                printed,
                values,
                runs,
                tolerance=verdicts.criterion_of(claim) if judged else "",
                margin=margin,
                interval=interval if values else None,
            )
        for one in (one for one in published if not any(one is printed for printed in answered)):
            method, setting = one["method"] or comparison["method"], parse_setting(one["setting"])
            yield rows.not_run(one["dataset"], method, setting, one, name)


def _is_too_late(claim: Mapping[str, Any], number: Number) -> bool:
    """Whether runs that never passed a level went on for at least as long as the criterion leaves them."""
    return bool(number.never_passed) and "at_most" in claim and (number.end or 0.0) >= claim["at_most"]


def judgement_of(
    rows: Rows,
    claim: Mapping[str, Any],
    number: Number,
    printed: Mapping[str, str] | None,
    runs: Sequence[RunResult],
    margin: float | None,
    interval: tuple[float, float] | None,
) -> tuple[str, str]:
    """The verdict on one number, and why."""
    differs = [
        f"{key} {number.setting.get(key)}, published for {value}"
        for key, value in claim.get("comparable", {}).items()
        if str(number.setting.get(key)) != str(value)
    ]
    other_data = filter(None, (rows.incomparable(word, runs) for word in number.words))
    incomparable = next(other_data, None) or "; ".join(differs)
    if printed and not incomparable and _is_too_late(claim, number):
        reason = f"{_OURS} {verdicts.criterion(claim)}; {number.never_passed}, which went on to {number.end:g}"
        return verdicts.DEVIATES, reason
    if not number.values:
        missing = number.never_passed or number.missing or "there is nothing to measure it on at this scale"
        return verdicts.NOT_RUN, missing
    if number.missing:
        return verdicts.NOT_RUN, number.missing
    if claim["evidence"] == verdicts.DERIVED:
        return verdicts.DERIVATION, claim["why"]
    mean, better = statistics.fmean(number.values), claim.get("better", "lower")
    if number.never_passed:
        # A lower bound is no measured number. It can be on the good side of a printed one, and shows no agreement.
        if incomparable or not printed or not _may_be_large_enough(claim, mean, printed, margin):
            return verdicts.NOT_RUN, number.never_passed
        return verdicts.UNDECIDED, _AT_LEAST.format(number.never_passed)
    if incomparable:
        return verdicts.NOT_COMPARABLE, incomparable
    if margin is not None and printed:
        return verdicts.judge(float(printed["published"]), mean, margin, better), ""
    text, values = verdicts.criterion(claim), number.values if claim.get("every_seed") else [mean]
    if not printed:
        if "tolerance" in claim:
            return verdicts.NOT_COMPARABLE, "the paper prints no number"
        said = f"our correction of what the paper prints ({claim['corrects']})" if "corrects" in claim else ""
        good = "holds" if all(verdicts.holds(claim, value) for value in values) else "fails"
        return verdicts.NOT_COMPARABLE, f"{said or 'the paper says nothing of it'}; {text} {good}"
    reason = f"{_OURS} {text}"
    if "could_fail" in claim:
        reason += f"; it would fail with {claim['could_fail']}"
    if "censored" in claim and math.inf in number.values:
        return verdicts.UNDECIDED, f"{reason}; {claim['censored']}"
    if not all(map(math.isfinite, number.values)):
        return verdicts.DEVIATES, f"{reason}; a value is not finite"
    if interval is not None:
        return verdicts.of_interval(claim, *interval), reason
    if claim.get("paired"):
        return verdicts.UNDECIDED, f"{reason}; one repetition gives no interval"
    good = all(verdicts.holds(claim, value) for value in values)
    return verdicts.REPRODUCED if good else verdicts.DEVIATES, reason


def interval_of(
    claim: Mapping[str, Any], values: Sequence[float], counted: float | None = None
) -> tuple[float, float] | None:
    """The interval for the mean by which a claim is judged where there are several repetitions, or None.

    There is none beside a tolerance, whose margin holds the spread, and none where every repetition has to satisfy the
    criterion by itself.
    """
    if "tolerance" in claim or claim.get("every_seed") or claim["evidence"] not in verdicts.KINDS:
        return None
    return uncertainty.interval(values, counted if claim.get("paired") else None)


def _may_be_large_enough(
    claim: Mapping[str, Any], bound: float, printed: Mapping[str, str], margin: float | None
) -> bool:
    if margin is not None:
        return claim.get("better") == "higher" and bound >= float(printed["published"]) - margin
    return "at_least" in claim and verdicts.holds(claim, bound)


# What was measured ---------------------------------------------------------------------------------------------------


def _numbers(measurements: Measurements, claim: Mapping[str, Any]) -> Iterator[Number]:
    """The numbers that a claim is about: one for each series, or one for each group of series."""
    numbers = sorted(_of_each_series(measurements, claim), key=lambda number: bool(number.never_passed))
    if "across" not in claim:
        yield from numbers
        return
    by, of = claim.get("by", ["data"]), claim.get("of", {})
    kept = {*by, *(key for key, wanted in of.items() if not isinstance(wanted, list))}
    groups: dict[tuple[str, ...], list[Number]] = {}
    for number in numbers:
        (one,) = number.series
        keys = {**one["setting"], "data": one["data"], "method": one["method"]}
        groups.setdefault(tuple(str(keys.get(key, "")) for key in by), []).append(number)
    for group in groups.values():
        setting = {key: value for key, value in group[0].setting.items() if key in kept}
        yield _combined(claim, group, setting)


def _of_each_series(measurements: Measurements, claim: Mapping[str, Any]) -> Iterator[Number]:
    metric = claim.get("metric", next(iter(measurements.spec["metrics"])))
    is_passage = "first_passage" in measurements.spec["metrics"].get(metric, {})
    at_end = "at" not in claim and claim.get("reduce", "last") == "last"
    for series in measurements.selected(claim.get("of", {})):
        compared = measurements.against(series, metric, claim, ends=at_end)
        curves = [_within(curve, claim) for curve in compared]
        values = [value for value in (_reduced(curve, claim) for curve in curves if curve) if value is not None]
        missed = sum(not curve for curve in compared)
        if missed and is_passage:
            # A mean over those that passed would be of the fast ones alone.
            bounds = measurements.lower_bounds(series, metric, claim.get("over"))
            alone = "over" not in claim and "less" not in claim
            sides = "" if bounds or alone else ", by one side or both"
            why, end = f"not reached in {missed} of {len(curves)} runs{sides}", last_mark(series) if alone else None
            yield Number([series], series["setting"], bounds, why, values, end=end)
        elif any(curves):
            lost = len(curves) - len(values)
            missing = f"no value in {lost} of {len(curves)} runs" if lost else ""
            counted = _counted(measurements, series, metric, claim) if "counted_on" in claim and values else None
            yield Number([series], series["setting"], values, missing=missing, counted=counted)


def _counted(measurements: Measurements, series: Mapping[str, Any], metric: str, claim: Mapping[str, Any]) -> float:
    """The variance of a difference of two errors by the points on which both are counted."""
    sides = measurements.curves(series, metric), measurements.of_partner(series, claim["less"], metric)
    first, second = (statistics.fmean(_reduced(curve, claim) for curve in side) for side in sides)
    on = claim["counted_on"]
    points = on if isinstance(on, int) else min(run.record["data"][f"n_{on}"] for run in measurements.runs(series))
    return uncertainty.counted_variance(first, second, points)


def last_mark(series: Mapping[str, Any]) -> float | None:
    """The last evaluation point of a series, up to which runs that never passed a level were looked at."""
    return max(series["marks"], default=None)


def decides_without_rest(claim: Mapping[str, Any], largest: float) -> bool:
    """Whether the largest of some numbers decides a claim, where those that are left out could only be larger."""
    return verdicts.upper_limit(claim) == math.inf or largest > verdicts.upper_limit(claim)


def _within(curve: Curve, claim: Mapping[str, Any]) -> Curve:
    """The part of a curve that a claim is about."""
    low, high = claim.get("from", -math.inf), claim.get("to", math.inf)
    part = {point: value for point, value in curve.items() if point is not None and low <= point <= high}
    # A number without a point, beside a curve, is another number, unless it is all there is.
    return part if "from" in claim or "to" in claim else part or curve


def _reduced(curve: Curve, claim: Mapping[str, Any]) -> Any:
    if claim.get("across") in ACROSS_CURVES:
        return curve
    if "at" in claim:
        return curve.get(claim["at"])
    return REDUCTIONS[claim.get("reduce", "last")](curve, **claim.get("parameters", {}))


def _combined(claim: Mapping[str, Any], group: Sequence[Number], setting: Mapping[str, Any]) -> Number:
    """One number a seed out of several series; one over all where their seeds are not equally many."""
    across = claim["across"]
    values = [number.values for number in group if not number.never_passed]
    same = len(set(map(len, values))) == 1
    of_seeds = list(zip(*values, strict=True)) if same else [tuple(itertools.chain(*values))]
    function = {**ACROSS, **ACROSS_CURVES}[across]
    combined = [function(of_seed) for of_seed in of_seeds if of_seed]
    missing = "; ".join(f"{one.word} {one.missing}" for one in group if one.missing)
    found = [value for value in combined if value is not None]
    number = Number([one.series[0] for one in group], setting, found, missing=missing)
    incomplete = [one for one in group if one.never_passed]
    if not incomplete:
        return number
    places = "; ".join(
        f"{', '.join([one.word, *map(str, one.series[0]['setting'].values())])} {one.never_passed}"
        for one in incomplete
    )
    if across == "largest" and number.values and decides_without_rest(claim, statistics.fmean(number.values)):
        return replace(number, without=f"without {places}")
    if across == "smallest" and all(one.values for one in incomplete):
        # Where the smallest was measured, what never passed is no smaller; else it is a bound.
        smallest = min(itertools.chain(number.values, *(one.values for one in incomplete)))
        measured = smallest in itertools.chain(number.values, *(one.passed for one in incomplete))
        return replace(number, values=[smallest], never_passed="" if measured else places)
    return replace(number, values=[], never_passed=places)
