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
from . import verdicts
from .measurements import Measurements
from .rows import Rows

#: The dataset of a claim that is about several at once.
ALL_DATA = "all data"
_AT_LEAST = "at least this: {}; they count with the last epoch up to which they were looked at after each"


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
    """

    series: Sequence[Mapping[str, Any]]
    setting: Mapping[str, Any]
    values: Sequence[Any]
    never_passed: str = ""
    passed: Sequence[float] = ()
    without: str = ""

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
            text = printed["published"] if printed else ""
            if not text and (number.never_passed or not number.values):
                continue
            verdict, reason = _judged(rows, claim, number, text)
            values = [statistics.fmean(number.values)] if number.never_passed and number.values else number.values
            values = [] if verdict == verdicts.NOT_RUN else values
            judgement = verdict, "; ".join(filter(None, (reason, number.without)))
            runs = [run for one in number.series for run in measurements.runs(one)]
            criterion = f"{claim['label']} {verdicts.criterion(claim)}"
            yield rows.row(number.word, number.method, number.setting, name, judgement, text, values, runs, criterion)
        for one in (one for one in published if not any(one is printed for printed in answered)):
            method, setting = one["method"] or comparison["method"], parse_setting(one["setting"])
            yield rows.not_run(one["dataset"], method, setting, name, one["published"])


def _judged(rows: Rows, claim: Mapping[str, Any], number: Number, published: str) -> tuple[str, str]:
    """The verdict on one number, and why."""
    if not number.values:
        return verdicts.NOT_RUN, number.never_passed or "there is nothing to measure it on at this scale"
    differs = [
        f"{key} {number.setting.get(key)}, published for {value}"
        for key, value in claim.get("comparable", {}).items()
        if str(number.setting.get(key)) != str(value)
    ]
    incomparable = next(filter(None, map(rows.incomparable, number.words)), None) or "; ".join(differs)
    mean, better = statistics.fmean(number.values), claim.get("better", "lower")
    if number.never_passed:
        # A lower bound can say that the number is large enough, and nothing else.
        if incomparable or not published:
            return verdicts.NOT_RUN, number.never_passed
        verdict = verdicts.NOT_RUN
        if "tolerance" in claim and better == "higher":
            verdict = verdicts.judge(float(published), mean, claim["tolerance"], better)
        elif "at_least" in claim and verdicts.holds(claim, mean):
            verdict = verdicts.REPRODUCED
        if verdict in (verdicts.NOT_RUN, verdicts.DEVIATES):
            return verdicts.NOT_RUN, number.never_passed
        return verdict, _AT_LEAST.format(number.never_passed)
    if incomparable:
        return verdicts.NOT_COMPARABLE, incomparable
    if "tolerance" in claim:
        if not published:
            return verdicts.NOT_COMPARABLE, "the paper prints no number"
        return verdicts.judge(float(published), mean, claim["tolerance"], better), ""
    good = all(verdicts.holds(claim, value) for value in (number.values if claim.get("every_seed") else [mean]))
    text = verdicts.criterion(claim)
    if not published:
        return verdicts.NOT_COMPARABLE, f"the paper says nothing of it; {text} {'holds' if good else 'fails'}"
    return verdicts.REPRODUCED if good else verdicts.DEVIATES, f"our criterion for this claim: {text}"


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
        divided = measurements.divided(series, metric, claim.get("over"), ends=at_end)
        curves = [_within(curve, claim) for curve in divided]
        values = [value for value in (_reduced(curve, claim) for curve in curves if curve) if value is not None]
        missed = sum(not curve for curve in divided)
        if missed and is_passage:
            # A mean over those that passed would be of the fast ones alone.
            bounds = measurements.lower_bounds(series, metric, claim.get("over"))
            why = f"not reached in {missed} of {len(curves)} runs" + ("" if bounds else ", by one side or both")
            yield Number([series], series["setting"], bounds, why, values)
        elif any(curves):
            yield Number([series], series["setting"], values)


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
    number = Number([one.series[0] for one in group], setting, [value for value in combined if value is not None])
    incomplete = [one for one in group if one.never_passed]
    if not incomplete:
        return number
    places = "; ".join(
        f"{', '.join([one.word, *map(str, one.series[0]['setting'].values())])} {one.never_passed}"
        for one in incomplete
    )
    if across == "largest" and number.values and "at_most" not in claim and "between" not in claim:
        return replace(number, without=f"without {places}")
    if across == "smallest" and all(one.values for one in incomplete):
        # Where the smallest was measured, what never passed is no smaller; else it is a bound.
        smallest = min(itertools.chain(number.values, *(one.values for one in incomplete)))
        measured = smallest in itertools.chain(number.values, *(one.passed for one in incomplete))
        return replace(number, values=[smallest], never_passed="" if measured else places)
    return replace(number, values=[], never_passed=places)
