"""Rows of claims: numbers that summarize the measurements, judged by criteria of the configuration."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shallows.errors import UnknownNameError
from shallows_papers.papers.claim_functions import ACROSS, REDUCTIONS, Curve, find, takes_curves

from ..setting_text import parse_setting
from . import uncertainty, verdicts
from .evaluations import RunResult, n_discordant
from .measurements import ANY, Measurements
from .row_maker import ALL_DATA, RowMaker
from .table_rows import Measured, Row
from .verdicts import Verdict

_OURS = "our criterion for this claim:"


@dataclass(frozen=True)
class Number:
    """A claim's number over one or several series."""

    series: Sequence[Mapping[str, Any]]  # where it was measured
    setting: Mapping[str, Any]  # the setting of its row
    measured: Measured  # lower bounds where some repetitions never passed a level, or only those that passed
    counted: float | None = None  # the variance of the mean from the points on which all runs are counted

    @property
    def words(self) -> list[str]:
        """The datasets, by the paper's words."""
        return list(dict.fromkeys(one["data"] for one in self.series))

    @property
    def method(self) -> str:
        """The method; empty if there are several."""
        methods = {one["method"] for one in self.series}
        return methods.pop() if len(methods) == 1 else ""

    def answers(self, printed: Mapping[str, str]) -> bool:
        """Whether a published row is about this number."""
        setting = {key: str(value) for key, value in self.setting.items()}
        return (
            printed["dataset"] in ("", self.words[0] if len(self.words) == 1 else ALL_DATA)
            and printed["method"] in ("", self.method)
            and parse_setting(printed["setting"]).items() <= setting.items()
        )


def claims(measurements: Measurements) -> Iterator[Row]:
    """Yield the rows of a target's claims: for each the measured numbers, then printed ones that no run measured."""
    comparison, maker = measurements.comparison, RowMaker(measurements.comparison)
    for name, claim in measurements.spec.get("claims", {}).items():
        published = [one for one in comparison["published"] if one["metric"] == name]
        if not published:
            _check_metrics(measurements, name, claim)
        answered = []
        for number, is_ours in _of_both_series(measurements, claim):
            printed = None if is_ours else next((one for one in published if number.answers(one)), None)
            answered.append(printed)
            measured = number.measured
            if printed or not (measured.mean is None or measured.n_without or _unreached(claim, measured)):
                runs = [run for one in number.series for run in measurements.runs(one)]
                yield row_of(maker, name, number, printed, runs)
        for one in (one for one in published if not any(one is printed for printed in answered)):
            method, setting = one["method"] or comparison["method"], parse_setting(one["setting"])
            yield maker.not_run(one["dataset"], method, setting, one, name)


def _check_metrics(measurements: Measurements, name: str, claim: Mapping[str, Any]) -> None:
    """Check that runs measured the metric of an unprinted claim; otherwise its row would be missing silently."""
    runs = [run for series in measurements.series for run in measurements.runs(series)]
    known = {*measurements.spec["metrics"], *itertools.chain(*(run.curve for run in runs))}
    for place in (claim, claim.get("over", {}), claim.get("less", {})) if runs else ():
        if "metric" in place:
            UnknownNameError.check(f"metric of the claim {name!r}", place["metric"], known)


def row_of(
    maker: RowMaker,
    name: str,
    number: Number,
    printed: Mapping[str, str] | None,
    runs: Sequence[RunResult],
    interval: tuple[float, float] | None = None,
) -> Row:
    """Make the row of a claim's number and judge it by the printed statement if there is one.

    Without a given interval for the mean, the interval follows from the repetitions. There is no interval if every
    repetition has to satisfy the criterion by itself.
    """
    claim, margin = maker.comparison["spec"]["claims"][name], None
    by_mean = not claim.get("every_seed") and claim["evidence"] in verdicts.KINDS and not number.measured.is_bound
    if interval is None and by_mean:
        interval = uncertainty.interval(number.measured, number.counted if claim.get("paired") else None)
    if printed and "tolerance" in claim:
        spread = printed.get("spread", "")
        margin = uncertainty.margin(printed["published"], claim["tolerance"], number.measured, runs, spread)
    verdict, reason = _judged(maker, claim, number, printed, runs, margin, interval)
    unreached = _unreached(claim, number.measured)
    if number.measured.left_out and not unreached:
        without = f"without {'; '.join(number.measured.left_out)}, where not all runs reached the level"
        reason = "; ".join(filter(None, (reason, without)))
    is_shown = verdict != Verdict.NOT_RUN and (not unreached or _is_least(claim, number.measured))
    return maker.row(
        number.words,
        number.method,
        number.setting,
        name,
        (verdict, reason),
        printed,
        number.measured,
        runs,
        is_shown=is_shown,
        tolerance=verdicts.criterion_of(claim) if printed and claim["evidence"] in verdicts.KINDS else "",
        margin=margin,
        interval=interval if is_shown else None,
    )


