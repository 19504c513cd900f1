"""How far a measured number may be from a printed one by rounding and chance; intervals over repetitions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .evaluations import RunResult
from .table_rows import NOTHING, Measured

#: Quantile at the upper end of a 95 % interval.
LEVEL = 0.975


def standard_error(percentage: float, n: int) -> float:
    """Standard error of a rate counted on n points, in percentage points; at 0 or 100 %, about that of one error."""
    share = percentage / 100.0
    return 100.0 * math.sqrt(max(share * (1.0 - share), 1.0 / n) / n)


def half_digit(printed: str) -> float:
    """Half a unit of the last digit of a printed number: 0.05 of 15.0, 0.5 of 15, 5e-8 of 2.17e-05."""
    mantissa, _, exponent = printed.strip().lower().partition("e")
    return 0.5 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def margin(
    printed: str,
    tolerance: Mapping[str, Any],
    measured: Measured = NOTHING,
    runs: Sequence[RunResult] = (),
    spread: str = "",
) -> float:
    """How far a mean may lie from a printed number.

    The parts of the tolerance are added: ``absolute``; ``relative`` to the printed value; with ``half_digit`` half a
    unit of the last printed digit; and ``standard_errors``, a multiple of √(c² + s²(1 + 1/n)). There s is the standard
    deviation over n repetitions: the printed value is taken for one more of them. Where a deviation p (``spread``) is
    printed as well, of however many repetitions, it is √(c² + s²/n + p²). Where ``counted_on`` says on what an error in
    percent was counted (``test``, ``train`` or a number of points), c is its standard error. It enters once, since both
    errors are counted on the same points.
    """
    published = float(printed)
    total = tolerance.get("absolute", 0.0) + tolerance.get("relative", 0.0) * abs(published)
    if tolerance.get("half_digit"):
        total += half_digit(printed)
    variance, counted = 0.0, tolerance.get("counted_on")
    if counted is not None and runs:
        n_points = counted if isinstance(counted, int) else min(run.record["data"][f"n_{counted}"] for run in runs)
        variance += standard_error(published, n_points) ** 2
    if measured.deviation is not None and measured.is_finite:
        variance += measured.deviation**2 * ((0.0 if spread else 1.0) + 1.0 / measured.count)
    variance += float(spread or 0.0) ** 2
    return total + tolerance.get("standard_errors", 0.0) * math.sqrt(variance)


def scatters(
    printed: str, within: float, tolerance: Mapping[str, Any], runs: Sequence[RunResult] = (), spread: str = ""
) -> bool:
    """Whether the scatter of the repetitions makes a margin so wide that it decides nothing.

    That is so where it exceeds what rounding and counting alone allow by more than a quarter of the printed number, and
    is more than twice as wide: a diverging series would agree with nearly everything.
    """
    firm = margin(printed, tolerance, runs=runs, spread=spread)
    return within > max(2.0 * firm, firm + abs(float(printed)) / 4.0)


def interval(measured: Measured, counted: float | None = None) -> tuple[float, float] | None:
    """A 95 % interval for a mean over repetitions, or None where one repetition, or what is not finite, gives none.

    Their spread is taken by Student's t. ``counted`` is a variance of their mean beside that, by the points on which
    all of them are counted.
    """
    if not measured.is_finite or (measured.deviation is None and counted is None):
        return None
    from scipy.stats import norm, t

    square = (counted or 0.0) * norm.ppf(LEVEL) ** 2
    if measured.deviation is not None:
        square += measured.deviation**2 / measured.count * t.ppf(LEVEL, measured.count - 1) ** 2
    reach = float(math.sqrt(square))
    return measured.mean - reach, measured.mean + reach
