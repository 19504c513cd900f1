"""A random part of training data in float64 with a kernel: the small problem that an analysis computes exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shallows import arrays, kernels, streams
from shallows.arrays import Array


@dataclass(frozen=True)
class AnalysisSample:
    """A random part of training data in float64, with a kernel."""

    inputs: Array  # (n, d): centered
    targets: Array  # (n, c): classes as −1 and +1, one column per class; numbers unchanged
    kernel: Any
    effective: dict[str, Any]

    @property
    def points(self) -> Array:
        """The augmented points for the kernel, shape (n, d + 2)."""
        return kernels.augmented(self.inputs)

    @property
    def matrix(self) -> Array:
        """The kernel matrix, shape (n, n)."""
        return kernels.matrix(self.kernel, self.points)


def sample(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    n_points: int | None = None,
    random_state: int = 0,
    device: str = "auto",
) -> AnalysisSample:
    """A random part of the training data.

    The bandwidth defaults to the median rule. If there are at most `n_points` points, all are used.
    """
    device = arrays.resolve_device(device)
    n = len(data.x_train)
    chosen = streams.permutation(random_state, "theory", 0, n)[: min(n, n_points or n)]
    # Rows are read in ascending order and stored in random order, so that the first rows are a random subsample.
    order = np.argsort(chosen, kind="stable")
    x = np.empty((len(chosen), data.x_train.shape[1]))
    x[order] = data.x_train[chosen[order]]
    x = x - x.mean(axis=0)
    with device.active():
        inputs = arrays.to_device(x, device, np.float64)
        targets = arrays.to_device(codes(np.asarray(data.y_train)[chosen]), device, np.float64)
        if bandwidth is None and not isinstance(kernel, kernels.Kernel):
            bandwidth = kernels.median_bandwidth(inputs, random_state)
        made = kernels.make(kernel, bandwidth)
    effective = {"kernel": kernel, "bandwidth": bandwidth, "n_points": len(chosen), "device": str(device)}
    return AnalysisSample(inputs, targets, made, {**effective, "precision": "float64"})


def codes(y: np.ndarray, classes: np.ndarray | None = None) -> np.ndarray:
    """Convert targets to columns. Whole numbers are classes, coded −1 and +1; two classes share a column."""
    if y.dtype.kind not in "iub":
        return np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    classes = np.unique(y) if classes is None else classes
    if len(classes) == 2:
        return np.where(y[:, None] == classes[1], 1.0, -1.0)
    return np.where(y[:, None] == classes[None, :], 1.0, -1.0)
