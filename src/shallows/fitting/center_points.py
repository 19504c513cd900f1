"""The centers of a model: which points they are, how many, and the points next to them that a fit is measured on."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import arrays, kernels, streams
from ..arrays import Array, Device
from ..errors import ShallowsError
from ..models.centring import Centring, TrainingRows, check_scale
from ..spectrum.kernel_ridge_choice import LEAST_ROWS, is_automatic, number_of_rows
from .choices import Choices, Sample, held_out_spans
from .machine import SMALL

N_FRESH = 3000
"""Points beside the centers on which λ and β are measured, from which the step follows."""

LEAST_FRESH = 500
"""The fewest such points; below `N_FRESH` only where their matrices would take over half of the memory."""

CENTRES_PER_ROOT, MOST_CENTRES = 40.0, 12_500
"""centres="auto" takes so many times √n, and at most so many: from 100,000 rows on the time of a fit grows like n."""

CENTRES_PER_DIMENSION, LEAST_CENTRES = 10.0, 1000
"""And no more than so many times the effective dimension of the problem, but at least so many."""


@dataclass(frozen=True)
class Centers:
    """The centers of a model, and after them in the same array points that are none.

    Attributes
    ----------
    points : array, shape (n + m, d + 2)
        Augmented.
    n : int
        How many of them are centers.
    fresh_rows : slice
        Which rows of the fit the points after the centers are.
    sampled : bool
        Whether the centers are the first rows of the fit; else the user gave them.
    rows : TrainingRows
        All training points, in memory or read batch by batch.
    n_inputs : int
        Of the model.
    """

    points: Array
    n: int
    fresh_rows: slice
    sampled: bool
    rows: TrainingRows
    n_inputs: int

    @property
    def of_model(self) -> Array:
        """The centers alone."""
        return self.points[: self.n, :]

    @property
    def fresh(self) -> Array:
        """The points after them."""
        return self.points[self.n :, :]

    def first(self, n: int) -> Centers:
        """The first n centers, with the same points after them."""
        if n == self.n:
            return self
        return replace(self, points=arrays.namespace(self.points).concat([self.points[:n, :], self.fresh]), n=n)

    def weights_from(self, weights: Array | None) -> Array | None:
        """The weights of the centers, from those of all rows: the mean if the user gave the centers."""
        if weights is None or self.sampled:
            return None if weights is None else weights[: self.n]
        xp = arrays.namespace(self.points)
        return xp.ones_like(self.of_model[:, -1]) * xp.mean(weights)

    def rows_to_choose_with(self, targets: Array, weights: Array | None) -> Sample:
        """The rows that parameters are chosen with; ``targets, weights`` are those of all rows."""
        few = self.n < number_of_rows(len(self.rows))
        rows, first = (self.fresh_rows, self.n) if few or not self.sampled else (slice(0, self.n), 0)
        points = self.points[first : first + rows.stop - rows.start, :]
        return Sample(points, targets[rows, :], None if weights is None else weights[rows])

    def first_rows(self, targets: Array, weights: Array | None, m: int) -> Sample:
        """The first m of all rows."""
        return Sample(self.rows(slice(0, m)), targets[:m, :], None if weights is None else weights[:m])


def are_training_points(centers: Any) -> bool:
    """Whether centers are drawn from the training points, "auto" or a number of them; else they are given."""
    return isinstance(centers, (str, numbers.Integral))


def span_to_choose_with(centers: Any, n: int, bandwidth: Any, regularisation: Any) -> slice:
    """Rows, in the order of the fit, that parameters are chosen with."""
    if not (is_automatic(regularisation) or is_automatic(bandwidth)):
        return slice(0, 0)
    # The first of the centers choose, and where the centers are too few the rows after them.
    stop, few = number_of_rows(n), 0 if not are_training_points(centers) or isinstance(centers, str) else int(centers)
    return slice(few, few + stop) if few and few < stop else slice(0, min(stop, LEAST_ROWS))


def spans_left_out(centers: Any, n: int, n_outputs: int) -> list[slice]:
    """Rows, in the order of the fit, that a calibration is learned on; none where all are left out in closed form."""
    are_all = isinstance(centers, str) or (are_training_points(centers) and centers >= n)
    return [] if are_all and n <= SMALL else held_out_spans(n, 0, n_outputs)


def measure_points(X: Any, kernel: Any, centers: Any) -> Centring:
    """The centering of points, if it changes no kernel value."""
    kind = kernels.kind(kernel)
    kind.check_inputs(X.shape[1])
    return Centring.of(
        X,
        centred=kind.shift_invariant,
        without_constants=kind.of_distance and are_training_points(centers),
        may_stay_sparse=kind.takes_sparse_points,
    )


def place_centers(
    X: Any,
    order: np.ndarray,
    centers: Any,
    centring: Centring,
    n_outputs: int,
    budget: int,
    device: Device,
    dtype: np.dtype,
    *,
    kernel: Any,
    takes_steps: bool,
) -> Centers:
    """Choose how many centers there are, and bring them to the device.

    Parameters
    ----------
    X : array or CSR matrix, shape (n, d)
        What the model is a function of.
    order : ndarray of int, shape (n,)
    centers : "auto", int, or array of shape (p, d)
    centring : Centring
    n_outputs, budget : int
    kernel : str, Kernel or callable
    takes_steps : bool
        Whether EigenPro trains the model, whose step is measured on further points.

    Raises
    ------
    ShallowsError
        If the centers do not fit into the memory.
    """
    n, sampled = X.shape[0], are_training_points(centers)
    n_fresh = fresh_points(n, budget, dtype.itemsize) if takes_steps else number_of_rows(n)
    row_bytes = (X.shape[1] + 2) * dtype.itemsize
    if centring.sparse and device.kind == "cpu":
        row_bytes = centring.row_bytes(X, dtype)
    room = RoomForCenters(row_bytes // dtype.itemsize - 2, n_outputs, dtype.itemsize, n_fresh, takes_steps)
    if isinstance(centers, str):
        wanted = max(LEAST_CENTRES, int(CENTRES_PER_ROOT * math.sqrt(n)))
        p = max(1, min(n, wanted, MOST_CENTRES, room.fitting(budget // 2)))
    else:
        p = min(int(centers), n) if sampled else centers.shape[0]
    needed = room.bytes_of(p)
    if needed > budget:
        raise too_many_centers(p, needed, room.fitting(budget) if sampled else 0, budget, device)
    # Half of what is left may hold the points; else they are read anew in every epoch.
    rows = TrainingRows(X, order, centring, device, dtype, held=(budget - needed) // 2 > n * row_bytes)
    first = p if sampled else 0
    fresh_rows = slice(first, min(n, first + n_fresh))
    if fresh_rows.stop - fresh_rows.start < max(1, n_fresh // 2):
        fresh_rows = slice(0, min(n, n_fresh + first))
    fresh = rows(fresh_rows)
    if sampled:
        made = rows(slice(0, p))
    else:
        made = centring.training_points(centers, streams.permutation(0, "given centres", 0, p), device, dtype)
    check_scale(made, dtype, may_vanish=not kernels.kind(kernel).shift_invariant)
    return Centers(arrays.namespace(made).concat([made, fresh]), p, fresh_rows, sampled, rows, X.shape[1])


def too_many_centers(p: int, needed: float, fitting: int, budget: int, device: Device) -> ShallowsError:
    """The error that says how many centers fit into the memory, if any do, and how much memory these need."""
    # A budget for the process counts what it holds already (`Options.budget`), which grows a little.
    beside = arrays.resident_memory() + 2**26 if device.kind == "cpu" else 0
    enough = f'memory="{math.ceil(1.1 * (needed + beside) / 1e6)}MB"'
    return ShallowsError(
        f"{p:,} centres take {needed / 1e9:.2g} GB (their kernel matrix is factored), and the budget leaves "
        f"{budget / 1e9:.2g} GB. Use {f'centres={fitting} at most, or ' if fitting >= 1 else ''}{enough}."
    )


@dataclass(frozen=True)
class RoomForCenters:
    """Bytes that centers take in a fit: themselves, the factors of their matrix, and what the step is measured with."""

    d: int
    n_outputs: int
    itemsize: int
    n_fresh: int  # Points beside the centers
    takes_steps: bool

    @property
    def _terms(self) -> tuple[float, float, float]:
        """a, b and c of a p² + b p + c numbers for p centers."""
        if self.takes_steps:
            # The factor, the centers and the certificate's matrices, of fresh points with the centers and each other.
            return 1.0, 2 * self.d + 3.0 * self.n_fresh, 2.0 * self.n_fresh**2
        return 2.0, self.d + 2 + 12.0 * self.n_outputs, self.n_fresh * (self.d + 2.0)

    def bytes_of(self, p: int) -> float:
        """What p centers take."""
        a, b, c = self._terms
        return self.itemsize * (a * p * p + b * p + c)

    def fitting(self, budget: float) -> int:
        """The most centers that fit."""
        a, b, c = self._terms
        return int((math.sqrt(b * b + 4 * a * max(0.0, budget / self.itemsize - c)) - b) / (2 * a))


def fresh_points(n: int, budget: int, itemsize: int) -> int:
    """On how many of n points the step is measured: two matrices of them take half of the budget at most."""
    return min(n, N_FRESH, max(LEAST_FRESH, math.isqrt(max(0, budget) // (4 * itemsize))))


def number_of_use(centers: Any, placed: Centers, choices: Choices) -> int:
    """The number of centers; where the data choose it, bounded by their effective dimension."""
    dimension = effective_dimension(choices, len(placed.rows)) if isinstance(centers, str) else math.inf
    if not CENTRES_PER_DIMENSION * dimension < placed.n:
        return placed.n
    return min(placed.n, max(LEAST_CENTRES, math.ceil(CENTRES_PER_DIMENSION * dimension)))


def effective_dimension(choices: Choices, n: int) -> float:
    """Σᵢ μᵢ/(μᵢ + λ) over the eigenvalues of the kernel matrix of all n points, estimated on the rows that chose λ.

    Infinite where it is a third of these rows or more, or where more rows chose a narrower bandwidth: then they are too
    few to estimate it.
    """
    if choices.found is None or choices.found.narrowing is not None or not choices.regularisation:
        return math.inf
    values = choices.found.path.values
    dimension = float(np.sum(values / (values + choices.regularisation * len(values) / n)))
    return dimension if dimension < len(values) / 3 else math.inf
