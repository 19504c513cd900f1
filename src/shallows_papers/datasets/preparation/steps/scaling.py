"""The steps ``unit``, ``zscore`` and ``logarithm``: the scale of the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shallows_papers.datasets.parameter_rules import is_number, rule
from shallows_papers.datasets.preparation.step import FeatureStep, PreparationStep, recorded
from shallows_papers.lazy_numpy import np

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler

    from shallows_papers.datasets.preparation.working_table import Table


def _is_range(value: Any) -> bool:
    if value is None:
        return True
    return isinstance(value, Sequence) and len(value) == 2 and all(map(is_number, value)) and value[0] < value[1]


@dataclass
class Unit(FeatureStep):
    """Scale features to [0, 1].

    If `range` or the catalogue gives a common range, as for pixels, it is used for all features. Otherwise each feature
    is scaled by its smallest and largest training value, so test values may lie outside [0, 1].
    """

    name: ClassVar[str] = "unit"
    learns: ClassVar[bool] = True
    range: Sequence[float] | None = field(default=None, metadata=rule(_is_range, "two ascending numbers"))

    def fit(self, table: Table) -> dict[str, Any]:
        known = tuple(self.range) if self.range is not None else table.value_range
        self.known_ = known is not None
        if self.known_:
            low, high = (np.full(table.n_features, float(end)) for end in known)
        else:
            low, high = np.full(table.n_features, np.inf), np.full(table.n_features, -np.inf)
            for block in table.blocks("train"):
                least, most = _extremes(block)
                np.minimum(low, least, out=low)
                np.maximum(high, most, out=high)
        self.keeps_sparse = not low.any()
        # MinMaxScaler multiplies by the inverse of the range, which rounds differently.
        self.transformer_ = _scaler(low if low.any() else None, np.where(high > low, high - low, 1.0))
        return {"range": list(known)} if known else {"minimum": recorded(low), "maximum": recorded(high)}

    def describe_output(self, table: Table) -> None:
        if self.known_:
            table.value_range = (0.0, 1.0)


@dataclass
class ZScore(FeatureStep):
    """Scale every feature to mean 0 and standard deviation 1 on the training part. Constant features become 0."""

    name: ClassVar[str] = "zscore"
    learns: ClassVar[bool] = True
    center: bool = True  # Whether to subtract the mean. If False, sparse data stay sparse.
    # Whether to leave categorical columns unchanged, for a later step one_hot
    numeric_only: bool = False

    def fit(self, table: Table) -> dict[str, Any]:
        from sklearn.preprocessing import StandardScaler

        self.keeps_sparse = not self.center
        if self.center:
            table.make_dense()
        learned = StandardScaler(with_mean=self.center)
        for block in table.blocks("train"):
            learned.partial_fit(block)
        coded = np.isin(np.arange(table.n_features), table.categorical if self.numeric_only else ())
        mean, scale = np.where(coded, 0.0, learned.mean_) if self.center else None, np.where(coded, 1.0, learned.scale_)
        self.transformer_ = _scaler(mean, scale)
        return {"mean": recorded(mean) if self.center else None, "scale": recorded(scale)}

    def describe_output(self, table: Table) -> None:
        table.value_range = None


def _scaler(mean: np.ndarray | None, scale: np.ndarray) -> StandardScaler:
    """Return a StandardScaler that subtracts and divides by these numbers."""
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=mean is not None)
    scaler.mean_, scaler.scale_, scaler.n_features_in_ = mean, scale, len(scale)
    return scaler


def _extremes(block: Any) -> tuple[np.ndarray, np.ndarray]:
    if hasattr(block, "indptr"):
        from sklearn.utils.sparsefuncs import min_max_axis

        return min_max_axis(block, axis=0)
    return block.min(axis=0), block.max(axis=0)


@dataclass
class Logarithm(PreparationStep):
    """Replace numbers v by sign(v) log(1 + |v|), for counts, times and prices of very different sizes.

    It learns nothing, so it may come before a step that holds out rows.
    """

    name: ClassVar[str] = "logarithm"
    features: bool = True  # Whether to transform all columns except categorical ones
    target: bool = False  # Whether to transform the regression target. Errors then refer to the logarithm.

    def check(self) -> str | None:
        if not (self.features or self.target):
            return "features, target or both must be true"
        return super().check()

    def apply(self, table: Table) -> dict[str, Any]:
        if self.target:
            table.require_coding("values", self.name)
            table.target_transforms.append(_compressed)
        if self.features:
            self.replaced_ = np.setdiff1d(np.arange(table.n_features), table.categorical)
            table.add(self.transform, keeps_sparse=True)
            table.value_range = None
        return {}

    def transform(self, block: Any) -> Any:
        """Return the logarithms of a block of features of either part."""
        block = block.copy()
        if hasattr(block, "indptr"):
            block.data = _compressed(block.data)  # only dense tables have categories, and log(1 + 0) is 0
        else:
            block[:, self.replaced_] = _compressed(block[:, self.replaced_])
        return block


def _compressed(values: np.ndarray) -> np.ndarray:
    return np.sign(values) * np.log1p(np.abs(values))
