"""The result of an analysis: curves over an index, and single numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


def log_marks(last: int, count: int, first: int = 1) -> list[int]:
    """Return at most ``count`` whole numbers from ``first`` to ``last``, evenly spaced in the logarithm."""
    first = min(first, last)
    return sorted({round(first * (last / first) ** (i / (count - 1))) for i in range(count)})


def curves_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Convert dictionaries metric -> value for each place to a dictionary metric -> values."""
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


@dataclass(frozen=True)
class AnalysisResult:
    """Curves and numbers."""

    index: Sequence[float]  # The x axis of the curves
    # Metric -> one value for each place of the index; None if there is no value. NaN and infinite values are kept.
    curve: Mapping[str, Sequence[float | None]]
    numbers: Mapping[str, float] = field(default_factory=dict)  # Metrics without an index
    effective: Mapping[str, Any] = field(default_factory=dict)  # Values chosen by the program
