"""Functions of this paper's claims."""

from collections.abc import Mapping

from shallows_papers.papers.claim_functions import Point, slope


def slope_of_last_doublings(curve: Mapping[Point, float]) -> float | None:
    """Return the slope on logarithmic axes over the last five doublings, the same range for all scales."""
    end = max(point for point in curve if point is not None)
    return slope({point: value for point, value in curve.items() if point is not None and point >= 0.03 * end})
