"""Preconditioners of low rank for K + λ W⁻¹: from the spectrum of a subsample, and from a partial Cholesky factor."""

from __future__ import annotations

from dataclasses import dataclass

from ... import arrays, kernels, spectrum
from ...arrays import Array
from ...features.pivoted_cholesky import pivoted_cholesky
from ...gram import Gram
from .kernel_problem import KernelProblem


@dataclass(frozen=True)
class LowRank:
    """The inverse R (I − V diag(s) Vᵀ) R of a preconditioner, up to a factor, which changes no iterate.

    With V = U of orthonormal columns and sᵢ = 1 − ρ/μᵢ it is ρ times that of U diag(μ₁, …, μ_q) Uᵀ + ρ (I − U Uᵀ).
    """

    vectors: Array  # (n, q): V
    shares: Array  # (q,): s
    root: Array | None = None  # (n, 1): the diagonal of R; none means I

    def solve(self, a: Array) -> Array:
        """Times the inverse; ``a`` of shape (n, c)."""
        a = a if self.root is None else self.root * a
        solved = a - self.vectors @ (self.shares[:, None] * (self.vectors.T @ a))
        return solved if self.root is None else self.root * solved


def low_rank(gram: Gram, regularisation: float, *, rank: int, n_subsample: int, seed: int = 0) -> LowRank | None:
    """The Nyström preconditioner: eigenpairs of the matrix of the first M points, extended to all n.

    For eigenpairs (σᵢ, vᵢ) of K_MM the columns K_nM vᵢ / √σᵢ are a factor of the Nyström approximation of K; with its
    eigenpairs (μᵢ, uᵢ), and λ on both sides, the q directions are brought to the level ρ = μ_q + λ of the last one
    (Frangella, Tropp and Udell 2023).

    The first points of ``gram`` are a random subsample. ``rank, n_subsample``: q and M.
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


def low_rank_of_pivots(
    problem: KernelProblem, regularisation: float, *, rank: int, random: bool, seed: int = 0
) -> LowRank | None:
    """The inverse of F Fᵀ + D with the partial Cholesky factor F of W^½ K W^½, between two W^½.

    With D = λI that is K + λ W⁻¹ but for what F leaves of the matrix (Díaz and others 2023), and for small λ all of
    that lies above D. What F leaves has the diagonal d, which is known, with the mean m: D = λI + ½ (diag(d) + mI) has
    its trace. On 3,000 digits at λ = 10⁻⁶ n, with rank 200, conjugate gradients took 30 steps to a residual of 10⁻³,
    32 with D = (λ + m) I, 38 with λI + diag(d) and 89 with λI; on 28 generated inputs 43, 51, 55 and 96.

    With G = D^−½ F and L Lᵀ = I + GᵀG the inverse is D^−½ (I − T Tᵀ) D^−½ for T = G L^−ᵀ.
    """
    gram, weights = problem.gram, problem.weights
    made = pivoted_cholesky(gram.kernel, gram.points, rank, random=random, weights=weights, seed=seed)
    F, xp = made.factor, arrays.namespace(gram.points)
    (n, r), eps = F.shape, float(xp.finfo(F.dtype).eps)
    if r == 0:
        return None
    # Below the norm of the matrix's rounding, D is no better for being smaller, and GᵀG must leave I above its own.
    rounding = 4.0 * eps * n**0.5 + 16.0 * float(xp.finfo(xp.float64).eps) * n
    least = max(regularisation, rounding * float(xp.max(xp.abs(F))) ** 2)
    root = (least + 0.5 * (made.remainder + made.remainder.mean())) ** -0.5
    root = arrays.like(root, F, xp.float64)[:, None]
    blocks = list(arrays.blocks(n, max(gram.tile, 1)))

    def scaled(rows: slice) -> Array:
        return root[rows, :] * arrays.astype(F[rows, :], xp.float64)

    inner = xp.eye(r, dtype=xp.float64)
    for rows in blocks:
        block = scaled(rows)
        inner = inner + block.T @ block
    inner = xp.linalg.cholesky(inner)
    vectors = xp.empty((n, r), dtype=F.dtype)
    for rows in blocks:
        vectors[rows, :] = arrays.astype(arrays.solve_triangular(inner, scaled(rows).T).T, F.dtype)
    root = arrays.astype(root / xp.max(root), F.dtype)
    # The vectors are rounded, and I − T Tᵀ stays positive definite.
    shares = xp.full((r,), 1.0 - 8.0 * eps, dtype=F.dtype)
    return LowRank(vectors, shares, root if weights is None else root * xp.sqrt(weights))
