"""Leave-one-out errors of kernel ridge regression in closed form, and the bandwidth and regularisation they choose."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import arrays
from ..errors import ShallowsError

REGULARISATIONS = 10.0 ** np.arange(-3.0, 3.01, 0.5)
"""Multiples of the kernel's mean diagonal that λ is chosen from. Smaller ones differ little in their errors, and
EigenPro would take many epochs to reach their solutions; the largest leaves next to nothing but the targets' mean."""

FACTORS = 2.0 ** np.arange(-5.0, 3.01)
"""Multiples of the median distance that the bandwidth is chosen from."""

UNEVEN, FAR = 10.0, 1e3
"""The diagonal of a kernel has a long tail if its mean is so many times its median. The points lie far from the origin
of the kernel's space if the mean is so many times their median squared distance from their centre there. With the
bandwidths of `FACTORS` it is at most 200 times that distance."""

START = int(np.flatnonzero(FACTORS == 1.0)[0])

MARGIN = 0.01
"""A larger λ is preferred where its error is above the least by no more than this share: that much is chance."""

MOST_THREADS = 3
"""Bandwidths that are evaluated at the same time, of which the search may need only the first."""


class RidgePath:
    """Kernel ridge regression on a few points for any λ, from one eigendecomposition.

    The minimiser of Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖² has the coefficients α = (K + λW⁻¹)⁻¹ y. Fitted without the i-th
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

    def residuals(self, regularisation: float) -> np.ndarray:
        """yᵢ − f₋ᵢ(xᵢ), where f₋ᵢ is fitted without the i-th point, shape (m, c)."""
        inverse = 1.0 / (self.values + max(regularisation, self._rounding, 1e-300))
        coefficients = self.vectors @ (inverse[:, None] * self._turned)
        return coefficients / (self._squares @ inverse)[:, None] / self.root

    def fitted(self, regularisation: float) -> np.ndarray:
        """f(xᵢ) of the function that is fitted to all points, shape (m, c)."""
        shrunken = self.values / (self.values + max(regularisation, self._rounding, 1e-300))
        return self.vectors @ (shrunken[:, None] * self._turned) / self.root

    def best(self, candidates: np.ndarray, *, bounded: bool = False) -> tuple[float, dict[float, np.ndarray]]:
        """The largest λ whose error is within `MARGIN` of the least, and the `squares` of every candidate."""
        squares = {float(value): self.squares(value, bounded=bounded) for value in candidates}
        least = min(float(s.mean()) for s in squares.values())
        return max(value for value, s in squares.items() if s.mean() <= (1.0 + MARGIN) * least), squares

    def squares(self, regularisation: float, *, bounded: bool = False) -> np.ndarray:
        """The weighted squared residuals, summed over the outputs, shape (m,); their mean is the error.

        ``bounded`` takes those of outputs that are clipped to the range of the targets. A class is decided by them as
        by the outputs, and a few outputs that are far too large do not hide the others (Steinwart and Christmann 2008,
        "Support vector machines", section 2.2).
        """
        weighted, residuals = self.root**2 / np.mean(self.root**2), self.residuals(regularisation)
        if bounded:
            least, most = self.targets.min(axis=0), self.targets.max(axis=0)
            residuals = self.targets - np.clip(self.targets - residuals, least, most)
        return np.sum(weighted * residuals**2, axis=1)


@dataclass(frozen=True)
class RidgeChoice:
    """A bandwidth and a λ, and how they were found.

    ``bandwidths, regularisations``: errors of the bandwidths that were tried, each at its best λ, and of the λ at the
    chosen bandwidth.
    """

    bandwidth: float | None  # None for kernels without one
    regularisation: float  # λ
    error: float  # The leave-one-out error of both, as a share of that of a constant
    standard_error: float  # Of this error, from its spread over the points
    bandwidths: dict[float, float]
    regularisations: dict[float, float]
    n_rows: int  # Points left out, one after the other
    path: RidgePath  # Of the bandwidth that these points chose
    narrowing: dict[str, Any] | None = None  # How more rows chose a narrower bandwidth, if they did

    @property
    def is_uninformative(self) -> bool:
        """Whether the error may be that of a constant; more points may then show what there is to be learnt."""
        return self.error + 2.0 * self.standard_error >= 1.0

    def summary(self) -> dict[str, Any]:
        """What was chosen and how sure it is: the smallest and the largest value as good within a standard error.

        Where only one of the values that were tried is as good, it stands alone; a value that was given has no entry.
        """

        def indistinguishable(errors: dict[float, float]) -> list[float]:
            near = [float(value) for value, error in errors.items() if error <= self.error + self.standard_error]
            return sorted({min(near), max(near)}) if near else []

        told = {
            "chosen_by": "leave-one-out",
            "rows": self.n_rows,
            "error": float(self.error),
            "standard_error": float(self.standard_error),
        }
        for name, errors in (("regularisations", self.regularisations), ("bandwidths", self.bandwidths)):
            told |= {f"{name}_as_good": indistinguishable(errors)} if len(errors) > 1 else {}
        return told | ({} if self.narrowing is None else {"narrowing": self.narrowing})


@dataclass(frozen=True)
class Tried:
    """A bandwidth that was tried, with its best λ: the error, that of each point, and those of the other λ."""

    error: float
    regularisation: float = math.nan
    squares: np.ndarray = field(default_factory=lambda: np.full(1, math.inf))
    errors: dict[float, float] = field(default_factory=dict)
    path: RidgePath | None = None


def candidates_of(matrix: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The λ that are tried for a kernel matrix: `REGULARISATIONS` times its mean diagonal and the mean weight.

    Where the mean is decided by few points, or by their distance from the origin, much smaller ones are tried as well,
    down to the rounding errors of the eigenvalues.
    """
    unit = float(np.mean(np.diagonal(matrix))) * (1.0 if weights is None else float(weights.mean()))
    if not has_misleading_diagonal(matrix):
        return REGULARISATIONS * unit
    least = np.log10(len(matrix) ** 2 * float(np.finfo(np.float64).eps))
    return np.concatenate([10.0 ** np.arange(-3.5, least, -0.5)[::-1], REGULARISATIONS]) * unit


