"""The densities of hidden classes, recovered from three views of it by kernel SVD: Figure 3 of Xie et al. (2015)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shallows import arrays, streams
from shallows.errors import ShallowsError, UnknownNameError
from shallows.estimators.components.kernel_svd import DoublyStochasticKernelSVD
from shallows.estimators.feature_maps.fourier import FourierFeatures
from shallows.estimators.feature_maps.landmarks import NystroemFeatures
from shallows.fitting.machine import Options
from shallows.solvers.components.kernel_svd import TwoViewSVD

from ...datasets.synthetic.latent_views import LatentViews
from ..results import AnalysisResult

METHODS = ("doubly_stochastic", "fourier", "nystroem")
PLACES = np.linspace(-12.0, 24.0, 145)
NAMES = ("gaussian", "gamma")

Functions = Callable[[np.ndarray], np.ndarray]


def latent_densities(
    data: Any,
    *,
    method: str = "doubly_stochastic",
    bandwidth: float = 0.5,
    n_features: int = 2048,
    block_size: int = 256,
    batch_size: int = 512,
    n_iter: int | None = None,
    scaling: str | None = "singular values",
    step_size: float | None = None,
    decrease: float | None = None,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> AnalysisResult:
    """Recover the densities of both classes from the top two singular functions of two views' cross-covariance.

    In the span of the functions the cross-covariance of two views is Σ_h w_h m_h m_hᵀ, with the mean m_h of the
    functions in class h. It is whitened, and the third-order moment of the three views, which then has orthogonal
    components, is decomposed by the power method (Song et al. 2014). The function u(x)ᵀ G⁻¹ m_h, with the inner
    products G of the functions u in the space of the kernel, is the mean embedding of a class; over √(2π) σ it is the
    density smoothed by the kernel.

    The data are three views of `LatentViews` with the default distributions. The method is `DoublyStochasticKernelSVD`,
    or an exact decomposition on `n_features` cosines and sines, or landmarks.

    Over the place x: ``gaussian`` and ``gamma``, the densities found, ``true_gaussian`` and ``true_gamma``. Numbers:
    ``squared_error``, the integral of the squared difference, added over both classes; ``smooth_squared_error``, the
    same against the densities smoothed by the kernel; ``relative_error``, the first over the integral of the squared
    densities; ``weight``, the probability found for the Gaussian class.
    """
    UnknownNameError.check("method", method, METHODS)
    x = np.asarray(data.x_train)
    if x.ndim != 2 or x.shape[1] != 3:
        raise ShallowsError(f"Three views with one number each are needed, got data of shape {x.shape}.")
    views = [np.ascontiguousarray(x[:, place : place + 1]) for place in range(3)]
    if method == "doubly_stochastic":
        model = DoublyStochasticKernelSVD(
            2,
            bandwidth=bandwidth,
            second_bandwidth=bandwidth,
            solver=TwoViewSVD(
                block_size=block_size,
                # A frequency has a cosine and a sine.
                max_features=n_features // 2,
                batch_size=batch_size,
                n_iter=n_iter,
                scaling=scaling,
                step_size=step_size,
                decrease=decrease,
            ),
            random_state=random_state,
            options=Options(device=device, memory=memory),
        ).fit(*views[:2])
        functions: Functions = model.transform
        coefficients = model.dual_coef_.reshape(-1, 2).astype(np.float64)
        # Omit the features' common factor 1/√(number of frequencies).
        products = model.n_random_features_ * coefficients.T @ coefficients
    else:
        functions, products = _on_fixed_features(method, views[:2], bandwidth, n_features, random_state), np.eye(2)
    weights, means = classes_of([functions(view) for view in views])
    embedded = functions(PLACES[:, None].astype(x.dtype)).astype(np.float64) @ np.linalg.solve(products, means.T)
    found = embedded / (math.sqrt(2 * math.pi) * bandwidth)
    integral = float(PLACES[1] - PLACES[0])
    # The order of the classes is arbitrary: take the class further left as the Gaussian one.
    order = np.argsort(PLACES @ found)
    found, weights = found[:, order], weights[order]
    truth, smooth = LatentViews().densities(PLACES), smoothed_densities(PLACES, bandwidth)
    off = float(np.sum((found - truth) ** 2) * integral)
    curve = {name: found[:, place].tolist() for place, name in enumerate(NAMES)}
    curve |= {f"true_{name}": truth[:, place].tolist() for place, name in enumerate(NAMES)}
    numbers = {
        "squared_error": off,
        "smooth_squared_error": float(np.sum((found - smooth) ** 2) * integral),
        "relative_error": off / float(np.sum(truth**2) * integral),
        "weight": float(weights[0] / weights.sum()),
    }
    setting = {"kernel": "gaussian", "bandwidth": bandwidth, "n_features": n_features, "n_points": len(x)}
    return AnalysisResult(PLACES.tolist(), curve, numbers, setting)


def smoothed_densities(places: np.ndarray, bandwidth: float) -> np.ndarray:
    """Convolve both densities with a normal density of standard deviation ``bandwidth``, shape (n, 2)."""
    grid = np.linspace(-20.0, 45.0, 13001)
    densities = LatentViews().densities(grid) * (grid[1] - grid[0])
    window = np.exp(-(((places[:, None] - grid) / bandwidth) ** 2) / 2) / (bandwidth * math.sqrt(2 * math.pi))
    return window @ densities


def classes_of(values: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Estimate the class probabilities, shape (k,), and the means of k functions in each class, shape (k, k).

    `values` has three arrays of shape (n, k), the same functions on three views that are independent given the class.
    """
    a, b, c = (np.asarray(one, dtype=np.float64) for one in values)
    n, k = a.shape
    second = sum(u.T @ v for u, v in ((a, b), (b, a), (a, c), (c, a), (b, c), (c, b))) / (6 * n)
    sizes, vectors = np.linalg.eigh(second)
    sizes = np.maximum(sizes, 1e-12 * sizes[-1])
    whitening = vectors / np.sqrt(sizes)
    a, b, c = (one @ whitening for one in (a, b, c))
    third = np.einsum("ni,nj,nl->ijl", a, b, c, optimize=True) / n
    third = sum(third.transpose(order) for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)))
    third = third / 6
    strengths, directions = np.empty(k), np.empty((k, k))
    for place in range(k):
        strengths[place], directions[place] = _top_component(third)
        third = third - strengths[place] * np.einsum("i,j,l->ijl", *[directions[place]] * 3)
    # Whitened means are orthonormal vectors divided by the roots of the probabilities.
    means = strengths[:, None] * directions @ (vectors * np.sqrt(sizes)).T
    return 1.0 / strengths**2, means


