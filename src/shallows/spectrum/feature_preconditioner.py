"""The preconditioner of EigenPro in a space of explicit features."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from .. import arrays
from ..arrays import Array
from ..errors import UnknownNameError
from ..features.base import inner_products, scaled, sum_of_squares
from ..kernels import Kernel
from ..utils.plain_numbers import takes_numpy_integers
from .certificates import subsample_and_fresh
from .eigensystems import eigensystem, orthonormal, top_eigensystem
from .preconditioner_files import read, write
from .spectral_preconditioner import SpectralPreconditioner, choose_rank, filtered, flatten

if TYPE_CHECKING:
    from ..features.design import Blocks


@dataclass(frozen=True, kw_only=True)
class FeaturePreconditioner(SpectralPreconditioner):
    """P = I − E diag(1 − τ (λ_{q+1}/λᵢ)^a) Eᵀ on coefficients of D explicit features.

    The eigenvalues belong to Φ_Mᵀ Φ_M / M on the subsample, weighted if there are sample weights. ``vectors`` is E, the
    orthonormal eigenvectors, shape (D, q), and ``dimension`` is D. The other attributes are described in
    `SpectralPreconditioner` and `Certificate`. ``n_subsample`` is M. ``kernel`` and ``seed`` are those of the features;
    the kernel is None for features without one.
    """

    n_subsample: int
    kernel: Kernel | None = None
    seed: int = 0
    tail_constant: ClassVar[float] = 2.0

    @property
    def n_places(self) -> float:
        """D, which is also the number of functions of the model."""
        return self.vectors.shape[0]

    def correction(self, gradient: Array) -> Array:
        """E diag(shrink) Eᵀ g, shape (D, c), which P removes from a gradient of shape (D, c)."""
        return filtered(self.vectors, self.shrink, gradient)

    def to(self, device: arrays.Device, dtype: Any) -> FeaturePreconditioner:
        """The same on another device."""
        values, vectors = (arrays.to_device(part, device, dtype) for part in (self.eigenvalues, self.vectors))
        return replace(self, eigenvalues=values, vectors=vectors)

    def save(self, path: str | Path) -> None:
        """Write to an ``.npz`` file, completely or not at all."""
        write(self, path, n_subsample=self.n_subsample, seed=self.seed)


def load_feature_preconditioner(path: str | os.PathLike) -> FeaturePreconditioner:
    """Read a file that `FeaturePreconditioner.save` wrote; a `ShallowsError` if it is not such a preconditioner."""
    return read(FeaturePreconditioner, path, "n_subsample", "seed")


# ----------------------------------------------------------------------------------------- eigensystems


def nsvd(blocks: Blocks, points: Array, root: Array | None, k: int, *, seed: int) -> tuple[Array, Array]:
    """The k largest eigenvalues of Φ_Mᵀ Φ_M / M and their eigenvectors, through the M × M matrix of inner products.

    With Φ_M Φ_Mᵀ v = σ² v, e ∝ Φ_Mᵀ v (Nyström).
    """
    xp = arrays.namespace(points)
    m = points.shape[0]
    matrix = _inner_products(blocks, points, root)
    values, left = eigensystem(matrix, min(k, m, blocks.n_features), seed=seed)
    del matrix
    vectors = xp.empty((blocks.n_features, values.shape[0]), dtype=points.dtype)
    for j, span in enumerate(blocks.spans):
        vectors[span, :] = _rooted(blocks.block(points, j), root).T @ left
    # Columns of length one at right angles; columns of eigenvalue zero are rounding errors.
    length = xp.sqrt(xp.clip(values, float(xp.finfo(vectors.dtype).smallest_normal), None))
    return values / m, orthonormal(vectors / length[None, :])


def rsvd(blocks: Blocks, points: Array, root: Array | None, k: int, *, seed: int) -> tuple[Array, Array]:
    """The same by a randomized singular value decomposition of Φ_M, which needs only products with it.

    The block is twice as wide as k, as in the authors' release. A product with Φ_Mᵀ Φ_M passes over the columns of Φ_M
    twice, so a wide Φ_M is never in memory as a whole.
    """
    m, n_features = points.shape[0], blocks.n_features
    xp = arrays.namespace(points)

    def multiply(a: Array) -> Array:
        image = xp.zeros((m, a.shape[1]), dtype=a.dtype)
        for j, span in enumerate(blocks.spans):
            image += _rooted(blocks.block(points, j), root) @ a[span, :]
        out = xp.empty((n_features, a.shape[1]), dtype=a.dtype)
        for j, span in enumerate(blocks.spans):
            out[span, :] = _rooted(blocks.block(points, j), root).T @ image
        return out

    k = min(k, m, n_features)
    values, vectors = top_eigensystem(multiply, n_features, k, like=points, seed=seed, n_iterations=2, oversampling=1.0)
    return values / m, vectors


def _rooted(block: Array, root: Array | None) -> Array:
    return block if root is None else scaled(block, root)


def _inner_products(blocks: Blocks, points: Array, root: Array | None = None) -> Array:
    """Φ Φᵀ of some points, with the rows of Φ times their roots."""
    matrix = arrays.namespace(points).zeros((points.shape[0],) * 2, dtype=points.dtype)
    for j in range(len(blocks.spans)):
        part = _rooted(blocks.block(points, j), root)
        matrix += inner_products(part, part)
    return matrix


EIGENSYSTEMS: dict[str, Callable[..., tuple[Array, Array]]] = {"nsvd": nsvd, "rsvd": rsvd}


# ---------------------------------------------------------------------------------------- the preconditioner


@takes_numpy_integers
def make_feature_preconditioner(
    blocks: Blocks,
    points: Array,
    *,
    rank: int,
    n_subsample: int,
    eigensystem: str = "nsvd",
    seed: int = 0,
    damping: float = 1.0,
    power: float = 1.0,
    weights: Array | None = None,
    smallest: float = 0.0,
    smallest_share: float = 0.0,
) -> FeaturePreconditioner:
    """The preconditioner of a linear model on explicit features of points, shape (n, d), in random order.

    ``eigensystem`` is a key of `EIGENSYSTEMS`. Directions with an eigenvalue below the share ``smallest`` of the
    features' mean square, or the share ``smallest_share`` of the largest eigenvalue, are not changed. The other
    parameters are described in `make_preconditioner`.
    """
    UnknownNameError.check("eigensystem", eigensystem, EIGENSYSTEMS)
    started = time.perf_counter()
    xp = arrays.namespace(points)
    n = points.shape[0]
    m = min(n_subsample, n)
    sample, fresh = subsample_and_fresh(n, m)
    root = None if weights is None else xp.sqrt(weights[sample])[:, None]
    fresh_weights = None if weights is None else weights[fresh]
    sample, fresh = points[sample, :], points[fresh, :]
    values, vectors = EIGENSYSTEMS[eigensystem](blocks, sample, root, rank + 1, seed=seed)
    some = sample[: min(500, m), :]
    # The mean of ‖φ(x)‖² is the sum of all eigenvalues.
    mean_square = sum(sum_of_squares(blocks.block(some, j)) for j in range(len(blocks.spans))) / some.shape[0]
    level = max(smallest * mean_square, smallest_share * float(values[0]))
    q = choose_rank(values, rank=rank, level=level, rounding=float(xp.finfo(points.dtype).eps) * m)
    vectors = arrays.contiguous(vectors[:, :q])
    on_sample = _rooted(blocks.dot(sample, vectors), root) / xp.sqrt(m * values[:q])[None, :]
    values, found = flatten(
        values,
        blocks.dot(fresh, vectors),
        lambda: _inner_products(blocks, fresh),
        q=q,
        level=level,
        damping=damping,
        power=power,
        weights=fresh_weights,
        seed=seed,
        whole=m == n,
    )
    return FeaturePreconditioner(
        eigenvalues=values,
        vectors=arrays.contiguous(vectors[:, : values.shape[0] - 1]),
        damping=damping,
        power=power,
        **{**vars(found), "dimension": float(blocks.n_features)},
        subsample_diagonal=found.bound - float(xp.min(xp.sum(on_sample**2, axis=1))),
        n_subsample=m,
        seed=seed,
        seconds=time.perf_counter() - started,
    )
