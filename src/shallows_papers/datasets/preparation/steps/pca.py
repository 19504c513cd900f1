"""The step ``pca``: project on the leading principal components, computed block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.errors import UnknownNameError
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.parameter_rules import COUNT, SEED
from shallows_papers.datasets.preparation.step import DataSize, FeatureStep, recorded
from shallows_papers.lazy_numpy import np

if TYPE_CHECKING:
    from shallows_papers.datasets.preparation.working_table import Table

METHODS = ("auto", "covariance", "randomised")
# With this d, a covariance matrix and two more matrices for its eigensystem take 400 MB.
MOST_FOR_COVARIANCE = 4096
# Extra columns of the randomized method in addition to the components, for faster convergence.
_OVERSAMPLING = 20


@dataclass
class PCA(FeatureStep):
    """Project on the leading principal components of the training part.

    scikit-learn's PCA needs all rows at once, and its IncrementalPCA is approximate.
    """

    name: ClassVar[str] = "pca"
    learns: ClassVar[bool] = True
    keeps_sparse = True
    n_components: int = field(metadata=COUNT)
    whiten: bool = False  # Whether each component is scaled to variance 1
    # {"auto", "covariance", "randomised"}: ``covariance`` is exact and stores d x d numbers. ``randomised`` stores d
    # times the number of components; it starts from a random draw and reads the data once per iteration. ``auto`` is
    # ``covariance`` up to 4,096 features and ``randomised`` above.
    method: str = "auto"
    iterations: int = field(default=4, metadata=COUNT)  # Of the randomized method
    seed: int = field(default=0, metadata=SEED)  # Of the randomized method

    def check(self) -> str | None:
        if self.method not in METHODS:
            raise UnknownNameError("method of the step pca", self.method, METHODS)
        return super().check()

    def size_after(self, size: DataSize) -> DataSize:
        return size.with_features(self.n_components)

    def fit(self, table: Table) -> dict[str, Any]:
        n, d, k = table.n_rows("train"), table.n_features, self.n_components
        if k > min(n, d):
            raise DatasetError(
                f"The step pca asks for {k:,} components, but {n:,} training rows of {d:,} features have at most "
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


def principal(
    blocks: Callable[[], Iterable[Any]], n: int, d: int, k: int, method: str, iterations: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the leading principal components.

    `blocks` yields all rows at each call, in float64, dense or CSR. Returns the mean, the variances (descending, with
    the divisor n - 1), and orthonormal columns, shape (d, k). The sign of a column is arbitrary, so its largest entry
    is made positive.
    """
    mean = sum(np.asarray(block.sum(axis=0)).ravel() for block in blocks()) / n
    if method == "covariance" or (method == "auto" and d <= MOST_FOR_COVARIANCE):
        variances, vectors = _covariance(blocks(), mean, n, k)
    else:
        variances, vectors = _randomised(blocks, mean, n, k, iterations, seed)
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(k)])
    return mean, np.maximum(variances, 0.0), vectors * signs


def _covariance(blocks: Iterable[Any], mean: np.ndarray, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    from scipy.linalg import eigh

    d = len(mean)
    if d > 5 * MOST_FOR_COVARIANCE:
        raise DatasetError(
            f"The step pca with method covariance needs {d:,} x {d:,} numbers, too many. Use method 'randomised'."
        )
    covariance, sparse = np.zeros((d, d)), False
    for block in blocks:
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
    return variances[::-1], vectors[:, ::-1]


def _randomised(
    blocks: Callable[[], Iterable[Any]], mean: np.ndarray, n: int, k: int, iterations: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Block power iteration of the covariance from a random start, then its eigensystem in that space.

    Halko, Martinsson and Tropp (2011), algorithm 4.4, with products computed block by block.
    """
    from shallows import streams

    width = min(len(mean), n, k + _OVERSAMPLING)
    basis = np.linalg.qr(streams.normal(seed, "pca/start", 0, (len(mean), width)).astype(np.float64))[0]
    for step in range(iterations + 1):
        product = np.zeros_like(basis)
        for block in blocks():
            # Subtract the mean from the products instead of the block, so that sparse blocks stay sparse.
            projected = block @ basis - mean @ basis
            product += block.T @ projected - np.outer(mean, projected.sum(axis=0))
        if step < iterations:
            basis = np.linalg.qr(product)[0]
    small = basis.T @ product / max(n - 1, 1)
    variances, turned = np.linalg.eigh((small + small.T) / 2)
    return variances[::-1][:k], (basis @ turned[:, ::-1])[:, :k]