def _unreached(claim: Mapping[str, Any], measured: Measured) -> str:
    """Say which runs never passed the level of a claim; empty if no run could change the verdict."""
    if measured.left_out:
        largest = measured.mean if claim.get("across") == "largest" else None
        decided = largest is not None and decides_without_rest(claim, largest)
        return "" if decided else f"not reached in all runs of {'; '.join(measured.left_out)}"
    if not measured.n_unpassed:
        return ""
    by_a_side = not measured.is_bound and ("over" in claim or "less" in claim)
    runs = f"{measured.n_unpassed} of {measured.repetitions} runs"
    return f"not reached in {runs}{', by one side or both' if by_a_side else ''}"


def _judged(
    maker: RowMaker,
    claim: Mapping[str, Any],
    number: Number,
    printed: Mapping[str, str] | None,
    runs: Sequence[RunResult],
    margin: float | None,
    interval: tuple[float, float] | None,
) -> tuple[Verdict, str]:
    measured, unreached = number.measured, _unreached(claim, number.measured)
    incomparable = next(filter(None, (maker.incomparable(word, runs) for word in number.words)), None)
    if unreached and printed and not incomparable and "at_most" in claim:
        marks = () if {"over", "less", "across"} & set(claim) else number.series[0]["marks"]
        if (end := max(marks, default=0.0)) >= claim["at_most"]:
            return Verdict.DEVIATES, f"{_OURS} {verdicts.criterion(claim)}; {unreached}, which went on to {end:g}"
    if measured.mean is None or measured.n_without or (unreached and not _is_least(claim, measured)):
        without = f"no value in {measured.n_without} of {measured.repetitions} runs" if measured.n_without else ""
        return Verdict.NOT_RUN, unreached or without or "there is nothing to measure it on at this scale"
    if claim["evidence"] == verdicts.DERIVED:
        return Verdict.DERIVATION, claim["why"]
    if unreached:
        said = Verdict.NOT_RUN if incomparable or not printed else _of_bound(claim, measured.mean, printed, margin)
        counted = "; they count with the last epoch up to which each was evaluated" if measured.is_bound else ""
        return said, unreached if said == Verdict.NOT_RUN else f"at least this: {unreached}{counted}"
    if incomparable:
        return Verdict.NOT_COMPARABLE, incomparable
    if printed and (reason := verdicts.halved(runs)):
        return Verdict.UNDECIDED, reason
    if margin is not None and printed:
        text, spread = printed["published"], printed.get("spread", "")
        scattered = uncertainty.scatters(text, margin, claim["tolerance"], runs, spread)
        return verdicts.judge(float(text), measured.mean, margin, scattered, interval)
    text, every = verdicts.criterion(claim), measured.values if claim.get("every_seed") else ()
    good = all(verdicts.holds(claim, value) for value in every or [measured.mean])
    if not printed:
        if "tolerance" in claim:
            return Verdict.NOT_COMPARABLE, "the paper prints no number"
        said = f"our correction of what the paper prints ({claim['corrects']})" if "corrects" in claim else ""
        held = "holds" if good else "fails"
        return Verdict.NOT_COMPARABLE, f"{said or 'the paper says nothing of it'}; {text} {held}"
    reason = f"{_OURS} {text}"
    if "could_fail" in claim:
        reason += f"; it would fail with {claim['could_fail']}"
    n_diverged = sum(run.diverged for run in runs)
    # A ratio is undefined if neither side ended. It is infinite, hence too large, if only the method did not.
    unended = math.isnan(measured.mean) or (measured.mean == math.inf and "at_most" not in claim)
    if "over" in claim and unended and not n_diverged:
        sides = "neither side" if math.isnan(measured.mean) else "only the other side"
        return Verdict.UNDECIDED, f"{reason}; {sides} has a finite value other than 0, so that the ratio is not known"
    if not measured.is_finite:
        why = verdicts.diverged(n_diverged, len(runs)) if n_diverged else "a value is not finite"
        return Verdict.DEVIATES, f"{reason}; {why}"
    if verdicts.is_about_rivals(claim) and measured.count < verdicts.ENOUGH_SEEDS:
        return Verdict.UNDECIDED, f"{reason}; fewer than five seeds"
    if interval is not None:
        return verdicts.of_interval(claim, *interval), reason
    if claim.get("paired"):
        return Verdict.UNDECIDED, f"{reason}; one repetition gives no interval"
    if not good:
        return Verdict.DEVIATES, reason
    is_single = measured.count == 1 and len({run.record["run"]["seed"] for run in runs}) <= 1
    return Verdict.ONE_SEED if is_single else Verdict.REPRODUCED, reason


