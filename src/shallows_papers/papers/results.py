"""The result of an analysis, curves over an index and single numbers, and how it is put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


def log_marks(last: int, count: int, first: int = 1) -> list[int]:
    """At most ``count`` whole numbers from ``first`` to ``last``, evenly spaced in the logarithm."""
    first = min(first, last)
    return sorted({round(first * (last / first) ** (i / (count - 1))) for i in range(count)})


def curves_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The values at each place, given as metric -> value, as metric -> values; all places have the same metrics."""
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


@dataclass(frozen=True)
class AnalysisResult:
    """Curves and numbers."""

    index: Sequence[float]  # The x axis of the curves
    # Metric -> one value for each place of the index; None where it has none there. What came out as no number, or
    # infinite, is given as that.
    curve: Mapping[str, Sequence[float | None]]
    numbers: Mapping[str, float] = field(default_factory=dict)  # Metrics that have no place on the index
    effective: Mapping[str, Any] = field(default_factory=dict)  # What was used where the program chose
