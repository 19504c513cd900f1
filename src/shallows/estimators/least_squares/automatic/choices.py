"""Bandwidth, regularisation and calibration that an estimator of least squares chooses from its training data."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .... import arrays, kernels
from ....errors import ShallowsError
from ....fitting.parameter_checks import is_number, is_positive
from ....kernels import Kernel
from ....spectrum.copies import Joined, join_copies
from ....spectrum.kernel_ridge_choice import AUTO, MEDIAN, MOST_ROWS, number_of_rows
from ....spectrum.leave_one_out import REGULARISATIONS, RidgeChoice, RidgePath, candidates_of, choose_ridge
from .narrower_bandwidth import are_classes, narrower, scores_of_centres

LEAST_HELD_OUT, MOST_HELD_OUT = 200, 1000
"""Rows that a further set of outputs of a larger fit is not trained on: a fifth of the data between these."""

MOST_FOLDS, MOST_OUTPUTS = 3, 40
"""Further sets of outputs, and outputs of all of them, at most. They learn from the same kernel values as the model."""


def check(estimator: Any, *, chooses: bool) -> None:
    """Check ``bandwidth``, and of estimators that choose ``regularisation`` and ``calibration``."""
    bandwidth = estimator.bandwidth
    named = (None, MEDIAN, AUTO) if chooses else (None, MEDIAN)
    known = bandwidth is None or (isinstance(bandwidth, str) and bandwidth in named)
    if not known and not is_positive(bandwidth):
        words = "'auto', 'median', or None for the median rule" if chooses else "'median' or None for the median rule"
        raise ShallowsError(f"bandwidth must be a positive number, {words}, got {bandwidth!r}.")
    check_calibration(getattr(estimator, "calibration", None))
    given = estimator.regularisation if chooses else 0.0
    if not (isinstance(given, str) and given == AUTO) and not (is_number(given) and 0 <= given < np.inf):
        raise ShallowsError(f"regularisation must be 'auto' or a number of at least 0, got {given!r}.")


def check_calibration(value: Any) -> None:
    """Refuse what is not "auto" or None."""
    if value is not None and not (isinstance(value, str) and value == AUTO):
        raise ShallowsError(f"calibration must be 'auto' or None, got {value!r}.")


def searches_bandwidth(estimator: Any, given: Any) -> bool:
    """Whether the bandwidth is to be chosen: "auto", for a kernel that is named, has one and is needed.

    A preconditioner that was ``given`` brings its own.
    """
    if not (isinstance(estimator.bandwidth, str) and estimator.bandwidth == AUTO):
        return False
    if given is not None or estimator._centring.all_equal or not getattr(estimator, "_takes_kernel", True):
        return False
    name, bandwidth, _ = kernels.translated(estimator.kernel, None, getattr(estimator, "kernel_params", None))
    kind = kernels.kind(name)
    return not isinstance(kind, Kernel) and kind.takes_bandwidth and bandwidth is None


def kernels_of(estimator: Any) -> Callable[[float], Kernel]:
    """What makes the estimator's kernel, which is named, with a bandwidth."""
    name, _, parameters = kernels.translated(estimator.kernel, None, getattr(estimator, "kernel_params", None))
    return lambda width: kernels.make(name, width, **parameters)


