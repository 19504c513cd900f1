"""Numbers as text: with the digits of the printed ones, counts with separated thousands, seconds rounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from shallows_papers.experiments.comparing.table_rows import number_in

#: Beyond these powers of ten a number is written with an exponent.
SMALL, LARGE = 1e-4, 1e7


def writer(printed: Sequence[str], values: Sequence[float], unit: str = "") -> Callable[[float], str]:
    """How the measured values of one metric are written.

    Beside printed numbers as many decimals are written as they have (printed words say nothing about digits);
    percentages get two, counts none, times are rounded, and anything else gets three significant digits.
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
    """A mean as text; one that is tiny beside its deviation is rounded to two digits of the deviation."""
    text = write(mean)
    if "e" in text and deviation is not None and abs(mean) <= deviation and SMALL <= deviation < LARGE:
        return f"{mean:z,.{max(0, 1 - math.floor(math.log10(deviation)))}f}"
    return text


def spread(mean: str, deviation: float, write: Callable[[float], str]) -> str:
    """A standard deviation with the decimals of its mean, or one digit of its own where it would round to nothing."""
    if "e" in mean:
        return write(deviation)
    text = f"{deviation:,.{decimals(mean)}f}"
    return text if not deviation or float(text.replace(",", "")) else _tidy(f"{deviation:.1g}")


def significant(value: float) -> str:
    """Three significant digits, and all digits before the point: 0.0123, 1.50, 5,120."""
    size = abs(value)
    if value and not SMALL <= size < LARGE:
        return _tidy(f"{value:.3g}")
    return f"{value:z,.0f}" if size >= 100 else f"{value:.3g}"


def seconds(value: float) -> str:
    """Whole seconds from ten on, tenths from one on, below it two significant digits."""
    size = abs(value)
    return f"{value:,.0f}" if size >= 10 else f"{value:.1f}" if size >= 1 else f"{value:.2g}"


def separated(text: str) -> str:
    """A printed number with its thousands separated: 60000 becomes 60,000; anything else stays as it is."""
    whole, point, rest = text.partition(".")
    return f"{int(whole):,}{point}{rest}" if whole.isdigit() and len(whole) > 3 and (not point or rest) else text


def decimals(text: str) -> int:
    """How many decimals a number is written with."""
    return len(text.partition(".")[2])


def is_number(text: str) -> bool:
    """Whether the text is a finite number."""
    value = number_in(text)
    return value is not None and math.isfinite(value)


def _tidy(text: str) -> str:
    mantissa, sign, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if sign else text
