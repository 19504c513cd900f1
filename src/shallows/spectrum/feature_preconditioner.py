"""The preconditioner of EigenPro in a space of explicit features."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from .. import arrays
from ..arrays import Array
from ..errors import UnknownNameError
from ..features.sparse_features import inner_products, scaled, sum_of_squares
from ..utils.plain_numbers import takes_numpy_integers
from .certificates import subsample_and_fresh
from .eigensystems import eigensystem, orthonormal, top_eigensystem
from .spectral_preconditioner import SpectralPreconditioner, choose_rank, filtered, flatten

if TYPE_CHECKING:
    from ..features.design import Blocks


@dataclass(frozen=True)
class FeaturePreconditioner(SpectralPreconditioner):
    """P = I − E diag(1 − τ (λ_{q+1}/λᵢ)^a) Eᵀ on coefficients of explicit features.

    Attributes
    ----------
    eigenvalues : array, shape (q + 1,)
        Of Φ_Mᵀ Φ_M / M on the subsample (weighted where there are sample weights), descending.
    vectors : array, shape (D, q)
        E: its eigenvectors, orthonormal.
    damping, power : float
        τ and a.
    top_eigenvalue, largest_diagonal, upper_diagonal, mean_diagonal, bound : float
        λ, β, its mean over the largest fiftieth, μ and κ on points outside the subsample, see `Certificate`.
    dimension : float
        D, the dimension in the bound of Theorem 3.
    remainder : float
        What the spectrum has beyond its first directions, see `Certificate`.
    subsample_diagonal : float
        κ less the smallest leverage of a point of the subsample.
    n_subsample : int
        M.
    seconds : float
        How long it took to compute.
    """

    eigenvalues: Array
    vectors: Array
    damping: float
    power: float
    top_eigenvalue: float
    largest_diagonal: float
    upper_diagonal: float
    mean_diagonal: float
    bound: float
    dimension: float
    remainder: float
    subsample_diagonal: float
    n_subsample: int
    seconds: float = field(default=0.0, compare=False)
    tail_constant: ClassVar[float] = 2.0

    @property
    def n_functions(self) -> float:
        """D, or fewer where the features are as good as combinations of fewer."""
        return min(self.vectors.shape[0], super().n_functions)

    def correction(self, gradient: Array) -> Array:
        """E diag(shrink) Eᵀ g, shape (D, c): what P takes off a gradient of shape (D, c)."""
        return filtered(self.vectors, self.shrink, gradient)


# ----------------------------------------------------------------------------------------- eigensystems


def nsvd(blocks: Blocks, points: Array, root: Array | None, k: int, *, seed: int) -> tuple[Array, Array]:
    """The k largest eigenvalues of Φ_Mᵀ Φ_M / M and their eigenvectors, through the M × M matrix of inner products.

    With Φ_M Φ_Mᵀ v = σ² v, e ∝ Φ_Mᵀ v (Nyström).
    """
    xp = arrays.namespace(points)
    m = points.shape[0]
    matrix = xp.zeros((m, m), dtype=points.dtype)
    for j in range(len(blocks.spans)):
        part = _rooted(blocks.block(points, j), root)
        matrix += inner_products(part, part)
    values, left = eigensystem(matrix, min(k, m, blocks.n_features), seed=seed)
    del matrix
    vectors = xp.empty((blocks.n_features, values.shape[0]), dtype=points.dtype)
    for j, span in enumerate(blocks.spans):
        vectors[span, :] = _rooted(blocks.block(points, j), root).T @ left
    return values / m, _unit(vectors, values)


def rsvd(blocks: Blocks, points: Array, root: Array | None, k: int, *, seed: int) -> tuple[Array, Array]:
    """The same by a randomised singular value decomposition of Φ_M, which needs products with it only.

    The block is twice as wide as k, as in the authors' release. A product with Φ_Mᵀ Φ_M is made in one pass over Φ_M
    for each of its two factors, so a wide Φ_M is never whole in memory.
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


def _unit(vectors: Array, values: Array) -> Array:
    """Columns brought to length one and at right angles; those of eigenvalue zero are nothing but rounding."""
    xp = arrays.namespace(vectors)
    tiny = float(xp.finfo(vectors.dtype).smallest_normal)
    length = xp.sqrt(xp.clip(values, tiny, None))
    return orthonormal(vectors / length[None, :])


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
    """The preconditioner of a linear model on explicit features of points in random order.

    The first M points are the subsample; the step is certified on those that follow.

    Parameters
    ----------
    blocks : Blocks
    points : array, shape (n, d)
    rank : int
        q at most; as in `make_preconditioner` it may come out smaller.
    n_subsample : int
        M, at most n.
    eigensystem : {"nsvd", "rsvd"}
        Through the M × M matrix of inner products, or by a randomised decomposition of the features of the subsample.
    seed : int
    damping, power : float
        τ and a.
    weights : array, shape (n,), optional
        Sample weights of the loss.
    smallest, smallest_share : float
        Directions with an eigenvalue below this share of the features' mean square, or of the largest eigenvalue, are
        left as they are.

    Raises
    ------
    UnknownNameError
        If there is no such eigensystem.
    """
    UnknownNameError.check("eigensystem", eigensystem, EIGENSYSTEMS)
    started = time.perf_counter()
    xp = arrays.namespace(points)
    n = points.shape[0]
    m = min(n_subsample, n)
    sample, fresh = subsample_and_fresh(n, m)
    root = None if weights is None else xp.sqrt(weights[sample])[:, None]
    values, vectors = EIGENSYSTEMS[eigensystem](blocks, points[sample, :], root, rank + 1, seed=seed)
    level = max(smallest * _mean_square(blocks, points[sample, :]), smallest_share * float(values[0]))
    q = choose_rank(values, rank=rank, level=level, rounding=float(xp.finfo(points.dtype).eps) * m)
    vectors = arrays.contiguous(vectors[:, :q])
    on_sample = _rooted(blocks.dot(points[sample, :], vectors), root) / xp.sqrt(m * values[:q])[None, :]
    functions = blocks.dot(points[fresh, :], vectors)

    def make_matrix() -> Array:
        size = fresh.stop - fresh.start
        matrix = xp.zeros((size, size), dtype=points.dtype)
        for j in range(len(blocks.spans)):
            part = blocks.block(points[fresh, :], j)
            matrix += inner_products(part, part)
        return matrix

    values, found = flatten(
        values,
        functions,
        make_matrix,
        q=q,
        level=level,
        damping=damping,
        power=power,
        weights=None if weights is None else weights[fresh],
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
        seconds=time.perf_counter() - started,
    )


def _mean_square(blocks: Blocks, points: Array) -> float:
    """The mean of ‖φ(x)‖² over some points, which is the sum of all eigenvalues."""
    some = points[: min(500, points.shape[0]), :]
    return sum(sum_of_squares(blocks.block(some, j)) for j in range(len(blocks.spans))) / some.shape[0]
