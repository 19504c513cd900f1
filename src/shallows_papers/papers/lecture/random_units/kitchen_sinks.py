"""Random kitchen sinks: a convex fit on a random first layer, compared with a trained first layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.optimize

from shallows import arrays, streams

from ...results import AnalysisResult, curves_of
from ...samples import sample


def fit_in_box(Z: np.ndarray, y: np.ndarray, bound: float, max_iterations: int = 2000) -> np.ndarray:
    """Return the α that minimizes the mean of (αᵀzᵢ − yᵢ)² under |αₖ| ≤ bound, shape (K,).

    L-BFGS-B satisfies the bounds exactly; the problem is convex.
    """

    def risk(alpha: np.ndarray) -> tuple[float, np.ndarray]:
        off = Z @ alpha - y
        return float(np.mean(off**2)), 2.0 / len(y) * (Z.T @ off)

    start, box = np.zeros(Z.shape[1]), [(-bound, bound)] * Z.shape[1]
    options = {"maxiter": max_iterations, "maxfun": 2 * max_iterations, "ftol": 1e-12, "gtol": 1e-9}
    return scipy.optimize.minimize(risk, start, jac=True, method="L-BFGS-B", bounds=box, options=options).x


def fit_both_layers(
    x: np.ndarray, y: np.ndarray, w: np.ndarray, b: np.ndarray, max_iterations: int = 500
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (α, w, b) of Σₖ αₖ cos(wₖᵀx + bₖ), trained together by L-BFGS from a random first layer."""
    K, d = w.shape

    def risk(packed: np.ndarray) -> tuple[float, np.ndarray]:
        alpha, w, b = packed[:K], packed[K : K + K * d].reshape(K, d), packed[K + K * d :]
        angles = x @ w.T + b
        off = np.cos(angles) @ alpha - y
        slopes = -np.sin(angles) * (2.0 / len(y) * off)[:, None] * alpha
        gradient = [2.0 / len(y) * (np.cos(angles).T @ off), (slopes.T @ x).ravel(), slopes.sum(axis=0)]
        return float(np.mean(off**2)), np.concatenate(gradient)

    # The second layer starts from its optimum for the current first layer.
    alpha = np.linalg.lstsq(np.cos(x @ w.T + b), y, rcond=1e-6)[0]
    start = np.concatenate([alpha, w.ravel(), b])
    packed = scipy.optimize.minimize(risk, start, jac=True, method="L-BFGS-B", options={"maxiter": max_iterations}).x
    return packed[:K], packed[K : K + K * d].reshape(K, d), packed[K + K * d :]


def kitchen_sinks(
    data: Any,
    *,
    sizes: Sequence[int] = (8, 32, 128, 512),
    C: float = 100.0,
    bandwidth: float | None = None,
    n_points: int = 1000,
    random_state: int = 0,
    device: str = "cpu",
) -> AnalysisResult:
    """Compare the risks of both fits by the number of units K.

    Weights are at most C/K in size. Frequencies are drawn for a Gaussian kernel, by default with half the median rule's
    bandwidth. Half of the points are used for fitting, and the others for the risk on new points.

    Over K: ``risk`` and ``new_risk`` of the sinks, the mean squared error over the variance of the targets;
    ``trained_risk`` and ``trained_new_risk`` of K units with a trained first layer, from the same start;
    ``bound``, the largest |αₖ| K/C.
    """
    drawn = sample(data, "gaussian", bandwidth, n_points=n_points, random_state=random_state, device=device)
    x, y = arrays.to_numpy(drawn.inputs), arrays.to_numpy(drawn.targets)[:, 0]
    half = len(x) // 2
    y = (y - y[:half].mean()) / y[:half].std()
    sigma = bandwidth or 0.5 * drawn.effective["bandwidth"]
    rows = []
    for K in sizes:
        w = streams.normal(random_state, "sinks", 0, (K, x.shape[1])) / sigma
        b = 2.0 * np.pi * streams.uniform(random_state, "phases of sinks", 0, (K,))
        Z = np.cos(x @ w.T + b)
        alpha = fit_in_box(Z[:half], y[:half], C / K)
        off = (Z @ alpha - y) ** 2
        risks = {"risk": float(off[:half].mean()), "new_risk": float(off[half:].mean())}
        bound = float(np.abs(alpha).max() * K / C)
        alpha, w, b = fit_both_layers(x[:half], y[:half], w, b)
        off = (np.cos(x @ w.T + b) @ alpha - y) ** 2
        trained = {"trained_risk": float(off[:half].mean()), "trained_new_risk": float(off[half:].mean())}
        rows.append({**risks, **trained, "bound": bound})
    return AnalysisResult(list(sizes), curves_of(rows), {}, {**drawn.effective, "bandwidth": sigma, "C": C})
