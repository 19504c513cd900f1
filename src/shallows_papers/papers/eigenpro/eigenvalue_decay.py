"""Decay of the eigenvalues of a kernel matrix, faster than any power (Ma and Belkin 2017, Theorem 1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from shallows import arrays, kernels, streams
from shallows.errors import ShallowsError

from ..results import AnalysisResult
from .eigenvalues import eigenpairs

#: Eigenvalues below this share of the largest are lost in the rounding of float64.
RESOLVED = 1e-12


def eigenvalue_decay(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    n_points: int = 1000,
    random_state: int = 0,
    device: str = "auto",
) -> AnalysisResult:
    """Compute the eigenvalues of a kernel matrix in float64, down to rounding, and the growth of their decay rate.

    The points are a random part of the training data, in d dimensions.

    Over i: ``eigenvalue``, λᵢ/λ₁. Numbers, with least-squares slopes over the earlier and the later half of the
    resolved indices (from the third on): ``power_growth``, the later over the earlier slope of −ln λᵢ against ln i,
    which is 1 for a power law and grows without bound if the decay is faster than any power; ``rate_growth``, the same
    against i^(1/d), which is at least 1 if λᵢ < C' exp(−C i^(1/d)) holds with a constant C.
    """
    device = arrays.resolve_device(device)
    n, d = data.x_train.shape
    chosen = streams.permutation(random_state, "theory", 0, n)[: min(n, n_points)]
    with device.active():
        x = arrays.to_device(np.asarray(data.x_train[np.sort(chosen)], dtype=np.float64), device, np.float64)
        matrix = kernels.matrix(kernels.make(kernel, bandwidth), kernels.augmented(x))
        values = arrays.to_numpy(eigenpairs(matrix)[0])
    ratios = values / values[0]
    # The last eigenvalues of a sample fall faster than the operator's eigenvalues.
    ratios = ratios[: max(8, len(ratios) // 4)]
    ratios = ratios[: int(np.argmax(ratios < RESOLVED)) or len(ratios)]
    if len(ratios) < 8:
        raise ShallowsError(f"Only {len(ratios)} eigenvalues are resolved. Use a smaller bandwidth to resolve more.")
    i = np.arange(1, len(ratios) + 1)
    fall = -np.log(ratios)
    return AnalysisResult(
        i.tolist(),
        {"eigenvalue": ratios},
        {
            "power_growth": _growth(np.log(i), fall),
            "rate_growth": _growth(i ** (1.0 / d), fall),
            "n_resolved": len(ratios),
        },
        {"kernel": kernel, "bandwidth": bandwidth, "n_points": len(chosen), "dimension": d, "precision": "float64"},
    )


def _growth(x: np.ndarray, y: np.ndarray) -> float:
    """Divide the slope of y against x in the later half by the slope in the earlier half, without two first points."""
    middle = (len(x) + 2) // 2
    early, late = (np.polyfit(x[part], y[part], 1)[0] for part in (slice(2, middle), slice(middle, None)))
    return float(late / early)