def has_misleading_diagonal(matrix: np.ndarray) -> bool:
    """Whether the mean diagonal of a kernel matrix says nothing of the size of the other eigenvalues than the first."""
    diagonal, means = np.diagonal(matrix), matrix.mean(axis=1)
    from_centre = float(np.median(diagonal - 2.0 * means + means.mean()))
    mean = float(diagonal.mean())
    return mean > UNEVEN * float(np.median(diagonal)) or mean > FAR * max(from_centre, 0.0)


def choose_ridge(
    matrix_of: Callable[[float | None], np.ndarray],
    targets: np.ndarray,
    *,
    median: float | None = None,
    bandwidth: float | None = None,
    regularisation: float | None = None,
    weights: np.ndarray | None = None,
    of_classes: bool = False,
) -> RidgeChoice:
    """The bandwidth and the λ of least leave-one-out error, or one of them where the other is given.

    The search begins at the median distance and goes on in factors of two in the direction in which the error falls.

    ``matrix_of`` gives the kernel matrix, shape (m, m), float64, of a bandwidth; of None where there is none to choose.
    ``targets`` (m, c) are without their mean, or codes of classes. Where the diagonal of the kernel misleads, those
    ``of_classes`` are compared with bounded outputs (`RidgePath.squares`).

    References
    ----------
    G. Wahba (1990), "Spline models for observational data", SIAM, section 4.2.
    """
    constant = np.average((targets**2).sum(axis=1), weights=weights)
    constant = constant if constant > 0 else 1.0
    found: dict[float | None, Tried] = {}
    ahead: dict[float | None, Tried] = {}  # Evaluated before the search asked for them
    n_threads = min(MOST_THREADS, arrays.n_threads())

    def evaluate(width: float | None) -> Tried:
        with np.errstate(over="ignore"), arrays.one_blas_thread():
            matrix = matrix_of(width)
            if not np.isfinite(matrix).all():  # Values of a kernel without a bound; a larger bandwidth may have some.
                return Tried(math.inf)
            path = RidgePath(matrix, targets, weights)
            candidates = candidates_of(matrix, weights) if regularisation is None else np.array([regularisation])
            bounded = of_classes and len(candidates) > len(REGULARISATIONS)
            value, squares = path.best(candidates, bounded=bounded)
        errors = {tried: float(s.mean()) / constant for tried, s in squares.items()}
        return Tried(errors[value], value, squares[value] / constant, errors, path)

    def error_of(width: float | None, likely: Sequence[float] = ()) -> float:
        """The error of a bandwidth; further threads evaluate those that the search is likely to ask for next."""
        if width not in found:
            if width not in ahead:
                asked = [width, *(other for other in likely if other not in ahead)][:n_threads]
                ahead.update(zip(asked, arrays.in_threads(lambda k: evaluate(asked[k]), len(asked)), strict=True))
            found[width] = ahead.pop(width)
            # Only the path of the best is kept: each holds two matrices.
            least = min(tried.error for tried in found.values())
            found.update({other: replace(tried, path=None) for other, tried in found.items() if tried.error > least})
        return found[width].error

    if median is None or bandwidth is not None:
        best: float | None = bandwidth
        error_of(best)
    else:
        widths = [median * float(factor) for factor in FACTORS]
        k = START

        def error_at(j: int) -> float:
            least = min(
                (i for i in range(len(widths)) if widths[i] in found), key=lambda i: found[widths[i]].error, default=j
            )
            unknown = [i for i in range(len(widths)) if widths[i] not in found and i != j]
            nearest = sorted(unknown, key=lambda i: (abs(i - least), abs(i - j)))
            # Errors that differ by rounding are equal, and then the search stays.
            return round(error_of(widths[j], [widths[i] for i in nearest]), 9)

        while True:
            following = min((j for j in (k, k - 1, k + 1) if 0 <= j < len(widths)), key=error_at)
            if following == k:
                break
            k = following
        best = widths[k]
    chosen = found[best]
    if chosen.error == math.inf:
        raise ShallowsError(
            "The kernel overflows on the training points. Bring X to a usual scale about the origin, or take other "
            "parameters of the kernel."
        )
    return RidgeChoice(
        bandwidth=best,
        regularisation=chosen.regularisation,
        error=chosen.error,
        standard_error=float(chosen.squares.std() / np.sqrt(len(chosen.squares))),
        bandwidths={width: tried.error for width, tried in sorted(found.items())} if best is not None else {},
        regularisations=chosen.errors,
        n_rows=len(targets),
        path=chosen.path or evaluate(best).path,
    )
