"""The step ``unit``: scale features to [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.datasets.parameter_rules import is_number, rule
from shallows.datasets.preparation.step import FeatureStep, recorded

if TYPE_CHECKING:
    import numpy as np

    from shallows.datasets.preparation.working_table import Table


def _is_range(value: Any) -> bool:
    if value is None:
        return True
    return isinstance(value, Sequence) and len(value) == 2 and all(map(is_number, value)) and value[0] < value[1]


@dataclass
class Unit(FeatureStep):
    """Scale features to [0, 1].

    By their known range where the catalogue or `range` gives one, the same for all (pixels); otherwise each
    by its smallest and largest value in the training part, so that test values may lie outside.

    By hand, since scikit-learn's MinMaxScaler multiplies by the inverse of the range, which rounds otherwise.

    Attributes
    ----------
    range : (float, float) or None
    """

    name: ClassVar[str] = "unit"
    learns: ClassVar[bool] = True
    range: Sequence[float] | None = field(default=None, metadata=rule(_is_range, "two ascending numbers"))

    def fit(self, table: Table) -> dict[str, Any]:
        import numpy as np

        known = tuple(self.range) if self.range is not None else table.value_range
        self.known_ = known is not None
        if self.known_:
            self.low_, high = known
            self.spread_ = high - self.low_
            self.keeps_sparse = self.low_ == 0
            return {"range": [self.low_, high]}
        low, high = np.full(table.n_features, np.inf), np.full(table.n_features, -np.inf)
        for block in table.blocks("train"):
            least, most = _extremes(block)
            np.minimum(low, least, out=low)
            np.maximum(high, most, out=high)
        self.low_, self.spread_ = low, np.where(high > low, high - low, 1.0)
        self.keeps_sparse = table.sparse and not low.any()
        return {"minimum": recorded(low), "maximum": recorded(high)}

    def transform(self, block: Any) -> Any:
        if self.keeps_sparse and not self.known_:
            return block.multiply(1.0 / self.spread_).tocsr()
        return block / self.spread_ if self.keeps_sparse else (block - self.low_) / self.spread_

    def describe_output(self, table: Table) -> None:
        if self.known_:
            table.value_range = (0.0, 1.0)


def _extremes(block: Any) -> tuple[np.ndarray, np.ndarray]:
    if hasattr(block, "indptr"):
        from sklearn.utils.sparsefuncs import min_max_axis

        return min_max_axis(block, axis=0)
    return block.min(axis=0), block.max(axis=0)
