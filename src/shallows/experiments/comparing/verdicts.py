"""Verdicts: what a measured number says about a published one, by the kind of evidence that it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

REPRODUCED = "reproduced"
BETTER = "better"
AGREES = "agrees"
DEVIATES = "deviates"
UNDECIDED = "undecided"
NOT_COMPARABLE = "not comparable"
NOT_RUN = "not run"
DERIVATION = "derivation"
#: On a user's own data, beside which nothing is published.
MEASURED = "measured"

_PARTS = (("n_train", "training"), ("n_test", "test"))
#: Share by which the size of the data may differ from the printed one, since papers round their sizes.
ROUNDED_SIZE = 0.1

VERDICTS = (REPRODUCED, BETTER, AGREES, DEVIATES, UNDECIDED, NOT_COMPARABLE, NOT_RUN, DERIVATION, MEASURED)

#: What a printed item may be. A derivation is shown and counted nowhere, and so is what no paper prints ("own").
KINDS = ("number", "order", "theorem", "fact")
DERIVED = "derivation"
OWN = "own"

#: Of a criterion that was set or moved after results had been looked at.
AFTER = "after a look"

#: Of several rows about one printed item, the verdict that the item has is the first of these that one of them has.
PRECEDENCE = (DEVIATES, UNDECIDED, BETTER, REPRODUCED, AGREES, NOT_COMPARABLE, NOT_RUN)


def judge(published: float, measured: float, margin: float, better: str = "lower") -> str:
    """Compare two numbers that can be compared.

    Parameters
    ----------
    published, measured : float
    margin : float
        How far they may lie apart.
    better : {"lower", "higher", "neither"}
        Which side of the published value is the good one; neither where the value describes the data.

    Returns
    -------
    str
        ``reproduced`` within the margin, ``better`` or ``deviates`` beyond it; what is not finite deviates.
    """
    difference = measured - published
    if abs(difference) <= margin:
        return REPRODUCED
    if better == "neither" or difference - difference != 0:
        return DEVIATES
    return BETTER if (difference < 0) == (better == "lower") else DEVIATES


def of_kind(verdict: str, kind: str) -> str:
    """The verdict in the words of a kind of evidence: a fact agrees or not, and is never better."""
    if kind == "fact":
        return {REPRODUCED: AGREES, BETTER: DEVIATES}.get(verdict, verdict)
    return verdict


def holds(claim: Mapping[str, Any], value: float) -> bool:
    """Whether a number satisfies the criterion of a claim, which is not a tolerance; what is not finite does not."""
    low, high = _limits(claim)
    return math.isfinite(value) and low <= value <= high


def of_interval(claim: Mapping[str, Any], low: float, high: float) -> str:
    """The verdict on an interval: ``reproduced`` where all of it satisfies the criterion, ``deviates`` where none does.

    An interval that lies on both sides of a limit, or that is not finite, decides nothing.
    """
    least, most = _limits(claim)
    if least <= low and high <= most:
        return REPRODUCED
    return DEVIATES if high < least or low > most else UNDECIDED


def _limits(claim: Mapping[str, Any]) -> tuple[float, float]:
    low, high = claim.get("between", (claim.get("at_least", -math.inf), claim.get("at_most", math.inf)))
    return low, high


def upper_limit(claim: Mapping[str, Any]) -> float:
    """What a number may be at most; infinite where nothing is said."""
    return _limits(claim)[1]


def criterion(claim: Mapping[str, Any]) -> str:
    """The criterion of a claim or a metric in words."""
    if "tolerance" in claim:
        return tolerance_words(claim["tolerance"])
    if "between" in claim:
        text = "between {:g} and {:g}".format(*claim["between"])
    else:
        text = f"at least {claim['at_least']:g}" if "at_least" in claim else f"at most {claim['at_most']:g}"
    if not claim.get("paired"):
        return text
    return f"{text}, for the whole 95 % interval of the {'paired values' if {'over', 'less'} & set(claim) else 'mean'}"


def criterion_of(definition: Mapping[str, Any]) -> str:
    """What is judged, its criterion, and the reason of the tolerance or of the limit."""
    reason = definition.get("tolerance", definition).get("reason", "")
    return f"{definition['label']} {criterion(definition)}" + (f" ({reason})" if reason else "")


def tolerance_words(tolerance: Mapping[str, Any]) -> str:
    """A tolerance in words."""
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


def of_item(found: Iterable[str]) -> str:
    """The verdict on a printed item beside which several rows stand: the first of `PRECEDENCE` that one of them has."""
    return min(found, key=PRECEDENCE.index)


def incomparable_data(word: str, paper: Mapping[str, Any] | None, used: Mapping[str, Any]) -> str | None:
    """Why numbers on the data that was used cannot stand beside the paper's, or None where they can.

    Parameters
    ----------
    word : str
        The paper's word for its dataset.
    paper : mapping or None
        Its ``dataset``, ``n_train``, ``n_test`` in the catalogue's terms, as far as known; ``any`` where what it says
        is about any data, as a theorem is; None where the paper has no such dataset. Sizes may differ by a tenth.
    used : mapping
        ``dataset``, ``title``, ``n_train``, ``n_test`` of the data that was used.
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
