"""Inputs replaced by their leading principal components, whose number the data may choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays, kernels, streams
from ..errors import ShallowsError
from ..kernels.radial import RadialKernel
from ..spectrum.copies import join_copies
from ..spectrum.leave_one_out import choose_ridge
from .leave_one_out_choice import AUTO, LEAST_ROWS
from .parameter_checks import MOST, is_whole

CANDIDATES = (200, 100, 50)
"""Numbers of components that "auto" compares with all inputs, where they are at most `MOST_OF` of these."""

MOST_OF = 0.7

ROWS, WIDE, ROWS_IF_WIDE = 5000, 2000, 1000
"""Training rows that the components are made of; fewer with more inputs than `WIDE`."""

BLOCK_BYTES = 2**25


def check(estimator: Any) -> None:
    """Refuse an ``n_components`` that is no number, "auto" or None."""
    value = estimator.n_components
    if value is not None and not (isinstance(value, str) and value == AUTO) and not is_whole(value):
        raise ShallowsError(f"n_components must be a whole number from 1 to {MOST:,}, 'auto' or None, got {value!r}.")


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


@dataclass(frozen=True)
class SearchedKernel:
    """A kernel of Euclidean distances whose bandwidth a fit chooses."""

    name: str
    parameters: dict[str, Any]

    @classmethod
    def of(cls, name: Any, bandwidth: Any, parameters: Mapping[str, Any] | None) -> SearchedKernel | None:
        """It, where that is what an estimator's ``kernel``, ``bandwidth`` and ``kernel_params`` say."""
        if not (isinstance(name, str) and isinstance(bandwidth, str) and bandwidth == AUTO):
            return None
        kind = kernels.kind(name)
        searched = isinstance(kind, type) and issubclass(kind, RadialKernel) and kind.takes_bandwidth
        return cls(name, dict(parameters or {})) if searched else None


def components_for(
    wanted: int | str | None,
    kernel: SearchedKernel | None,
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
    kernel : SearchedKernel or None
        "auto" compares numbers of components where there is one, and the points are dense.
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
        if wanted == d:
            return None
        return principal_components(X, wanted, seed)
    known = [k for k in CANDIDATES if k <= MOST_OF * d and k < n and 4 * n * k * X.dtype.itemsize <= budget]
    if kernel is None or not known or scipy.sparse.issparse(X):
        return None
    with arrays.one_blas_thread():
        return _compared(principal_components(X, known[0], seed), known, kernel, X, targets, weights, seed)


def _compared(
    found: Components | None,
    known: list[int],
    kernel: SearchedKernel,
    X: Any,
    targets: np.ndarray,
    weights: np.ndarray | None,
    seed: int,
) -> Components | None:
    """Of some numbers of components the one with the least leave-one-out error, if that of all inputs is no less."""
    n = X.shape[0]
    known = [] if found is None else [k for k in known if k <= found.directions.shape[1]]
    rows = streams.permutation(seed, "rows to choose with", 0, n)[:LEAST_ROWS]
    given = X[rows], targets[rows], None if weights is None else weights[rows]
    error = _leave_one_out_error(kernel, lambda points: points, given, seed)
    best = None
    for k in known:
        candidate = found.first(k)
        tried = _leave_one_out_error(kernel, candidate, given, seed)
        if tried <= error:
            best, error = candidate, tried
    return best


def principal_components(X: Any, k: int, seed: int) -> Components | None:
    """The k leading components of some training rows, or of all; None where they are not finite."""
    n, d = X.shape
    rows = np.sort(streams.permutation(seed, "rows of the components", 0, n)[: ROWS if d <= WIDE else ROWS_IF_WIDE])
    with np.errstate(over="ignore", invalid="ignore"):
        some = _dense(X[rows]).astype(np.float64)
        mean = some.mean(axis=0)
        some -= mean
        wide = d > len(rows)
        gram = some @ some.T if wide else some.T @ some
    if not np.isfinite(gram).all():
        return None  # The fit reports numbers that are too large.
    with arrays.one_blas_thread():
        values, vectors = np.linalg.eigh(gram)
    values, vectors = values[::-1], vectors[:, ::-1]
    resolved = int(np.sum(values > values[0] * len(gram) * np.finfo(np.float64).eps)) if values[0] > 0 else 0
    k = min(k, resolved)
    if not k:
        return None
    directions = some.T @ (vectors[:, :k] / np.sqrt(values[:k])) if wide else vectors[:, :k]
    return Components(mean, np.ascontiguousarray(directions))


def _leave_one_out_error(
    kernel: SearchedKernel, project: Callable[[np.ndarray], np.ndarray], data: tuple, seed: int
) -> float:
    """The least error of kernel ridge regression among bandwidths and λ, as a share of that of a constant."""
    x, targets, weights = data
    joined = join_copies(np.asarray(project(x), dtype=np.float64), targets, weights)
    if len(joined.first) < 3:
        return np.inf
    points = kernels.augmented(np.asarray(project(x), dtype=np.float64)[joined.first])
    centred = joined.targets - np.average(joined.targets, axis=0, weights=joined.weights)
    return choose_ridge(
        lambda width: np.asarray(kernels.matrix(kernels.make(kernel.name, width, **kernel.parameters), points)),
        centred,
        median=kernels.median_bandwidth(points[:, :-2], seed),
        weights=joined.weights,
    ).error


def _dense(block: Any) -> np.ndarray:
    return block.toarray() if scipy.sparse.issparse(block) else np.asarray(block)
