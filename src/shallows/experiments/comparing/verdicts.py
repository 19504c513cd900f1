"""Verdicts: what a measured number says about a published one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

REPRODUCED = "reproduced"
BETTER = "better"
DEVIATES = "deviates"
NOT_COMPARABLE = "not comparable"
NOT_RUN = "not run"
#: On a user's own data, beside which nothing is published.
MEASURED = "measured"

_PARTS = (("n_train", "training"), ("n_test", "test"))

VERDICTS = (REPRODUCED, BETTER, DEVIATES, NOT_COMPARABLE, NOT_RUN, MEASURED)


def margin(published: float, tolerance: Mapping[str, float]) -> float:
    """How far a measured value may lie from a published one: the absolute part plus the relative part of it."""
    return tolerance["absolute"] + tolerance["relative"] * abs(published)


def judge(published: float, measured: float, tolerance: Mapping[str, float], better: str = "lower") -> str:
    """Compare two numbers that can be compared.

    Parameters
    ----------
    published, measured : float
    tolerance : mapping
        ``absolute`` and ``relative``, which are added.
    better : {"lower", "higher", "neither"}
        Which side of the published value is the good one; neither where the value describes the data.

    Returns
    -------
    str
        ``reproduced`` within the tolerance, ``better`` or ``deviates`` beyond it; what is not finite deviates.
    """
    difference = measured - published
    if abs(difference) <= margin(published, tolerance):
        return REPRODUCED
    if better == "neither" or difference - difference != 0:
        return DEVIATES
    return BETTER if (difference < 0) == (better == "lower") else DEVIATES


def holds(claim: Mapping[str, Any], value: float) -> bool:
    """Whether a number satisfies the criterion of a claim, which is not a tolerance; what is no number does not."""
    low, high = claim.get("between", (claim.get("at_least", -math.inf), claim.get("at_most", math.inf)))
    return bool(low <= value <= high)


def criterion(claim: Mapping[str, Any]) -> str:
    """The criterion of a claim in words."""
    if "tolerance" in claim:
        return "±({absolute:g} + {relative:.0%} of the published value)".format(**claim["tolerance"])
    if "between" in claim:
        return "between {:g} and {:g}".format(*claim["between"])
    return f"at least {claim['at_least']:g}" if "at_least" in claim else f"at most {claim['at_most']:g}"


def incomparable_data(word: str, paper: Mapping[str, Any] | None, used: Mapping[str, Any]) -> str | None:
    """Why numbers on the data that was used cannot stand beside the paper's, or None where they can.

    Parameters
    ----------
    word : str
        The paper's word for its dataset.
    paper : mapping or None
        Its ``dataset``, ``n_train``, ``n_test`` in the catalogue's terms, as far as known; ``any`` where what it says
        is about any data, as a theorem is; None where the paper has no such dataset.
    used : mapping
        ``dataset``, ``title``, ``n_train``, ``n_test`` of the data that was used.
    """
    if paper is None:
        return f"{used['title']} is not among the data of the paper"
    if paper.get("any"):
        return None
    differs = paper.get("dataset") != used["dataset"] or any(
        paper.get(key) is not None and paper[key] != used[key] for key, _ in _PARTS
    )
    if not differs:
        return None
    return f"measured on {_described(used['title'], used)}; published for {_described(word, paper)}"


def _described(name: str, sizes: Mapping[str, Any]) -> str:
    parts = [f"{sizes[key]:,} {part}" for key, part in _PARTS if sizes.get(key)]
    return f"{name}, {' and '.join(parts)} points" if parts else name