def _is_least(claim: Mapping[str, Any], measured: Measured) -> bool:
    """Whether a number is a lower bound, like the largest of several numbers if the others could only be larger."""
    return measured.is_bound or (claim.get("across") == "largest" and bool(measured.left_out))


def _of_bound(claim: Mapping[str, Any], bound: float, printed: Mapping[str, str], margin: float | None) -> Verdict:
    """Judge a lower bound: it contradicts a smaller number, and never shows agreement."""
    if margin is None:
        least, most = verdicts.limits(claim)
        if bound > most:
            return Verdict.DEVIATES
        may_agree = bound >= least > -math.inf
    elif bound > float(printed["published"]) + margin:
        return Verdict.DEVIATES
    else:
        may_agree = bound >= float(printed["published"]) - margin
    return Verdict.UNDECIDED if may_agree else Verdict.NOT_RUN


@dataclass(frozen=True)
class _OfSeries:
    """The numbers that a claim takes from the runs of one series."""

    series: Mapping[str, Any]
    n_runs: int
    values: Sequence[Any]  # for each run that gave one: a number, or a curve if the claim compares curves
    passed: int | None = None  # how many runs passed the level; None without a level
    bounds: Sequence[float] = ()  # lower bounds for all runs if some never passed the level
    counted: float | None = None

    @property
    def is_incomplete(self) -> bool:
        return self.passed is not None and self.passed < self.n_runs


def _of_both_series(measurements: Measurements, claim: Mapping[str, Any]) -> Iterator[tuple[Number, bool]]:
    """Yield the numbers of a claim, then those for our methods instead of the paper's."""
    ours = measurements.counterparts

    def renamed(reference: Mapping[str, Any]) -> dict[str, Any]:
        named = reference.get("method", ())
        listed = [ours.get(one, one) for one in ([named] if isinstance(named, str) else named)]
        return {**reference, **({"method": listed[0] if isinstance(named, str) else listed} if listed else {})}

    yield from ((number, False) for number in _numbers(measurements, claim, is_ours=False))
    if ours:
        of_ours = {**claim, **{key: renamed(claim[key]) for key in ("of", "over", "less") if key in claim}}
        yield from ((number, True) for number in _numbers(measurements, of_ours, is_ours=True))


def _numbers(measurements: Measurements, claim: Mapping[str, Any], *, is_ours: bool) -> Iterator[Number]:
    """Yield the numbers of a claim for our methods or for all others, one for each series or group of series."""
    parts = sorted(_of_each_series(measurements, claim, is_ours=is_ours), key=lambda one: one.is_incomplete)
    if "across" not in claim:
        for one in parts:
            measured = Measured(tuple(one.bounds or one.values), one.n_runs, one.passed, bool(one.bounds))
            yield Number([one.series], one.series["setting"], measured, one.counted)
        return
    of = claim.get("of", {})
    kept = {key for key, wanted in of.items() if not isinstance(wanted, list)}
    groups: dict[str, list[_OfSeries]] = {}
    for one in parts:
        groups.setdefault("" if of.get("data") == ANY else one.series["data"], []).append(one)
    for group in groups.values():
        setting = {key: value for key, value in group[0].series["setting"].items() if key in kept}
        yield Number([one.series for one in group], setting, _combined(claim, group))


