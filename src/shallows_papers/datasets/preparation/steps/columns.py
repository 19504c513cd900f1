"""The steps ``impute`` (missing values) and ``one_hot`` (categorical columns)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.parameter_rules import is_number, is_whole, rule
from shallows_papers.datasets.preparation.step import FeatureStep, recorded
from shallows_papers.lazy_numpy import np

if TYPE_CHECKING:
    from shallows_papers.datasets.preparation.working_table import Table

STRATEGIES = ("mean", "median", "most_frequent")
# A median needs all values of a column at once. Columns are processed in groups of at most this many bytes.
_MEDIAN_BYTES = 64 << 20


@dataclass
class Impute(FeatureStep):
    """Fill in missing values (NaN) by a statistic of their column in the training part."""

    name: ClassVar[str] = "impute"
    learns: ClassVar[bool] = True
    fills_missing: ClassVar[bool] = True
    # {"mean", "median", "most_frequent"}, or a number. Categorical columns always use the most frequent value.
    strategy: str | float = field(
        default="mean",
        metadata=rule(
            lambda value: value in STRATEGIES or is_number(value), f"one of {', '.join(STRATEGIES)}, or a number"
        ),
    )

    def fit(self, table: Table) -> dict[str, Any]:
        from sklearn.impute import SimpleImputer

        d = table.n_features
        if table.sparse or table.transforms:
            raise DatasetError("The step impute must be the first that changes features, and the data must be dense.")
        total, n_present = np.zeros(d), np.zeros(d, dtype=np.int64)
        for block in table.blocks("train"):
            gaps = np.isnan(block)
            n_present += (~gaps).sum(axis=0)
            total += np.where(gaps, 0.0, block).sum(axis=0)
        empty = np.flatnonzero(n_present == 0)
        if len(empty):
            raise DatasetError(f"Feature {empty[0] + 1:,} has no value in the training part. Leave the column out.")
        coded = np.isin(np.arange(d), table.categorical)
        values = total / n_present
        if not isinstance(self.strategy, str):
            values[~coded] = self.strategy
        frequent = np.flatnonzero(coded | (self.strategy == "most_frequent"))
        values[frequent] = _by_column(table, frequent, _mode)
        if self.strategy == "median":
            values[~coded] = _by_column(table, np.flatnonzero(~coded), np.median)
        # Statistics are computed block by block. SimpleImputer would need all rows at once, and eight times as long for
        # a median. Here it is fitted on one row of the statistics.
        self.transformer_ = SimpleImputer().fit(values[None])
        return {"values": recorded(values), "filled_in_training": table.n_rows("train") * d - int(n_present.sum())}


def _by_column(table: Table, columns: np.ndarray, statistic: Callable[[np.ndarray], float]) -> list[float]:
    """Return a statistic of the training values of each column, in groups of columns that fit into memory."""
    values = []
    at_once = max(1, _MEDIAN_BYTES // (8 * table.n_rows("train")))
    for start in range(0, len(columns), at_once):
        some = columns[start : start + at_once]
        rows = np.concatenate([block[:, some] for block in table.blocks("train")])
        values += [statistic(column[~np.isnan(column)]) for column in rows.T]
    return values


def _mode(values: np.ndarray) -> float:
    distinct, counts = np.unique(values, return_counts=True)
    return distinct[counts.argmax()]


@dataclass
class OneHot(FeatureStep):
    """Replace every categorical column by one 0/1 column for each value in the training part.

    The new columns come after the other columns. A value that occurs only in the test part becomes a row of zeros.
    """

    name: ClassVar[str] = "one_hot"
    learns: ClassVar[bool] = True
    # Column numbers. None: the categorical columns of the catalogue
    columns: Sequence[int] | None = field(
        default=None,
        metadata=rule(lambda columns: columns is None or all(map(is_whole, columns)), "column numbers from 0"),
    )

    def fit(self, table: Table) -> dict[str, Any]:
        from sklearn.compose import ColumnTransformer
        from sklearn.preprocessing import OneHotEncoder

        columns = sorted(set(table.categorical if self.columns is None else self.columns))
        if not columns:
            raise DatasetError(
                f"The step one_hot has no columns to encode: the catalogue lists no categorical columns of "
                f"'{table.dataset.name}'. Name the columns: 'one_hot: {{columns: [...]}}'."
            )
        if columns[-1] >= table.n_features:
            raise DatasetError(
                f"The step one_hot names column {columns[-1]}, but there are {table.n_features} (counted from 0)."
            )
        table.make_dense()
        values = [np.empty(0)] * len(columns)
        for block in table.blocks("train"):
            values = [np.union1d(seen, block[:, column]) for seen, column in zip(values, columns, strict=True)]
        self.others_ = np.delete(np.arange(table.n_features), columns)
        self.n_features_ = len(self.others_) + sum(map(len, values))
        encoder = OneHotEncoder(categories=values, handle_unknown="ignore", sparse_output=False)
        parts = [("others", "passthrough", self.others_), ("categories", encoder, columns)]
        self.transformer_ = ColumnTransformer(parts, sparse_threshold=0).fit(np.zeros((1, table.n_features)))
        return {"columns": columns, "values": [recorded(seen) for seen in values]}

    def describe_output(self, table: Table) -> None:
        table.categorical = tuple(map(int, np.flatnonzero(np.isin(self.others_, table.categorical))))
        table.n_features, table.image, table.views = self.n_features_, None, None
        table.value_range = table.value_range if table.value_range == (0.0, 1.0) else None
