"""Features from kernel values with landmarks: radial basis functions and Nyström."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse
from threadpoolctl import threadpool_limits

from .. import arrays, kernels, streams
from ..arrays import Array, Device
from ..errors import ShallowsError
from ..utils.plain_numbers import takes_numpy_integers
from .base import FeatureMap, check_inputs
from .pivoted_cholesky import pivoted_cholesky

BLOCK_BYTES = 2**26
"""Bytes of kernel values in a block."""
FACTOR_BYTES = 2**30
"""The largest factor for choosing landmarks by pivots if no budget is given."""
SMALL_BATCH = 2**25
"""Products of a batch of K-means, rows times centers times inputs, up to which it takes one thread. Threads wait for
each other after each batch: with another program on one of two cores, a fit that takes 0.35 s took 2 s."""
POWER_STEPS = 12
"""Steps of the power iteration for the norm of a matrix of errors, which is accurate to a tenth."""


def sample_rows(x: Array, n: int, seed: int) -> Array:
    """``n`` rows of ``x`` without replacement, shape (min(n, len(x)), d)."""
    chosen = streams.permutation(seed, "landmarks", 0, x.shape[0])[: min(n, x.shape[0])]
    return arrays.take_rows(x, chosen)


def kmeans_centers(x: Array, n: int, seed: int) -> Array:
    """Centers of K-means by mini-batches, shape (min(n, len(x)), d)."""
    from sklearn.cluster import MiniBatchKMeans

    random_state = int(streams.integers(seed, "k-means", 0, 1)[0] % 2**31)
    n = min(n, x.shape[0])
    size = max(1024, 2 * n)
    model = MiniBatchKMeans(n, random_state=random_state, n_init=1, batch_size=size, max_iter=10)
    most = 1 if min(size, x.shape[0]) * n * x.shape[1] <= SMALL_BATCH else None
    # Scikit-learn limits BLAS, too. Several fits at once would restore the limit of each other, and leave one thread.
    with arrays.own_threads(), arrays.one_openmp_thread_in_a_fork(), threadpool_limits(most, user_api="openmp"):
        if not arrays.is_sparse(x):
            return arrays.like(model.fit(arrays.to_numpy(x)).cluster_centers_, x)
        # A center has the words of its rows, which are few.
        return arrays.SparsePoints(scipy.sparse.csr_array(model.fit(x.rows).cluster_centers_.astype(x.dtype)))


@takes_numpy_integers
@dataclass(frozen=True, eq=False)
class RBFNetworkMap(FeatureMap):
    """The features k(x, z₁), …, k(x, z_D) of centers, shape (D, d)."""

    kernel: Any
    centers: Array
    of_kernel_values: ClassVar[bool] = True

    @property
    def n_inputs(self) -> int:
        """Inputs of a point, d."""
        return self.centers.shape[1]

    @property
    def n_features(self) -> int:
        """D, columns of `map`."""
        return self.centers.shape[0]

    @cached_property
    def _augmented(self) -> Array:
        return kernels.augmented(self.centers)

    def to(self, device: Device) -> RBFNetworkMap:
        """The same map on a device."""
        if arrays.device_of(self.centers) == device:
            return self
        return replace(self, centers=arrays.to_device(self.centers, device))

    def __post_init__(self) -> None:
        kernels.values(self.kernel, *(kernels.augmented(self.centers[:1, :]),) * 2)  # Refuses what cannot be computed.

    def map(self, x: Array) -> Array:
        """k(xᵢ, zⱼ), shape (m, D)."""
        check_inputs(x, self.n_inputs)
        return kernels.values(self.kernel, kernels.augmented(x), self._augmented)


@takes_numpy_integers
@dataclass(frozen=True, eq=False)
class NystroemMap(FeatureMap):
    """The Nyström map z(x) = Σ^{−½} Uᵀ k(X_M, x) with k(X_M, X_M) = U Σ Uᵀ.

    z(x)ᵀz(y) is k(x, y) if x or y is a landmark. Directions whose eigenvalue σ is a rounding error are omitted. With E
    the errors of k(X_M, X_M) in the precision of the landmarks, the feature of σ has a relative error of about ‖E‖ /
    (2σ), where ‖E‖ is twice what E adds to a random direction if its entries are independent. Directions with σ > 5 ‖E‖
    are kept, with errors up to about a tenth, if σ also exceeds the rounding error of the eigensystem in double
    precision. `shallows.kernel_approximation.NystroemFeatures` has the sources.
    """

    kernel: Any
    landmarks: Array
    n_components: int | None = None

    @cached_property
    def root(self) -> Array:
        """U Σ^{−½} of the directions kept, shape (M, n_features), the largest eigenvalue first."""
        xp = arrays.namespace(self.landmarks)
        wide = arrays.astype(self.landmarks, xp.float64)
        K = kernels.matrix(self.kernel, kernels.augmented(wide))
        rounding = 0.0 if self.landmarks.dtype == xp.float64 else 5.0 * self._norm_of_errors(K)
        with arrays.threads_for(K.shape[0] ** 2):
            sigma, U = xp.linalg.eigh((K + K.T) / 2)
        of_eigensystem = 4.0 * math.sqrt(wide.shape[0]) * float(xp.finfo(xp.float64).eps) * float(sigma[-1])
        floor = max(of_eigensystem, rounding)
        kept = int(xp.sum(arrays.astype(sigma > floor, xp.int64)))
        kept = min(kept, self.n_components or kept)
        if kept == 0:
            raise ShallowsError("The kernel matrix of the landmarks is zero, so it gives no features.")
        top = xp.flip(sigma[-kept:])
        root = xp.flip(U[:, -kept:], axis=1) / xp.sqrt(top)[None, :]
        return arrays.contiguous(arrays.astype(root, self.landmarks.dtype))

    def _norm_of_errors(self, K: Array) -> float:
        """The norm of the errors of k(X_M, X_M), rounded up to a power of two, so that machines agree."""
        xp = arrays.namespace(K)
        E = arrays.astype(kernels.values(self.kernel, self._augmented, self._augmented), xp.float64) - K
        v = arrays.like(streams.normal(0, "errors", 0, (K.shape[0], 1)), K)
        norm = 0.0
        for _ in range(POWER_STEPS):
            w = E.T @ (E @ v)
            norm = math.sqrt(float(xp.linalg.norm(w)) / float(xp.linalg.norm(v)))
            if norm == 0.0:
                return 0.0
            v = w / norm**2
        return 2.0 ** math.ceil(math.log2(norm))

    @property
    def n_inputs(self) -> int:
        """Inputs of a point, d."""
        return self.landmarks.shape[1]

    @property
    def n_features(self) -> int:
        """Columns of `map`: M, or fewer if directions were omitted."""
        return self.root.shape[1]

    @cached_property
    def _augmented(self) -> Array:
        return kernels.augmented(self.landmarks)

    def to(self, device: Device) -> NystroemMap:
        """The same map on a device."""
        if arrays.device_of(self.landmarks) == device:
            return self
        moved = replace(self, landmarks=arrays.to_device(self.landmarks, device))
        if "root" in vars(self):
            # Coefficients belong to these eigenvectors; new ones may have other signs.
            vars(moved)["root"] = arrays.to_device(self.root, device)
        return moved

    def map(self, x: Array) -> Array:
        """z(x), shape (m, n_features)."""
        check_inputs(x, self.n_inputs)
        out = arrays.namespace(x).empty((x.shape[0], self.n_features), dtype=x.dtype)
        rows = max(1, BLOCK_BYTES // (self.landmarks.shape[0] * arrays.itemsize(x)))
        for part in arrays.blocks(x.shape[0], rows):
            K = kernels.values(self.kernel, kernels.augmented(x[part, :]), self._augmented)
            out[part, :] = K @ self.root
        return out


SAMPLE, HALVINGS = 2000, 40
"""Number of points on which λ is found, and number of halvings of its interval."""


def ridge_leverage_scores(kernel: Any, x: Array, pilot: Array, total: float, seed: int = 0) -> np.ndarray:
    """Approximate ridge leverage scores (K (K + λI)⁻¹)ᵢᵢ of points, from M uniformly drawn pilot points.

    With the weight w = n/M the score of a point is (k(x, x) − w k_M(x)ᵀ (w K_MM + λI)⁻¹ k_M(x)) / λ, at most 1. λ is
    chosen on at most 2,000 points so that the sum of the scores, the effective dimension, is ``total``.

    References
    ----------
    A. Alaoui and M. Mahoney (2015), NIPS 28. C. Musco and C. Musco (2017), "Recursive sampling for the Nyström method",
    NIPS 30.
    """
    n, M = x.shape[0], pilot.shape[0]
    xp = arrays.namespace(x)
    at_pilot = kernels.augmented(arrays.astype(pilot, xp.float64))
    sigma, U = scipy.linalg.eigh(arrays.to_numpy(kernels.matrix(kernel, at_pilot)) * (n / M))
    sigma = np.maximum(sigma, 0.0)

    def along(points: Array) -> tuple[np.ndarray, np.ndarray]:
        points = arrays.astype(points, xp.float64)
        values = arrays.to_numpy(kernels.values(kernel, kernels.augmented(points), at_pilot))
        return (values @ U) ** 2 * (n / M), arrays.to_numpy(kernel.diagonal(points))

    def scores(squares: np.ndarray, diagonal: np.ndarray, ridge: float) -> np.ndarray:
        return np.clip((diagonal - squares @ (1.0 / (sigma + ridge))) / ridge, 1e-12, 1.0)

    some = along(sample_rows(x, SAMPLE, seed))
    # Scores fall as λ grows, so their sum crosses the total once.
    low, high = math.log(1e-10 * float(sigma[-1])), math.log(1e3 * float(sigma[-1]))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        found = scores(*some, math.exp(middle)).mean() * n
        low, high = (middle, high) if found > total else (low, middle)
    rows = arrays.blocks(n, max(1, BLOCK_BYTES // (8 * M)))
    return np.concatenate([scores(*along(x[part, :]), math.exp(high)) for part in rows])


def leverage_rows(kernel: Any, x: Array, n: int, seed: int) -> Array:
    """``n`` rows of ``x`` without replacement, drawn in proportion to their scores, shape (min(n, len(x)), d)."""
    if n >= x.shape[0]:
        return x
    scores = ridge_leverage_scores(kernel, x, sample_rows(x, n, seed), float(n), seed)
    # The n largest of uᵢ^(1/sᵢ) are a sample with probabilities in proportion to s (Efraimidis and Spirakis 2006).
    uniform = streams.uniform(seed, "leverage", 0, (x.shape[0],))
    keys = np.log(np.maximum(uniform, 2.0**-53)) / scores
    return arrays.take_rows(x, np.argsort(-keys, kind="stable")[:n])


def pivot_rows(kernel: Any, x: Array, n: int, seed: int, *, random: bool, budget: int | None = None) -> Array:
    """``n`` rows of ``x`` at most, the pivots of its kernel matrix; shape (number of pivots, d).

    If the factor of all rows takes more than a quarter of the budget in bytes, the pivots of a sample are used.
    """
    room = FACTOR_BYTES if budget is None else budget // 4
    some = max(n, room // (arrays.itemsize(x) * max(1, n)))
    pool = x if some >= x.shape[0] else sample_rows(x, some, seed)
    pivots = pivoted_cholesky(kernel, kernels.augmented(pool), n, random=random, seed=seed).pivots
    # A matrix of zeros has no pivot. With one landmark the features report it.
    return arrays.take_rows(pool, pivots if len(pivots) else np.zeros(1, dtype=np.int64))


LANDMARKS: dict[str, Callable[[Any, Array, int, int, int | None], Array]] = {
    "sample": lambda kernel, x, n, seed, budget: sample_rows(x, n, seed),
    "kmeans": lambda kernel, x, n, seed, budget: kmeans_centers(x, n, seed),
    "leverage": lambda kernel, x, n, seed, budget: leverage_rows(kernel, x, n, seed),
    "pivoted": lambda kernel, x, n, seed, budget: pivot_rows(kernel, x, n, seed, random=False, budget=budget),
    "randomly_pivoted": lambda kernel, x, n, seed, budget: pivot_rows(kernel, x, n, seed, random=True, budget=budget),
}
"""The ways to choose landmarks: functions of a kernel, points, a number, a seed and a budget in bytes."""


def rbf(kernel, x, n_features, seed=0, budget=None, landmarks="sample") -> RBFNetworkMap:
    """The map "rbf": kernel functions at landmarks."""
    return RBFNetworkMap(kernel, LANDMARKS[landmarks](kernel, x, n_features, seed, budget))


def nystrom(kernel, x, n_features, seed=0, budget=None, landmarks="sample") -> NystroemMap:
    """The map "nystrom": Nyström features."""
    return NystroemMap(kernel, LANDMARKS[landmarks](kernel, x, n_features, seed, budget))


rbf_kmeans = functools.partial(rbf, landmarks="kmeans")
nystrom_kmeans = functools.partial(nystrom, landmarks="kmeans")
nystrom_leverage = functools.partial(nystrom, landmarks="leverage")
nystrom_pivoted = functools.partial(nystrom, landmarks="pivoted")
nystrom_randomly_pivoted = functools.partial(nystrom, landmarks="randomly_pivoted")