def _of_each_series(measurements: Measurements, claim: Mapping[str, Any], *, is_ours: bool) -> Iterator[_OfSeries]:
    ours = measurements.counterparts.values()
    metric = claim.get("metric", next(iter(measurements.spec["metrics"])))
    is_passage = "first_passage" in measurements.spec["metrics"].get(metric, {})
    until = claim.get("to", math.inf)
    at_end = "at" not in claim and claim.get("reduce", "last") == "last" and not isinstance(until, Mapping)
    for series in (one for one in measurements.selected(claim.get("of", {})) if (one["method"] in ours) == is_ours):
        compared = measurements.against(series, metric, claim, ends=at_end)
        ends = measurements.passages(series, until) if isinstance(until, Mapping) else [until] * len(compared)
        # Without a partner to compare with, there are no curves.
        curves = [_within(curve, claim, end) for curve, end in zip(compared, ends, strict=False)]
        values = [value for value in (_reduced(curve, claim) for curve in curves if curve) if value is not None]
        passed = sum(map(bool, compared)) if is_passage else None
        if is_passage and passed < len(curves):
            # A mean over the runs that passed would leave out the slow runs.
            bounds = measurements.lower_bounds(series, metric, claim.get("over"))
            yield _OfSeries(series, len(curves), values, passed, bounds)
        elif any(curves):
            counted = (
                _variance_of_counts(measurements, series, metric, claim)
                if claim.get("paired") == verdicts.COUNTED and values
                else None
            )
            yield _OfSeries(series, len(curves), values, passed, counted=counted)


def _variance_of_counts(
    measurements: Measurements, series: Mapping[str, Any], metric: str, claim: Mapping[str, Any]
) -> float:
    """Return the variance of a difference of two errors in percent, counted on the test points.

    As in McNemar's test it depends on the points that only one of the two misclassifies. Where these are not known, all
    errors count as such points, which is an upper bound.
    """
    runs, partner = measurements.runs(series), measurements.partner(series, claim["less"])
    n = min(run.record["data"]["n_test"] for run in runs)
    others = {run.repetition: run for run in (measurements.runs(partner) if partner else [])}
    pairs = [(run.wrong, others[run.repetition].wrong) for run in runs if run.repetition in others]
    if "metric" not in claim["less"] and len(pairs) == len(runs) and all(map(all, pairs)):
        share = 100.0 * statistics.fmean(n_discordant(*pair) for pair in pairs) / n
    else:
        sides = measurements.curves(series, metric), measurements.of_partner(series, claim["less"], metric)
        share = sum(statistics.fmean(_reduced(curve, claim) for curve in side) for side in sides)
    return 100.0 * max(share, 100.0 / n) / n


def decides_without_rest(claim: Mapping[str, Any], largest: float) -> bool:
    """Whether the largest of some numbers decides a claim, if the numbers left out could only be larger."""
    _, most = verdicts.limits(claim)
    return most == math.inf or largest > most


def _within(curve: Curve, claim: Mapping[str, Any], end: float) -> Curve:
    """Return the part of a curve that a claim is about, up to an evaluation point."""
    low = claim.get("from", -math.inf)
    part = {point: value for point, value in curve.items() if point is not None and low <= point <= end}
    # A number without a point is not part of the curve, unless it is the only number.
    return part if "from" in claim or "to" in claim else part or curve


def _reduced(curve: Curve, claim: Mapping[str, Any]) -> Any:
    if takes_curves(claim.get("across")):
        return curve
    if "at" in claim:
        return curve.get(claim["at"])
    return find(claim.get("reduce", "last"), REDUCTIONS)(curve)


def _combined(claim: Mapping[str, Any], group: Sequence[_OfSeries]) -> Measured:
    """Return one value for each seed over several series, or one value over all if their numbers of seeds differ."""
    across, incomplete = claim["across"], [one for one in group if one.is_incomplete]
    values = [one.values for one in group if not one.is_incomplete]
    same = len(set(map(len, values))) == 1
    of_seeds = list(zip(*values, strict=True)) if same else [tuple(itertools.chain(*values))]
    function = find(across, ACROSS)
    combined = [function(of_seed) for of_seed in of_seeds if of_seed]
    found = tuple(value for value in combined if value is not None)
    left_out = tuple(", ".join(map(str, (one.series["data"], *one.series["setting"].values()))) for one in incomplete)
    if across == "smallest" and incomplete and all(one.bounds for one in incomplete):
        # The smallest value is exact if it was measured, since bounds are no smaller; otherwise it is a bound.
        smallest = min(itertools.chain(found, *(one.bounds for one in incomplete)))
        if smallest in itertools.chain(found, *(one.values for one in incomplete)):
            return Measured((smallest,))
        return Measured((smallest,), is_bound=True, left_out=left_out)
    if incomplete and across != "largest":
        return Measured(left_out=left_out)
    n_without = sum(one.n_runs - len(one.values) for one in group if not one.is_incomplete)
    return Measured(found, len(found) + n_without, left_out=left_out)
