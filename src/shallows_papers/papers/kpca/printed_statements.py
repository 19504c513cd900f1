"""Statements of Xie et al. (2015) that do not hold as printed, compared with their corrections."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shallows import arrays, streams

from ...datasets.synthetic.latent_views import LatentViews
from ..results import AnalysisResult
from ..samples import sample

SIZE, K = 12, 3  # dimension of the matrices for iterating rules, and number of components


def printed_statements(
    data: Any,
    bandwidth: float = 0.5,
    *,
    n_points: int = 300,
    n_steps: int = 4000,
    random_state: int = 0,
    device: str = "auto",
) -> AnalysisResult:
    """Return numbers that are small, or one, if a statement holds, for the printed and the corrected statements.

    The rules are iterated on the mean over all data. Statements about the kernel matrix use `n_points` points.

    No curve. Numbers: ``eigenvector_*``, the residual of the eigenvalue equation of the kernel matrix over the vector;
    ``frequencies_*``, the integral of the density of the frequencies; ``start_*``, the size of the functions of
    Algorithm 1 after its steps; ``joint_*``, the ratio of the second to the first singular value of the
    cross-covariance of two views, drawn independently and drawn as a pair; ``singular_*``, the smallest squared norm of
    the functions of Algorithm 3; ``same_sample_*``, the relative bias of a step of Algorithm 4 if both factors use the
    same point, and with the mean of a batch of 256; ``projection_*``, the largest ‖v − Gw‖² over 1 − cos² for functions
    G that are not orthonormal; ``hebbian_*``, the largest norm of the functions of the generalized Hebbian rule,
    without and with the diagonal.
    """
    numbers = {
        **_eigenvector(data, bandwidth, n_points, device),
        **_frequencies(bandwidth),
        **_joint(random_state),
        **_same_sample(random_state),
        **_projection(random_state),
    }
    A = _covariance(random_state)
    start = 0.1 * streams.normal(random_state, "start", 0, (SIZE, K))
    numbers["start_printed"] = float(np.linalg.norm(_oja(A, np.zeros((SIZE, K)), n_steps)))
    numbers["start_corrected"] = float(np.linalg.norm(_oja(A, start, n_steps))) / math.sqrt(K)
    squared = np.linalg.norm(_singular_functions(A, start, n_steps), axis=0) ** 2
    numbers["singular_printed"] = float(squared.min())
    numbers["singular_corrected"] = 2.0 * numbers["singular_printed"]
    for name, place in (("hebbian_printed", 1), ("hebbian_corrected", 0)):
        # The part of GᵀAG that damps column p: the rows up to p, with or without the diagonal.
        found = _oja(A, start, n_steps, lambda W, place=place: np.triu(W, place))
        numbers[name] = float(np.linalg.norm(found, axis=0).max())
    return AnalysisResult([], {}, numbers, {"bandwidth": bandwidth, "n_points": n_points, "n_steps": n_steps})


def _eigenvector(data: Any, bandwidth: float, n: int, device: str) -> dict[str, float]:
    """Whether K α = λ α, or n λ α, for the top eigenfunction of (1/n) Σ k(x, ·) ⊗ k(x, ·)."""
    drawn = sample(data, "gaussian", bandwidth, n_points=n, device=device)
    M = arrays.to_numpy(drawn.matrix).astype(np.float64)
    alpha = np.linalg.eigh(M)[1][:, -1]
    # λ of the operator: ‖A v‖ / ‖v‖ for v = Σ αᵢ k(xᵢ, ·). The coefficients of A v are K α / n.
    after = M @ alpha / len(M)
    value = math.sqrt(after @ M @ after) / math.sqrt(alpha @ M @ alpha)
    size = value * np.linalg.norm(alpha)
    return {
        "eigenvector_printed": float(np.linalg.norm(M @ alpha - value * alpha) / size),
        "eigenvector_corrected": float(np.linalg.norm(M @ alpha - len(M) * value * alpha) / (len(M) * size)),
    }


def _frequencies(bandwidth: float) -> dict[str, float]:
    """The integral of exp(−σ²ω²/2) over all frequencies, and with the factor σ/√(2π)."""
    places = np.linspace(-12.0 / bandwidth, 12.0 / bandwidth, 4001)
    total = float(np.sum(np.exp(-((bandwidth * places) ** 2) / 2)) * (places[1] - places[0]))
    return {"frequencies_printed": total, "frequencies_corrected": total * bandwidth / math.sqrt(2 * math.pi)}


def _joint(seed: int, n: int = 4000) -> dict[str, float]:
    """The second singular value over the first, for two views drawn independently and drawn as a pair."""
    x, _ = LatentViews(seed=seed).block(0, n)
    # The functions are evaluated on a grid that resolves all directions of the kernel.
    grid = np.linspace(-12.0, 20.0, 80)[:, None]
    K_grid = np.exp(-((grid - grid.T) ** 2) / 2.0)
    root = np.linalg.cholesky(K_grid + 1e-6 * np.eye(len(grid)))
    first, second = (np.linalg.solve(root, np.exp(-((grid - x[:, place]) ** 2) / 2.0)) for place in range(2))
    found = {}
    for name, other in (
        ("joint_printed", second[:, streams.permutation(seed, "apart", 0, n)]),
        ("joint_corrected", second),
    ):
        values = np.linalg.svd(first @ other.T / n, compute_uv=False)
        found[name] = float(values[1] / values[0])
    return found


def _covariance(seed: int) -> np.ndarray:
    """A positive definite matrix with eigenvalues 1, 0.7, 0.49 and so on."""
    Q = np.linalg.qr(streams.normal(seed, "directions", 0, (SIZE, SIZE)))[0]
    return (Q * 0.7 ** np.arange(SIZE)) @ Q.T


def _oja(A: np.ndarray, G: np.ndarray, n_steps: int, part: Any = lambda W: W, eta: float = 0.1) -> np.ndarray:
    """G ← G + η (A G − G part(GᵀAG))."""
    for _ in range(n_steps):
        G = G + eta * (A @ G - G @ part(G.T @ A @ G))
        if not np.abs(G).max() < 1e6:
            break  # It grows without bound.
    return G


def _singular_functions(A: np.ndarray, start: np.ndarray, n_steps: int, eta: float = 0.1) -> np.ndarray:
    """Return the limit of Algorithm 3 for the first view, on a cross-covariance matrix."""
    F, G = start, start
    for _ in range(n_steps):
        W = F.T @ A @ G + G.T @ A.T @ F
        F, G = F + eta * (A @ G - F @ W), G + eta * (A.T @ F - G @ W)
    # Rotate to the singular directions, so that each column is a separate function.
    return F @ np.linalg.svd(F.T @ A @ G)[0]


def _same_sample(seed: int, n_draws: int = 20_000, batch: int = 256) -> dict[str, float]:
    """The bias of E[C_t Z W_t], relative to C Z W, with one point for both factors and with the mean of a batch."""
    Z = streams.normal(seed, "same sample, functions", 0, (SIZE, K)) / SIZE
    root = np.linalg.cholesky(_covariance(seed))

    def product(points: np.ndarray) -> np.ndarray:
        C = points.T @ points / len(points)
        return C @ Z @ (Z.T @ C @ Z)

    C = root @ root.T
    truth = C @ Z @ (Z.T @ C @ Z)
    points = streams.normal(seed, "same sample, points", 0, (n_draws, SIZE)) @ root.T
    values = points @ Z
    single = np.einsum("ni,nj,nj,nl->il", points, values, values, values, optimize=True) / n_draws
    n_batches = n_draws // batch
    together = sum(product(points[batch * i : batch * (i + 1)]) for i in range(n_batches)) / n_batches
    size = np.linalg.norm(truth)
    return {
        "same_sample_printed": float(np.linalg.norm(single - truth) / size),
        "same_sample_corrected": float(np.linalg.norm(together - truth) / size),
    }


def _projection(seed: int, n_trials: int = 100) -> dict[str, float]:
    """The largest ‖v − Gw‖² over 1 − cos² of v and the span of G, with w = Gᵀv and with w = (GᵀG)⁻¹Gᵀv."""
    found = {"projection_printed": 0.0, "projection_corrected": 0.0}
    for trial in range(n_trials):
        G = streams.normal(seed, "projection, functions", trial, (SIZE, K))
        v = streams.normal(seed, "projection, direction", trial, (SIZE,))
        v = v / np.linalg.norm(v)
        Q = np.linalg.qr(G)[0]
        sine = 1.0 - float(np.sum((Q.T @ v) ** 2))
        for name, w in (
            ("projection_printed", G.T @ v),
            ("projection_corrected", np.linalg.lstsq(G, v, rcond=None)[0]),
        ):
            found[name] = max(found[name], float(np.sum((v - G @ w) ** 2)) / sine)
    return found
