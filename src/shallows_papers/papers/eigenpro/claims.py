"""Functions of this paper's claims."""

import math
import statistics
from collections.abc import Mapping, Sequence

from shallows_papers.papers.claim_functions import Point, common_points, fitted_slope, largest, ratio, smallest


def slope_of_logarithms(curve: Mapping[Point, float]) -> float | None:
    """Return the slope of values that are logarithms, against the logarithm of the evaluation point."""
    return fitted_slope(curve, math.log, float)


def median(curve: Mapping[Point, float]) -> float:
    """Return the median over the evaluation points."""
    return statistics.median(curve.values())


def spread(curve: Mapping[Point, float]) -> float:
    """Return the largest value divided by the smallest."""
    return ratio(largest(curve), smallest(curve))


def largest_log_gap(curves: Sequence[Mapping[Point, float]]) -> float | None:
    """Return the largest difference in log₁₀ of two curves at common points; infinite if a value has no logarithm."""
    gaps = []
    for point in common_points(curves):
        values = [curve[point] for curve in curves]
        whole = all(value > 0 and math.isfinite(value) for value in values)
        gaps.append(math.log10(max(values) / min(values)) if whole else math.inf)
    return max(gaps, default=None)
