"""Leave-one-out errors of kernel ridge regression in closed form, and the bandwidth and λ that they choose."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.linalg

from .. import arrays
from ..errors import ShallowsError

REGULARIZATIONS = 10.0 ** np.arange(-3.0, 3.01, 0.5)
"""Multiples of the kernel's mean diagonal from which λ is chosen. Smaller λ have similar errors, and EigenPro needs
many epochs for their solutions. With the largest λ, f is nearly the mean of the targets."""

FACTORS = 2.0 ** np.arange(-5.0, 3.01)
"""Multiples of the median distance from which the bandwidth is chosen."""

START = int(np.flatnonzero(FACTORS == 1.0)[0])

UNEVEN, FAR = 10.0, 1e3
"""The diagonal of a kernel matrix is misleading if its mean exceeds its median by the first factor.

It is also misleading if its mean exceeds the median squared distance of the points from their center, in the kernel's
space, by the second factor. With the bandwidths of `FACTORS` that ratio is at most 200."""

MARGIN = 0.01
"""A larger λ is preferred if its error is above the least by at most this share, which is chance."""

MOST_THREADS = 3
"""Bandwidths that are evaluated at the same time. The search may need only the first."""


class RidgePath:
    """Kernel ridge regression on a few points for any λ, from one eigendecomposition.

    The minimizer of Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖² has the coefficients α = (K + λW⁻¹)⁻¹ y. Fitted without the i-th
    point, it misses the target there by αᵢ / [(K + λW⁻¹)⁻¹]ᵢᵢ (Rasmussen and Williams 2006, section 5.4.2; Wahba 1990).

    ``values, vectors``: the eigensystem of W^½ K W^½, from the largest eigenvalue to the smallest.
    """

    def __init__(self, matrix: np.ndarray, targets: np.ndarray, weights: np.ndarray | None = None):
        self.targets = targets
        self.root = np.ones((len(matrix), 1)) if weights is None else np.sqrt(weights)[:, None]
        with arrays.one_blas_thread():
            values, self.vectors = np.linalg.eigh(matrix * self.root * self.root.T)
        self.values, self.vectors = np.maximum(values[::-1], 0.0), self.vectors[:, ::-1]
        self._rounding = len(matrix) * float(np.finfo(np.float64).eps) * float(self.values[0])
        self._turned = self.vectors.T @ (self.root * targets)
        self._squares = self.vectors**2

    def residuals(self, regularization: float) -> np.ndarray:
        """yᵢ − f₋ᵢ(xᵢ), where f₋ᵢ is fitted without the i-th point, shape (m, c)."""
        inverse = 1.0 / (self.values + max(regularization, self._rounding, 1e-300))
        coefficients = self.vectors @ (inverse[:, None] * self._turned)
        return coefficients / (self._squares @ inverse)[:, None] / self.root

    def fitted(self, regularization: float) -> np.ndarray:
        """f(xᵢ) of the function that is fitted to all points, shape (m, c)."""
        shrunken = self.values / (self.values + max(regularization, self._rounding, 1e-300))
        return self.vectors @ (shrunken[:, None] * self._turned) / self.root

    def best(self, candidates: np.ndarray, *, bounded: bool = False) -> tuple[float, dict[float, np.ndarray]]:
        """The largest λ whose error is within `MARGIN` of the least, and the `squares` of every candidate."""
        squares = {float(value): self.squares(value, bounded=bounded) for value in candidates}
        least = min(float(s.mean()) for s in squares.values())
        return max(value for value, s in squares.items() if s.mean() <= (1.0 + MARGIN) * least), squares

    def squares(self, regularization: float, *, bounded: bool = False) -> np.ndarray:
        """The weighted squared residuals, summed over the outputs, shape (m,); their mean is the error.

        ``bounded`` clips outputs to the range of the targets. This does not change the predicted class, and a few
        outputs that are far too large do not hide the others (Steinwart and Christmann 2008, section 2.2).
        """
        weighted, residuals = self.root**2 / np.mean(self.root**2), self.residuals(regularization)
        if bounded:
            least, most = self.targets.min(axis=0), self.targets.max(axis=0)
            residuals = self.targets - np.clip(self.targets - residuals, least, most)
        return np.sum(weighted * residuals**2, axis=1)


def leave_out_by_factor(
    matrix: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, regularization: float
) -> np.ndarray:
    """`RidgePath.squares` for one λ, from a Cholesky factor: a sixth of the time of an eigendecomposition."""
    weights = np.ones(len(matrix)) if weights is None else weights
    shifted = np.array(matrix, order="F")
    rounding = len(matrix) * float(np.finfo(np.float64).eps) * float(np.trace(matrix))
    shifted.ravel(order="K")[:: len(matrix) + 1] += max(regularization, rounding, 1e-300) / weights
    with arrays.one_blas_thread():
        factor = scipy.linalg.cho_factor(shifted, lower=True, overwrite_a=True)
        coefficients = scipy.linalg.cho_solve(factor, targets)
        inverse = np.tril(scipy.linalg.lapack.dtrtri(factor[0], lower=True, overwrite_c=True)[0])
    diagonal = np.einsum("ij,ij->j", inverse, inverse)  # Of the inverse of the matrix
    return weights / weights.mean() * np.sum((coefficients / diagonal[:, None]) ** 2, axis=1)


@dataclass(frozen=True)
class RidgeChoice:
    """A bandwidth and a λ, the errors of the bandwidths that were tried, and those of all λ at the chosen bandwidth."""

    bandwidth: float | None  # None for kernels without one
    regularization: float  # λ
    error: float  # Leave-one-out error relative to the error of a constant
    standard_error: float  # Of this error, from its spread over the points
    bandwidths: dict[float, float]
    regularizations: dict[float, float]
    n_rows: int  # Points that were left out, one at a time
    path: RidgePath  # At the bandwidth that these points chose
    factor: float | None = None  # The bandwidth that they chose as a multiple of the median distance
    narrowing: dict[str, Any] | None = None  # How more rows chose a narrower bandwidth, if they did
    ridges: dict[float, float] = field(default_factory=dict)  # The best λ of each bandwidth that was tried

    @property
    def is_uninformative(self) -> bool:
        """Whether the error may equal the error of a constant; more points may then show a relation."""
        return self.error + 2.0 * self.standard_error >= 1.0

    def ridge_near(self, bandwidth: float) -> float:
        """The best λ of the bandwidth, among those tried, that is the nearest in logarithms."""
        if bandwidth == self.bandwidth or not self.ridges:
            return self.regularization
        return self.ridges[min(self.ridges, key=lambda tried: abs(math.log(tried / bandwidth)))]

    def summary(self) -> dict[str, Any]:
        """The chosen values, and for searched ones the range of values that are as good within a standard error."""
        found = {
            "chosen_by": "leave-one-out",
            "rows": self.n_rows,
            "error": float(self.error),
            "standard_error": float(self.standard_error),
        }
        for name, errors in (("regularizations", self.regularizations), ("bandwidths", self.bandwidths)):
            if len(errors) > 1:
                near = [float(value) for value, error in errors.items() if error <= self.error + self.standard_error]
                found[f"{name}_as_good"] = sorted({min(near), max(near)}) if near else []
        return found if self.narrowing is None else found | {"narrowing": self.narrowing}


@dataclass(frozen=True)
class Tried:
    """A bandwidth that was tried, with its best λ: its error with a standard error, and the errors of all λ."""

    error: float
    regularization: float = math.nan
    standard_error: float = math.inf
    errors: dict[float, float] = field(default_factory=dict)
    path: RidgePath | None = None


def candidates_of(matrix: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The λ that are tried for a kernel matrix: `REGULARIZATIONS` times its mean diagonal and the mean weight.

    A few points, or the distance of all points from the origin, can dominate the mean, so that it says nothing about
    the second eigenvalue. Then much smaller λ are tried too, down to the rounding errors of the eigenvalues.
    """
    diagonal, means = np.diagonal(matrix), matrix.mean(axis=1)
    from_center = float(np.median(diagonal - 2.0 * means + means.mean()))
    mean = float(diagonal.mean())
    unit = mean * (1.0 if weights is None else float(weights.mean()))
    if not (mean > UNEVEN * float(np.median(diagonal)) or mean > FAR * max(from_center, 0.0)):
        return REGULARIZATIONS * unit
    least = np.log10(len(matrix) ** 2 * float(np.finfo(np.float64).eps))
    return np.concatenate([10.0 ** np.arange(-3.5, least, -0.5)[::-1], REGULARIZATIONS]) * unit


