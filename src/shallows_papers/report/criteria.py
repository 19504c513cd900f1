"""The criteria of a target as a table: what is judged, the limit, its reason, and when it was set."""

import re
from dataclasses import dataclass

from shallows_papers.experiments.comparing.verdicts import AFTER

from .target import Target, ordered
from .wording import name_of

#: What the criterion of a row begins with, after the name of what is judged.
_LIMIT = re.compile(r"(?:^|(?<= ))(?:±|between |at least |at most )")
#: When a criterion was set, in words.
SET = {"first commit": "before the results", AFTER: "after a look at results"}


@dataclass(frozen=True)
class Criterion:
    """A criterion with everything that is judged by it."""

    judged: tuple[str, ...]
    limit: str
    reason: str
    fixed: str


def criteria(target: Target) -> list[Criterion]:
    """Return the criteria of a target; those with the same limit, reason and time are one."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in target.rows:
        if row.tolerance:
            judged, limit, reason = parts(row.tolerance)
            named = judged or name_of(target, "metric", row.metric)
            found.setdefault((limit, reason, SET.get(row.fixed, "")), []).append(named)
    return [Criterion(tuple(ordered(judged)), *of) for of, judged in found.items()]


def parts(text: str) -> tuple[str, str, str]:
    """Split a criterion into what is judged, the limit and the reason, as ``verdicts.criterion_of`` joins them."""
    text, reason = _without_reason(text)
    limit = _LIMIT.search(text)
    if limit is None:
        return "", text, reason
    return text[: limit.start()].strip(), text[limit.start() :], reason


def _without_reason(text: str) -> tuple[str, str]:
    """Split the reason from the end, where it is in parentheses after a space."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == ")") - (text[place] == "(")
        if depth <= 0:
            break
    if text.endswith(")") and place and text[place - 1] == " ":
        return text[: place - 1], text[place + 1 : -1]
    return text, ""
