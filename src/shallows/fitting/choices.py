"""Kernel, bandwidth, regularization and principal components of least squares, chosen from the training rows."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .. import arrays, kernels
from ..arrays import Array
from ..kernels import Kernel, precomputed
from ..kernels.radial import RadialKernel
from ..models.centering import refuse_wide
from ..models.learned_metric import LearnedMetric
from ..spectrum import principal_components
from ..spectrum.kernel_ridge_choice import (
    MOST_ROWS,
    Joined,
    is_automatic,
    join_copies,
    number_of_rows,
)
from ..spectrum.leave_one_out import REGULARIZATIONS, RidgeChoice, RidgePath, candidates_of, choose_ridge
from ..utils.checks import is_whole, warn_user
from .kernel_choice import choose_kernel_form
from .metric import Metric, learn_metric
from .narrower_bandwidth import FEWEST_ROWS, narrower, scores_of_centers
from .rows import TrainingSet

FEWEST_HELD_OUT, LEAST_HELD_OUT, MOST_HELD_OUT = 20, 200, 1000
"""Rows that a further set of outputs is not trained on: a fifth of the data between the last two, or a quarter of few
rows. There are no further sets if this gives fewer than the first number."""

MOST_FOLDS, MOST_OUTPUTS = 3, 40
"""The most further sets of outputs, and the most outputs of all of them. They share the kernel values of the model."""


def choose_components(
    wanted: int | str | None,
    kernel: Kernel | None,
    rows: TrainingSet,
    codes: np.ndarray,
    seed: int,
    budget: int,
    *,
    searches_bandwidth: bool,
) -> principal_components.Components | None:
    """The principal components that replace the inputs, or None for the inputs; see `components_for`.

    Warns if "auto" compares nothing because the bandwidth is given. The message does not contain the bandwidth, so in
    a search over bandwidths Python shows it only once.
    """
    if rows.matrix is not None or wanted is None:
        return None
    if is_whole(wanted):
        refuse_wide(rows.X)
    known = principal_components.candidates(rows.X, budget) if is_automatic(wanted) and kernel is not None else []
    if known and isinstance(kernel, RadialKernel) and not kernel.is_open:
        numbers = " and ".join(filter(None, [", ".join(map(str, known[:-1])), str(known[-1])]))
        warn_user(
            f"n_components='auto' takes all {rows.X.shape[1]:,} inputs, because the bandwidth is given: components are "
            f"only chosen together with the bandwidth. Compare n_components={numbers} yourself, or set "
            "n_components=None to take all inputs without this warning.",
            UserWarning,
        )
    of_kernel = kernel if searches_bandwidth else None
    return principal_components.components_for(wanted, of_kernel, rows.X, codes, rows.weights, seed, budget)


def choose_kernel_and_inputs(
    kernel: Kernel | None,
    metric: Metric | LearnedMetric | principal_components.Components | None,
    n_components: int | str | None,
    rows: TrainingSet,
    codes: np.ndarray,
    seed: int,
    budget: int,
    *,
    searches_bandwidth: bool,
) -> tuple[Kernel, principal_components.Components | LearnedMetric | None]:
    """The kernel, and what replaces the inputs; see `choose_inputs`.

    ``kernel``: None if leave-one-out errors choose it. What all leaves have in common is given as ``metric``.
    """
    if kernel is not None and isinstance(metric, LearnedMetric | principal_components.Components):
        return kernel, metric
    kernel = kernel or choose_kernel_form(rows, codes, seed, of_distance=metric is not None)
    assert metric is None or isinstance(metric, Metric)
    of_rows = rows, codes, seed, budget
    return kernel, choose_inputs(kernel, metric, n_components, *of_rows, searches_bandwidth=searches_bandwidth)


def choose_inputs(
    kernel: Kernel | None,
    metric: Metric | None,
    n_components: int | str | None,
    rows: TrainingSet,
    codes: np.ndarray,
    seed: int,
    budget: int,
    *,
    searches_bandwidth: bool,
) -> principal_components.Components | LearnedMetric | None:
    """The principal components or the metric that replace the inputs, or None for the inputs.

    A metric that the user asks for replaces the choice of components; ``metric="auto"`` is only for inputs without.
    """
    if metric is None or metric.form == "auto":
        of_rows = kernel, rows, codes, seed, budget
        components = choose_components(n_components, *of_rows, searches_bandwidth=searches_bandwidth)
        if components is not None or metric is None:
            return components
    assert kernel is not None, "check_metric refuses a metric for features without a kernel"
    return learn_metric(metric, kernel, rows, codes, seed, budget)


def held_out_spans(n: int, n_subsample: int, n_outputs: int) -> list[slice]:
    """The rows that each further set of outputs is trained without, in the order of the fit; empty for too few rows."""
    m = min(max(min(LEAST_HELD_OUT, n // 4), min(MOST_HELD_OUT, n // 5)), n - n_subsample)
    if m < FEWEST_HELD_OUT:
        return []
    n_sets = max(1, min(MOST_FOLDS, -(-MOST_HELD_OUT // m), (n - n_subsample) // m, MOST_OUTPUTS // n_outputs))
    return [slice(n - (k + 1) * m, n - k * m) for k in range(n_sets)]


class Sample(NamedTuple):
    """Training points in random order: augmented, shape (m, d + 2), with targets (m, c) and weights (m,) or None."""

    points: Array
    targets: Array
    weights: Array | None

    def first(self, m: int) -> Sample:
        """The first m of them."""
        weights = None if self.weights is None else self.weights[:m]
        return Sample(self.points[:m, :], self.targets[:m, :], weights)


@dataclass(frozen=True)
class Request:
    """The user's parameters.

    ``regularization`` is λ for the user's weights, or None without λ.
    """

    searches_bandwidth: bool  # Whether leave-one-out errors choose the bandwidth of an open kernel, not the median rule
    regularization: float | str | None
    of_classes: bool  # Whether the targets are codes of classes that exclude each other
    all_equal: bool  # Whether all points are equal; then nothing is chosen
    weight_unit: float  # Divisor of the user's weights
    seed: int
    matrix: Any = None  # The kernel matrix of a fit that gets one instead of points
    in_metric: bool = False  # Whether the points are in a learned metric


@dataclass(frozen=True)
class Choices:
    """The values chosen from the training data of least squares."""

    regularization: float = 0.0  # λ for weights whose largest is one
    found: RidgeChoice | None = None  # How they were found, if they were
    path: RidgePath | None = None  # Ridge regression on all distinct rows of a small problem
    joined: Joined | None = None  # All rows with copies joined, if ``found`` or ``path`` belong to them

    def eigensystem(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The eigensystem of all rows, weighted, if it is known and all rows are distinct."""
        if self.path is None or self.joined is None or not self.joined.all_distinct:
            return None
        return self.path.values, self.path.vectors


