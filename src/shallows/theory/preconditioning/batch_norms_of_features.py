"""Norms of batches of random Fourier features beside their bound: Theorem 3 and Lemma 1 of Ma and Belkin (2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...features.fourier import FourierFeatures
from ...training.resumable import ResumableLoop
from ..eigenvalues import check_rank, eigenpairs, largest_eigenvalue
from ..results import AnalysisResult
from ..samples import sample
from .batch_norms import BATCH_SIZES, beside_bounds, bound, over_batches


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

    Parameters
    ----------
    data
        Has ``x_train`` and ``y_train``.
    kernel, bandwidth
        Of the features.
    rank : int
        q, of exact eigenvectors.
    n_features, n_points : int
        Columns and rows of the feature matrix.
    batch_sizes : sequence of int
        m.
    n_batches : int
        Batches of each size, drawn without replacement.
    delta : float
        δ.
    progress : ResumableLoop, optional
        Keeps the norms of the sizes that are done.

    Returns
    -------
    AnalysisResult
        Over m: ``norm`` (mean), ``largest_norm``, ``bound`` and ``share``, of batches whose norm is at most the bound;
        with rank 0 also ``deviation``, ``largest_deviation``, ``deviation_bound`` and ``deviation_share`` of
        ‖H_m − H‖ in Lemma 1. Numbers: ``top_eigenvalue`` λ₁, ``following`` λ_{q+1}, ``kappa`` the largest ‖x‖².
    """
    part = sample(data, kernel, bandwidth, n_points=n_points, random_state=random_state, device=device)
    made = FourierFeatures(part.kernel, part.inputs.shape[1], n_features // 2, seed=random_state)
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
        return _norm(arrays.take_rows(flattened, rows))

    found = over_batches(n, batch_sizes, n_batches, random_state, norm, progress)
    bounds = [bound(following, kappa, m, logarithm) for m in batch_sizes]
    curve = beside_bounds("", found, bounds)
    if rank == 0:
        top = float(values[0])

        def deviation(rows: np.ndarray) -> float:
            chosen = arrays.take_rows(x, rows)
            ends = xp.linalg.eigvalsh(chosen.T @ chosen / len(rows) - covariance)
            return max(abs(float(ends[0])), abs(float(ends[-1])))

        fewer = max(1, n_batches // 5)  # each asks for the spectrum of a d × d matrix
        found = over_batches(n, batch_sizes, fewer, random_state, deviation, progress, "deviations")
        first = [(top + kappa) / (3.0 * m) * logarithm for m in batch_sizes]
        bounds = [
            a + math.sqrt(a * a + 2.0 * top * kappa / m * logarithm) for a, m in zip(first, batch_sizes, strict=True)
        ]
        curve |= beside_bounds("deviation_", found, bounds)
    numbers = {"top_eigenvalue": float(values[0]), "following": following, "kappa": kappa}
    effective = {**part.effective, "n_features": d, "n_batches": n_batches, "delta": delta}
    return AnalysisResult(list(batch_sizes), curve, numbers, effective)


def _norm(rows: Array) -> float:
    """‖Z Zᵀ‖/m of a batch's rows Z, by the smaller of the two Gram matrices."""
    m, d = rows.shape
    return largest_eigenvalue(rows @ rows.T if m <= d else rows.T @ rows) / m
