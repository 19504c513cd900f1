"""A narrower bandwidth than a few rows choose, where a fit has many."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import is_classifier

from .. import arrays, gram
from ..arrays import Array
from ..errors import ShallowsError
from ..gram.rectangular import KeptStrips
from ..kernels import Kernel
from ..solvers.least_squares import nystrom_conjugate_gradients
from ..solvers.least_squares.nystrom_conjugate_gradients import NystromConjugateGradients, NystromProblem
from ..spectrum.kernel_ridge_choice import join_copies
from ..spectrum.leave_one_out import RidgeChoice
from .calibration import MOST_CLASSES, calibrate

SHARE, LEAST_ROWS, MOST_ROWS = 2, 1000, 30_000
"""One in so many rows is looked at, where these are at least the second, and at most the third."""

CENTRES_SHARE, LEAST_CENTRES, MOST_CENTRES = 4, 1250, 2500
"""One in so many of these is a centre, between these; but at most half of them."""

ASIDE = 3
"""One in so many of the rows is kept aside to tell the errors."""

MORE = 1.5
"""A function is fitted to at least so many times the rows that chose the bandwidth: else they know no more."""

ROWS_PER_NUMBER = 5
"""So many rows kept aside for each number of the calibration, which has the square of the number of classes."""

PASSES = 8
"""Conjugate gradients for a bandwidth, at most; more change little of its error."""

MOST_HALVINGS = 5
"""So often is the bandwidth halved at most, while the error falls."""

HOPELESS = 2.0
"""No more rows are looked at where half of the bandwidth has so many times the error with few."""

FAR = 1.1
"""Nor is a third bandwidth tried where half of it has so many times the error with more rows: seldom is one between the
two better by enough then."""

CHANCE, LEAST_GAIN, LEAST_SHARE = 2.0, 1e-3, 0.01
"""A narrower bandwidth is better if it lowers the error by more than so many standard errors, this share of a
constant's error, and this share of its own."""

STEEPEST, LEAST_FACTOR = -1.0 / 3.0, 0.5
"""The best bandwidth falls by a power of the rows that is at least the first, which is that of functions of one input
with one derivative; and from the rows looked at to all of them by no smaller factor than the second."""

UNITS_PER_ROOT = 12.5
"""A function of fewer centres or features than so many times √n gains from no bandwidth narrower than fewer rows do."""


