"""Functions of the claims of the papers on doubly stochastic gradients."""

import math
import statistics
from collections.abc import Mapping, Sequence

from shallows_papers.papers.claim_functions import Point, last


def median_of_ends(curves: Sequence[Mapping[Point, float]]) -> float:
    """The median of the last values of curves; not a number where one of them is not finite."""
    ends = [last(curve) for curve in curves]
    return statistics.median(ends) if all(map(math.isfinite, ends)) else math.nan