def number_held_out(n: int, n_subsample: int) -> int:
    """How many of n rows, none of the subsample's, a further set of outputs goes without; 0 for too few."""
    wanted = min(max(min(LEAST_HELD_OUT, n // 4), min(MOST_HELD_OUT, n // 5)), n - n_subsample)
    return wanted if wanted >= 20 else 0


def number_of_folds(n: int, n_subsample: int, n_held_out: int, n_outputs: int) -> int:
    """How many further sets of outputs there are, each of which goes without other rows."""
    enough = -(-MOST_HELD_OUT // n_held_out)
    return max(1, min(MOST_FOLDS, enough, (n - n_subsample) // n_held_out, MOST_OUTPUTS // n_outputs))


def held_out_spans(n: int, n_subsample: int, n_outputs: int) -> list[slice]:
    """Rows, in the order of the fit, that the second, third, ... set of outputs goes without; none of too few."""
    m = number_held_out(n, n_subsample)
    n_folds = number_of_folds(n, n_subsample, m, n_outputs) if m else 0
    return [slice(n - (k + 1) * m, n - k * m) for k in range(n_folds)]


def inner_products(blocks: Any, points: np.ndarray, like: Any) -> np.ndarray:
    """The matrix of inner products of the features of augmented points, made in the library of ``like``."""
    total, plain = np.zeros((len(points), len(points))), arrays.like(points[:, :-2], like)
    for k in range(len(blocks.spans)):
        block = blocks.block(plain, k)
        block = block.toarray() if hasattr(block, "toarray") else arrays.to_numpy(block)
        total += block.astype(np.float64) @ block.T.astype(np.float64)
    return total


@dataclass(frozen=True)
class Distinct:
    """Augmented points of which none is a copy of another, shape (k, d + 2), and how the rows were joined."""

    points: np.ndarray
    rows: Joined

    @classmethod
    def of(cls, points: Any, targets: Any, weights: Any) -> Distinct:
        """Join the copies among augmented points."""
        x = _wide(points)[:, :-2]
        rows = join_copies(x, _wide(targets), None if weights is None else _wide(weights))
        return cls(kernels.augmented(x[rows.first]), rows)


@dataclass
class Choices:
    """What the fit of an estimator chooses from its training data.

    Attributes
    ----------
    bandwidth : float or None
        For the kernel; None leaves it to the median rule.
    regularisation : float
        λ for weights of which the largest is one.
    found : RidgeChoice or None
        How they were found, if they were.
    path : RidgePath or None
        Ridge regression on all rows of a small problem, in the order of the fit.
    held_out : list of slice
        Rows, in the order of the fit, that the second, third, ... set of outputs goes without. They learn beside the
        first from the same kernel values, and the first goes without no row. The calibration is learnt on them.
    """

    bandwidth: float | None
    regularisation: float = 0.0
    found: RidgeChoice | None = None
    path: RidgePath | None = None
    held_out: list[slice] = field(default_factory=list)
    _all: Distinct | None = None

    @classmethod
    def begin(cls, estimator: Any, fit: Any, points: Any, targets: Any, weights: Any) -> Choices:
        """Choose the bandwidth, and λ with it, if the bandwidth is to be chosen.

        Parameters
        ----------
        estimator
            With ``kernel``, ``bandwidth`` and ``regularisation``.
        fit : LeastSquaresFit
        points : array, shape (m, d + 2)
            Augmented training points in random order.
        targets : array, shape (m, c)
        weights : array, shape (m,), optional
            At most one.
        """
        chosen = cls(None if isinstance(estimator.bandwidth, str) else estimator.bandwidth)
        if hasattr(estimator, "regularisation") and not estimator._centring.all_equal:
            if not isinstance(estimator.regularisation, str):
                chosen.regularisation = float(estimator.regularisation) / fit.weight_unit
            if searches_bandwidth(estimator, fit.given):
                made = kernels_of(estimator)
                matrix_of = lambda x, width: kernels.matrix(made(width), x)  # noqa: E731
                chosen._choose(estimator, matrix_of, (points, targets, weights), fit.seed)
        return chosen

    def of_kernel(self, estimator: Any, kernel: Kernel | None, points: Any, targets: Any, weights: Any) -> None:
        """Choose λ for a kernel whose bandwidth was not chosen, with the rows of `begin`."""
        automatic = isinstance(getattr(estimator, "regularisation", 0.0), str) and not estimator._centring.all_equal
        if automatic and self.found is None and kernel is not None:
            self._choose(estimator, lambda x, _: kernels.matrix(kernel, x), (points, targets, weights))

    def _choose(
        self,
        estimator: Any,
        matrix_of: Callable[[np.ndarray, float | None], np.ndarray],
        data: tuple[Any, Any, Any],
        seed: int | None = None,
        n_rows: int | None = None,
    ) -> None:
        """Choose with the first rows; the bandwidth as well, around the median distance, if there is a seed for it."""
        n = len(data[0])
        m = n_rows or number_of_rows(n)
        distinct = Distinct.of(*(None if part is None else part[:m, ...] for part in data))
        if len(distinct.points) < 3:
            return
        found = choose_ridge(
            lambda width: np.asarray(_wide(matrix_of(distinct.points, width))),
            distinct.rows.targets,
            median=None if seed is None else kernels.median_bandwidth(distinct.points[:, :-2], seed),
            regularisation=None if isinstance(estimator.regularisation, str) else self.regularisation,
            weights=distinct.rows.weights,
            of_classes=are_classes(estimator),
        )
        if found.is_uninformative and m < min(n, MOST_ROWS):
            self._choose(estimator, matrix_of, data, seed, min(n, MOST_ROWS))
            return
        self.found, self.regularisation = found, found.regularisation
        self.bandwidth = self.bandwidth if seed is None else found.bandwidth
        self._all = distinct if m == n else None

    def narrow(self, estimator: Any, fit: Any) -> None:
        """Look with more rows for a narrower bandwidth, if the bandwidth was chosen."""
        if self.found is not None and self.found.bandwidth is not None:
            first_rows = lambda m: estimator._first_rows(fit, m)  # noqa: E731
            sizes = fit.n, fit.inputs.shape[1], fit.room, estimator._n_units(fit)
            scores_of = functools.partial(scores_of_centres, kernels_of(estimator))
            self.found = narrower(self.found, scores_of, first_rows, *sizes, of_classes=are_classes(estimator))
            self.bandwidth = self.found.bandwidth

    def choose_regularisation(self, estimator: Any, matrix_of: Callable[[np.ndarray], np.ndarray], fit: Any) -> None:
        """Choose λ with another matrix than that of the kernel; ``matrix_of`` makes it of augmented points."""
        self._all = None
        if isinstance(estimator.regularisation, str):
            narrowing = None if self.found is None else self.found.narrowing
            self._choose(estimator, lambda x, _: matrix_of(x), (fit.points, fit.targets, fit.weights))
            self.found = None if self.found is None else replace(self.found, narrowing=narrowing)

    def choose_on_all(
        self, estimator: Any, matrix_of: Callable[[np.ndarray], np.ndarray], points: Any, targets: Any, weights: Any
    ) -> None:
        """Take λ, if it is to be chosen, and later the calibration, from the leave-one-out errors of all rows.

        ``matrix_of`` makes the kernel matrix of augmented points.
        """
        if self._all is not None and self.found is not None:
            self.path = self.found.path
            return
        self._all = Distinct.of(points, targets, weights)
        matrix = _wide(matrix_of(self._all.points))
        self.path = RidgePath(matrix, self._all.rows.targets, self._all.rows.weights)
        if isinstance(estimator.regularisation, str):
            candidates = candidates_of(matrix, self._all.rows.weights)
            bounded = are_classes(estimator) and len(candidates) > len(REGULARISATIONS)
            self.regularisation, _ = self.path.best(candidates, bounded=bounded)

    def eigensystem(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The eigensystem of all rows, weighted, if it is known and all rows are distinct."""
        if self.path is None or not self._all.rows.all_distinct:
            return None
        return self.path.values, self.path.vectors

    def hold_out(self, targets: Any, weights: Any, n_subsample: int) -> tuple[Any, Any]:
        """Targets and weights with further sets of outputs beside the first, shapes (n, (1 + k) c).

        Parameters
        ----------
        targets : array, shape (n, c)
        weights : array, shape (n,), optional
        n_subsample : int
            The first so many rows are not held out.
        """
        xp, (n, c) = arrays.namespace(targets), targets.shape
        self.held_out = held_out_spans(n, n_subsample, c)
        if not self.held_out:
            return targets, None if weights is None else weights[:, None]
        of_rows = (xp.ones_like(targets[:, 0]) if weights is None else weights)[:, None] * xp.ones_like(targets[:1, :])
        sets = [of_rows]
        for rows in self.held_out:
            left_out = xp.zeros_like(of_rows[rows, :])
            sets.append(xp.concat([of_rows[: rows.start, :], left_out, of_rows[rows.stop :, :]]))
        return xp.concat([targets] * len(sets), axis=1), xp.concat(sets, axis=1)

    def left_out_scores(self) -> tuple[np.ndarray, slice] | None:
        """Outputs at rows that their fit went without, from the closed form, and which rows of the fit these are."""
        if self.path is None:
            return None
        scores = self.path.targets - self.path.residuals(self.regularisation)
        return scores[self._all.rows.group], slice(0, len(self._all.rows.group))

    def distinct_rows(self) -> np.ndarray:
        """Rows of the fit of which none is a copy of another, and that are left out one by one in closed form."""
        return self._all.rows.first

    def fitted_scores(self) -> np.ndarray:
        """Outputs at all rows of the fit of a function that was fitted to them, in closed form."""
        return self.path.fitted(self.regularisation)[self._all.rows.group]

    def report(self, unit: float) -> dict[str, Any]:
        """Entries of ``effective_params_``; λ is in the unit of the user's weights."""
        told = {"regularisation": self.regularisation * unit}
        return told | ({} if self.found is None else {"selection": self.found.summary()})


def _wide(a: Any) -> np.ndarray:
    """An array in NumPy's float64."""
    return arrays.to_numpy(a).astype(np.float64)
