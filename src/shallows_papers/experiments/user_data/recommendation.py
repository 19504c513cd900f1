"""The recommended method on a user's data, and the sentence that gives the reason."""

from __future__ import annotations

from dataclasses import dataclass

from shallows_papers.datasets.user_data.summary import some_of

from .method_results import Interval, MethodResult, Results
from .prediction_scores import reported

#: The best is taken where its model has at most so many kilobytes, or so many times those of another method.
_SMALL, _MUCH = 1000.0, 2.0


@dataclass(frozen=True)
class Recommendation:
    """The method to take."""

    chosen: MethodResult  # the one of the smallest model of those as good as the best; the best if its model is small
    best: MethodResult  # the method of the lowest test error
    equals: tuple[MethodResult, ...]  # those within one standard error of the best, which is the first of them
    behind: Interval  # how much worse the chosen one is than the best
    learned: bool = True  # whether the best is surely better than one answer for all rows, where tried


def recommend(results: Results) -> Recommendation | None:
    """Choose the method of the smallest model of those that are as good as the best; None where none was run.

    A method is as good where its difference from the best on the same rows is within one standard error of that
    difference (the rule of one standard error: L. Breiman and others, 1984, "Classification and regression trees",
    section 3.4.3). A wide interval, as with few test rows, does not make it as good. Sizes decide, since
    measured seconds would decide near ties by chance; equal sizes are decided by the name.
    """
    if not results.done:
        return None
    best, *others = results.done
    gaps = {one.method: results.difference(one, best) for one in others}
    equals = [best, *(one for one in others if gaps[one.method].mean <= gaps[one.method].standard_error)]
    chosen = min(equals, key=lambda one: (one.kilobytes, one.method))
    if best.kilobytes <= max(_SMALL, _MUCH * chosen.kilobytes):
        chosen = best
    constant = gaps.get("constant")
    learned = best.method != "constant" and (constant is None or constant.low > 0)
    return Recommendation(chosen, best, tuple(equals), gaps.get(chosen.method, Interval(0.0, 0.0, 0.0)), learned)


def sentence(results: Results, found: Recommendation | None) -> str:
    """The recommendation in words, with the measured numbers."""
    if found is None:
        return "No method could be run on these data, so none is recommended; the reasons stand below the table."
    chosen, best, n_equals = found.chosen, found.best, len(found.equals)
    classes = results.task == "classification"
    lowest = "lowest test error" if classes else "highest test R²"
    over = f" over {results.n_splits} divisions of the rows" if not results.by_rows else ""
    text = f"Take {chosen.label}: "
    if chosen is best:
        text += (
            f"it has the {lowest} of all, {error(results, best)}{over}, and fits and predicts in "
            f"{seconds(best.seconds)} s"
        )
        if n_equals == 1:
            text += "; no other method is within one standard error of it"
        else:
            others = some_of([one.label for one in found.equals[1:]], 3)
            text += f"; none of those within one standard error of it ({others}) has a far smaller model"
    else:
        unit = "points" if classes else "of the target's variance"
        gap = f"{found.behind.mean:.2g} {unit}, standard error {found.behind.standard_error:.2g}"
        text += (
            f"{error(results, chosen)}{over} is within one standard error of the {lowest}, "
            f"{error(results, best)} by {best.label} (difference {gap}), and its model is "
            f"{best.kilobytes / chosen.kilobytes:.2g} times smaller. It fits and predicts in "
            f"{seconds(chosen.seconds)} s, and {best.label} in {seconds(best.seconds)} s"
        )
        if n_equals > 2:
            text += f"; {n_equals} methods are as good as the best, and its model is the smallest of them"
    text += "."
    if not found.learned:
        text += (
            " Beware: not even the best method can be told from one answer for all rows, so these features say nothing "
            "of the target that so few rows would show."
        )
    return text


def error(results: Results, one: MethodResult) -> str:
    """A method's test score in words: ``3.1 % errors``, or of a regression ``R² 0.92``."""
    value = sum(one.scores) / len(one.scores)
    if results.task == "classification":
        return f"{value:.3g} % errors"
    return f"R² {reported(results.task, value):.3g}"


def seconds(value: float) -> str:
    """Seconds with three significant digits: ``0.000812``, ``0.31``, ``12.4``, ``1,250``."""
    if value >= 100:
        return f"{value:,.0f}"
    text = f"{max(value, 1e-6):.3g}"
    return f"{float(text):.6f}".rstrip("0") if "e" in text else text
