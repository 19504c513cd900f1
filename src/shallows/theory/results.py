"""What every analysis returns: curves over an index and single numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class AnalysisResult:
    """Curves and numbers.

    Attributes
    ----------
    index : sequence of numbers
        The x axis of the curves.
    curve : mapping of str to sequence of float or None
        Metric -> one value for each place of the index; None where it has none there. What came out as no number, or
        infinite, is given as that.
    numbers : mapping of str to float
        Metrics that have no place on the index.
    effective : mapping
        What was used where the program chose.
    """

    index: Sequence[float]
    curve: Mapping[str, Sequence[float | None]]
    numbers: Mapping[str, float] = field(default_factory=dict)
    effective: Mapping[str, Any] = field(default_factory=dict)
