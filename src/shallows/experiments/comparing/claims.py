"""Claims of a paper: each a reduction of what was measured, judged by a criterion that the configuration fixes."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..planning.configuration import parse_setting
from . import verdicts
from .compare import Measured, Row
from .measurements import Curve, Measurements, common_marks, first, in_order, last

#: The dataset of a claim that is about several at once.
ALL_DATA = "all data"


@dataclass(frozen=True)
class Found:
    """One number of a claim, for each repetition: where it was measured and what it is.

    With ``lacking``, which says why, it is a bound from below; ``without`` tells what had no number to be reduced.
    """

    words: tuple[str, ...]
    method: str
    setting: dict[str, Any]
    values: list[float]
    runs: list[Measured]
    lacking: str = ""
    without: str = ""

    @property
    def word(self) -> str:
        """The dataset, by the paper's word for it."""
        return self.words[0] if len(self.words) == 1 else ALL_DATA


def claims(found: Measurements) -> Iterator[dict[str, Any]]:
    """Rows of a target's claims: what was measured first, then what the paper says and was not."""
    for name, claim in found.spec.get("claims", {}).items():
        yield from _claim(found, name, claim)


def _claim(found: Measurements, name: str, claim: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    comparison, row = found.comparison, Row(found.comparison)
    printed = [one for one in comparison["published"] if one["metric"] == name]
    used: set[int] = set()
    for one in _found(found, claim):
        said = next((place for place, words in enumerate(printed) if _is_about(words, one)), None)
        used |= {said} - {None}
        published = "" if said is None else printed[said]["published"]
        if not published and (one.lacking or not one.values):
            continue
        verdict, reason = _judged(row, claim, one, published)
        yield row(
            one.word,
            one.method,
            one.setting,
            name,
            verdict,
            published=published,
            values=_shown(one, verdict),
            runs=one.runs,
            reason="; ".join(filter(None, (reason, one.without))),
            tolerance=f"{claim['label']} {criterion(claim)}",
        )
    for place, words in enumerate(printed):
        if place not in used:
            word, setting = words["dataset"], parse_setting(words["setting"])
            reason = comparison["missing"].get(word) or comparison["left_out"] or "not asked for at this scale"
            method, said = words["method"] or comparison["method"], words["published"]
            yield row(word, method, setting, name, verdicts.NOT_RUN, published=said, reason=reason)


def _shown(one: Found, verdict: str) -> list[float]:
    """The numbers of a row: of a bound their mean, if it decides anything."""
    if verdict == verdicts.NOT_RUN:
        return []
    return [statistics.fmean(one.values)] if one.lacking else one.values


def _is_about(words: Mapping[str, str], one: Found) -> bool:
    setting = {key: str(value) for key, value in one.setting.items()}
    return (
        words["dataset"] in ("", one.word)
        and words["method"] in ("", one.method)
        and parse_setting(words["setting"]).items() <= setting.items()
    )


def _judged(row: Row, claim: Mapping[str, Any], one: Found, published: str) -> tuple[str, str]:
    if not one.values:
        return verdicts.NOT_RUN, one.lacking or "there is nothing to measure it on at this scale"
    differs = [
        f"{key} {one.setting.get(key)}, published for {value}"
        for key, value in claim.get("comparable", {}).items()
        if str(one.setting.get(key)) != str(value)
    ]
    incomparable = next(filter(None, map(row.incomparable, one.words)), None) or "; ".join(differs)
    if incomparable:
        return (verdicts.NOT_RUN, one.lacking) if one.lacking else (verdicts.NOT_COMPARABLE, incomparable)
    judged = SEEDS[claim.get("seeds", "mean")](one.values)
    if one.lacking:
        return _judged_from_below(claim, one, published, judged)
    told = f"our criterion for this claim: {criterion(claim)}"
    if "tolerance" in claim:
        if not published:
            return verdicts.NOT_COMPARABLE, "the paper prints no number"
        return verdicts.judge(float(published), judged, claim["tolerance"], claim.get("better", "lower")), ""
    good = _holds(claim, judged)
    if not published:
        return (
            verdicts.NOT_COMPARABLE,
            f"the paper says nothing of it; {criterion(claim)} {'holds' if good else 'fails'}",
        )
    return (verdicts.REPRODUCED if good else verdicts.DEVIATES), told


def _judged_from_below(claim: Mapping[str, Any], one: Found, published: str, bound: float) -> tuple[str, str]:
    """What a number says that the true one is at least: that it is large enough, or nothing."""
    if published and claim.get("better") == "higher" and "tolerance" in claim:
        verdict = verdicts.judge(float(published), bound, claim["tolerance"], "higher")
        if verdict != verdicts.DEVIATES:
            return verdict, _AT_LEAST.format(one.lacking)
    if published and list(filter(claim.__contains__, _CRITERIA)) == ["at_least"] and _holds(claim, bound):
        return verdicts.REPRODUCED, _AT_LEAST.format(one.lacking)
    return verdicts.NOT_RUN, one.lacking


_AT_LEAST = "at least this: {}; they count with the last epoch up to which they were looked at after each"
_CRITERIA = ("tolerance", "between", "at_least", "at_most")


def _holds(claim: Mapping[str, Any], value: float) -> bool:
    low, high = claim.get("between", (-math.inf, math.inf))
    return max(low, claim.get("at_least", -math.inf)) <= value <= min(high, claim.get("at_most", math.inf))


def criterion(claim: Mapping[str, Any]) -> str:
    """A claim's criterion in words."""
    if "tolerance" in claim:
        return "±({absolute:g} + {relative:.0%} of the published value)".format(**claim["tolerance"])
    parts = [f"between {claim['between'][0]:g} and {claim['between'][1]:g}"] if "between" in claim else []
    parts += [
        f"{word} {claim[key]:g}" for key, word in (("at_least", "at least"), ("at_most", "at most")) if key in claim
    ]
    return " and ".join(parts)


# What was found ------------------------------------------------------------------------------------------------------


def _found(found: Measurements, claim: Mapping[str, Any]) -> Iterator[Found]:
    """The numbers that a claim is about: one for each series, or one for each group of them."""
    metric = claim.get("metric", next(iter(found.spec["metrics"])))
    of, at_end = claim.get("of", {}), claim.get("reduce", "last") == "last"
    matching, partly = [], []
    for series in found.selected(of):
        whole = found.divided(series, metric, claim.get("over"), ends=at_end)
        curves = [_within(curve, claim) for curve in whole]
        missed = sum(not curve for curve in whole) if "reached" in found.spec["metrics"].get(metric, {}) else 0
        if missed:
            # A mean over those that reached it would be of the fast ones alone.
            bounds = found.at_least(series, metric, claim.get("over"))
            side = "" if bounds else ", by one side or both"
            reached = _reduced(whole, claim)
            partly.append((series, f"not reached in {missed} of {len(curves)} runs{side}", bounds, reached))
        elif any(curves):
            matching.append((series, curves))
    across = claim.get("across", "each")
    if across == "each":
        for series, curves in matching:
            yield _number(found, [series], dict(series["setting"]), _reduced(curves, claim))
        for series, why, bounds, _ in partly:
            yield replace(_number(found, [series], dict(series["setting"]), bounds), lacking=why)
        return
    by = claim.get("by", ["data"])
    groups: dict[tuple[str, ...], tuple[list[Any], list[Any]]] = {}
    for side, members in enumerate((matching, partly)):
        for member in members:
            groups.setdefault(tuple(_key(member[0], key) for key in by), ([], []))[side].append(member)
    kept = {*by, *(key for key, wanted in of.items() if not isinstance(wanted, list))}
    for members, lacking in groups.values():
        series = [one for one, *_ in (*members, *lacking)]
        setting = {key: value for key, value in series[0]["setting"].items() if key in kept}
        values = _combined([curves for _, curves in members], claim, across) if members else []
        number = _number(found, series, setting, values)
        yield _with_the_lacking(number, lacking, claim) if lacking else number


def _with_the_lacking(
    number: Found, lacking: Sequence[tuple[dict[str, Any], str, list[float], list[float]]], claim: Mapping[str, Any]
) -> Found:
    """A number over several series of which some have none: a bound from below, if it is anything."""
    places = [f"{', '.join([one['data'], *map(str, one['setting'].values())])} {why}" for one, why, *_ in lacking]
    bounds = [values for _, _, values, _ in lacking]
    across = claim["across"]
    if across == "largest" and number.values and not {"at_most", "between"} & set(claim):
        return replace(number, without=f"without {'; '.join(places)}")
    if across == "smallest" and all(bounds):
        smallest = min((*number.values, *itertools.chain(*bounds)))
        if smallest in (*number.values, *(value for *_, reached in lacking for value in reached)):
            # It was measured: what was not reached is no smaller.
            return replace(number, values=[smallest])
        return replace(number, values=[smallest], lacking="; ".join(places))
    return replace(number, values=[], lacking="; ".join(places))


def _number(
    found: Measurements, series: Sequence[dict[str, Any]], setting: dict[str, Any], values: list[float]
) -> Found:
    methods = list(dict.fromkeys(one["method"] for one in series))
    words = tuple(dict.fromkeys(one["data"] for one in series))
    runs = [run for one in series for run in found.runs(one)]
    return Found(words, methods[0] if len(methods) == 1 else "", setting, values, runs)


def _key(series: Mapping[str, Any], key: str) -> str:
    return str(series[key] if key in ("data", "method") else series["setting"].get(key, ""))


def _within(curve: Curve, claim: Mapping[str, Any]) -> Curve:
    low, high = claim.get("from", -math.inf), claim.get("to", math.inf)
    if "from" in claim or "to" in claim:
        return {mark: value for mark, value in curve.items() if mark is not None and low <= mark <= high}
    # What stands at no mark beside a curve is another number, unless it is all there is.
    return {mark: value for mark, value in curve.items() if mark is not None} or curve


def _combined(members: Sequence[list[Curve]], claim: Mapping[str, Any], across: str) -> list[float]:
    """One number a seed out of several series; one over all where their seeds are not equally many."""
    if across == "spread":
        return [value for value in map(spread, zip(*members, strict=False)) if value is not None]
    reduced = [_reduced(curves, claim) for curves in members]
    if len({len(values) for values in reduced}) == 1:
        return [ACROSS[across](same_seed) for same_seed in zip(*reduced, strict=True)]
    flat = [value for values in reduced for value in values]
    return [ACROSS[across](flat)] if flat else []


def _reduced(curves: Sequence[Curve], claim: Mapping[str, Any]) -> list[float]:
    reduce = REDUCTIONS[claim.get("reduce", "last")]
    values = (reduce(curve, claim) for curve in curves if curve)
    return [float(value) for value in values if value is not None]


def spread(curves: Sequence[Curve]) -> float | None:
    """The largest difference in log₁₀ between two curves, over the marks that all have."""
    gaps = []
    for mark in common_marks(curves):
        logs = [math.log10(curve[mark]) for curve in curves if curve[mark] > 0]
        gaps.append(max(logs) - min(logs) if len(logs) == len(curves) else math.inf)
    return max(gaps, default=None)


def slope(curve: Mapping[Any, float], claim: Mapping[str, Any]) -> float | None:
    """Of the least-squares line through a curve, on logarithmic axes unless the claim says linear."""
    scales = [math.log if axis == "log" else float for axis in claim.get("axes", ("log", "log"))]
    logarithmic = [axis == "log" for axis in claim.get("axes", ("log", "log"))]
    points = [
        (mark, value)
        for mark, value in curve.items()
        if mark is not None
        and math.isfinite(value)
        and all(number > 0 for number, log in zip((mark, value), logarithmic, strict=True) if log)
    ]
    if len({mark for mark, _ in points}) < 2:
        return None
    x, y = ([scale(point[side]) for point in points] for side, scale in enumerate(scales))
    return statistics.linear_regression(x, y).slope


REDUCTIONS: dict[str, Callable[[Curve, Mapping[str, Any]], float | None]] = {
    "at": lambda curve, claim: curve.get(claim["at"]),
    "first": lambda curve, claim: curve[in_order(curve)[0]],
    "last": lambda curve, claim: last(curve),
    "largest": lambda curve, claim: max(curve.values()),
    "smallest": lambda curve, claim: min(curve.values()),
    "mean": lambda curve, claim: statistics.fmean(curve.values()),
    "slope": slope,
    "share_under": lambda curve, claim: sum(value <= claim["level"] for value in curve.values()) / len(curve),
    "first_under": lambda curve, claim: first(curve, lambda value: value <= claim["level"]),
}
ACROSS: dict[str, Callable[[Sequence[float]], float]] = {
    "smallest": min,
    "largest": max,
    "mean": statistics.fmean,
}
SEEDS: dict[str, Callable[[Sequence[float]], float]] = {"mean": statistics.fmean, "smallest": min, "largest": max}
