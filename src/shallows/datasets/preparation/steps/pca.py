"""The step ``pca``: project on the leading principal components."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.datasets.files import DatasetError
from shallows.datasets.parameter_rules import COUNT, SEED
from shallows.datasets.preparation.step import FeatureStep, Size, recorded
from shallows.errors import UnknownNameError
from shallows.utils.lazy_numpy import np

if TYPE_CHECKING:
    from shallows.datasets.preparation.working_table import Table

METHODS = ("auto", "covariance", "randomised", "incremental")


@dataclass
class PCA(FeatureStep):
    """Project on the leading principal components of the training part.

    By hand, since scikit-learn's PCA wants all rows at once; its IncrementalPCA is the method ``incremental``.
    """

    name: ClassVar[str] = "pca"
    learns: ClassVar[bool] = True
    keeps_sparse = True
    n_components: int = field(metadata=COUNT)
    whiten: bool = False  # Whether each component is scaled to variance 1
    # {"auto", "covariance", "randomised", "incremental"}: ``covariance`` is exact and holds d x d numbers;
    # ``randomised`` holds d times the components and goes over the data once for each of `iterations`, whose start it
    # draws; ``incremental`` goes over them once, and what it gives depends on their order. ``auto`` takes the first up
    # to 4,096 features and the second beyond.
    method: str = "auto"
    iterations: int = field(default=4, metadata=COUNT)  # Of the randomised method
    seed: int = field(default=0, metadata=SEED)  # Of the randomised method

    def check(self) -> str | None:
        if self.method not in METHODS:
            raise UnknownNameError("method of the step pca", self.method, METHODS)
        return super().check()

    def size_after(self, size: Size) -> Size:
        return size.with_features(self.n_components)

    def fit(self, table: Table) -> dict[str, Any]:
        from shallows.datasets.preparation.steps.principal_components import principal

        n, d, k = table.n_rows("train"), table.n_features, self.n_components
        if k > min(n, d):
            raise DatasetError(
                f"The step pca asks for {k:,} components; {n:,} training rows of {d:,} features have at most "
                f"{min(n, d):,}."
            )
        mean, variances, vectors = principal(
            lambda: table.blocks("train"), n, d, k, self.method, self.iterations, self.seed
        )
        if self.whiten:
            vectors = vectors / np.sqrt(np.maximum(variances, np.finfo(np.float64).tiny))
        self.mean_, self.components_, self.shift_ = mean, vectors, mean @ vectors
        return {"mean": recorded(mean), "variances": recorded(variances), "components": recorded(vectors.T)}

    def transform(self, block: Any) -> Any:
        if hasattr(block, "indptr"):
            return np.asarray(block @ self.components_) - self.shift_
        return (block - self.mean_) @ self.components_

    def describe_output(self, table: Table) -> None:
        table.replace_features(self.n_components)
