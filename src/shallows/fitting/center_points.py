"""The centers of a model: which points they are, how many, and the points next to them that a fit is measured on."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import arrays, streams
from ..arrays import Array, Device
from ..errors import ShallowsError
from ..kernels import Kernel
from ..models.centering import Centering, TrainingRows, check_scale
from ..spectrum.kernel_ridge_choice import LEAST_ROWS, number_of_rows
from ..utils.checks import warn_user
from .choices import Choices, Sample, held_out_spans
from .machine import SMALL

N_FRESH, LEAST_FRESH = 3000, 500
"""Points besides the centers on which λ and β are measured, which give the step. There are fewer than the first number
only if their matrices would use more than half of the memory, and at least the second number."""

CENTERS_PER_ROOT, MOST_CENTERS = 40.0, 12_500
"""centers="auto" means the first number times √n, at most the second: for more than 100,000 rows a fit takes time like
n."""

CENTERS_PER_DIMENSION, LEAST_CENTERS = 10.0, 1000
"""centers="auto" is at most the first number times the effective dimension of the problem, but at least the second."""


@dataclass(frozen=True)
class Centers:
    """The centers of a model, followed in the same array by other training points."""

    points: Array  # (n + m, d + 2): augmented
    n: int  # The number of centers
    fresh_rows: slice  # The rows, in the order of the fit, of the other points
    sampled: bool  # Whether the centers are the first rows of the fit; otherwise the user gave them
    rows: TrainingRows  # All training points, in memory or read batch by batch
    n_inputs: int  # Of the model

    @property
    def of_model(self) -> Array:
        """The centers alone."""
        return self.points[: self.n, :]

    @property
    def fresh(self) -> Array:
        """The points after the centers."""
        return self.points[self.n :, :]

    def first(self, n: int) -> Centers:
        """The first n centers, followed by the same points."""
        if n == self.n:
            return self
        return replace(self, points=arrays.namespace(self.points).concat([self.points[:n, :], self.fresh]), n=n)

    def weights_from(self, weights: Array | None) -> Array | None:
        """The weights of the centers, from the weights of all rows: the mean if the user gave the centers."""
        if weights is None or self.sampled:
            return None if weights is None else weights[: self.n]
        xp = arrays.namespace(self.points)
        return xp.ones_like(self.of_model[:, -1]) * xp.mean(weights)

    def rows_to_choose_with(self, targets: Array, weights: Array | None) -> Sample:
        """The rows that parameters are chosen with; ``targets, weights`` belong to all rows."""
        few = self.n < number_of_rows(len(self.rows))
        rows, first = (self.fresh_rows, self.n) if few or not self.sampled else (slice(0, self.n), 0)
        points = self.points[first : first + rows.stop - rows.start, :]
        return Sample(points, targets[rows, :], None if weights is None else weights[rows])

    def first_rows(self, targets: Array, weights: Array | None, m: int) -> Sample:
        """The first m of all rows."""
        return Sample(self.rows(slice(0, m)), targets[:m, :], None if weights is None else weights[:m])


def are_training_points(centers: Any) -> bool:
    """Whether centers are training points ("auto" or a number of them) and not the user's own points."""
    return isinstance(centers, (str, numbers.Integral))


def span_to_choose_with(centers: Any, n: int) -> slice:
    """Rows, in the order of the fit, that parameters are chosen with."""
    # The first centers choose, or the rows after the centers if there are too few centers.
    stop, few = number_of_rows(n), 0 if not are_training_points(centers) or isinstance(centers, str) else int(centers)
    return slice(few, few + stop) if few and few < stop else slice(0, min(stop, LEAST_ROWS))


def spans_left_out(centers: Any, n: int, n_outputs: int) -> list[slice]:
    """Rows, in the order of the fit, that a calibration is learned on; none if all are left out in closed form."""
    are_all = isinstance(centers, str) or (are_training_points(centers) and centers >= n)
    return [] if are_all and n <= SMALL else held_out_spans(n, 0, n_outputs)


