"""What is guessed of a user's data where nothing is said: the task, and how the features are scaled."""

from __future__ import annotations

import numpy as np

from shallows.datasets.files import DatasetError
from shallows.datasets.user_data.request import Request
from shallows.datasets.user_data.summary import Summary, TargetSummary, count_of, plain_value

# Whole numbers of at most so many different values, each of them on several rows, are taken for classes.
_MOST_CLASSES = 30
_ROWS_PER_CLASS = 8


def guess_task(request: Request, summary: Summary) -> str:
    """Return the task, and note what it was guessed by.

    Raises
    ------
    DatasetError
        When the target cannot be that of the task that is asked for.
    """
    target, stated = summary.target, request.task
    values = target.values
    if values is not None and len(values) == 1:
        raise DatasetError(
            f"The target of {request.file} is the same in all rows: {plain_value(next(iter(values)))}. Nothing can be "
            "learned of it; is another column the target? Say target=NAME or target=NUMBER."
        )
    if target.text and stated == "regression":
        first = next(iter(values)) if values else "text"
        raise DatasetError(
            f"task=regression was asked for, and the target of {request.file} is text, such as {first!r}. Regression "
            "needs numbers: name another target, or say task=classification."
        )
    rare = values is not None and len(values) > max(2, target.n_rows // _ROWS_PER_CLASS)
    few = values is not None and (len(values) <= 2 or (target.whole and len(values) <= _MOST_CLASSES and not rare))
    if target.width > 1:
        if stated == "classification":
            raise DatasetError("task=classification was asked for, and there are several targets. Name one of them.")
        guess = "regression"
        why = f"there are {target.width} targets"
    elif target.text or few:
        guess = "classification"
        why = f"the target has {len(values) if values else 'many'} different values"
    else:
        guess = "regression"
        why = f"the target has {target.how_many} different values"
    task = stated or guess
    if not stated:
        other = "regression" if guess == "classification" else "classification"
        possible = target.width == 1 and not target.text and (few or (values is not None and not rare))
        change = f"; task={other} would change that" if possible else ""
        summary.guesses.append(f"the task is {task}, since {why}{change}")
    if task == "classification":
        _check_classes(request, target)
    return task


def _check_classes(request: Request, target: TargetSummary) -> None:
    if target.values is None or len(target.values) > max(2, target.n_rows // 2):
        raise DatasetError(
            f"The target of {request.file} has {target.how_many} different values in {target.n_rows:,} rows: those are "
            "no classes. " + ("Name another target." if target.text else "Say task=regression, or name another target.")
        )
    # One row each for training, for choosing and for testing.
    least = min(target.values, key=lambda value: target.values[value])
    if target.values[least] < 3:
        raise DatasetError(
            f"The class {plain_value(least)} of {request.file} has {count_of(target.values[least], 'row')}, and needs "
            "three: one to learn from, one to choose by and one to test on. Remove it or join it with another"
            + ("." if target.text else ", or say task=regression.")
        )


def shared_range(summary: Summary) -> list[float] | None:
    """The one range that most features fill, as pixels do."""
    if summary.low is None or len(summary.low) < 16 or summary.categorical:
        return None
    low, high = float(np.min(summary.low)), float(np.max(summary.high))
    filled = np.mean((summary.low == low) & (summary.high >= low + 0.9 * (high - low)))
    return [low, high] if high > low and filled >= 0.5 else None


def guess_scaling(request: Request, summary: Summary) -> str:
    """Return how the features are scaled, and note why."""
    if request.scaling is not None:
        return request.scaling
    if summary.sparse:
        summary.guesses.append("sparse features are left as they are")
        return "none"
    if (shared := shared_range(summary)) is not None:
        summary.guesses.append(
            f"the features share the range {shared[0]:g} to {shared[1]:g}, as pixels do, and are scaled together"
        )
        return "unit"
    summary.guesses.append("each number is scaled to mean 0 and variance 1")
    return "zscore"
