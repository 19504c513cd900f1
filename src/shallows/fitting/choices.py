"""Bandwidth and regularisation of least squares, chosen from training data, and the rows that a calibration needs.

Choices are values: each function returns new ones and leaves those that it gets as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .. import arrays, kernels
from ..errors import ShallowsError
from ..kernels import Kernel
from ..spectrum.kernel_ridge_choice import AUTO, MEDIAN, MOST_ROWS, Joined, join_copies, number_of_rows
from ..spectrum.leave_one_out import REGULARISATIONS, RidgeChoice, RidgePath, candidates_of, choose_ridge
from .checks import is_number, is_positive
from .narrower_bandwidth import narrower, scores_of_centres

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


class Sample(NamedTuple):
    """Training points in random order: augmented, shape (m, d + 2), with targets (m, c) and weights (m,) or None."""

    points: Any
    targets: Any
    weights: Any

    def first(self, m: int) -> Sample:
        """The first m of them."""
        return Sample(*(None if part is None else part[:m, ...] for part in self))


@dataclass(frozen=True)
class Request:
    """What the user asked for.

    Attributes
    ----------
    kernel, bandwidth, kernel_params
        As the parameters of the estimator.
    regularisation : float, "auto" or None
        λ for the user's weights; None where nothing regularizes.
    of_classes : bool
        Whether the targets are codes of classes that exclude each other.
    all_equal : bool
        Whether all points are equal; then nothing is chosen.
    """

    kernel: Any
    bandwidth: Any
    kernel_params: Any
    regularisation: float | str | None
    of_classes: bool
    all_equal: bool

    @property
    def chooses_regularisation(self) -> bool:
        """Whether λ is to be chosen."""
        return isinstance(self.regularisation, str)

    def searches_bandwidth(self) -> bool:
        """Whether the bandwidth is to be chosen: "auto", for a kernel that is named, has one and is needed."""
        if not (isinstance(self.bandwidth, str) and self.bandwidth == AUTO) or self.all_equal:
            return False
        name, bandwidth, _ = kernels.translated(self.kernel, None, self.kernel_params)
        kind = kernels.kind(name)
        return not isinstance(kind, Kernel) and kind.takes_bandwidth and bandwidth is None

    def kernel_of(self, bandwidth: float | None) -> Kernel:
        """The kernel, which is named, with a bandwidth."""
        name, _, parameters = kernels.translated(self.kernel, None, self.kernel_params)
        return kernels.make(name, bandwidth, **parameters)


@dataclass(frozen=True)
class Choices:
    """What is chosen from the training data of least squares.

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
    distinct : Distinct or None
        All rows of a small problem, where ``found`` or ``path`` belong to them.
    """

    bandwidth: float | None
    regularisation: float = 0.0
    found: RidgeChoice | None = None
    path: RidgePath | None = None
    distinct: Distinct | None = None

    def eigensystem(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The eigensystem of all rows, weighted, if it is known and all rows are distinct."""
        if self.path is None or not self.distinct.rows.all_distinct:
            return None
        return self.path.values, self.path.vectors

    def left_out_scores(self) -> tuple[np.ndarray, slice] | None:
        """Outputs at rows that their fit went without, from the closed form, and which rows of the fit these are."""
        if self.path is None:
            return None
        scores = self.path.targets - self.path.residuals(self.regularisation)
        return scores[self.distinct.rows.group], slice(0, len(self.distinct.rows.group))

    def distinct_rows(self) -> np.ndarray:
        """Rows of the fit of which none is a copy of another, and that are left out one by one in closed form."""
        return self.distinct.rows.first

    def fitted_scores(self) -> np.ndarray:
        """Outputs at all rows of the fit of a function that was fitted to them, in closed form."""
        return self.path.fitted(self.regularisation)[self.distinct.rows.group]

    def report(self, unit: float) -> dict[str, Any]:
        """Entries of ``effective_params_``; λ is in the unit of the user's weights."""
        told = {"regularisation": self.regularisation * unit}
        return told | ({} if self.found is None else {"selection": self.found.summary()})


def choose_bandwidth(request: Request, sample: Sample, weight_unit: float, seed: int, *, is_given: bool) -> Choices:
    """Choose the bandwidth, and λ with it, if the bandwidth is to be chosen and no kernel ``is_given``.

    ``weight_unit`` is what the user's weights were divided by.
    """
    chosen = Choices(None if isinstance(request.bandwidth, str) else request.bandwidth)
    if request.regularisation is None or request.all_equal:
        return chosen
    if not request.chooses_regularisation:
        chosen = replace(chosen, regularisation=float(request.regularisation) / weight_unit)
    if is_given or not request.searches_bandwidth():
        return chosen
    return _choose(request, chosen, lambda x, width: kernels.matrix(request.kernel_of(width), x), sample, seed)


