"""A low-rank preconditioner of kernel regularised least squares, from some of the points."""

from __future__ import annotations

from dataclasses import dataclass

from ... import arrays, kernels, spectrum
from ...arrays import Array
from ...gram import Gram


@dataclass(frozen=True)
class LowRank:
    """The inverse of U diag(μ₁, …, μ_q) Uᵀ + ρ (I − U Uᵀ), up to the factor 1/ρ, which changes no iterate."""

    vectors: Array  # (n, q): U, orthonormal columns
    shares: Array  # (q,): 1 − ρ/μᵢ

    def solve(self, a: Array) -> Array:
        """Times the inverse; ``a`` of shape (n, c)."""
        return a - self.vectors @ (self.shares[:, None] * (self.vectors.T @ a))


def low_rank(gram: Gram, regularisation: float, *, rank: int, n_subsample: int, seed: int = 0) -> LowRank | None:
    """The Nyström preconditioner: eigenpairs of the matrix of the first M points, extended to all n.

    For eigenpairs (σᵢ, vᵢ) of K_MM the columns K_nM vᵢ / √σᵢ are a factor of the Nyström approximation of K; with its
    eigenpairs (μᵢ, uᵢ), and λ on both sides, the q directions are brought to the level ρ = μ_q + λ of the last one
    (Frangella, Tropp and Udell 2023).

    ``gram``: its first points are a random subsample. ``regularisation``: λ. ``rank, n_subsample``: q and M. ``seed``:
    Of the start of the eigensystem's iteration.
    """
    points, xp = gram.points, arrays.namespace(gram.points)
    m = min(n_subsample, gram.n)
    sample = points[:m, :]
    values, vectors = spectrum.eigensystem(kernels.values(gram.kernel, sample, sample), min(rank, m), seed=seed)
    resolved = int(xp.sum(arrays.astype(values > float(values[0]) * float(xp.finfo(points.dtype).eps) * m, xp.int64)))
    if resolved < 2:
        return None
    vectors = vectors[:, :resolved] / xp.sqrt(values[:resolved])[None, :]
    factor = xp.empty((gram.n, resolved), dtype=points.dtype)
    for rows in arrays.blocks(gram.n, max(gram.tile, 1)):
        factor[rows, :] = kernels.values(gram.kernel, points[rows, :], sample) @ vectors
    small = factor.T @ factor
    values, rotation = xp.linalg.eigh((small + small.T) / 2)
    # Small eigenvalues of the factor's own Gram matrix are rounding, and their vectors are not orthogonal.
    values, rotation = xp.flip(values), xp.flip(rotation, axis=1)
    kept = int(xp.sum(arrays.astype(values > float(values[0]) * 1e3 * float(xp.finfo(points.dtype).eps), xp.int64)))
    if kept < 2:
        return None
    values = values[:kept]
    basis = factor @ (rotation[:, :kept] / xp.sqrt(values)[None, :])
    level = float(values[kept - 1]) + regularisation
    return LowRank(basis[:, : kept - 1], 1.0 - level / (values[: kept - 1] + regularisation))
