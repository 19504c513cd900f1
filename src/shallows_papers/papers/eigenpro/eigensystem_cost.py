"""Approximate eigensystems of a kernel matrix: RSVD and NSVD of Ma and Belkin (2017, Appendix A), and Nyström's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from shallows import arrays, kernels
from shallows.arrays import Array
from shallows.spectrum.eigensystems import eigensystem, top_eigensystem

from ..results import AnalysisResult
from ..resumable import ResumableLoop
from ..samples import sample
from ..timing import fastest
from .eigenvalues import check_rank


def compare_eigensystems(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    rank: int = 40,
    subsamples: Sequence[int] = (250, 500, 1000),
    n_points: int = 2000,
    rounds: int = 3,
    random_state: int = 0,
    device: str = "auto",
    progress: ResumableLoop | None = None,
) -> AnalysisResult:
    """RSVD and NSVD of Appendix A, and Nyström's extension: time and error by the size of the subsample.

    The matrix is n × n. Times include the computation of its M rows, and the fastest round counts. `progress` stores
    finished errors; times are always measured together.

    Over M, for each of ``rsvd``, ``nsvd`` and ``nystrom``: ``error_…``, the root mean square of the sines between the
    exact eigenvectors and the space of the approximate ones, and ``values_…``, the mean relative error of the
    eigenvalues. For the first two, ``time_…``, in units of RSVD's first; ``top_…``, the largest eigenvalue of the
    preconditioned matrix over the exact λ_{q+1}, which sets the number of iterations; and ``printed_…``, the costs that
    the paper prints, n M ln q + (M + n) q² and M n q + M³, in the unit of the times. ``time_ratio`` is NSVD over RSVD.
    """
    part = sample(data, kernel, bandwidth, n_points=n_points, random_state=random_state, device=device)
    n = part.inputs.shape[0]
    subsamples = [size for size in subsamples if size <= n]
    check_rank(rank, min(subsamples))
    points, matrix = part.points, part.matrix
    xp = arrays.namespace(matrix)
    values, vectors = eigensystem(matrix, rank + 1, seed=random_state, tolerance=1e-4)

    def rows(m: int) -> Array:
        return kernels.values(part.kernel, points[:m, :], points)

    methods = {
        "rsvd": lambda m: rsvd(rows(m), rank + 1, random_state),
        "nsvd": lambda m: nsvd(rows(m), rank + 1),
        "nystrom": lambda m: nystrom(rows(m), rank + 1),
    }

    printed = {
        "rsvd": lambda m: n * m * math.log(rank) + (m + n) * rank**2,
        "nsvd": lambda m: m * n * rank + m**3,
    }

    def errors(case: tuple[int, str]) -> dict[str, float]:
        m, name = case
        estimates, space = methods[name](m)
        inside = space[:, :rank].T @ vectors[:, :rank]
        lost = 1.0 - float(xp.sum(inside**2)) / rank
        wrong = xp.abs(estimates[:rank] - values[:rank]) / values[:rank]
        measured = {"error": math.sqrt(max(lost, 0.0)), "values": float(xp.mean(wrong))}
        if name in printed:
            measured["top"] = _preconditioned_top(matrix, estimates, space, rank) / float(values[rank])
        return measured

    progress = progress or ResumableLoop()
    found: dict[str, list[float]] = {}
    cases = [(m, name) for m in subsamples for name in methods]
    for (_, name), measured in zip(cases, progress.map("eigensystems", errors, cases), strict=True):
        for key, value in measured.items():
            found.setdefault(f"{key}_{name}", []).append(value)
    work = {(name, m): partial(methods[name], m) for name in printed for m in subsamples}
    seconds = fastest(work, rounds, matrix)
    first = seconds["rsvd", subsamples[0]]
    for name, cost in printed.items():
        found[f"time_{name}"] = [seconds[name, m] / first for m in subsamples]
        found[f"printed_{name}"] = [cost(m) / printed["rsvd"](subsamples[0]) for m in subsamples]
    found["time_ratio"] = [seconds["nsvd", m] / seconds["rsvd", m] for m in subsamples]
    return AnalysisResult(subsamples, found, effective={**part.effective, "rank": rank, "rounds": rounds})


def rsvd(rows: Array, k: int, seed: int) -> tuple[Array, Array]:
    """√(n/M) σᵢ and the k right singular vectors of M rows of a symmetric matrix, by a randomized decomposition."""
    xp = arrays.namespace(rows)
    m, n = rows.shape
    squares, vectors = top_eigensystem(
        lambda a: rows.T @ (rows @ a), n, min(k, m), like=rows, seed=seed, n_iterations=2
    )
    return xp.sqrt(xp.clip(squares, 0.0, None) * (n / m)), vectors


def nsvd(rows: Array, k: int) -> tuple[Array, Array]:
    """√(n/M) σᵢ and the k right singular vectors of M rows X of a symmetric matrix, from W = (n/M) X Xᵀ.

    The algorithm NSVD of Appendix A with its step 5 exact, since the vectors Xᵀv of eigenvectors v of W are orthogonal.
    The estimates of eigenvalues are the square roots of W's eigenvalues; the paper returns the latter for X's
    covariance.
    """
    xp = arrays.namespace(rows)
    m, n = rows.shape
    values, own = eigensystem((rows @ rows.T) * (n / m), min(k, m))
    vectors = rows.T @ own
    return xp.sqrt(xp.clip(values, 0.0, None)), vectors / xp.sqrt(xp.sum(vectors**2, axis=0))


def nystrom(rows: Array, k: int) -> tuple[Array, Array]:
    """(n/M) σᵢ of the M × M block of a kernel matrix, and its eigenvectors extended to all points, orthonormal.

    The rows have the shape (M, n), and their first M columns are the block.
    """
    xp = arrays.namespace(rows)
    m, n = rows.shape
    values, own = eigensystem(rows[:, :m], min(k, m))
    return values * (n / m), xp.linalg.qr(rows.T @ own)[0]


def _preconditioned_top(matrix: Array, values: Array, vectors: Array, rank: int) -> float:
    """The largest eigenvalue of P^½ K P^½ with P = I − Σ (1 − λ_{q+1}/λᵢ) eᵢ eᵢᵀ from approximate eigenpairs."""
    xp = arrays.namespace(matrix)
    own, less = vectors[:, :rank], 1.0 - xp.sqrt(values[rank] / values[:rank])
    half = matrix - (own * less[None, :]) @ (own.T @ matrix)
    both = half - (half @ own) @ (own * less[None, :]).T
    both = (both + both.T) / 2.0
    return float(top_eigensystem(lambda a: both @ a, both.shape[0], 1, like=both, tolerance=1e-3)[0][0])
