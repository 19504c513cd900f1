"""Functions of the lecture's claims."""

import math
from collections.abc import Mapping

from shallows_papers.papers.claim_functions import Point, in_order, ratio


def last_increment(curve: Mapping[Point, float]) -> float:
    """The last increment of a curve divided by the first: 1 for a straight line, less for a curve that flattens.

    If the evaluation points grow by a constant factor, a logarithm is a straight line.
    """
    values = [curve[point] for point in in_order(curve)]
    return ratio(values[-1] - values[-2], values[1] - values[0]) if len(values) > 2 else math.nan
