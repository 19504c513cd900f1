"""Functions of this paper's claims."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from shallows_papers.papers.claim_functions import Point, common_points, fitted_slope


def slope_of_logarithms(curve: Mapping[Point, float]) -> float | None:
    """The slope over the logarithm of the evaluation point of values that are logarithms already."""
    return fitted_slope(curve, math.log, float)


def largest_log_gap(curves: Sequence[Mapping[Point, float]]) -> float | None:
    """The largest difference in log₁₀ of two curves over their common points; infinite where a value has no log."""
    gaps = []
    for point in common_points(curves):
        values = [curve[point] for curve in curves]
        whole = all(value > 0 and math.isfinite(value) for value in values)
        gaps.append(math.log10(max(values) / min(values)) if whole else math.inf)
    return max(gaps, default=None)
