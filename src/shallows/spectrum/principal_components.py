"""Inputs replaced by their leading principal components, whose number the data may choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.decomposition import PCA

from .. import arrays, kernels, streams
from ..errors import ShallowsError
from ..kernels.radial import RadialKernel
from .copies import join_copies
from .kernel_ridge_choice import AUTO, LEAST_ROWS, choose_kernel_ridge

CANDIDATES = (200, 100, 50)
"""Numbers of components that "auto" compares with all inputs, where they are at most `MOST_OF` of these."""

MOST_OF = 0.7

CHANCE, EQUAL = 3.0, 0.01
"""Components are taken where their loss is lower by more than so many standard errors, or no higher where so many are
less than this share of it: components are cheaper then. Three numbers are tried, and directions that the row left out
helped to make favour them, so that two standard errors would not do."""

ROWS, WIDE, ROWS_IF_WIDE = 5000, 2000, 1000
"""Training rows that the components are made of; fewer with more inputs than `WIDE`."""

LARGEST = 1e100
"""Larger numbers, whose squares may overflow, are left to the fit to report."""

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

    def first(self, k: int) -> Components:
        """The leading ones."""
        return Components(self.mean, np.ascontiguousarray(self.directions[:, :k]))


def components_for(
    wanted: int | str | None,
    kernel: Any,
    kernel_params: Mapping[str, Any] | None,
    X: Any,
    targets: np.ndarray,
    weights: np.ndarray | None,
    seed: int,
    budget: int,
) -> Components | None:
    """The components that a fit takes in the place of its inputs, or None where it takes the inputs.

    Parameters
    ----------
    wanted : int, "auto" or None
        "auto" compares numbers of components for the name of a kernel of Euclidean distances, on dense points.
    kernel, kernel_params
        As the estimator has them; None where its bandwidth is not chosen.
    X : array or CSR matrix, shape (n, d)
    targets : ndarray, shape (n, c)
    weights : ndarray, shape (n,), optional
    seed : int
    budget : int
        Bytes of the fit, of which components take a quarter at most.
    """
    n, d = X.shape
    if wanted is None:
        return None
    if wanted != AUTO:
        if wanted > min(n, d):
            raise ShallowsError(f"n_components={wanted} is more than {n} rows of {d} inputs have.")
        return principal_components(X, wanted, seed) if wanted < d else None
    known = candidates(X, budget)
    if not known or not _is_radial(kernel, kernel_params):
        return None
    rows = streams.permutation(seed, "rows to choose with", 0, n)[:LEAST_ROWS]
    x = X[rows]
    # Copies are made one here, so that losses stand in the same order for inputs and components.
    joined = join_copies(x, targets[rows], None if weights is None else weights[rows])
    x, of_rows = x[joined.first], (joined.targets, joined.weights)

    def losses_of(project: Callable[[np.ndarray], np.ndarray]) -> np.ndarray | None:
        points = kernels.augmented(np.asarray(project(x), dtype=np.float64))
        choice = choose_kernel_ridge(kernel, AUTO, kernel_params, lambda some: points[some], *of_rows, seed)
        return None if choice is None else choice.path.squares(choice.regularisation)

    with arrays.one_blas_thread():
        found = principal_components(X, known[0], seed)
    if found is None:
        return None
    best, of_inputs = None, losses_of(lambda points: points)
    least = np.inf if of_inputs is None else of_inputs.mean()
    for k in known if np.isfinite(least) else ():
        if k <= found.directions.shape[1]:
            tried = losses_of(found.first(k))
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
    """Whether the losses of rows are lower with components by more than chance, or no higher and known to be close."""
    if of_inputs.shape != of_components.shape:  # Rounding has made points equal.
        return False
    gain = of_inputs - of_components
    uncertainty = CHANCE * gain.std() / np.sqrt(len(gain))
    return gain.mean() > uncertainty or (gain.mean() >= 0 and uncertainty < EQUAL * of_inputs.mean())


def bandwidth_is_given(kernel: Any, bandwidth: Any, kernel_params: Mapping[str, Any] | None) -> bool:
    """Whether a kernel of Euclidean distances has a bandwidth that is a number, under any of its names."""
    if isinstance(kernel, RadialKernel):
        return kernel.takes_bandwidth
    given = None if isinstance(bandwidth, str) else bandwidth
    name, given, _ = kernels.translated(kernel, given, kernel_params)
    return given is not None and _is_radial(name, None)


def _is_radial(kernel: Any, kernel_params: Mapping[str, Any] | None) -> bool:
    """Whether a kernel is the name of one of Euclidean distances, whose parameters leave the bandwidth open."""
    if not isinstance(kernel, str):
        return False
    name, bandwidth, _ = kernels.translated(kernel, None, kernel_params)
    kind = kernels.kind(name)
    return bandwidth is None and isinstance(kind, type) and issubclass(kind, RadialKernel) and kind.takes_bandwidth


def bytes_beside(n: int, d: int) -> int:
    """What the components of n rows of d inputs take while they are made: these rows, two copies, the covariance."""
    rows = min(n, ROWS if d <= WIDE else ROWS_IF_WIDE)
    return 8 * (3 * rows * d + 2 * min(rows, d) ** 2)


def principal_components(X: Any, k: int, seed: int) -> Components | None:
    """The k leading components of some training rows, or all there are; None where rows are equal or too large."""
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
