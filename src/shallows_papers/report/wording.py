"""Readable names of columns, values and numbers, and the label of a table or figure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shallows_papers.experiments.comparing.table_rows import NAMED_KEYS, number_in

if TYPE_CHECKING:
    from .target import Target


def name_of(target: Target, key: str, value: str) -> str:
    """Return a value of a key for readers; ``labels`` in the JSON has priority."""
    labels = target.meta.get("labels") or {}
    if key == "metric":
        return words(str(labels.get(value, value)), target.units.get(value, ""))
    if value in labels:
        return str(labels[value])
    if key in NAMED_KEYS:
        return value
    if is_number(value):
        return f"{int(value):,}" if value.isdigit() else value
    text = value.replace("_", " ")
    return text[0].upper() + text[1:] if len(text) > 1 else text


def heading_of(target: Target, key: str, value: str) -> str:
    """Return a value of a key as the heading of a column; a bare number or letter gets the name of its key."""
    name = name_of(target, key, value)
    return f"{key_title(target, key)} {name}" if is_number(value) or len(value) == 1 else name


def key_title(target: Target, key: str) -> str:
    """Return a key's name as a heading."""
    labels = target.meta.get("labels") or {}
    return str(labels.get(key, words(key)))


def words(name: str, unit: str = "") -> str:
    """Return a column name for readers: ``test_error`` in ``%`` becomes ``test error (%)``."""
    text = name.replace("_", " ")
    return f"{text} ({unit})" if unit and f"({unit})" not in text else text


def quantity(text: str, unit: str = "") -> str:
    """Return a number with separated thousands, a minus sign and its unit, if it has one; text stays as it is."""
    if not is_number(text.replace(",", "")):
        return text
    return separated(text).replace("-", "−") + (f"\u00a0{unit}" if unit else "")


def data_text(data: Mapping[str, Any]) -> str:
    """Describe the data that were used, with their sizes: ``MNIST: n = 60,000 training, 10,000 test, d = 784``."""
    sizes = [f"{data[key]:,} {part}" for key, part in (("n_train", "training"), ("n_test", "test")) if data.get(key)]
    parts = ["n = " + ", ".join(sizes)] if sizes else []
    if data.get("n_features"):
        parts.append(f"d = {data['n_features']:,}")
    return str(data.get("title", "unnamed data")) + (f": {', '.join(parts)}" if parts else "")


def label(meta: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the scale, data, seeds, hardware and code behind a table or figure, as pairs of a name and a text."""
    given = meta.get("label", {})
    times = Counter(map(data_text, given.get("data", ())))
    phrases = [text + (f" ({count} preparations)" if count > 1 else "") for text, count in times.items()]
    return [
        ("Scale", meta.get("scale") or "unknown"),
        ("Data", "; ".join(phrases) or "none was used"),
        ("Seeds", ", ".join(map(str, given.get("seeds", ()))) or "unknown"),
        ("Hardware", "; ".join(given.get("hardware", ())) or "unknown"),
        ("Code", code_text(given.get("code", {}))),
    ]


def code_text(code: Mapping[str, Any]) -> str:
    """Describe a code version: ``shallows 0.1.0, commit 0123abc, with uncommitted changes``, or several commits."""
    parts = [f"shallows {code['version']}"] if code.get("version") else []
    shown = [commit[:10] for commit in code.get("commits", ())]
    if shown:
        parts.append(f"{'commit' if len(shown) == 1 else 'commits'} {', '.join(shown)}")
    if code.get("dirty"):
        parts.append("with uncommitted changes")
    return ", ".join(parts) or "unknown"


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
