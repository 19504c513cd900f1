"""What the fits of components share and choose by themselves: kernel and features of a view, sizes, steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays, kernels, streams, training
from ..errors import DivergenceError
from ..features.fourier import FourierFeatures
from ..models.centring import Centring
from ..models.kernel_checks import check_scale

SAMPLE = 2000
"""Points that the start is computed from, and the bandwidth from a thousand of them."""

MOMENT_ROWS = 20_000
"""Training points from which the moments of the fitted functions are computed after the last step."""

START_WIDTH = 2048
"""Most columns of the features that the start is computed in."""

FIRST_STEP = 0.5
"""η₁ of the scaled rules: half of a step that would replace the functions altogether."""

MOST_FREQUENCIES = 16384
"""Budget of random frequencies where the user sets none."""


@dataclass(frozen=True)
class View:
    """One view of the examples: how its points are brought into shape, and its random features."""

    centring: Centring
    features: FourierFeatures
    sample: np.ndarray | None  # centred points that were looked at first, float64, shape (m, d)

    def points(self, X: Any, rows: np.ndarray, device: arrays.Device, dtype: Any) -> Any:
        """Points as the features take them, shape (len(rows), d)."""
        found = self.centring.training_points(X, rows, device, dtype)[:, :-2]
        return found if device.kind == "cpu" else arrays.contiguous(found)


def view_of(
    X: Any,
    kernel: Any,
    bandwidth: float | None,
    kernel_params: dict[str, Any] | None,
    *,
    block_size: int | None,
    max_features: int | None,
    n: int,
    orthogonal: bool | None,
    seed: int,
    cache_bytes: int,
) -> View:
    """Look at the data of a view, and choose its kernel and its features."""
    centring = Centring.of(X, without_constants=False)
    rows = streams.permutation(seed, "first look", 0, X.shape[0])[:SAMPLE]
    sample = centring.training_points(X[rows], np.arange(len(rows)), arrays.Device("cpu"), np.dtype("float64"))
    together = bool((sample == sample[0]).all())
    check_scale(sample, sample.dtype, may_vanish=together)
    sample = np.ascontiguousarray(sample[:, :-2])
    kind = kernels.kind(kernel)
    if isinstance(kind, kernels.Kernel):
        made = kind
    else:
        if bandwidth is None and kind.takes_bandwidth:
            bandwidth = 1.0 if together or centring.all_equal else kernels.median_bandwidth(sample, seed)
        made = kernels.make(kernel, bandwidth, **(kernel_params or {}))
    d = X.shape[1]
    if orthogonal is None:
        # In one dimension there are no two directions to set at right angles.
        orthogonal = d > 1 and getattr(made, "of_distance", False)
    F = block_size or min(default_block_size(n, d, orthogonal), max_features or MOST_FREQUENCIES)
    features = FourierFeatures(made, d, F, seed, orthogonal=orthogonal, cache_bytes=cache_bytes)
    return View(centring, features, sample)


def default_block_size(n: int, d: int, orthogonal: bool) -> int:
    """F: 512 for many points, fewer for few; whole sets of d orthogonal frequencies where that is near."""
    F = min(512, max(32, 2 ** math.ceil(math.log2(max(1.0, n / 8)))))
    return d * max(1, F // d) if orthogonal and d <= 2 * F else F


def default_max_features(n: int) -> int:
    """Four times as many frequencies as points, and at most `MOST_FREQUENCIES`."""
    return min(MOST_FREQUENCIES, max(512, 4 * n))


def default_batch_size(n: int, eigenvalues: np.ndarray, variance: float, n_components: int) -> int:
    """B so large that what lies outside of the components blurs the smallest of them by a twentieth.

    Of a batch's covariance the part between the k-th component and all others has the mean square λ_k Σ_{j>k} λ_j / B.
    """
    smallest = max(float(eigenvalues[n_components - 1]), 1e-12)
    rest = max(0.0, variance - float(eigenvalues[:n_components].sum()))
    wanted = max(256.0, 20.0 * n_components, 20.0 * rest / smallest)
    return int(min(n, 2 ** math.ceil(math.log2(min(wanted, 8192.0)))))


def even_batch_size(n: int, given: int | None, default: int) -> int:
    """The rows of a step on n rows.

    The default is made a little larger where a last batch would have less than a tenth of it. A step with so few rows
    is one of noise: that of a regression in a block's features would undo the others.
    """
    size = min(n, given or default)
    return math.ceil(n / (n // size)) if not given and 0 < n % size < size / 10 else size


def stopping(
    n: int, size: int, n_iter: int | None, max_epochs: int | None, n_passes: int, max_seconds: float | None
) -> training.Stopping:
    """When a training on n rows ends: at the user's limits, else after some passes and at least 200 steps."""
    n_batches = math.ceil(n / size)
    if n_iter is None and max_epochs is None:
        n_iter = max(200, n_passes * n_batches)
    # No tolerance: what is watched may grow or be negative.
    return training.Stopping(max_epochs or math.ceil(n_iter / n_batches), n_iter, max_seconds, tolerance=-math.inf)


def check_finite(state: Any, step_size: float | None) -> None:
    """Refuse a state whose functions have left the numbers."""
    if not state.is_finite():
        said = "" if step_size is None else f" with step_size={step_size:.3g}"
        raise DivergenceError(
            f"Training diverged{said}. Take a smaller step_size, or leave it to the program (step_size=None)."
        )


def steps_of(estimator: Any, eigenvalues: np.ndarray, *, scaled: bool) -> tuple[float, float]:
    """η₁ and ρ of a rule whose steps are divided by the eigenvalues or not, where the user sets none.

    ρ is such that steps tend to c/t, with c twice the inverse of the relative gap 1 − λ_{k+1}/λ_k. With c = 1/gap the
    error falls as fast as 1/t allows, and below half of that not as 1/t at all; twice as much costs a third and is safe
    where the gap is overestimated.
    """
    k = estimator.n_components
    step = estimator.step_size or FIRST_STEP / (1.0 if scaled else float(eigenvalues[0]))
    if estimator.decrease is not None:
        return float(step), float(estimator.decrease)
    smallest = float(eigenvalues[k - 1])
    gap = 1.0 if len(eigenvalues) <= k else 1.0 - float(eigenvalues[k]) / smallest
    # In units of one over λ_k, in which the scaled rule steps.
    return float(step), step * (1.0 if scaled else smallest) / min(50.0, max(3.0, 2.0 / max(gap, 1e-6)))
