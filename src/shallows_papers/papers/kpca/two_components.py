"""Points in their first two components, by kernel PCA and by linear PCA: Figure 2 of Xie et al. (2015)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.decomposition import PCA, KernelPCA

from shallows import kernels, streams
from shallows.errors import UnknownNameError
from shallows.estimators.components.kernel_pca import DoublyStochasticKernelPCA
from shallows.fitting.machine import Options
from shallows.solvers.components.oja import Oja

from ..results import AnalysisResult

METHODS = ("doubly_stochastic", "exact", "linear")


def two_components(
    data: Any,
    *,
    method: str = "doubly_stochastic",
    n_shown: int = 300,
    most_exact: int = 5000,
    max_features: int | None = None,
    block_size: int | None = None,
    batch_size: int | None = None,
    n_iter: int | None = None,
    scaling: str | None = "eigenvalues",
    step_size: float | None = None,
    decrease: float | None = None,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> AnalysisResult:
    """Compute the first two components of some training points, with their targets as color.

    "doubly_stochastic" is `DoublyStochasticKernelPCA`; "exact" scikit-learn's ``KernelPCA`` of at most `most_exact`
    points; "linear" its ``PCA``. Kernels are Gaussian, with the median distance of a thousand points as bandwidth, and
    functions are centered. `n_shown` random points are returned.

    Over the number of the point, from 1: ``first``, ``second`` and ``colour``. Numbers: ``centre_correlation``, the
    rank correlation between the target and the distance from the mean, over the shown points; for the doubly stochastic
    method ``squared_sine`` of the largest angle between its two functions and the exact ones on the training points,
    if there are at most ``most_exact`` points.
    """
    UnknownNameError.check("method", method, METHODS)
    x = np.asarray(data.x_train, dtype=np.float32)
    y = np.asarray(data.y_train, dtype=np.float64).reshape(len(x), -1)[:, 0]
    few = np.sort(streams.permutation(0, "components, exact", 0, len(x))[:most_exact])
    shown = np.sort(few[streams.permutation(0, "components, shown", 0, len(few))[:n_shown]])
    bandwidth = kernels.median_bandwidth(x[few].astype(np.float64), 0)
    exact = KernelPCA(2, kernel="rbf", gamma=0.5 / bandwidth**2, eigen_solver="arpack", random_state=0)
    numbers = {}
    if method == "linear":
        values = PCA(2, random_state=0).fit(x).transform(x[shown])
    elif method == "exact":
        values = exact.fit(x[few].astype(np.float64)).transform(x[shown].astype(np.float64))
    else:
        model = DoublyStochasticKernelPCA(
            2,
            bandwidth=bandwidth,
            solver=Oja(
                max_features=max_features,
                block_size=block_size,
                batch_size=batch_size,
                n_iter=n_iter,
                scaling=scaling,
                step_size=step_size,
                decrease=decrease,
            ),
            random_state=random_state,
            options=Options(device=device, memory=memory),
        ).fit(x)
        values = model.transform(x[shown])
        if len(x) <= most_exact:
            truth = exact.fit(x.astype(np.float64)).transform(x.astype(np.float64))
            numbers["squared_sine"] = _squared_sine(model.transform(x), truth)
    values = np.asarray(values, dtype=np.float64)
    # The sign of a component is arbitrary: make it grow with the sum of the inputs.
    sums = x[shown].sum(axis=1, dtype=np.float64)
    values = values * np.where((sums - sums.mean()) @ values < 0, -1.0, 1.0)
    distance = np.linalg.norm(values - values.mean(axis=0), axis=1)
    numbers["centre_correlation"] = float(spearmanr(distance, y[shown]).statistic)
    curve = {"first": values[:, 0].tolist(), "second": values[:, 1].tolist(), "colour": y[shown].tolist()}
    setting = {"n_points": len(x) if method != "exact" else len(few), "bandwidth": float(bandwidth)}
    return AnalysisResult(list(range(1, len(shown) + 1)), curve, numbers, setting)


def _squared_sine(values: np.ndarray, truth: np.ndarray) -> float:
    """1 − cos² of the largest angle between two spaces of centered functions, from their values."""
    one, other = (np.linalg.qr(v.astype(np.float64) - v.mean(axis=0, dtype=np.float64))[0] for v in (values, truth))
    return float(max(0.0, 1.0 - np.linalg.svd(one.T @ other, compute_uv=False)[-1] ** 2))
