"""The step ``scale_columns``: the scale of a table's columns, by what they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shallows_papers.datasets.preparation.step import FeatureStep, recorded
from shallows_papers.lazy_numpy import np

if TYPE_CHECKING:
    from shallows_papers.datasets.preparation.working_table import Table


@dataclass
class ScaleColumns(FeatureStep):
    """Scale numbers to mean 0 and standard deviation 1, and columns of two values to 0 and 1.

    Categorical columns are left unchanged, for a later step one_hot. With a variance of 1, a column that is rarely 1
    would count more than a column that is often 1. Statistics are of the training part. Constant columns become 0.
    """

    name: ClassVar[str] = "scale_columns"
    learns: ClassVar[bool] = True

    def fit(self, table: Table) -> dict[str, Any]:
        from sklearn.preprocessing import StandardScaler

        table.make_dense()
        scaler = StandardScaler()
        low, high = np.full(table.n_features, np.inf), np.full(table.n_features, -np.inf)
        binary = np.ones(table.n_features, dtype=bool)
        for block in table.blocks("train"):
            scaler.partial_fit(block)
            # A column of two values has the same two in every block, or only one of them.
            least, most = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
            binary &= ((block == least) | (block == most)).all(axis=0)
            binary &= (low > high) | (((low == least) | (low == most)) & ((high == least) | (high == most)))
            low, high = least, most
        binary &= low < high
        coded = np.isin(np.arange(table.n_features), table.categorical)
        scaler.mean_ = np.where(coded, 0.0, np.where(binary, low, scaler.mean_))
        scaler.scale_ = np.where(coded, 1.0, np.where(binary, high - low, scaler.scale_))
        self.transformer_ = scaler
        columns = np.flatnonzero(binary & ~coded).tolist()
        return {"mean": recorded(scaler.mean_), "scale": recorded(scaler.scale_), "two_values": columns}

    def describe_output(self, table: Table) -> None:
        table.value_range = None
