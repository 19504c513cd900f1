"""Kernel-target alignment: how much a kernel matrix looks like the products of the targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shallows import arrays, kernels
from shallows_papers.papers.results import AnalysisResult
from shallows_papers.papers.samples import sample


def alignment(
    data: Any,
    kernel: str = "gaussian",
    *,
    bandwidths: Sequence[float],
    n_points: int = 500,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> AnalysisResult:
    """⟨K, YYᵀ⟩ / (‖K‖ ‖YYᵀ‖) in the Frobenius norm, for each bandwidth; 1 where the kernel knows the classes.

    Parameters
    ----------
    data
        Has ``x_train`` and ``y_train``.
    kernel : str
    bandwidths : sequence of float
    n_points : int
        Of a random part.

    References
    ----------
    N. Cristianini and others (2001), "On kernel-target alignment", NIPS 14.
    """
    drawn = sample(data, kernel, bandwidths[0], n_points=n_points, random_state=random_state, device=device)
    Y, values = arrays.to_numpy(drawn.targets), []
    for bandwidth in bandwidths:
        K = arrays.to_numpy(kernels.matrix(kernels.make(kernel, bandwidth), drawn.points))
        values.append(np.sum(Y * (K @ Y)) / (np.linalg.norm(K) * np.linalg.norm(Y.T @ Y)))
    return AnalysisResult(list(bandwidths), {"alignment": values}, {}, {**drawn.effective, "bandwidth": None})
