"""Extreme learning machines: their closed forms, the effect of more units, and time relative to a kernel machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shallows import arrays, streams
from shallows.features.hidden_units import stacked
from shallows.solvers.least_squares.normal_equations import solve_by_features, solve_by_rows

from ...results import AnalysisResult
from ...samples import sample
from ...timing import processor_seconds


def learning_machines(
    data: Any,
    *,
    activation: str = "sigmoid",
    sizes: Sequence[int] = (8, 32, 128, 512),
    C: float = 1e4,
    bandwidth: float | None = None,
    n_points: int = 1000,
    rounds: int = 3,
    random_state: int = 0,
    device: str = "cpu",
) -> AnalysisResult:
    """Compare both closed forms of an extreme learning machine by its number of units.

    The activation is in `shallows.features.hidden_units.ACTIVATIONS`, and C is the inverse of the ridge. The fastest
    fit counts.

    Over the sizes: ``difference`` of the fitted values of (HᵀH + I/C)⁻¹ HᵀT and Hᵀ(HHᵀ + I/C)⁻¹ T, over the largest
    value; ``residual``, the root mean square of the residuals divided by the root mean square of the targets; ``time``,
    processor seconds of a fit by the smaller system divided by the time of a support vector regression (scikit-learn, C
    = 10) on the same points.
    """
    from sklearn.svm import SVR

    drawn = sample(data, "gaussian", bandwidth, n_points=n_points, random_state=random_state, device=device)
    x = arrays.to_numpy(drawn.inputs)
    T = arrays.to_numpy(drawn.targets)
    T = (T - T.mean(axis=0)) / T.std(axis=0)
    sigma = drawn.effective["bandwidth"]
    machine = SVR(C=10.0, gamma=0.5 / sigma**2)
    with arrays.one_blas_thread():
        of_machine = min(processor_seconds(machine.fit, x, T[:, 0]) for _ in range(rounds))
        found: dict[str, list[float]] = {"difference": [], "residual": [], "time": []}
        seed = int(streams.integers(random_state, "learning machine", 0, 1)[0] >> np.uint64(34))
        for size in sizes:
            made = stacked(activation, x, [size], sigma, seed)
            H = made.map(x)
            fitted = [H @ solve_by_features(iter([(H, T)]), 1 / C), H @ solve_by_rows(H, T, 1 / C)]
            smaller = min(fitted, key=lambda one: float(np.mean((one - T) ** 2)))
            found["difference"].append(float(np.abs(fitted[0] - fitted[1]).max() / np.abs(smaller).max()))
            found["residual"].append(float(np.sqrt(np.mean((smaller - T) ** 2))))

            def fit(made: Any = made) -> None:
                H = made.map(x)
                if H.shape[1] <= len(x):
                    solve_by_features(iter([(H, T)]), 1 / C)
                else:
                    solve_by_rows(H, T, 1 / C)

            found["time"].append(min(processor_seconds(fit) for _ in range(rounds)) / of_machine)
    effective = {"activation": activation, "C": C, "bandwidth": sigma, "n_points": len(x)}
    return AnalysisResult(list(sizes), found, {}, effective)
