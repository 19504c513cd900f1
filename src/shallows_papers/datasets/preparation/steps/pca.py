"""The step ``pca``: project on the leading principal components, computed block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.parameter_rules import COUNT
from shallows_papers.datasets.preparation.step import DataSize, FeatureStep, recorded
from shallows_papers.lazy_numpy import np

if TYPE_CHECKING:
    from shallows_papers.datasets.preparation.working_table import Table

# With this d, the covariance matrix and two more matrices for its eigensystem take 10 GB.
MOST_FEATURES = 20_480


@dataclass
class PCA(FeatureStep):
    """Project on the leading principal components of the training part.

    scikit-learn's PCA needs all rows at once, and its IncrementalPCA is approximate.
    """

    name: ClassVar[str] = "pca"
    learns: ClassVar[bool] = True
    keeps_sparse = True
    n_components: int = field(metadata=COUNT)

    def size_after(self, size: DataSize) -> DataSize:
        return size.with_features(self.n_components)

    def fit(self, table: Table) -> dict[str, Any]:
        n, d, k = table.n_rows("train"), table.n_features, self.n_components
        if k > min(n, d):
            raise DatasetError(
                f"The step pca asks for {k:,} components, but {n:,} training rows of {d:,} features have at most "
                f"{min(n, d):,}."
            )
        if d > MOST_FEATURES:
            raise DatasetError(f"The step pca is for at most {MOST_FEATURES:,} features, not {d:,}.")
        mean, variances, vectors = principal(lambda: table.blocks("train"), n, d, k)
        self.mean_, self.components_, self.shift_ = mean, vectors, mean @ vectors
        return {"mean": recorded(mean), "variances": recorded(variances), "components": recorded(vectors.T)}

    def transform(self, block: Any) -> Any:
        if hasattr(block, "indptr"):
            return np.asarray(block @ self.components_) - self.shift_
        return (block - self.mean_) @ self.components_

    def describe_output(self, table: Table) -> None:
        table.replace_features(self.n_components)


def principal(blocks: Callable[[], Iterable[Any]], n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the leading principal components.

    `blocks` yields all rows at each call, in float64, dense or CSR. Returns the mean, the variances (descending, with
    the divisor n - 1), and orthonormal columns, shape (d, k). The sign of a column is arbitrary, so its largest entry
    is made positive.
    """
    from scipy.linalg import eigh

    mean = sum(np.asarray(block.sum(axis=0)).ravel() for block in blocks()) / n
    covariance, sparse = np.zeros((d, d)), False
    for block in blocks():
        sparse = hasattr(block, "indptr")
        if sparse:
            covariance += (block.T @ block).toarray()
        else:
            centered = block - mean
            covariance += centered.T @ centered
    if sparse:
        covariance -= n * np.outer(mean, mean)
    covariance /= max(n - 1, 1)
    variances, vectors = eigh(covariance, subset_by_index=(d - k, d - 1), overwrite_a=True)
    variances, vectors = variances[::-1], vectors[:, ::-1]
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(k)])
    return mean, np.maximum(variances, 0.0), vectors * signs
