"""The step ``zscore``: give every feature mean 0 and standard deviation 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.datasets.preparation.step import FeatureStep, recorded

if TYPE_CHECKING:
    from shallows.datasets.preparation.working_table import Table


@dataclass
class ZScore(FeatureStep):
    """Give every feature mean 0 and standard deviation 1 over the training part; constant ones become 0.

    Attributes
    ----------
    center : bool
        Whether the mean is subtracted. Without that, sparse data stay sparse.
    numeric_only : bool
        Whether columns that hold codes of categories are left as they are, for a one_hot that follows.
    """

    name: ClassVar[str] = "zscore"
    learns: ClassVar[bool] = True
    center: bool = True
    numeric_only: bool = False

    def fit(self, table: Table) -> dict[str, Any]:
        import numpy as np
        from sklearn.preprocessing import StandardScaler

        self.keeps_sparse = not self.center
        if self.center:
            table.make_dense()
        self.scaler_ = scaler = StandardScaler(copy=True, with_mean=self.center)
        for block in table.blocks("train"):
            scaler.partial_fit(block)
        if self.numeric_only and table.categorical:
            kept = np.isin(np.arange(table.n_features), table.categorical)
            scaler.scale_ = np.where(kept, 1.0, scaler.scale_)
            scaler.mean_ = np.where(kept, 0.0, scaler.mean_)
        return {"mean": recorded(scaler.mean_) if self.center else None, "scale": recorded(scaler.scale_)}

    def transform(self, block: Any) -> Any:
        return self.scaler_.transform(block)

    def describe_output(self, table: Table) -> None:
        table.value_range = None