def _top_component(tensor: np.ndarray, n_starts: int = 10, n_steps: int = 100) -> tuple[float, np.ndarray]:
    """Find the largest of a symmetric tensor's orthogonal components, by power steps from several starts."""
    best = (-math.inf, np.zeros(len(tensor)))
    for start in streams.normal(0, "tensor power method", 0, (n_starts, len(tensor))):
        v = start / np.linalg.norm(start)
        for _ in range(n_steps):
            v = np.einsum("ijl,j,l->i", tensor, v, v)
            v = v / np.linalg.norm(v)
        value = float(np.einsum("ijl,i,j,l->", tensor, v, v, v))
        best = max(best, (value, v), key=lambda one: one[0])
    return best


def _on_fixed_features(
    method: str, views: list[np.ndarray], bandwidth: float, n_features: int, seed: int, rows: int = 16384
) -> Functions:
    """Compute the top two eigenfunctions of the symmetrized cross-covariance of two views on fixed features."""
    kind = {"fourier": FourierFeatures, "nystroem": NystroemFeatures}[method]
    features = kind(n_features=n_features, bandwidth=bandwidth, random_state=seed).fit(views[0])
    cross = 0.0
    for part in arrays.blocks(len(views[0]), rows):
        Z = [np.asarray(features.transform(view[part])) for view in views]
        cross = cross + (Z[0].T @ Z[1]).astype(np.float64)
    values, vectors = np.linalg.eigh((cross + cross.T) / (2 * len(views[0])))
    top = vectors[:, np.argsort(-values)[:2]]

    def functions(points: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [np.asarray(features.transform(points[part])) @ top for part in arrays.blocks(len(points), rows)]
        )

    return functions
