"""How much rounding and chance may change a measured number, and intervals over repetitions."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .evaluations import RunResult
from .table_rows import NOTHING, Measured

#: Quantile of the upper end of a 95 % interval.
LEVEL = 0.975


def standard_error(percentage: float, n: int) -> float:
    """Standard error of a rate counted on n points, in percentage points; at 0 or 100 % about that for one error."""
    share = percentage / 100.0
    return 100.0 * math.sqrt(max(share * (1.0 - share), 1.0 / n) / n)


def half_digit(printed: str) -> float:
    """Half a unit of the last digit of a printed number: 0.05 for 15.0, 0.5 for 15, 5e-8 for 2.17e-05."""
    mantissa, _, exponent = printed.strip().lower().partition("e")
    return 0.5 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def margin(
    printed: str,
    tolerance: Mapping[str, Any],
    measured: Measured = NOTHING,
    runs: Sequence[RunResult] = (),
    spread: str = "",
) -> float:
    """Return how much a mean may differ from a printed number.

    The parts of the tolerance are added:

    - ``absolute``;
    - ``relative`` times the printed value;
    - ``half_digit``: half a unit of the last printed digit;
    - ``standard_errors`` times √(c² + s²(1 + 1/n)). Here s is the standard deviation over n repetitions; the printed
      value counts as one more repetition. If the paper prints a deviation p (``spread``), this is √(c² + s²/n + p²).

    c is the standard error of an error in percent that was counted on ``counted_on`` (``test``, ``train`` or a number
    of points). It enters once, since both errors are counted on the same points.
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
    """Whether the repetitions scatter so much that the margin decides nothing.

    This is so if the margin exceeds rounding and counting alone by more than a quarter of the printed number and is
    more than twice as wide. Without this rule a diverging series would agree with nearly everything.
    """
    firm = margin(printed, tolerance, runs=runs, spread=spread)
    return within > max(2.0 * firm, firm + abs(float(printed)) / 4.0)


def interval(measured: Measured, counted: float | None = None) -> tuple[float, float] | None:
    """Return a 95 % interval (Student's t) for a mean over repetitions; None for one repetition or non-finite values.

    ``counted`` is an additional variance of the mean, from the points on which all repetitions are counted.
    """
    if not measured.is_finite or (measured.deviation is None and counted is None):
        return None
    from scipy.stats import norm, t

    square = (counted or 0.0) * norm.ppf(LEVEL) ** 2
    if measured.deviation is not None:
        square += measured.deviation**2 / measured.count * t.ppf(LEVEL, measured.count - 1) ** 2
    reach = float(math.sqrt(square))
    return measured.mean - reach, measured.mean + reach