def choose_kernel(
    kernel: Kernel,
    request: Request,
    sample: Sample,
    room: int,
    *,
    known: Kernel | None = None,
    points: Array | None = None,
    first_rows: Callable[[int], Sample] | None = None,
    size: tuple[int, int] | None = None,
    n_units: float = math.inf,
) -> tuple[Kernel, Choices]:
    """The kernel of a fit, and how its bandwidth and λ were chosen.

    ``sample`` has all rows, or only rows to choose with. In the second case ``points`` are points on which the kernel
    is checked, ``first_rows`` returns the first of all rows like `Sample.first`, and ``size`` is the number of all rows
    and of inputs. ``known``: the kernel of the user's preconditioner. ``room``: bytes. ``n_units``: centers or
    features.
    """
    chosen, ridge = Choices(), request.regularization
    points = sample.points if points is None else points
    n, d = size or (len(points), points.shape[1] - 2)
    regularizes = ridge is not None and not request.all_equal
    if ridge is not None and regularizes and not is_automatic(ridge):
        chosen = Choices(float(ridge) / request.weight_unit)
    if regularizes and known is None and request.searches_bandwidth and kernel.is_open:
        widen = kernel.with_bandwidth
        chosen = _choose(request, chosen, lambda x, width: kernels.matrix(widen(width), x), sample, searched=kernel)
        if chosen.found is not None and n >= FEWEST_ROWS:
            scores_of = functools.partial(scores_of_centers, kernel)
            looked_at = scores_of, first_rows or sample.first, n, d, room, n_units
            found = narrower(chosen.found, *looked_at, of_classes=request.of_classes, in_metric=request.in_metric)
            chosen = replace(chosen, found=found, regularization=found.regularization)
        if chosen.found is not None:
            kernel = kernel.with_bandwidth(chosen.found.bandwidth)
    with arrays.one_blas_thread():
        kernel = kernel if request.matrix is None else precomputed.kernel_on(request.matrix, points)
        kernel = known or kernels.choose(kernel, points, request.seed, all_equal=request.all_equal)
        if is_automatic(ridge) and regularizes and chosen.found is None:
            chosen = _choose(request, chosen, lambda x, _: kernels.matrix(kernel, x), sample)
    return kernel, chosen


