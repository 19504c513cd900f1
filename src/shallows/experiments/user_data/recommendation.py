"""Which method to take on a user's data, and the sentence that says why."""

from __future__ import annotations

from dataclasses import dataclass

from .intervals import Interval
from .results import MethodResult, Results
from .scores import reported

#: The best is taken where another one is faster by less than this, in seconds or as a share of the time.
_SOON, _MUCH = 0.1, 2.0


@dataclass(frozen=True)
class Recommendation:
    """The method to take.

    Attributes
    ----------
    chosen : MethodResult
        The fastest of those that are as good as the best; the best itself where none of them is much faster.
    best : MethodResult
        The one of the lowest test error.
    equals : tuple of MethodResult
        Those within one standard error of the best, which is the first of them.
    behind : Interval
        How much worse the chosen one is than the best.
    learned : bool
        Whether the best can be told from one answer for all rows, where that was tried.
    """

    chosen: MethodResult
    best: MethodResult
    equals: tuple[MethodResult, ...]
    behind: Interval
    learned: bool = True


def recommend(results: Results) -> Recommendation | None:
    """Choose the fastest of the methods that are as good as the best; None where none was run.

    As good is one whose difference from the best on the same rows is within one standard error of that difference (the
    rule of one standard error). A method that only cannot be told from the best, as it may be where there are few test
    rows, is not as good for that. Times of less than a tenth of a second, or up to twice another, count as equal.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone (1984), "Classification and regression trees", section 3.4.3.
    """
    if not results.done:
        return None
    best = results.done[0]
    gaps = {one.method: results.difference(one, best) for one in results.done[1:]}
    equals = [best, *(one for one in results.done[1:] if gaps[one.method].mean <= gaps[one.method].standard_error)]
    chosen = min(equals, key=lambda one: one.seconds)
    if best.seconds <= max(_SOON, _MUCH * chosen.seconds):
        chosen = best
    constant = gaps.get("constant")
    learned = best.method != "constant" and (constant is None or constant.low > 0)
    return Recommendation(chosen, best, tuple(equals), gaps.get(chosen.method, Interval(0.0, 0.0, 0.0)), learned)


def sentence(results: Results, found: Recommendation | None) -> str:
    """The recommendation in words, with the measured numbers."""
    if found is None:
        return "No method could be run on these data, so none is recommended; the reasons stand below the table."
    chosen, best, n_equals = found.chosen, found.best, len(found.equals)
    over = f" over {results.n_splits} divisions of the rows" if not results.by_rows else ""
    text = f"Take {chosen.label}: "
    if chosen is best:
        text += (
            f"it has the {_best(results)} of all, {error(results, best)}{over}, and fits and predicts in "
            f"{seconds(best.seconds)} s"
        )
        if n_equals == 1:
            text += "; no other method is within one standard error of it"
        else:
            text += f"; none of those within one standard error of it ({listed(found.equals[1:])}) is much faster"
    else:
        text += (
            f"{error(results, chosen)}{over} is within one standard error of the {_best(results)}, "
            f"{error(results, best)} by {best.label} (difference {_gap(results, found.behind)}), and it fits and "
            f"predicts in {seconds(chosen.seconds)} s, where {best.label} takes {seconds(best.seconds)} s"
        )
        if n_equals > 2:
            text += f"; {n_equals} methods are as good as the best, and it is the fastest of them"
    text += "."
    if not found.learned:
        text += (
            " Beware: not even the best method can be told from one answer for all rows, so these features say nothing "
            "of the target that so few rows would show."
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
        return f"{gap.mean:.2g} points, standard error {gap.standard_error:.2g}"
    return f"{gap.mean:.2g} of the target's variance, standard error {gap.standard_error:.2g}"
