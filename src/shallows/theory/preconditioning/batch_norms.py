"""The norm of a batch's preconditioned operator beside the bounds of Theorems 3 and 4 of Ma and Belkin (2017).

With the covariance H = E x xᵀ (without the factor 2 that the paper has in one place) and batches of m points,
H_m = (1/m) Σ x xᵀ, with probability 1 − δ

    ‖P^½ H_m P^½‖ ≤ λ_{q+1} + 2(λ_{q+1} + κ)/(3m) · L + √(2 λ_{q+1} κ/m · L)

with L = ln(2d/δ) for d features and L = ln(8d/δ) with the intrinsic dimension d in the space of a kernel. Here the
population is the sample itself, so that everything in the bound is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ... import streams
from ...training.resumable import ResumableLoop

BATCH_SIZES = (1, 4, 16, 64, 256)


def bound(following: float, kappa: float, batch_size: int, logarithm: float) -> float:
    """λ_{q+1} + 2(λ_{q+1} + κ)/(3m) · L + √(2 λ_{q+1} κ/m · L)."""
    deviation = 2.0 * (following + kappa) / (3.0 * batch_size) * logarithm
    return following + deviation + math.sqrt(2.0 * following * kappa / batch_size * logarithm)


def over_batches(
    n: int,
    sizes: Sequence[int],
    n_batches: int,
    seed: int,
    measure: Callable[[np.ndarray], float],
    progress: ResumableLoop | None = None,
    name: str = "norms",
) -> list[np.ndarray]:
    """Values of a measure on random batches of each size, drawn without replacement."""

    def values(m: int) -> list[float]:
        return [measure(streams.permutation(seed, f"batches of {m}", k, n)[:m]) for k in range(n_batches)]

    progress = progress or ResumableLoop()
    return [np.array(found) for found in progress.map(f"sizes of batches ({name})", values, sizes)]


def beside_bounds(prefix: str, found: Sequence[np.ndarray], bounds: Sequence[float]) -> dict[str, list[float]]:
    """Mean, largest value and share within the bound, for each size of batch."""
    name = prefix.removesuffix("_") or "norm"
    return {
        name: [float(values.mean()) for values in found],
        f"largest_{name}": [float(values.max()) for values in found],
        f"{prefix}bound": list(bounds),
        f"{prefix}share": [float(np.mean(values <= limit)) for values, limit in zip(found, bounds, strict=True)],
    }
