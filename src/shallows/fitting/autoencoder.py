"""The fit of a layer of a multilayer extreme learning machine: hidden units whose weights reconstruct the inputs."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import arrays
from ..errors import ShallowsError
from ..features.given_units import GivenUnits, orthogonal_units
from ..models.centering import Centering
from ..solvers.least_squares.normal_equations import solve_by_features, solve_by_rows, solve_with_l1, sums_of_features


def fit_autoencoder(
    X: Any,
    *,
    centering: Centering,
    activation: str,
    n_units: int,
    alpha: float,
    penalty: str,
    bandwidth: float,
    seed: int,
    dtype: np.dtype,
    device: arrays.Device,
    budget: int,
    strip_bytes: int,
) -> GivenUnits:
    """Learn from checked rows; ``strip_bytes``: bytes of units that are computed at a time."""
    (n, d), scale = X.shape, bandwidth / math.sqrt(X.shape[1])
    by_rows = n < n_units and penalty == "l2"
    size = n if by_rows else n_units
    needed, remedy = (
        24 * (size * size + n_units * d) + 12 * n * n_units * by_rows,
        "Use fewer units, or give more memory.",
    )
    arrays.check_room(f"Weights of {n_units:,} units and a system of {size:,} equations take", needed, budget, remedy)
    hidden = orthogonal_units(activation, d, n_units, scale, seed).to(device)
    at_a_time = max(1, strip_bytes // (n_units * dtype.itemsize))

    def blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for _, x, _ in centering.new_points(X, device, dtype):
            for rows in arrays.blocks(x.shape[0], at_a_time):
                yield arrays.to_numpy(hidden.map(x[rows])), arrays.to_numpy(x[rows]) / scale

    if penalty == "l1":
        gram, moments = sums_of_features(blocks(), 0.0)
        beta = solve_with_l1(gram, moments, alpha)
        if moments.any() and not beta.any():
            raise ShallowsError(f"With penalty='l1' and alpha={alpha!r} every weight is zero: use a smaller alpha.")
    elif by_rows:
        H, T = (np.concatenate(parts) for parts in zip(*blocks(), strict=True))
        beta = solve_by_rows(H, T, alpha)
    else:
        beta = solve_by_features(blocks(), alpha)
    return GivenUnits(None if d == n_units else activation, (beta / scale).astype(dtype))
