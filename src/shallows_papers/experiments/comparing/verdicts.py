"""Verdicts on how a measured number compares with a published one, by the kind of evidence."""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

from shallows.errors import UnknownNameError


class Verdict(StrEnum):
    """What a measurement says about a printed item: the word, its mark in a table cell, its meaning."""

    REPRODUCED = (
        "reproduced",
        "✓",
        "the whole 95 % interval of several repetitions lies within the tolerance, or as the criterion asks",
    )
    ONE_SEED = (
        "reproduced, one seed",
        "✓₁",
        "a single repetition lies within the tolerance, or as the criterion asks; nothing is known of its scatter",
    )
    AGREES = "agrees", "✓", "a fact that is the same here"
    DEVIATES = (
        "deviates",
        "✗",
        "the whole interval, or the single repetition, lies outside of the tolerance or criterion, or is not finite",
    )
    REFUTED = (
        "refuted as printed",
        "≠",
        "a statement that a run contradicts, and of which the errata give a correction",
    )
    MISPRINT = (
        "misprint",
        "≠",
        "a slip in the text, such as a missing constant, that a run contradicts, and that the errata correct",
    )
    UNDECIDED = (
        "undecided",
        "?",
        "the interval lies partly within the tolerance, or the criterion asks for one and there is none",
    )
    NOT_COMPARABLE = "not comparable", "○", "measured at another scale, on other data, or beside no printed number"
    NOT_RUN = "not run", "", "not measured; the reason is given"
    DERIVATION = (
        "derivation",
        "∴",
        "follows from a formula or from the program itself, so that no run can contradict it",
    )
    QUOTATION = (
        "quotation",
        "“",
        "what nobody can run again: hours on the hardware of its time, and results that a paper quotes from others",
    )
    MEASURED = "measured", "", "measured and not judged: a method of our own, or data beside which nothing is published"

    def __new__(cls, word: str, mark: str, meaning: str) -> Self:
        """Make a member that is its word."""
        verdict = str.__new__(cls, word)
        verdict._value_, verdict.mark, verdict.meaning = word, mark, meaning
        return verdict

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise UnknownNameError("verdict", value, cls)

    @property
    def css(self) -> str:
        """The CSS class that sets its color."""
        return self.replace(",", "").replace(" ", "-")


#: Verdicts that agree with a printed number or statement.
AGREEING = (Verdict.REPRODUCED, Verdict.ONE_SEED, Verdict.AGREES)
#: Verdicts where nothing was measured.
UNMEASURED = (Verdict.NOT_RUN, Verdict.QUOTATION)

#: Verdicts that may depend on an interval.
DECIDED_BY_INTERVAL = (Verdict.REPRODUCED, Verdict.DEVIATES, Verdict.UNDECIDED)

#: The kinds of printed items with their meanings.
CALIBRATED = "calibrated"
KINDS = {
    "number": "printed and measured",
    CALIBRATED: "a number that helped to choose a setting by which it is judged; no headline counts it",
    "order": "which is larger, or what power, printed in words",
    "theorem": "a statement that a run could have contradicted",
    "fact": "a size or a parameter, which agrees or does not",
}
#: Evidence that is neither shown nor counted, like what no paper prints ("own").
DERIVED, QUOTED = "derivation", "quotation"

#: Why a number deviates. The configuration gives the cause of each deviation; the default is the last of these.
CAUSES = (
    "setting not printed",
    "our setting differs",
    "the paper contradicts itself",
    "other hardware",
    "other data",
    "refuted as printed",
    "unexplained",
)
UNEXPLAINED = CAUSES[-1]

#: A claim is ``paired`` in this way if its interval includes the counting of errors on the test points.
COUNTED = "counted"

#: When a criterion was set: after the results were known.
AFTER = "after a look"

#: The order in which an item takes its verdict from the verdicts of its rows.
PRECEDENCE = (
    Verdict.DEVIATES,
    Verdict.REFUTED,
    Verdict.MISPRINT,
    Verdict.UNDECIDED,
    Verdict.ONE_SEED,
    Verdict.REPRODUCED,
    Verdict.AGREES,
    Verdict.NOT_COMPARABLE,
    Verdict.NOT_RUN,
)

_PARTS = (("n_train", "training"), ("n_test", "test"))
#: Relative difference allowed between the size of the data and the printed size, since papers round their sizes.
ROUNDED_SIZE = 0.1


#: Why a number with scattered repetitions is undecided.
SCATTERED = "the repetitions scatter by more than a quarter of the printed number"
#: Why a number whose interval is partly within its margin is undecided.
STRADDLING = "the 95 % interval of the mean lies partly within the margin"


def halved(runs: Sequence[Any]) -> str:
    """Say why runs do not decide where the program halved steps that the printed algorithm keeps; else return ""."""
    n = sum(bool(run.record.get("rollbacks")) for run in runs)
    return f"the program halved the step in {n} of {len(runs)} runs, lest they diverge" if n else ""


#: The first word of the reason for a value that is missing because a training diverged; its cell shows it too.
DIVERGED = "diverged"


def diverged(n: int, n_runs: int) -> str:
    """Say why a value is missing where some runs diverged."""
    return f"{DIVERGED} in {n} of {n_runs} runs"