def narrower(
    choice: RidgeChoice,
    scores_of: Callable[..., Any],
    first_rows: Callable[[int], tuple[Any, Any, Any]],
    n: int,
    d: int,
    budget: int,
    n_units: float = math.inf,
    *,
    of_classes: bool = False,
    falls_on: bool = True,
) -> RidgeChoice:
    """Narrow a bandwidth that few rows chose where half of the rows have a smaller error then, by more than chance.

    Few rows do not show the finer structure that many can learn: the best bandwidth falls with their number. The best
    one of half of the rows lies where a parabola through the errors of three bandwidths is lowest. Where it is narrower
    than that of the few, it is taken to fall on to all n rows by the same power of their number. Errors are those of
    kernel ridge regression on centres, at rows that it was not fitted to and with the λ of the few: squares, or for
    classes the cross-entropy of outputs that are calibrated at these rows. Squares also fall where a function comes
    nearer to the step from −1 to +1 between two classes, though no label changes.

    Random features need a wider bandwidth than centres, and theirs does not fall on: with a given number of features
    the best one is nearly the same for 20,000 and for 160,000 rows (5,000 features: on digits 6.2 and 5.2, on Covertype
    1.6 both times).

    Parameters
    ----------
    choice : RidgeChoice
        By few rows, with the errors of the bandwidths beside its own.
    scores_of : callable
        Given a bandwidth, augmented points, targets and weights of the first of these, a number of centres or features
        and λ: outputs at the other points of a function fitted to the first, such as `scores_of_centres`.
    first_rows : callable
        Augmented points, shape (m, d + 2), targets, shape (m, c), and weights, shape (m,), or None, of the first m rows
        in random order.
    n, d : int
        All rows, and their inputs.
    budget : int
        Bytes.
    n_units : float
        Centres or features of the function that is to be fitted.
    of_classes : bool
        Whether targets are codes of classes, positive for a row's own, as `SquareClassTargets` has them.
    falls_on : bool
        Whether the bandwidth is taken to fall on to all n rows.

    Returns
    -------
    RidgeChoice
        With the narrower bandwidth, and how it was found; the same one for too few rows or too little memory, and where
        no narrower bandwidth is better.
    """
    n = int(min(n, (n_units / UNITS_PER_ROOT) ** 2))
    m = min(MOST_ROWS, n // SHARE)
    p = int(min(max(LEAST_CENTRES, m // CENTRES_SHARE), m // 2, MOST_CENTRES, n_units))
    # The matrix with the centres, their own and its factors, and the points beside copies, in double precision at most.
    if m < LEAST_ROWS or 8 * (2 * m * p + 4 * p * p + 6 * m * (d + 2)) > budget // 2:
        return choice
    start = width = choice.bandwidth
    if choice.bandwidths.get(start / 2, 0.0) > HOPELESS * choice.bandwidths[start]:
        return choice
    *rows, own = _distinct(*first_rows(m))
    distinct = len(own)
    n_rows = distinct - distinct // ASIDE
    if distinct < LEAST_ROWS // 2 or n_rows < MORE * choice.n_rows:
        return choice
    if of_classes and own.shape[1] <= MOST_CLASSES and distinct // ASIDE < ROWS_PER_NUMBER * own.shape[1] ** 2:
        return choice
    p = min(p, distinct // 2)
    losses: dict[float, np.ndarray] = {}
    errors: dict[float, float] = {}

    def error_of(tried: float) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            points, *of_rows = rows
            fitted = (None if one is None else one[:n_rows, :] for one in of_rows)
            scores = scores_of(tried, points, *fitted, p, choice.regularisation)
            losses[tried] = _losses(scores, *rows[1:], own if of_classes else None)
        errors[tried] = float(losses[tried].mean())
        if not math.isfinite(errors[tried]):
            raise ShallowsError("The values of the kernel are too large.")
        return errors[tried]

    try:
        error_of(start)
        while width > start * 0.5**MOST_HALVINGS and error_of(width / 2) < errors[width]:
            width /= 2
        if width == start:
            if errors[start / 2] > FAR * errors[start]:
                return choice
            error_of(2 * start)
        width = _lowest(errors, width)
        if width >= start:
            return choice
        if width not in errors:
            error_of(width)
    except ShallowsError:  # A kernel without a bound, or its matrix of the centres is singular to rounding.
        return choice
    width = min((tried for tried in errors if tried < start), key=errors.__getitem__)
    gain = losses[start] - losses[width]
    by_chance = CHANCE * gain.std() / math.sqrt(len(gain))
    if gain.mean() <= max(by_chance, LEAST_GAIN, LEAST_SHARE * errors[start]):
        return choice
    if falls_on:
        power = math.log(width / _lowest(choice.bandwidths, start)) / math.log(n_rows / choice.n_rows)
        width *= max((n * distinct / m / n_rows) ** min(max(power, STEEPEST), 0.0), LEAST_FACTOR)
    # Rounded, so that it is the same however many threads have added up the errors.
    told = {"rows": n_rows, "errors": dict(sorted(errors.items()))}
    return replace(choice, bandwidth=float(f"{width:.3g}"), narrowing=told)


def are_classes(estimator: Any) -> bool:
    """Whether the targets of a fit are codes of classes that exclude each other."""
    return is_classifier(estimator) and not estimator._multilabel


def _distinct(points: Array, targets: Array, weights: Array | None) -> tuple[Array, Array, Array | None, Array]:
    """Points with copies joined, in the order in which they came: a copy would tell the target of one kept aside.

    Targets are the means of the copies', and those of the first copies stand beside them: of classes a mean is no code.
    """
    wide = [None if part is None else arrays.to_numpy(part).astype(np.float64) for part in (targets, weights)]
    joined = join_copies(arrays.to_numpy(points), *wide)
    if joined.all_distinct:
        return points, targets, None if weights is None else weights[:, None], targets
    order = np.argsort(joined.first)
    of_rows = arrays.like(joined.targets[order], targets), arrays.like(joined.weights[order, None], targets)
    first = joined.first[order]
    return arrays.take_rows(points, first), *of_rows, arrays.take_rows(targets, first)


def scores_of_centres(
    kernel_of: Callable[[float], Kernel],
    bandwidth: float,
    points: Array,
    targets: Array,
    weights: Array | None,
    p: int,
    regularisation: float,
) -> Array:
    """Outputs at the last points of kernel ridge regression on p centres, fitted to the targets of the first ones."""
    n, kernel = targets.shape[0], kernel_of(bandwidth)
    centres = arrays.contiguous(points[:p, :])
    of_centres = None if weights is None else weights[:p, 0]
    made = nystrom_conjugate_gradients.make_preconditioner(kernel, centres, n, regularisation, of_centres)
    kept = KeptStrips(n, centres, 2 * n * p * arrays.itemsize(centres))
    of_rows = targets, made, weights
    problem = NystromProblem(kernel, centres, lambda rows: points[rows, :], *of_rows, regularisation, kept=kept)
    solver = NystromConjugateGradients()
    state = solver.init(problem)
    for _ in range(PASSES):
        state = solver.step(problem, state, slice(0, n))
        if state.exhausted:
            break
    return gram.cross_product(kernel, points[n:, :-2], centres, state.coefficients, budget=2**27)


def _losses(scores: Array, targets: Array, weights: Array | None, codes: Array | None = None) -> np.ndarray:
    """Losses at the last rows, as shares of a constant's mean.

    ``codes`` of classes, if there are few enough to calibrate, make them cross-entropies.
    """
    n = targets.shape[0] - targets.shape[0] // ASIDE
    tell, told = (_squares, targets) if codes is None or codes.shape[1] > MOST_CLASSES else (_cross_entropies, codes)
    y = arrays.to_numpy(told[n:, :]).astype(np.float64)
    w = np.ones(len(y)) if weights is None else arrays.to_numpy(weights[n:, 0]).astype(np.float64)
    losses, of_a_constant = tell(arrays.to_numpy(scores).astype(np.float64), y, w)
    return w * losses / (float(np.mean(w * of_a_constant)) or 1.0)


def _squares(scores: np.ndarray, targets: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Squared errors of rows, and those of zero."""
    return np.sum((scores - targets) ** 2, axis=1), np.sum(targets**2, axis=1)


def _cross_entropies(scores: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cross-entropies of rows by outputs that are calibrated on them, and by the frequencies of the classes."""
    logits = calibrate(scores, codes, weights).logits(scores)
    if logits.shape[1] == 1:
        logits, codes = (np.hstack([-0.5 * each, 0.5 * each]) for each in (logits, codes))
    own = codes.argmax(axis=1)
    shares = np.bincount(own, weights) / weights.sum()
    return -log_softmax(logits, axis=1)[np.arange(len(own)), own], -np.log(shares[own])


def _lowest(errors: dict[float, float], middle: float) -> float:
    """The bandwidth at which a parabola through the errors of three neighbours, in logarithms, is lowest.

    The middle one itself where it has one neighbour, and where the parabola does not bend up.
    """
    widths = sorted(errors)
    k = widths.index(middle)
    if k in (0, len(widths) - 1):
        return middle
    narrow, own, wide = (math.log(min(max(errors[widths[j]], 1e-300), 1e300)) for j in (k - 1, k, k + 1))
    bend = wide - 2.0 * own + narrow
    return middle * 2.0 ** (0.5 * (narrow - wide) / bend if bend > 0.0 else 0.0)
