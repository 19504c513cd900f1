"""Which method to take on a user's data, and the sentence that says why."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .intervals import Interval
from .results import MethodResult, Results
from .scores import reported


@dataclass(frozen=True)
class Recommendation:
    """The method to take.

    Attributes
    ----------
    chosen : MethodResult
        The fastest of those that cannot be told from the best.
    best : MethodResult
        The one of the lowest test error.
    equals : tuple of MethodResult
        Those whose difference from the best has an interval that holds zero, the best among them.
    behind : Interval
        How much worse the chosen one is than the best.
    """

    chosen: MethodResult
    best: MethodResult
    equals: tuple[MethodResult, ...]
    behind: Interval


def recommend(results: Results) -> Recommendation | None:
    """Choose the fastest of the methods that cannot be told from the best; None where none was run.

    A method is as good as the best where the 95 % interval of their difference on the same rows holds zero. Where
    nothing is known of the differences, as of a single test row, the best is taken.
    """
    if not results.done:
        return None
    best = results.done[0]
    gaps = {one.method: results.difference(one, best) for one in results.done[1:]}
    equals = [best, *(one for one in results.done[1:] if _holds_zero(gaps[one.method]))]
    chosen = min(equals, key=lambda one: one.seconds)
    return Recommendation(chosen, best, tuple(equals), gaps.get(chosen.method, Interval(0.0, 0.0)))


def sentence(results: Results, found: Recommendation | None) -> str:
    """The recommendation in words, with the measured numbers."""
    if found is None:
        return "No method could be run on these data, so none is recommended; the reasons stand below the table."
    chosen, best = found.chosen, found.best
    text = f"Take {chosen.label}: "
    if chosen is best:
        text += f"it has the {_best(results)} of all, {error(results, best)}"
        others = len(found.equals) - 1
        if others:
            text += (
                f", and is the fastest of the {others + 1} methods that cannot be told from it "
                f"({listed(found.equals[1:])}): it fits and predicts in {seconds(best.seconds)} s"
            )
        else:
            text += (
                f", and every other method is worse by more than chance explains; it takes {seconds(best.seconds)} s"
            )
    else:
        text += (
            f"{error(results, chosen)} on the test rows cannot be told from the {_best(results)}, "
            f"{error(results, best)} by {best.label} (difference {_gap(results, found.behind)}), and it fits and "
            f"predicts in {seconds(chosen.seconds)} s, where {best.label} takes {seconds(best.seconds)} s"
        )
        if len(found.equals) > 2:
            text += f"; {len(found.equals)} methods are as good as the best, and it is the fastest of them"
    text += "."
    if chosen.method == "constant":
        text += (
            " It gives one answer for all rows: no method that was tried has learned anything from these features that "
            "can be told from chance."
        )
    return text


def error(results: Results, one: MethodResult) -> str:
    """What a method reaches on the test rows, in words: ``3.1 % errors``, or of a regression ``R² 0.92``."""
    value = sum(one.scores) / len(one.scores)
    if results.task == "classification":
        return f"{value:.3g} % errors"
    return f"R² {reported(results.task, value):.3g}"


def listed(methods: tuple[MethodResult, ...], most: int = 3) -> str:
    """The first of some methods, and how many more there are."""
    names = [one.label for one in methods[:most]]
    return ", ".join(names) + (f" and {len(methods) - most} more" if len(methods) > most else "")


def seconds(value: float) -> str:
    """Seconds with three digits, never none: ``0.000812``, ``0.31``, ``12.4``, ``1,250``."""
    if value >= 100:
        return f"{value:,.0f}"
    text = f"{max(value, 1e-6):.3g}"
    return f"{float(text):.6f}".rstrip("0") if "e" in text else text


def _best(results: Results) -> str:
    return "lowest test error" if results.task == "classification" else "highest test R²"


def _gap(results: Results, gap: Interval) -> str:
    if results.task == "classification":
        return f"{gap.mean:.2g} points, 95 % interval {gap.low:.2g} to {gap.high:.2g}"
    return f"{gap.mean:.2g} of the target's variance, 95 % interval {gap.low:.2g} to {gap.high:.2g}"


def _holds_zero(gap: Interval) -> bool:
    return math.isfinite(gap.half_width) and gap.low <= 0