def choose_for_matrix(
    request: Request, choices: Choices, matrix_of: Callable[[np.ndarray], np.ndarray], sample: Sample
) -> Choices:
    """Choose λ with another matrix than the kernel's; ``matrix_of`` makes it of augmented points."""
    choices = replace(choices, joined=None)
    if not is_automatic(request.regularization):
        return choices
    narrowing = None if choices.found is None else choices.found.narrowing
    choices = _choose(request, choices, lambda x, _: matrix_of(x), sample)
    return choices if choices.found is None else replace(choices, found=replace(choices.found, narrowing=narrowing))


def choose_on_all_rows(
    request: Request, choices: Choices, matrix_of: Callable[[np.ndarray], np.ndarray], sample: Sample
) -> Choices:
    """Ridge regression on all rows of a small problem, for the calibration, and λ by its leave-one-out errors."""
    if choices.joined is not None and choices.found is not None:
        return replace(choices, path=choices.found.path)
    points, joined = _join(sample)
    matrix = arrays.to_numpy(matrix_of(points)).astype(np.float64)
    path = RidgePath(matrix, joined.targets, joined.weights)
    choices = replace(choices, joined=joined, path=path)
    if not is_automatic(request.regularization):
        return choices
    candidates = candidates_of(matrix, joined.weights)
    bounded = request.of_classes and len(candidates) > len(REGULARIZATIONS)
    return replace(choices, regularization=path.best(candidates, bounded=bounded)[0])


def _choose(
    request: Request,
    choices: Choices,
    matrix_of: Callable[[np.ndarray, float | None], np.ndarray],
    sample: Sample,
    *,
    searched: Kernel | None = None,
) -> Choices:
    """Choose λ with the first rows, and the bandwidth of an open kernel that is ``searched``, around its median."""
    n = len(sample.points)
    for m in sorted({number_of_rows(n), min(n, MOST_ROWS)}):
        points, joined = _join(sample.first(m))
        if len(points) < 3:
            return choices
        inputs = points[:, :-2]
        median = None if searched is None else kernels.median_bandwidth(inputs, request.seed, kernel=searched)
        found = choose_ridge(
            functools.partial(matrix_of, points),
            joined.targets,
            median=median,
            regularization=None if is_automatic(request.regularization) else choices.regularization,
            weights=joined.weights,
            of_classes=request.of_classes,
        )
        if not found.is_uninformative:
            break
    return replace(
        choices,
        found=found,
        regularization=found.regularization,
        joined=joined if m == n else None,
    )


def add_left_out_columns(targets: Array, weights: Array | None, spans: list[slice]) -> tuple[Array, Array | None]:
    """Targets and weights with further sets of outputs next to the first, shapes (n, (1 + k) c).

    Set k is trained without the rows of the k-th span; a calibration is learned on them. All sets share kernel values.
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


def _join(sample: Sample) -> tuple[np.ndarray, Joined]:
    """Augmented points of which none is a copy of another, shape (k, d + 2), and how the rows were joined."""
    x, targets = (arrays.to_numpy(part).astype(np.float64) for part in (sample.points[:, :-2], sample.targets))
    weights = None if sample.weights is None else arrays.to_numpy(sample.weights).astype(np.float64)
    joined = join_copies(x, targets, weights)
    return kernels.augmented(x[joined.first]), joined
