"""The functions that claims name in the configuration, and the arithmetic of curves that they share.

A curve is a dictionary from evaluation point to value. The point is None for a number that belongs to a run as a whole.
A function of `REDUCTIONS` makes one number of one curve (``reduce`` in the configuration); one of `ACROSS` makes one
number of those of several settings, one of `ACROSS_CURVES` one of their curves (``across``). A new function is written
here and can be named at once: its keyword parameters are checked against its signature when the plan is read. So this
module imports nothing heavy.
"""

from __future__ import annotations

import inspect
import math
import operator
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args, get_type_hints

from shallows.errors import ShallowsError, UnknownNameError

Point = int | float | None
Curve = dict[Point, float]
Axis = Literal["log", "linear"]


# Curves --------------------------------------------------------------------------------------------------------------


def in_order(points: Iterable[Point]) -> list[Point]:
    """Evaluation points ascending; None, which belongs to the whole run, first."""
    return sorted(points, key=lambda point: (point is not None, point or 0))


def common_points(curves: Sequence[Mapping[Point, float]]) -> list[Point]:
    """The evaluation points that all curves have, ascending."""
    return in_order(set(curves[0]).intersection(*curves[1:])) if curves else []


def ratio(numerator: float, denominator: float) -> float:
    """Quotient of two numbers; by zero it is infinite, or not a number for 0/0."""
    if denominator:
        return numerator / denominator
    return math.nan if numerator == 0 or math.isnan(numerator) else math.copysign(math.inf, numerator)


def divide(curve: Mapping[Point, float], divisor: Mapping[Point, float], *, ends: bool = False) -> Curve:
    """Divide the values at each evaluation point; a divisor without a point divides all of them.

    With ``ends``, curves that end at different points are divided at their ends: an iteration of one method is not that
    of another where their batches differ, and after one pass each is at its last point.
    """
    return _pointwise(ratio, curve, divisor, ends)


def subtract(curve: Mapping[Point, float], other: Mapping[Point, float], *, ends: bool = False) -> Curve:
    """Subtract the values at each evaluation point, as `divide` divides them."""
    return _pointwise(operator.sub, curve, other, ends)


def _pointwise(
    function: Callable[[float, float], float], curve: Mapping[Point, float], other: Mapping[Point, float], ends: bool
) -> Curve:
    if set(other) == {None}:
        return {point: function(value, other[None]) for point, value in curve.items()}
    if ends and curve and other and in_order(curve)[-1] != in_order(other)[-1]:
        return {in_order(curve)[-1]: function(last(curve), last(other))}
    return {point: function(value, other[point]) for point, value in curve.items() if point in other}


def divide_by_first(curve: Mapping[Point, float]) -> Curve:
    """Divide a curve by its first value."""
    start = first(curve) if curve else math.nan
    return {point: ratio(value, start) for point, value in curve.items()}


def mean_curve(curves: Sequence[Mapping[Point, float]]) -> Curve:
    """The mean of several curves at their common evaluation points."""
    return {point: statistics.fmean(curve[point] for curve in curves) for point in common_points(curves)}


def least(values: Iterable[float]) -> float:
    """The smallest of some numbers; not a number where one of them is not finite, since what diverged has no size."""
    return _of_finite(min, values)


def most(values: Iterable[float]) -> float:
    """The largest of some numbers; not a number where one of them is not finite."""
    return _of_finite(max, values)


def median(values: Iterable[float]) -> float:
    """The median of some numbers; not a number where one of them is not finite."""
    return _of_finite(statistics.median, values)


def _of_finite(function: Callable[[Sequence[float]], float], values: Iterable[float]) -> float:
    values = list(values)
    return function(values) if all(map(math.isfinite, values)) else math.nan


# Reductions of one curve to one number -------------------------------------------------------------------------------


def first(curve: Mapping[Point, float]) -> float:
    """The value at the first evaluation point."""
    return curve[in_order(curve)[0]]


def last(curve: Mapping[Point, float]) -> float:
    """The value at the last evaluation point, or the one number that a run has."""
    return curve[in_order(curve)[-1]]


