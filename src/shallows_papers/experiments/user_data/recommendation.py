"""The recommended method on a user's data, and the sentence that gives the reason."""

from dataclasses import dataclass

from shallows_papers.datasets.user_data.summary import some_of

from .method_results import Interval, MethodResult, Results
from .prediction_scores import reported

#: The best method is recommended if its model is at most this large, in kilobytes or times another method's model.
_SMALL, _MUCH = 1000.0, 2.0


@dataclass(frozen=True)
class Recommendation:
    """The recommended method, with the numbers behind the choice."""

    chosen: MethodResult  # the smallest model among the methods as good as the best; the best if its model is small
    best: MethodResult  # the method with the lowest test error
    equals: tuple[MethodResult, ...]  # the methods within one standard error of the best, the best first
    behind: Interval  # how much worse the chosen method is than the best
    learned: bool = True  # whether the best is surely better than a constant prediction, if that was tried


def recommend(results: Results) -> Recommendation | None:
    """Choose the method with the smallest model among those as good as the best; None if no method was run.

    A method is as good as the best if their difference on the same rows is within one standard error of that
    difference (the rule of one standard error: L. Breiman and others, 1984, "Classification and regression trees",
    section 3.4.3). A wide interval, as with few test rows, does not make a method as good. Sizes decide, since
    chance would decide between nearly equal times. Equal sizes are decided by the name.
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
    """Return the recommendation as text, with the measured numbers."""
    if found is None:
        return "No method could be run on these data, so none is recommended. The table lists the reasons."
    chosen, best, n_equals = found.chosen, found.best, len(found.equals)
    classes = results.task == "classification"
    lowest = "lowest test error" if classes else "highest test R²"
    over = f" over {results.n_splits} divisions" if not results.by_rows else ""
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
            " Warning: even the best method is not clearly better than predicting the same answer for every row. The "
            "features may not be related to the target, or there are too few rows to show it."
        )
    return text


def error(results: Results, one: MethodResult) -> str:
    """Return a method's test score as text: ``3.1 % errors``, or for regression ``R² 0.92``."""
    value = sum(one.scores) / len(one.scores)
    if results.task == "classification":
        return f"{value:.3g} % errors"
    return f"R² {reported(results.task, value):.3g}"


def seconds(value: float) -> str:
    """Format seconds with three significant digits: ``0.000812``, ``0.31``, ``12.4``, ``1,250``."""
    if value >= 100:
        return f"{value:,.0f}"
    text = f"{max(value, 1e-6):.3g}"
    return f"{float(text):.6f}".rstrip("0") if "e" in text else text
