"""Numbers as text: with the digits of the printed numbers, separated thousands, rounded seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from shallows_papers.experiments.comparing.table_rows import number_in

#: Numbers beyond these powers of ten are written with an exponent.
SMALL, LARGE = 1e-4, 1e7


def writer(printed: Sequence[str], values: Sequence[float], unit: str = "") -> Callable[[float], str]:
    """Return the function that formats the measured values of one metric.

    If there are printed numbers, it uses their number of decimals. Otherwise percentages get two decimals, counts
    none, times are rounded, and anything else gets three significant digits.
    """
    numbers = [text.lower() for text in printed if is_number(text)]
    finite = [value for value in values if math.isfinite(value)]
    if numbers and all("e" in text for text in numbers):
        return lambda value: _tidy(f"{value:.1e}")
    if any("e" in text for text in numbers):
        return significant
    if numbers or unit == "%":
        digits = max(map(decimals, numbers), default=2)
        return lambda value: f"{value:z,.{digits}f}" if abs(value) < 1e9 else _tidy(f"{value:.1e}")
    if unit == "s":
        return seconds
    if finite and all(value == int(value) and abs(value) < 1e15 for value in finite):
        return lambda value: f"{value:,.0f}" if value == int(value) else significant(value)
    return significant


def mean_beside(mean: float, deviation: float | None, write: Callable[[float], str]) -> str:
    """Format a mean; a mean that is tiny compared with its deviation is rounded to two digits of the deviation."""
    text = write(mean)
    if "e" in text and deviation is not None and abs(mean) <= deviation and SMALL <= deviation < LARGE:
        return f"{mean:z,.{max(0, 1 - math.floor(math.log10(deviation)))}f}"
    return text


def spread(mean: str, deviation: float, write: Callable[[float], str]) -> str:
    """Format a standard deviation with the decimals of its mean, or with one digit if it would round to zero."""
    if "e" in mean:
        return write(deviation)
    text = f"{deviation:,.{decimals(mean)}f}"
    return text if not deviation or float(text.replace(",", "")) else _tidy(f"{deviation:.1g}")


def significant(value: float) -> str:
    """Format with three significant digits, and all digits before the point: 0.0123, 1.50, 5,120."""
    size = abs(value)
    if value and not SMALL <= size < LARGE:
        return _tidy(f"{value:.3g}")
    return f"{value:z,.0f}" if size >= 100 else f"{value:.3g}"


def seconds(value: float) -> str:
    """Format seconds: whole from ten on, with tenths from one on, else with two significant digits."""
    size = abs(value)
    return f"{value:,.0f}" if size >= 10 else f"{value:.1f}" if size >= 1 else f"{value:.2g}"


def separated(text: str) -> str:
    """Separate the thousands of a printed number: 60000 becomes 60,000; other text is unchanged."""
    whole, point, rest = text.partition(".")
    return f"{int(whole):,}{point}{rest}" if whole.isdigit() and len(whole) > 3 and (not point or rest) else text


def decimals(text: str) -> int:
    """Return the number of decimals of a number in a text."""
    return len(text.partition(".")[2])


def is_number(text: str) -> bool:
    """Whether the text is a finite number."""
    value = number_in(text)
    return value is not None and math.isfinite(value)


def _tidy(text: str) -> str:
    mantissa, sign, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if sign else text