def choose_ridge(
    matrix_of: Callable[[float | None], np.ndarray],
    targets: np.ndarray,
    *,
    median: float | None = None,
    bandwidth: float | None = None,
    regularization: float | None = None,
    weights: np.ndarray | None = None,
    of_classes: bool = False,
) -> RidgeChoice:
    """The bandwidth and the λ of least leave-one-out error, or one of them if the other is given.

    The search starts at the median distance and moves by factors of two in the direction in which the error falls, the
    narrower one if it falls in both. If it ends where nothing is better than a constant, as on a function that changes
    over a small part of the median distance, all bandwidths are tried.

    ``matrix_of`` returns the kernel matrix, shape (m, m), of a bandwidth, or of None for kernels without one.
    ``targets`` (m, c) are centered, or codes of classes. If the diagonal of the kernel is misleading, classes are
    compared by bounded outputs (`RidgePath.squares`).

    References
    ----------
    G. Wahba (1990), "Spline models for observational data", SIAM, section 4.2.
    """
    searches = median is not None and bandwidth is None
    widths = [median * float(factor) for factor in FACTORS] if searches else [bandwidth]
    constant = np.average((targets**2).sum(axis=1), weights=weights)
    constant = constant if constant > 0 else 1.0
    found: dict[int, Tried] = {}
    ahead: dict[int, Tried] = {}  # Evaluated before the search asked for them
    n_threads = min(MOST_THREADS, arrays.n_threads())

    def evaluate(k: int) -> Tried:
        with np.errstate(over="ignore"), arrays.one_blas_thread():
            matrix = arrays.to_numpy(matrix_of(widths[k])).astype(np.float64, copy=False)
            if not np.isfinite(matrix).all():  # An unbounded kernel overflows; larger bandwidths may not.
                return Tried(math.inf)
            path = RidgePath(matrix, targets, weights)
            candidates = candidates_of(matrix, weights) if regularization is None else np.array([regularization])
            bounded = of_classes and len(candidates) > len(REGULARIZATIONS)
            value, squares = path.best(candidates, bounded=bounded)
        errors = {ridge: float(s.mean()) / constant for ridge, s in squares.items()}
        of_points = squares[value] / constant
        return Tried(errors[value], value, float(of_points.std() / np.sqrt(len(of_points))), errors, path)

    def error_of(k: int) -> float:
        """The error of a bandwidth. Other threads evaluate the bandwidths that the search is likely to need next."""
        if k not in found:
            if k not in ahead:
                best = min(sorted(found), key=lambda i: found[i].error, default=k)
                others = [i for i in range(len(widths)) if i not in found and i not in ahead and i != k]
                batch = [k, *sorted(others, key=lambda i: (abs(i - best), abs(i - k)))][:n_threads]
                ahead.update(zip(batch, arrays.in_threads(lambda i: evaluate(batch[i]), len(batch)), strict=True))
            found[k] = ahead.pop(k)
            # Only the path of the best is kept, since each has two matrices.
            least = min(tried.error for tried in found.values())
            found.update({i: replace(tried, path=None) for i, tried in found.items() if tried.error > least})
        return round(found[k].error, 9)  # Errors that differ by rounding are equal, and then the search stops.

    k, following = -1, START if searches else 0
    while following != k:
        k, here = following, error_of(following)
        neighbors = (j for j in (k - 1, k + 1) if 0 <= j < len(widths))
        following = next((j for j in neighbors if error_of(j) < here), k)
    if searches and found[k].error + 2.0 * found[k].standard_error >= 1.0:
        best = min(range(len(widths)), key=error_of)
        k = best if found[best].error + 2.0 * found[best].standard_error < 1.0 else k
    chosen = found[k]
    if chosen.error == math.inf:
        raise ShallowsError(
            "The kernel overflows on the training points. Bring X to a usual scale about the origin, or take other "
            "parameters of the kernel."
        )
    return RidgeChoice(
        bandwidth=widths[k],
        regularization=chosen.regularization,
        error=chosen.error,
        standard_error=chosen.standard_error,
        bandwidths={widths[i]: found[i].error for i in sorted(found)} if widths[k] is not None else {},
        regularizations=chosen.errors,
        n_rows=len(targets),
        path=chosen.path or evaluate(k).path,
        factor=float(FACTORS[k]) if searches else None,
        ridges={widths[i]: found[i].regularization for i in sorted(found)} if widths[k] is not None else {},
    )


def report_of_choice(choice: RidgeChoice | None) -> dict[str, Any]:
    """The entry of ``report_`` about a choice, if there was one."""
    return {} if choice is None else {"selection": choice.summary()}
