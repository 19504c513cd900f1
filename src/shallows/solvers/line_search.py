"""The minimum of a convex function along a line."""

import math
from collections.abc import Callable

MOST_STEPS = 50


def minimum_along(derivatives: Callable[[float], tuple[float, float]], rounding: float) -> float:
    """The a > 0 with the smallest value of a function, by Newton's method within a bracket.

    ``derivatives(a)`` returns its first and second derivative; a first derivative up to ``rounding`` counts as zero.
    """
    low, high, a = 0.0, math.inf, 1.0
    for _ in range(MOST_STEPS):
        first, second = derivatives(a)
        if second <= 0.0 or abs(first) <= rounding:
            break
        low, high = (low, a) if first > 0 else (a, high)
        tried = a - first / second
        if not low < tried < high:
            tried = 0.5 * (low + high) if math.isfinite(high) else 2.0 * a
        if tried == a:
            break
        a = tried
    return a
