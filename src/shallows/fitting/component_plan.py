"""What the fits of components share and choose by themselves: kernel and features of a view, sizes, steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import arrays, kernels, streams, training
from ..errors import DivergenceError
from ..features.fourier import FourierFeatures
from ..models.centring import Centring, check_precision, check_scale
from .machine import Options
from .trained_components import View

SAMPLE = 2000
"""Points that the start is computed from, and the bandwidth from a thousand of them."""

LEAST_MEMORY = 2**26
"""Bytes that the smallest fit takes."""

MOMENT_ROWS = 20_000
"""Training points from which the moments of the fitted functions are computed after the last step."""

START_WIDTH = 2048
"""Most columns of the features that the start is computed in."""

MOST_FREQUENCIES = 16384
"""Budget of random frequencies where the user sets none."""


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


def precision(options: Options) -> np.dtype:
    """The dtype of a fit; sines and cosines of float32 are many times faster."""
    return np.dtype("float32" if options.dtype == "auto" else options.dtype)


def look_at(
    arrays_of_views: tuple[Any, ...],
    kernels_of_views: tuple[tuple[Any, float | None, Any], ...],
    *,
    block_size: int | None,
    max_features: int | None,
    orthogonal: bool | None,
    seed: int,
    dtype: np.dtype,
    budget: int,
) -> tuple[View, ...]:
    """Look at the data of all views, and check that they can be told apart in a precision and that a block has room.

    ``kernels_of_views`` has kernel, bandwidth and further parameters for each.
    """
    n, n_views, views = arrays_of_views[0].shape[0], len(arrays_of_views), []
    for place, (X, choice) in enumerate(zip(arrays_of_views, kernels_of_views, strict=True)):
        view = view_of(
            X,
            *choice,
            block_size=block_size,
            max_features=max_features,
            n=n,
            orthogonal=orthogonal,
            # Views have streams of their own, since they need not share dimension or kernel.
            seed=seed + place,
            cache_bytes=working_room(arrays_of_views, dtype, budget) // (2 * n_views),
        )
        views.append(view)
    for view in views:
        check_precision(view.sample, dtype)
        width, n_rows = view.features.width, len(view.sample)
        arrays.check_room(
            f"A block of {view.features.block_size:,} frequencies takes",
            # The start is computed from features of the sample, with two views in their covariances too.
            8 * width * (n_rows + view.sample.shape[1] + (6 * width if n_views > 1 else 0)),
            budget,
            "Take a smaller block_size, or give more memory.",
        )
    return tuple(views)


def working_room(arrays_of_views: tuple[Any, ...], dtype: np.dtype, budget: int) -> int:
    """Bytes of a budget that the points leave for features and frequencies."""
    held = arrays_of_views[0].shape[0] * sum(X.shape[1] for X in arrays_of_views) * dtype.itemsize
    return max(2**24, (budget - held) // 2)


def bytes_of_a_step(arrays_of_views: tuple[Any, ...], dtype: np.dtype, budget: int, device: arrays.Device) -> int:
    """Bytes for features and frequencies in the course of a step."""
    return min(working_room(arrays_of_views, dtype, budget) // 4, 2**28 if device.kind == "cpu" else 2**32)


def most_blocks(max_features: int | None, n: int, block_size: int) -> int:
    """The budget of blocks."""
    return max(1, (max_features or default_max_features(n)) // block_size)


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


def report_of(view: View, stepper: Any, batch_size: int) -> dict[str, Any]:
    """What was chosen for the first view and for the steps."""
    features = view.features
    return {
        "kernel": features.kernel.name,
        "bandwidth": features.kernel.bandwidth,
        "block_size": features.block_size,
        "batch_size": batch_size,
        "orthogonal": features.orthogonal,
        "step_size": stepper.step_size,
        "decrease": stepper.decrease,
        "max_blocks": stepper.max_blocks,
    }