def smallest(curve: Mapping[Point, float]) -> float:
    """The smallest value of a curve; not a number where one of them is not finite."""
    return least(curve.values())


def largest(curve: Mapping[Point, float]) -> float:
    """The largest value of a curve; not a number where one of them is not finite."""
    return most(curve.values())


def mean(curve: Mapping[Point, float]) -> float:
    """The mean over the evaluation points."""
    return statistics.fmean(curve.values())


def growth(curve: Mapping[Point, float]) -> float:
    """The last value divided by the first."""
    return ratio(last(curve), first(curve))


def last_increment(curve: Mapping[Point, float]) -> float:
    """The last increment of a curve divided by the first: 1 for a straight line, less for a curve that flattens.

    Evaluation points that grow by one factor make a straight line of a logarithm.
    """
    values = [curve[point] for point in in_order(curve)]
    if len(values) < 3:
        return math.nan
    return ratio(values[-1] - values[-2], values[1] - values[0])


def slope(curve: Mapping[Point, float], *, x: Axis = "log", y: Axis = "log", share: float = 0.0) -> float | None:
    """The slope of the least-squares line through a curve, on logarithmic axes unless ``x`` or ``y`` says otherwise.

    Evaluation points below a ``share`` of the last one are left out, so that a curve is looked at over the same range
    at each scale.

    It is not a number where a value is infinite, is none, or has no logarithm that its axis asks for: a curve that
    diverges has no slope, whatever its other values are. None is returned for fewer than two points.
    """
    scales: list[Callable[[float], float]] = [math.log if axis == "log" else float for axis in (x, y)]
    points = [pair for pair in curve.items() if pair[0] is not None]
    points = [pair for pair in points if pair[0] >= share * max(point for point, _ in points)]
    if len(points) < 2:
        return None
    for pair in points:
        for number, scale in zip(pair, scales, strict=True):
            if not math.isfinite(number) or (scale is math.log and number <= 0):
                return math.nan
    along, values = ([scale(pair[side]) for pair in points] for side, scale in enumerate(scales))
    return statistics.linear_regression(along, values).slope


# Reductions over several settings ------------------------------------------------------------------------------------


def largest_log_gap(curves: Sequence[Mapping[Point, float]]) -> float | None:
    """The largest difference in log₁₀ of two curves over their common points; infinite where a value has no log."""
    gaps = []
    for point in common_points(curves):
        values = [curve[point] for curve in curves]
        whole = all(value > 0 and math.isfinite(value) for value in values)
        gaps.append(math.log10(max(values) / min(values)) if whole else math.inf)
    return max(gaps, default=None)


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "last": last,
    "smallest": smallest,
    "largest": largest,
    "slope": slope,
    "mean": mean,
    "growth": growth,
    "last_increment": last_increment,
}
#: Functions over several settings: of the numbers that their curves are reduced to, or of the curves themselves.
ACROSS: dict[str, Callable[[Sequence[float]], float]] = {"smallest": least, "largest": most, "median": median}
ACROSS_CURVES: dict[str, Callable[[Sequence[Curve]], float | None]] = {"largest_log_gap": largest_log_gap}


def check_call(function: Callable[..., Any], parameters: Mapping[str, Any]) -> None:
    """Check keyword parameters against the signature of a named function; an error gives the nearest name."""
    signature = inspect.signature(function).parameters.values()
    keywords = {one.name: one for one in signature if one.kind is one.KEYWORD_ONLY}
    hints = get_type_hints(function) if keywords else {}
    for name, value in parameters.items():
        if name not in keywords:
            raise UnknownNameError(f"parameter of {function.__name__}", name, keywords)
        choices = get_args(hints.get(name))
        if choices and value not in choices:
            raise UnknownNameError(f"value of {name}", value, choices)
    missing = [name for name, one in keywords.items() if one.default is one.empty and name not in parameters]
    if missing:
        raise ShallowsError(f"{function.__name__} needs the parameter {', '.join(missing)}.")