def narrow_bandwidth(
    request: Request,
    choices: Choices,
    first_rows: Callable[[int], tuple[Any, Any, Any]],
    n: int,
    d: int,
    budget: int,
    n_units: float,
) -> Choices:
    """Look with more rows for a narrower bandwidth, if the bandwidth was chosen; see `narrower`."""
    if choices.found is None or choices.found.bandwidth is None:
        return choices
    scores_of = functools.partial(scores_of_centres, request.kernel_of)
    found = narrower(choices.found, scores_of, first_rows, n, d, budget, n_units, of_classes=request.of_classes)
    return replace(choices, found=found, bandwidth=found.bandwidth)


def choose_for_kernel(request: Request, choices: Choices, kernel: Kernel | None, sample: Sample) -> Choices:
    """Choose λ for a kernel whose bandwidth was not chosen."""
    if not request.chooses_regularisation or request.all_equal or choices.found is not None or kernel is None:
        return choices
    return _choose(request, choices, lambda x, _: kernels.matrix(kernel, x), sample)


def choose_for_matrix(
    request: Request, choices: Choices, matrix_of: Callable[[np.ndarray], np.ndarray], sample: Sample
) -> Choices:
    """Choose λ with another matrix than that of the kernel; ``matrix_of`` makes it of augmented points."""
    choices = replace(choices, distinct=None)
    if not request.chooses_regularisation:
        return choices
    narrowing = None if choices.found is None else choices.found.narrowing
    choices = _choose(request, choices, lambda x, _: matrix_of(x), sample)
    return choices if choices.found is None else replace(choices, found=replace(choices.found, narrowing=narrowing))


def choose_on_all_rows(
    request: Request, choices: Choices, matrix_of: Callable[[np.ndarray], np.ndarray], sample: Sample
) -> Choices:
    """Take λ, if it is to be chosen, and later the calibration, from the leave-one-out errors of all rows.

    ``matrix_of`` makes the kernel matrix of augmented points.
    """
    if choices.distinct is not None and choices.found is not None:
        return replace(choices, path=choices.found.path)
    distinct = Distinct.of(*sample)
    matrix = _wide(matrix_of(distinct.points))
    path = RidgePath(matrix, distinct.rows.targets, distinct.rows.weights)
    choices = replace(choices, distinct=distinct, path=path)
    if not request.chooses_regularisation:
        return choices
    candidates = candidates_of(matrix, distinct.rows.weights)
    bounded = request.of_classes and len(candidates) > len(REGULARISATIONS)
    return replace(choices, regularisation=path.best(candidates, bounded=bounded)[0])


def _choose(
    request: Request,
    choices: Choices,
    matrix_of: Callable[[np.ndarray, float | None], np.ndarray],
    sample: Sample,
    seed: int | None = None,
    n_rows: int | None = None,
) -> Choices:
    """Choose with the first rows; the bandwidth as well, around the median distance, if there is a seed for it."""
    n = len(sample.points)
    m = n_rows or number_of_rows(n)
    distinct = Distinct.of(*sample.first(m))
    if len(distinct.points) < 3:
        return choices
    found = choose_ridge(
        lambda width: np.asarray(_wide(matrix_of(distinct.points, width))),
        distinct.rows.targets,
        median=None if seed is None else kernels.median_bandwidth(distinct.points[:, :-2], seed),
        regularisation=None if request.chooses_regularisation else choices.regularisation,
        weights=distinct.rows.weights,
        of_classes=request.of_classes,
    )
    if found.is_uninformative and m < min(n, MOST_ROWS):
        return _choose(request, choices, matrix_of, sample, seed, min(n, MOST_ROWS))
    return replace(
        choices,
        found=found,
        regularisation=found.regularisation,
        bandwidth=choices.bandwidth if seed is None else found.bandwidth,
        distinct=distinct if m == n else None,
    )


def add_left_out_columns(targets: Any, weights: Any, spans: list[slice]) -> tuple[Any, Any]:
    """Targets and weights with further sets of outputs next to the first, shapes (n, (1 + k) c).

    They learn from the same kernel values as the first, which goes without no row; set k goes without the k-th of the
    ``spans``. The calibration is learned on these rows.
    """
    if not spans:
        return targets, None if weights is None else weights[:, None]
    xp = arrays.namespace(targets)
    of_rows = (xp.ones_like(targets[:, 0]) if weights is None else weights)[:, None] * xp.ones_like(targets[:1, :])
    sets = [of_rows]
    for rows in spans:
        left_out = xp.zeros_like(of_rows[rows, :])
        sets.append(xp.concat([of_rows[: rows.start, :], left_out, of_rows[rows.stop :, :]]))
    return xp.concat([targets] * len(sets), axis=1), xp.concat(sets, axis=1)


def _wide(a: Any) -> np.ndarray:
    """An array in NumPy's float64."""
    return arrays.to_numpy(a).astype(np.float64)