def judge(
    published: float,
    measured: float,
    margin: float,
    scattered: bool = False,
    interval: tuple[float, float] | None = None,
) -> tuple[Verdict, str]:
    """Judge a measured number by the printed number; return the verdict and its reason.

    Several repetitions have a 95 % interval. The verdict is ``reproduced`` if the whole interval lies within the
    margin of the printed number, ``deviates`` if none of it does, and ``undecided`` otherwise. It is also ``undecided``
    if the repetitions scatter so much that the margin decides nothing. A single repetition has no interval. It is
    ``reproduced, one seed`` within the margin, else ``deviates``; a NaN deviates too.
    """
    if interval is None:
        return (Verdict.ONE_SEED if abs(measured - published) <= margin else Verdict.DEVIATES), ""
    low, high = interval
    if low - published > margin or published - high > margin:
        return Verdict.DEVIATES, ""
    if scattered:
        return Verdict.UNDECIDED, SCATTERED
    if published - low <= margin and high - published <= margin:
        return Verdict.REPRODUCED, ""
    return Verdict.UNDECIDED, "" if high == math.inf else STRADDLING


#: Repetitions that a claim that one method is better than another needs.
ENOUGH_SEEDS = 5


def rival(claim: Mapping[str, Any]) -> str | None:
    """Return the method that a claim compares another one with, if there is one."""
    return {**claim.get("over", {}), **claim.get("less", {})}.get("method")


def is_about_rivals(claim: Mapping[str, Any]) -> bool:
    """Whether a claim says that one method is better than another, which only several repetitions can decide."""
    return claim["evidence"] == "order" and bool(rival(claim)) and not {"between", "tolerance"} & claim.keys()


def holds(claim: Mapping[str, Any], value: float) -> bool:
    """Whether a number satisfies the criterion of a claim that is not a tolerance; False if it is not finite."""
    low, high = limits(claim)
    return math.isfinite(value) and low <= value <= high


def of_interval(claim: Mapping[str, Any], low: float, high: float) -> Verdict:
    """Judge an interval: ``reproduced`` if all of it satisfies the criterion, ``deviates`` if none of it does.

    An interval that contains a limit or is not finite is ``undecided``.
    """
    least, most = limits(claim)
    if least <= low and high <= most:
        return Verdict.REPRODUCED
    return Verdict.DEVIATES if high < least or low > most else Verdict.UNDECIDED


def limits(claim: Mapping[str, Any]) -> tuple[float, float]:
    """Return the smallest and the largest number that a claim allows; infinite without a limit."""
    low, high = claim.get("between", (claim.get("at_least", -math.inf), claim.get("at_most", math.inf)))
    return low, high


def criterion(claim: Mapping[str, Any]) -> str:
    """Return the criterion of a claim or a metric as text."""
    if "tolerance" in claim:
        return _tolerance_in_words(claim["tolerance"])
    if "between" in claim:
        text = "between {:g} and {:g}".format(*claim["between"])
    else:
        text = f"at least {claim['at_least']:g}" if "at_least" in claim else f"at most {claim['at_most']:g}"
    if not claim.get("paired"):
        return text
    return f"{text}, for the whole 95 % interval of the {'paired values' if {'over', 'less'} & set(claim) else 'mean'}"


def criterion_of(definition: Mapping[str, Any]) -> str:
    """Describe what is judged, its criterion, and the reason for the tolerance or the limit."""
    reason = definition.get("tolerance", definition).get("reason", "")
    return f"{definition['label']} {criterion(definition)}" + (f" ({reason})" if reason else "")


def _tolerance_in_words(tolerance: Mapping[str, Any]) -> str:
    parts = []
    if tolerance.get("absolute"):
        parts.append(f"{tolerance['absolute']:g}")
    if tolerance.get("relative"):
        parts.append(f"{tolerance['relative']:.0%} of the published value")
    if tolerance.get("half_digit"):
        parts.append("half of the last printed digit")
    if tolerance.get("standard_errors"):
        parts.append(f"{tolerance['standard_errors']:g} standard errors")
    return f"±({' + '.join(parts)})" if parts else "±0"


def incomparable_data(word: str, paper: Mapping[str, Any] | None, used: Mapping[str, Any]) -> str | None:
    """Say why numbers on the used data cannot be compared with the paper's, or return None where they can.

    ``word`` is the paper's word for its dataset. ``paper`` describes that dataset in the catalogue's terms; it is
    ``any`` where the paper speaks of any data, as in a theorem, and None where the paper has no such dataset. Sizes
    may differ by a tenth.
    """
    if paper is None:
        return f"{used['title']} is not among the data of the paper"
    if paper.get("any"):
        return None
    differs = paper.get("dataset") != used["dataset"] or any(
        paper.get(key) is not None and abs(used[key] - paper[key]) > ROUNDED_SIZE * paper[key] for key, _ in _PARTS
    )
    if not differs:
        return None
    return f"measured on {_described(used['title'], used)}; published for {_described(word, paper)}"


def _described(name: str, sizes: Mapping[str, Any]) -> str:
    parts = [f"{sizes[key]:,} {part}" for key, part in _PARTS if sizes.get(key)]
    return f"{name}, {' and '.join(parts)} points" if parts else name
