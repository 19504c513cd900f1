"""The norm of a batch's preconditioned operator and its bounds, Theorems 3 and 4 of Ma and Belkin (2017).

With the covariance H = E x xᵀ (without the factor 2 that the paper has in one place) and batches of m points,
H_m = (1/m) Σ x xᵀ, with probability 1 − δ

    ‖P^½ H_m P^½‖ ≤ λ_{q+1} + 2(λ_{q+1} + κ)/(3m) · L + √(2 λ_{q+1} κ/m · L)

with L = ln(2d/δ) for d features and L = ln(8d/δ) with the intrinsic dimension d in the space of a kernel. Here the
population is the sample, so all terms of the bound are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shallows import arrays, streams
from shallows.arrays import Array
from shallows.features.fourier import FourierMap

from ..results import AnalysisResult
from ..resumable import ResumableLoop
from ..samples import sample
from .eigenvalues import check_rank, eigenpairs, largest_eigenvalue

BATCH_SIZES = (1, 4, 16, 64, 256)


def norms_of_feature_batches(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    rank: int = 40,
    n_features: int = 300,
    n_points: int = 2000,
    batch_sizes: Sequence[int] = BATCH_SIZES,
    n_batches: int = 100,
    delta: float = 0.05,
    random_state: int = 0,
    device: str = "auto",
    progress: ResumableLoop | None = None,
) -> AnalysisResult:
    """Theorem 3 and Lemma 1 on random Fourier features of data.

    The features define the kernel, m runs over `batch_sizes`, and the q eigenvectors are exact. Batches are drawn
    without replacement. `progress` stores the norms of finished sizes.

    Over m: ``norm`` (mean), ``largest_norm``, ``bound`` and ``share``, of batches whose norm is at most the bound; with
    rank 0 also ``deviation``, ``largest_deviation``, ``deviation_bound`` and ``deviation_share`` of ‖H_m − H‖ in Lemma
    1. Numbers: ``top_eigenvalue`` λ₁, ``following`` λ_{q+1}, ``kappa`` the largest ‖x‖².
    """
    part = sample(data, kernel, bandwidth, n_points=n_points, random_state=random_state, device=device)
    made = FourierMap(part.kernel, part.inputs.shape[1], n_features // 2, seed=random_state)
    x = made.map(part.inputs, 1)
    xp = arrays.namespace(x)
    n, d = x.shape
    check_rank(rank, d)
    covariance = x.T @ x / n
    values, vectors = eigenpairs(covariance)
    following, kappa = float(values[rank]), float(xp.max(xp.sum(x * x, axis=1)))
    flattened = x - x @ (vectors[:, :rank] * (1.0 - xp.sqrt(following / values[:rank]))[None, :]) @ vectors[:, :rank].T
    logarithm = math.log(2.0 * d / delta)

    def norm(rows: np.ndarray) -> float:
        # ‖Z Zᵀ‖/m of the batch's rows Z, by the smaller of the two Gram matrices.
        Z = arrays.take_rows(flattened, rows)
        return largest_eigenvalue(Z @ Z.T if len(rows) <= d else Z.T @ Z) / len(rows)

    found = over_batches(n, batch_sizes, n_batches, random_state, norm, progress)
    bounds = [bound(following, kappa, m, logarithm) for m in batch_sizes]
    curve = beside_bounds("", found, bounds)
    if rank == 0:
        top = float(values[0])

        def deviation(rows: np.ndarray) -> float:
            chosen = arrays.take_rows(x, rows)
            ends = xp.linalg.eigvalsh(chosen.T @ chosen / len(rows) - covariance)
            return max(abs(float(ends[0])), abs(float(ends[-1])))

        fewer = max(1, n_batches // 5)  # each needs the spectrum of a d × d matrix
        found = over_batches(n, batch_sizes, fewer, random_state, deviation, progress, "deviations")
        first = [(top + kappa) / (3.0 * m) * logarithm for m in batch_sizes]
        bounds = [
            a + math.sqrt(a * a + 2.0 * top * kappa / m * logarithm) for a, m in zip(first, batch_sizes, strict=True)
        ]
        curve |= beside_bounds("deviation_", found, bounds)
    numbers = {"top_eigenvalue": float(values[0]), "following": following, "kappa": kappa}
    effective = {**part.effective, "n_features": d, "n_batches": n_batches, "delta": delta}
    return AnalysisResult(list(batch_sizes), curve, numbers, effective)


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

    Parameters are the same as in `norms_of_feature_batches`.

    Over m: ``norm``, ``largest_norm``, ``bound``, ``share`` with the intrinsic dimension of the preconditioned
    variance, ``bound_printed`` with the dimension of the variance without preconditioner. Numbers: ``top_eigenvalue``,
    ``following``, ``kappa``, ``dimension`` and ``dimension_printed``.
    """
    part = sample(data, kernel, bandwidth, n_points=n_points, random_state=random_state, device=device)
    matrix = part.matrix
    xp = arrays.namespace(matrix)
    n = matrix.shape[0]
    check_rank(rank, n)
    values, vectors = eigenpairs(matrix)
    values = values / n
    following, kappa = float(values[rank]), float(xp.max(arrays.diagonal(matrix)))
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
    """Return the ratio tr V / ‖V‖ of the variance V of one point's contribution to the kernel's operator.

    With the features φ of a kernel, V = E (φ ⊗ φ)² − H² = E k(x, x) φ ⊗ φ − H², here over the points of a sample. The
    eigenvalues belong to the kernel matrix divided by n.
    """
    xp = arrays.namespace(matrix)
    n = matrix.shape[0]
    # In the basis of H's eigenfunctions φ(xᵢ) has the coordinates √(n λ_j) e_j(i).
    coordinates = eigenvectors * xp.sqrt(n * eigenvalues)[None, :]
    variance = coordinates.T @ (coordinates * arrays.diagonal(matrix)[:, None]) / n
    variance = variance - xp.diag(eigenvalues**2)
    return float(xp.trace(variance)) / largest_eigenvalue(variance)


def bound(following: float, kappa: float, batch_size: int, logarithm: float) -> float:
    """λ_{q+1} + 2(λ_{q+1} + κ)/(3m) · L + √(2 λ_{q+1} κ/m · L)."""
    deviation = 2.0 * (following + kappa) / (3.0 * batch_size) * logarithm
    return following + deviation + math.sqrt(2.0 * following * kappa / batch_size * logarithm)


def over_batches(
    n: int,
    sizes: Sequence[int],
    n_batches: int,
    seed: int,
    measure: Callable[[np.ndarray], float],
    progress: ResumableLoop | None = None,
    name: str = "norms",
) -> list[np.ndarray]:
    """Compute a measure on random batches of each size, drawn without replacement."""

    def values(m: int) -> list[float]:
        return [measure(streams.permutation(seed, f"batches of {m}", k, n)[:m]) for k in range(n_batches)]

    progress = progress or ResumableLoop()
    return [np.array(found) for found in progress.map(f"sizes of batches ({name})", values, sizes)]


def beside_bounds(prefix: str, found: Sequence[np.ndarray], bounds: Sequence[float]) -> dict[str, list[float]]:
    """Return mean, largest value and share within the bound for each batch size."""
    name = prefix.removesuffix("_") or "norm"
    return {
        name: [float(values.mean()) for values in found],
        f"largest_{name}": [float(values.max()) for values in found],
        f"{prefix}bound": list(bounds),
        f"{prefix}share": [float(np.mean(values <= limit)) for values, limit in zip(found, bounds, strict=True)],
    }
