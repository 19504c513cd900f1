"""Errors of a feature map: in the kernel, and in predictions with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shallows import arrays, features

from ...results import AnalysisResult, curves_of
from ...samples import sample


def approximation_error(
    data: Any,
    *,
    map_name: str = "fourier",
    sizes: Sequence[int] = (64, 128, 256, 512, 1024),
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    n_points: int = 400,
    repeats: int = 20,
    regularisation: float = 0.01,
    random_state: int = 0,
    device: str = "auto",
) -> AnalysisResult:
    """Errors of a feature map against its number of columns, over several draws of it.

    The map is a key of `shallows.features.FEATURE_MAPS`. Half of the points are training points for comparing
    predictions. `regularisation` is λ/n of both regressions.

    Over the sizes: ``kernel_rms`` and ``kernel_max``, of φ(x)ᵀφ(z) − k(x, z) for pairs of different points;
    ``prediction_rms`` and ``prediction_mse``, of the difference between the two regressions at the other points,
    divided by the root mean square of the kernel's predictions (for the second: by its square).
    """
    drawn = sample(data, kernel, bandwidth, n_points=n_points, random_state=random_state, device=device)
    x, K = drawn.inputs, arrays.to_numpy(drawn.matrix)
    n = len(K)
    half, apart = n // 2, ~np.eye(n, dtype=bool)
    y = arrays.to_numpy(drawn.targets)[:, 0]
    y = y - y[:half].mean()
    ridge = regularisation * half
    exact = K[half:, :half] @ np.linalg.solve(K[:half, :half] + ridge * np.eye(half), y[:half])
    scale = float(np.mean(exact**2))
    rows = []
    for size in sizes:
        squares, largest, off = [], [], []
        for repeat in range(repeats):
            made = features.make(map_name, drawn.kernel, x, size, seed=1000 * random_state + repeat)
            Z = arrays.to_numpy(made.map(x))
            error = (Z @ Z.T - K)[apart]
            squares.append(np.mean(error**2))
            largest.append(np.abs(error).max())
            train = Z[:half]
            beta = train.T @ np.linalg.solve(train @ train.T + ridge * np.eye(half), y[:half])
            off.append(np.mean((Z[half:] @ beta - exact) ** 2) / scale)
        of_kernel = {"kernel_rms": float(np.sqrt(np.mean(squares))), "kernel_max": float(np.mean(largest))}
        predictions = {"prediction_rms": float(np.mean(np.sqrt(off))), "prediction_mse": float(np.mean(off))}
        rows.append({**of_kernel, **predictions})
    return AnalysisResult(list(sizes), curves_of(rows), {}, {**drawn.effective, "map": map_name, "repeats": repeats})
