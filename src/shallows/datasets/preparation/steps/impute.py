"""The step ``impute``: fill in missing values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.datasets.files import DatasetError
from shallows.datasets.parameter_rules import is_number, rule
from shallows.datasets.preparation.step import FeatureStep, recorded

if TYPE_CHECKING:
    import numpy as np

    from shallows.datasets.preparation.working_table import Table

STRATEGIES = ("mean", "median", "most_frequent")
# A median needs all values of its column at once; so many columns are taken together as fit into this.
_MEDIAN_BYTES = 64 << 20


@dataclass
class Impute(FeatureStep):
    """Fill in missing values (NaN) by what the training part has in their column.

    By hand, since scikit-learn's SimpleImputer wants all rows at once, and takes eight times as long for a median.

    Attributes
    ----------
    strategy : {"mean", "median", "most_frequent"} or number
        Columns of codes of categories take the most frequent value, whatever is asked for the others.
    """

    name: ClassVar[str] = "impute"
    learns: ClassVar[bool] = True
    fills_missing: ClassVar[bool] = True
    strategy: str | float = field(
        default="mean",
        metadata=rule(
            lambda value: value in STRATEGIES or is_number(value), f"one of {', '.join(STRATEGIES)}, or a number"
        ),
    )

    def fit(self, table: Table) -> dict[str, Any]:
        import numpy as np

        d = table.n_features
        if table.sparse or table.transforms:
            raise DatasetError("The step impute must be the first that changes features, and the data must be dense.")
        missing, total, present = np.zeros(d, dtype=np.int64), np.zeros(d), np.zeros(d, dtype=np.int64)
        for block in table.blocks("train"):
            gaps = np.isnan(block)
            missing += gaps.sum(axis=0)
            present += (~gaps).sum(axis=0)
            total += np.where(gaps, 0.0, block).sum(axis=0)
        empty = np.flatnonzero(present == 0)
        if len(empty):
            raise DatasetError(
                f"Feature {empty[0] + 1:,} has no value at all in the training part. Leave the column out."
            )
        codes = np.isin(np.arange(d), table.categorical)
        self.statistics_ = total / present
        if not isinstance(self.strategy, str):
            self.statistics_[~codes] = self.strategy
        frequent = np.ones(d, dtype=bool) if self.strategy == "most_frequent" else codes
        self._fit_columns(table, np.flatnonzero(frequent), _mode)
        if self.strategy == "median":
            self._fit_columns(table, np.flatnonzero(~codes), np.median)
        return {"values": recorded(self.statistics_), "filled_in_training": int(missing.sum())}

    def _fit_columns(self, table: Table, columns: np.ndarray, middle: Any) -> None:
        """Set the statistic of some columns by all their values, as many columns at a time as fit."""
        import numpy as np

        at_once = max(1, _MEDIAN_BYTES // (8 * table.n_rows("train")))
        for start in range(0, len(columns), at_once):
            some = columns[start : start + at_once]
            values = np.concatenate([block[:, some] for block in table.blocks("train")])
            for column, found in zip(some, values.T, strict=True):
                self.statistics_[column] = middle(found[~np.isnan(found)])

    def transform(self, block: np.ndarray) -> np.ndarray:
        import numpy as np

        return np.where(np.isnan(block), self.statistics_, block)


def _mode(values: np.ndarray) -> float:
    import numpy as np

    distinct, counts = np.unique(values, return_counts=True)
    return distinct[counts.argmax()]
