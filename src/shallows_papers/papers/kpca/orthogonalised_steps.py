"""Oja's rule on a kernel's covariance operator, compared with a rule that orthogonalizes after each step.

Theorem 1 and Lemma 3 of Xie et al. (2015): random points, no random features. The population is a sample, in
whose span the operator is a matrix with known eigenvectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shallows import arrays, streams

from ..results import AnalysisResult, curves_of, log_marks
from ..samples import sample


def angle_by_iteration(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    n_components: int = 3,
    n_points: int = 300,
    batch_size: int = 32,
    n_iterations: int = 3000,
    n_marks: int = 20,
    random_state: int = 0,
    device: str = "auto",
) -> AnalysisResult:
    """1 − cos² of the largest angle to the top k eigenfunctions, with steps c/(t + t₀), with and without QR.

    c is twice the inverse of the gap λ_k − λ_{k+1}, and t₀ = 2 c λ₁. The start has cos² = 0.55 to each eigenfunction.

    Over t: ``squared_sine`` of Oja's rule and ``orthogonalised`` of the other rule, on the same batches.
    """
    p = _Operator(data, kernel, bandwidth, n_points, n_components, device)
    k = n_components
    gap = p.values[k - 1] - p.values[k]
    c = 2.0 / gap
    G = p.start()
    F = G.copy()
    marks, rows_found = log_marks(n_iterations, n_marks), []
    for t in range(1, n_iterations + 1):
        rows = streams.integers(random_state, "batches", t, batch_size) % np.uint64(n_points)
        psi, eta = p.points[rows.astype(np.int64)], c / (t + 2.0 * c * p.values[0])
        G = _oja(G, psi, eta)
        F = np.linalg.qr(F + eta / batch_size * psi.T @ (psi @ F))[0]
        if t in marks:
            rows_found.append({"squared_sine": p.squared_sine(G), "orthogonalised": p.squared_sine(F)})
    return AnalysisResult(marks, curves_of(rows_found), {"gap": float(gap)}, {**p.effective, "batch_size": batch_size})


def one_step(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    steps: Sequence[float],
    n_components: int = 3,
    n_points: int = 300,
    batch_size: int = 32,
    n_repeats: int = 20,
    random_state: int = 0,
    device: str = "auto",
) -> AnalysisResult:
    """Measure how orthogonalizing changes cos² in one step, for several step sizes (Lemma 3: O(η²)).

    Steps are in units of 1/λ₁, and the mean of |difference| is taken over `n_repeats` batches.

    Over the step: ``difference``.
    """
    p = _Operator(data, kernel, bandwidth, n_points, n_components, device)
    G, differences = p.start(), []
    for step in steps:
        eta, off = step / p.values[0], []
        for repeat in range(n_repeats):
            rows = streams.integers(random_state, "batches", repeat, batch_size) % np.uint64(n_points)
            psi = p.points[rows.astype(np.int64)]
            F = np.linalg.qr(G + eta / batch_size * psi.T @ (psi @ G))[0]
            off.append(abs(p.squared_sine(_oja(G, psi, eta)) - p.squared_sine(F)))
        differences.append(float(np.mean(off)))
    return AnalysisResult(list(steps), {"difference": differences}, {}, {**p.effective, "batch_size": batch_size})


class _Operator:
    """The covariance operator of a sample in the basis of its eigenfunctions.

    ``values``, shape (r,), are descending; ``points``, shape (n, r), are the coordinates of k(xᵢ, ·).
    """

    def __init__(self, data: Any, kernel: str, bandwidth: float | None, n: int, k: int, device: str):
        drawn = sample(data, kernel, bandwidth, n_points=n, random_state=0, device=device)
        K = arrays.to_numpy(drawn.matrix).astype(np.float64)
        values, vectors = np.linalg.eigh(K / len(K))
        kept = values[::-1] > 1e-12 * values[-1]
        self.values, vectors = values[::-1][kept], vectors[:, ::-1][:, kept]
        self.points = vectors * np.sqrt(len(K) * self.values)
        self.k, self.effective = k, drawn.effective

    def start(self) -> np.ndarray:
        """Return orthonormal functions with cos² = 0.55 to an eigenfunction and the rest in one of the next k."""
        G = np.zeros((len(self.values), self.k))
        places = np.arange(self.k)
        G[places, places], G[self.k + places, places] = np.sqrt(0.55), np.sqrt(0.45)
        return G

    def squared_sine(self, G: np.ndarray) -> float:
        """1 − cos² of the largest angle between the span of G and the top k eigenfunctions, in the kernel's space."""
        Q = np.linalg.qr(G)[0]
        return float(max(0.0, 1.0 - np.linalg.svd(Q[: self.k], compute_uv=False)[-1] ** 2))


def _oja(G: np.ndarray, psi: np.ndarray, eta: float) -> np.ndarray:
    """G + η (A G − G GᵀA G) with the covariance A of a batch."""
    h = psi @ G
    return G + eta / len(psi) * (psi.T @ h - G @ (h.T @ h))
