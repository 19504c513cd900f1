"""A new preparation step: it has its own module in ``datasets/preparation/steps/`` and a line in `STEPS` there.

What was prepared before stays as it is, because it depends on its own steps alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from shallows_papers.datasets.parameter_rules import is_number, rule
from shallows_papers.datasets.preparation.step import FeatureStep, recorded
from shallows_papers.datasets.preparation.working_table import Table
from shallows_papers.lazy_numpy import np


@dataclass
class Clip(FeatureStep):
    """Limit every feature to a number of standard deviations about its mean over the training part.

    Attributes
    ----------
    deviations : float
    """

    name: ClassVar[str] = "clip"
    learns: ClassVar[bool] = True
    deviations: float = field(
        default=3.0, metadata=rule(lambda value: is_number(value) and value > 0, "a positive number")
    )

    def fit(self, table: Table) -> dict[str, Any]:
        """Learn mean and deviation block by block."""
        n = table.n_rows("train")
        mean = sum(block.sum(axis=0) for block in table.blocks("train")) / n
        deviation = np.sqrt(sum(((block - mean) ** 2).sum(axis=0) for block in table.blocks("train")) / n)
        self.low_, self.high_ = mean - self.deviations * deviation, mean + self.deviations * deviation
        return {"low": recorded(self.low_), "high": recorded(self.high_)}

    def transform(self, block: np.ndarray) -> np.ndarray:
        """Limit a block of either part."""
        return np.clip(block, self.low_, self.high_)
