"""The values of the repetitions of one measurement, with their mean and deviation."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """Values of the repetitions of one measurement, or their statistics where the values were not kept.

    The mean and the deviation follow from the values. Without values they are what is known of them; the deviation is
    None for one repetition, and not a number where a value is not finite.
    """

    values: tuple[float, ...] = ()  # one for each repetition that gave one
    repetitions: int = 0  # how many there were; by default as many as there are values
    passed: int | None = None  # how many passed the level that the number is about; None where it is about none
    is_bound: bool = False  # whether some never passed it, so that the values are lower bounds
    left_out: tuple[str, ...] = ()  # series in which some never passed it, where the number is made of several
    mean: float | None = None
    deviation: float | None = None

    def __post_init__(self) -> None:
        values = tuple(map(float, self.values))
        known = {"values": values, "repetitions": self.repetitions or len(values)}
        if values:
            deviation = statistics.stdev if all(map(math.isfinite, values)) else lambda _: math.nan
            known |= {"mean": statistics.fmean(values), "deviation": deviation(values) if len(values) > 1 else None}
        for name, value in known.items():
            object.__setattr__(self, name, value)

    @property
    def count(self) -> int:
        """Over how many repetitions the mean is."""
        return len(self.values) or self.repetitions

    @property
    def n_without(self) -> int:
        """How many repetitions gave no value."""
        known = self.values or self.mean is None
        return self.repetitions - len(self.values) if known else 0

    @property
    def n_unpassed(self) -> int:
        """How many repetitions never passed the level."""
        return 0 if self.passed is None else self.repetitions - self.passed

    @property
    def is_finite(self) -> bool:
        """Whether there is a value, and all are finite."""
        return all(one is None or math.isfinite(one) for one in (self.mean, self.deviation)) and self.mean is not None


NOTHING = Measured()
