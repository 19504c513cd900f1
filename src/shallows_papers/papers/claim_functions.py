"""Functions for the claims of several papers, which the configuration names, and the arithmetic of curves.

A curve is a dictionary from evaluation point to value. A number of a whole run has the point None.
A function of `REDUCTIONS` reduces a curve to a number (``reduce`` in the configuration). A function of `ACROSS` reduces
the numbers of several settings to one number (``across``). Functions for a single paper are in
``shallows_papers/papers/<paper>/claims.py`` and are named as ``module:function``; if ``across`` names one, it gets the
curves of the settings. The plan imports this module, so it must load quickly.
"""

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
    """Sort evaluation points in ascending order. None, the point of a whole run, comes first."""
    return sorted(points, key=lambda point: (point is not None, point or 0))


def common_points(curves: Sequence[Mapping[Point, float]]) -> list[Point]:
    """Return the evaluation points that all curves have, in ascending order."""
    return in_order(set(curves[0]).intersection(*curves[1:])) if curves else []


def ratio(numerator: float, denominator: float) -> float:
    """Divide two numbers; x/0 is infinite, and 0/0 is NaN."""
    if denominator:
        return numerator / denominator
    return math.nan if numerator == 0 or math.isnan(numerator) else math.copysign(math.inf, numerator)


def divide(curve: Mapping[Point, float], divisor: Mapping[Point, float], *, ends: bool = False) -> Curve:
    """Divide the values at each evaluation point. A divisor with the point None divides all values.

    With ``ends``, curves that end at different points are divided at their ends. Methods with different batches have
    different numbers of iterations in a pass, and after one pass each is at its last point.
    """
    return _pointwise(ratio, curve, divisor, ends)


def subtract(curve: Mapping[Point, float], other: Mapping[Point, float], *, ends: bool = False) -> Curve:
    """Subtract the values at each evaluation point; parameters as in `divide`."""
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
    """Return the smallest number; NaN if any is not finite, because a diverged run has no meaningful value."""
    return _of_finite(min, values)


def most(values: Iterable[float]) -> float:
    """Return the largest number; NaN if any is not finite."""
    return _of_finite(max, values)


def _of_finite(function: Callable[[Sequence[float]], float], values: Iterable[float]) -> float:
    values = list(values)
    return function(values) if all(map(math.isfinite, values)) else math.nan


# Reductions of one curve to one number -------------------------------------------------------------------------------


def first(curve: Mapping[Point, float]) -> float:
    """The value at the first evaluation point."""
    return curve[in_order(curve)[0]]


def last(curve: Mapping[Point, float]) -> float:
    """Return the value at the last evaluation point, or the single number of a run."""
    return curve[in_order(curve)[-1]]


def smallest(curve: Mapping[Point, float]) -> float:
    """Return the smallest value of a curve; NaN if any value is not finite."""
    return least(curve.values())


def largest(curve: Mapping[Point, float]) -> float:
    """Return the largest value of a curve; NaN if any value is not finite."""
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
    """Return the slope of the least-squares line through a curve on axes with the scales ``x`` and ``y``.

    It is NaN if a value is infinite or NaN, or has no logarithm on a logarithmic axis: a curve that diverges has no
    slope. With fewer than two points the result is None.
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
#: Functions of the numbers to which the curves of several settings are reduced.
ACROSS: dict[str, Callable[[Sequence[float]], float]] = {"smallest": least, "largest": most}


def find(name: str, known: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Find a function by its name, or a paper's function by ``module:function``."""
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
    """Whether a function over several settings gets their curves instead of one number for each."""
    return ":" in (across or "")
