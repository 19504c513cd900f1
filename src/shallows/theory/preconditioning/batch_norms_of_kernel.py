"""Norms of batches in the space of a kernel beside their bound: Theorem 4 of Ma and Belkin (2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...training.resumable import ResumableLoop
from ..eigenvalues import check_rank, diagonal, eigenpairs, largest_eigenvalue
from ..results import AnalysisResult
from ..samples import sample
from .batch_norms import BATCH_SIZES, beside_bounds, bound, over_batches


def norms_of_kernel_batches(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    rank: int = 40,
    n_points: int = 1000,
    batch_sizes: Sequence[int] = BATCH_SIZES,
    n_batches: int = 100,
    delta: float = 0.05,
    random_state: int = 0,
    device: str = "auto",
    progress: ResumableLoop | None = None,
) -> AnalysisResult:
    """Theorem 4 in the space of a kernel, with the intrinsic dimension as printed and as it should be.

    Parameters are those of `batch_norms_of_features.norms_of_feature_batches`.

    Returns
    -------
    AnalysisResult
        Over m: ``norm``, ``largest_norm``, ``bound``, ``share`` with the intrinsic dimension of the preconditioned
        variance, ``bound_printed`` with that of the plain one. Numbers: ``top_eigenvalue``, ``following``, ``kappa``,
        ``dimension`` and ``dimension_printed``.
    """
    part = sample(data, kernel, bandwidth, n_points=n_points, random_state=random_state, device=device)
    matrix = part.matrix
    xp = arrays.namespace(matrix)
    n = matrix.shape[0]
    check_rank(rank, n)
    values, vectors = eigenpairs(matrix)
    values = values / n
    following, kappa = float(values[rank]), float(xp.max(diagonal(matrix)))
    brought = xp.concat([xp.full(rank, following, dtype=values.dtype), values[rank:]])
    preconditioned = (vectors * (n * brought)[None, :]) @ vectors.T
    dimension, printed = (
        intrinsic_dimension(one, spectrum, vectors) for one, spectrum in ((preconditioned, brought), (matrix, values))
    )

    def norm(rows: np.ndarray) -> float:
        chosen = arrays.take_rows(preconditioned, rows)[:, rows]
        return largest_eigenvalue(chosen) / len(rows)

    found = over_batches(n, batch_sizes, n_batches, random_state, norm, progress)
    bounds = [bound(following, kappa, m, math.log(8.0 * dimension / delta)) for m in batch_sizes]
    curve = beside_bounds("", found, bounds)
    curve["bound_printed"] = [bound(following, kappa, m, math.log(8.0 * printed / delta)) for m in batch_sizes]
    numbers = {
        "top_eigenvalue": float(values[0]),
        "following": following,
        "kappa": kappa,
        "dimension": dimension,
        "dimension_printed": printed,
    }
    effective = {**part.effective, "n_batches": n_batches, "delta": delta}
    return AnalysisResult(list(batch_sizes), curve, numbers, effective)


def intrinsic_dimension(matrix: Array, eigenvalues: Array, eigenvectors: Array) -> float:
    """The ratio tr V / ‖V‖ of the variance V of one point's part in the operator of a kernel.

    With the features φ of a kernel, V = E (φ ⊗ φ)² − H² = E k(x, x) φ ⊗ φ − H², here over the points of a sample.

    Parameters
    ----------
    matrix : array, shape (n, n)
        Kernel matrix.
    eigenvalues : array, shape (n,)
        Of the matrix over n.
    eigenvectors : array, shape (n, n)
    """
    xp = arrays.namespace(matrix)
    n = matrix.shape[0]
    # In the basis of H's eigenfunctions φ(xᵢ) has the coordinates √(n λ_j) e_j(i).
    coordinates = eigenvectors * xp.sqrt(n * eigenvalues)[None, :]
    variance = coordinates.T @ (coordinates * diagonal(matrix)[:, None]) / n
    variance = variance - xp.diag(eigenvalues**2)
    return float(xp.trace(variance)) / largest_eigenvalue(variance)
