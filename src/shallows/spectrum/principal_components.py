"""Principal components that replace the inputs; the data may choose their number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.decomposition import PCA

from .. import arrays, kernels, streams
from ..errors import ShallowsError
from ..kernels import Kernel
from ..kernels.radial import RadialKernel
from .kernel_ridge_choice import AUTO, LEAST_ROWS, choose_kernel_ridge, join_copies
from .leave_one_out import RidgeChoice

CANDIDATES = (200, 100, 50)
"""Numbers of components that "auto" compares with all inputs, if they are at most the share `MOST_OF` of the inputs."""

MOST_OF = 0.7

CHANCE, EQUAL = 3.0, 0.01
"""Components are used if their loss is lower by more than `CHANCE` standard errors. They are cheaper, so they are also
used if their loss is no higher and this uncertainty is below the share `EQUAL` of it. Three standard errors, because
three numbers are tried and the rows that are left out contributed to the directions."""

ROWS, WIDE, ROWS_IF_WIDE = 5000, 2000, 1000
"""Training rows from which the components are computed; the last number applies to more than `WIDE` inputs."""

LARGEST = 1e100
"""The squares of larger numbers may overflow, which the fit reports."""

BLOCK_BYTES = 2**25


@dataclass(frozen=True)
class Components:
    """The projection onto principal directions.

    ``mean`` (d,) and ``directions`` (d, k) of training rows, float64; directions have length one.
    """

    mean: np.ndarray
    directions: np.ndarray

    def __call__(self, X: Any) -> np.ndarray:
        """The components of points, shape (n, k), in their precision; read block by block."""
        out = np.empty((X.shape[0], self.directions.shape[1]), dtype=X.dtype)
        directions = self.directions.astype(X.dtype)
        for rows in arrays.blocks(X.shape[0], max(1, BLOCK_BYTES // (8 * max(1, X.shape[1])))):
            out[rows] = (_dense(X[rows]) - self.mean).astype(X.dtype) @ directions
        return out

    def report(self) -> dict[str, Any]:
        """An entry of ``report_``: their number."""
        return {"n_components": self.directions.shape[1]}

    def first(self, k: int) -> Components:
        """The first k components."""
        return Components(self.mean, np.ascontiguousarray(self.directions[:, :k]))


def components_for(
    wanted: int | str | None,
    kernel: Kernel | None,
    X: Any,
    targets: np.ndarray,
    weights: np.ndarray | None,
    seed: int,
    budget: int,
) -> Components | None:
    """The components that replace the inputs of a fit, or None if the fit uses the inputs.

    ``wanted``: their number. "auto" compares several numbers if the points are dense and the kernel is a function of
    the Euclidean distance whose bandwidth is not fixed yet.
    ``kernel``: None if its bandwidth is not chosen. ``X``: array or CSR matrix, shape (n, d). ``targets``: shape
    (n, c). ``budget``: bytes of the fit; components use at most a quarter.
    """
    n, d = X.shape
    if wanted is None:
        return None
    if wanted != AUTO:
        if wanted > min(n, d):
            raise ShallowsError(f"n_components={wanted} is more than {n} rows of {d} inputs have.")
        return principal_components(X, wanted, seed) if wanted < d else None
    numbers = candidates(X, budget)
    if not numbers or not (isinstance(kernel, RadialKernel) and kernel.is_open):
        return None
    rows = streams.permutation(seed, "rows to choose with", 0, n)[:LEAST_ROWS]
    x = X[rows]
    # Copies are joined here, so that the losses of inputs and components have the same order.
    joined = join_copies(x, targets[rows], None if weights is None else weights[rows])
    x, of_rows = x[joined.first], (joined.targets, joined.weights)

    def choose(project: Callable[[np.ndarray], np.ndarray], factor: float | None = None) -> RidgeChoice | None:
        points = kernels.augmented(np.asarray(project(x), dtype=np.float64))
        of_points = kernel, lambda some: points[some], *of_rows, seed
        return choose_kernel_ridge(*of_points, searches_bandwidth=True, factor=factor)

    with arrays.one_blas_thread():
        found = principal_components(X, numbers[0], seed)
    if found is None:
        return None
    inputs, best = choose(lambda points: points), None
    if inputs is None:
        return None
    of_inputs = inputs.path.squares(inputs.regularization)
    least = of_inputs.mean()
    for k in numbers:
        if k <= found.directions.shape[1]:
            # The same multiple of the median distance; searching it again took most of the time of a small fit.
            choice = choose(found.first(k), inputs.factor)
            tried = None if choice is None else choice.path.squares(choice.regularization)
            if tried is not None and tried.mean() <= least and components_are_surely_no_worse(of_inputs, tried):
                best, least = found.first(k), tried.mean()
    return best


def candidates(X: Any, budget: int) -> list[int]:
    """The numbers of components that "auto" compares with all inputs of these points, largest first."""
    n, d = X.shape
    if scipy.sparse.issparse(X):
        return []
    return [k for k in CANDIDATES if k <= MOST_OF * d and k < n and 4 * n * k * X.dtype.itemsize <= budget]


def components_are_surely_no_worse(of_inputs: np.ndarray, of_components: np.ndarray) -> bool:
    """Whether components lower the losses by more than chance, or do not raise them and the difference is small."""
    if of_inputs.shape != of_components.shape:  # Rounding has made points equal.
        return False
    gain = of_inputs - of_components
    uncertainty = CHANCE * gain.std() / np.sqrt(len(gain))
    return gain.mean() > uncertainty or (gain.mean() >= 0 and uncertainty < EQUAL * of_inputs.mean())


def bytes_beside(n: int, d: int) -> int:
    """Bytes that computing the components of n rows of d inputs takes: the rows, two copies, the covariance."""
    rows = min(n, ROWS if d <= WIDE else ROWS_IF_WIDE)
    return 8 * (3 * rows * d + 2 * min(rows, d) ** 2)


def principal_components(X: Any, k: int, seed: int) -> Components | None:
    """The first k components of some training rows, or all there are; None if rows are equal or too large."""
    n, d = X.shape
    rows = np.sort(streams.permutation(seed, "rows of the components", 0, n)[: ROWS if d <= WIDE else ROWS_IF_WIDE])
    some = _dense(X[rows]).astype(np.float64)
    if not np.abs(some).max() < LARGEST or (some == some[0]).all():
        return None
    found = PCA(min(k, *some.shape), svd_solver="covariance_eigh" if d <= len(rows) else "full").fit(some)
    values = found.explained_variance_
    directions = found.components_[values > values[0] * max(some.shape) * np.finfo(np.float64).eps].T
    return Components(found.mean_, np.ascontiguousarray(directions)) if directions.size else None


def _dense(block: Any) -> np.ndarray:
    return block.toarray() if scipy.sparse.issparse(block) else np.asarray(block)
