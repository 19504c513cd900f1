"""The functions that several papers' claims name in the configuration, and the arithmetic of curves.

A curve is a dictionary from evaluation point to value. The point is None for a number that belongs to a run as a whole.
A function of `REDUCTIONS` makes one number of one curve (``reduce`` in the configuration); one of `ACROSS` makes one
number of those of several settings (``across``). A function of one paper is in its folder, in
``shallows_papers/papers/<paper>/claims.py``, and is named as ``module:function``; one that ``across`` names gets the
curves of the settings. The plan reads this module, so it imports nothing heavy.
"""

from __future__ import annotations

import importlib
import math
import operator
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from shallows.errors import ShallowsError, UnknownNameError

Point = int | float | None
Curve = dict[Point, float]


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


def slope(curve: Mapping[Point, float]) -> float | None:
    """The slope of the least-squares line through a curve on logarithmic axes, see `fitted_slope`."""
    return fitted_slope(curve, math.log, math.log)


def fitted_slope(
    curve: Mapping[Point, float], x: Callable[[float], float], y: Callable[[float], float]
) -> float | None:
    """The slope of the least-squares line through a curve, whose axes have the scales ``x`` and ``y``.

    It is not a number where a value is infinite, is none, or has no logarithm that its axis asks for: a curve that
    diverges has no slope, whatever its other values are. None is returned for fewer than two points.
    """
    points = [pair for pair in curve.items() if pair[0] is not None]
    if len(points) < 2:
        return None
    for pair in points:
        for number, scale in zip(pair, (x, y), strict=True):
            if not math.isfinite(number) or (scale is math.log and number <= 0):
                return math.nan
    along, values = ([scale(pair[side]) for pair in points] for side, scale in enumerate((x, y)))
    return statistics.linear_regression(along, values).slope


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "last": last,
    "smallest": smallest,
    "largest": largest,
    "slope": slope,
    "mean": mean,
    "growth": growth,
}
#: Functions of the numbers that the curves of several settings are reduced to.
ACROSS: dict[str, Callable[[Sequence[float]], float]] = {"smallest": least, "largest": most}


def find(name: str, known: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """A function by its name, or that of a paper as ``module:function``."""
    module, _, function = name.partition(":")
    if not function:
        UnknownNameError.check("function", name, known)
        return known[name]
    try:
        found = vars(importlib.import_module(module))
    except ModuleNotFoundError as error:
        raise ShallowsError(f"The function {name!r} cannot be found: {error}.") from None
    UnknownNameError.check(f"function of {module}", function, [one for one in found if callable(found[one])])
    return found[function]


def takes_curves(across: str | None) -> bool:
    """Whether a function over several settings gets their curves, and not one number for each."""
    return ":" in (across or "")