def place_centers(
    X: Any,
    order: np.ndarray,
    centers: Any,
    centering: Centering,
    n_outputs: int,
    budget: int,
    device: Device,
    dtype: np.dtype,
    *,
    kernel: Kernel,
    takes_steps: bool,
) -> Centers:
    """Choose the number of centers, and bring them to the device; refuses more than fit into the memory.

    ``X`` are the inputs of the model. ``takes_steps``: whether EigenPro trains it, whose step needs further points.
    """
    n, sampled = X.shape[0], are_training_points(centers)
    n_fresh = number_of_rows(n)
    if takes_steps:
        # Two matrices of the points for the measurement of the step use at most half of the budget.
        n_fresh = min(n, N_FRESH, max(LEAST_FRESH, math.isqrt(max(0, budget) // (4 * dtype.itemsize))))
    row_bytes = (X.shape[1] + 2) * dtype.itemsize
    if centering.sparse and device.kind == "cpu":
        row_bytes = centering.row_bytes(X, dtype)
    room = RoomForCenters(row_bytes // dtype.itemsize - 2, n_outputs, dtype.itemsize, n_fresh, takes_steps)
    if isinstance(centers, str):
        wanted = max(LEAST_CENTERS, int(CENTERS_PER_ROOT * math.sqrt(n)))
        p = max(1, min(n, wanted, MOST_CENTERS, room.fitting(budget // 2)))
    else:
        p = min(int(centers), n) if sampled else centers.shape[0]
        if sampled and centers > n:
            warn_user(
                f"centers={int(centers)} are more than the {n} training rows, so every row is a center. Set centers to "
                f"at most {n}, or centers=None for a solver on all points.",
                UserWarning,
            )
    needed = room.bytes_of(p)
    if needed > budget:
        # A budget for the process includes the bytes already in use (`Options.budget`), which grow a little.
        used = arrays.resident_memory() + 2**26 if device.kind == "cpu" else 0
        fitting, enough = room.fitting(budget) if sampled else 0, math.ceil(1.1 * (needed + used) / 1e6)
        raise ShallowsError(
            f"{p:,} centers take {needed / 1e9:.2g} GB (their kernel matrix is factored), but only {budget / 1e9:.2g} "
            f"GB are available. Use {f'centers={fitting} at most, or ' if fitting >= 1 else ''}"
            f'memory="{enough}MB".'
        )
    # The points may use half of the remaining memory; otherwise they are read again in every epoch.
    rows = TrainingRows(X, order, centering, device, dtype, held=(budget - needed) // 2 > n * row_bytes)
    first = p if sampled else 0
    fresh_rows = slice(first, min(n, first + n_fresh))
    if fresh_rows.stop - fresh_rows.start < max(1, n_fresh // 2):
        fresh_rows = slice(0, min(n, n_fresh + first))
    fresh = rows(fresh_rows)
    if sampled:
        points = rows(slice(0, p))
    else:
        points = centering.training_points(centers, streams.permutation(0, "given centres", 0, p), device, dtype)
    check_scale(points, dtype, may_vanish=not kernel.shift_invariant)
    return Centers(arrays.namespace(points).concat([points, fresh]), p, fresh_rows, sampled, rows, X.shape[1])


@dataclass(frozen=True)
class RoomForCenters:
    """Bytes of centers in a fit, of the factors of their matrix, and of the measurement of the step."""

    d: int
    n_outputs: int
    itemsize: int
    n_fresh: int  # Points besides the centers
    takes_steps: bool

    @property
    def _terms(self) -> tuple[float, float, float]:
        """a, b and c of a p² + b p + c numbers for p centers."""
        if self.takes_steps:
            # The factor, the centers and the certificate's matrices, of fresh points with the centers and each other.
            return 1.0, 2 * self.d + 3.0 * self.n_fresh, 2.0 * self.n_fresh**2
        return 2.0, self.d + 2 + 12.0 * self.n_outputs, self.n_fresh * (self.d + 2.0)

    def bytes_of(self, p: int) -> float:
        """Bytes of p centers."""
        a, b, c = self._terms
        return self.itemsize * (a * p * p + b * p + c)

    def fitting(self, budget: float) -> int:
        """The most centers that fit."""
        a, b, c = self._terms
        return int((math.sqrt(b * b + 4 * a * max(0.0, budget / self.itemsize - c)) - b) / (2 * a))


def number_of_use(centers: Any, placed: Centers, choices: Choices) -> int:
    """The number of centers; "auto" is bounded by the effective dimension of the data."""
    dimension = effective_dimension(choices, len(placed.rows)) if isinstance(centers, str) else math.inf
    if not CENTERS_PER_DIMENSION * dimension < placed.n:
        return placed.n
    return min(placed.n, max(LEAST_CENTERS, math.ceil(CENTERS_PER_DIMENSION * dimension)))


def effective_dimension(choices: Choices, n: int) -> float:
    """Σᵢ μᵢ/(μᵢ + λ) over the eigenvalues of the kernel matrix of all n points, estimated on the rows that chose λ.

    Infinite if it cannot be estimated: if it is a third of the number of these rows or more, or if more rows chose a
    narrower bandwidth.
    """
    if choices.found is None or choices.found.narrowing is not None or not choices.regularization:
        return math.inf
    values = choices.found.path.values
    dimension = float(np.sum(values / (values + choices.regularization * len(values) / n)))
    return dimension if dimension < len(values) / 3 else math.inf
