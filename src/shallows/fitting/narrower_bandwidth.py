"""For a fit to many rows, a narrower bandwidth than the one that few rows choose."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import log_softmax

from .. import arrays, gram
from ..arrays import Array
from ..errors import ShallowsError
from ..gram.rectangular import KeptStrips
from ..kernels import Kernel
from ..solvers.least_squares import nystrom_conjugate_gradients
from ..solvers.least_squares.nystrom_conjugate_gradients import NystromConjugateGradientsStepper, NystromProblem
from ..spectrum.kernel_ridge_choice import join_copies
from ..spectrum.leave_one_out import RidgeChoice
from .calibration import MOST_CLASSES, calibrate

SHARE, ALL_ROWS, MOST_ROWS = 2, 6000, 30_000
"""All rows are looked at up to the second number, and 1/SHARE of more rows, at most the third number."""

FEWEST_ROWS = 2000
"""With fewer rows no narrower bandwidth is looked for."""

CENTERS_SHARE, LEAST_CENTERS, MOST_CENTERS = 4, 1250, 2500
"""1/CENTERS_SHARE of these rows are centers, between the two numbers; at most half of them."""

ASIDE = 3
"""1/ASIDE of the rows measure the errors."""

MORE = 1.5
"""A function is fitted to at least this multiple of the rows that chose the bandwidth; fewer show nothing new."""

ROWS_PER_NUMBER = 5
"""Rows that measure errors, for each number of the calibration, which has the square of the number of classes."""

PASSES = 8
"""The most iterations of conjugate gradients for a bandwidth; more change little of its error."""

MOST_HALVINGS = 5
"""The bandwidth is halved at most this often, while the error falls."""

HOPELESS = 2.0
"""No more rows are looked at if half of the bandwidth has this multiple of the error with few rows."""

FAR = 1.1
"""No third bandwidth is tried if half of it has this multiple of the error with more rows: a bandwidth between the two
is seldom better by enough then."""

CHANCE, LEAST_GAIN, LEAST_SHARE = 2.0, 1e-3, 0.01
"""A narrower bandwidth must lower the error by more than CHANCE standard errors, LEAST_GAIN of a constant's error and
LEAST_SHARE of the error."""

LESS = 0.1
"""This multiple of λ is tried with the chosen bandwidth: few rows of a rough kernel choose too large a λ. In a learned
metric `LEAST_GAIN` is enough for it: with 16,000 rows of Covertype the gain was 1.9 standard errors of 2,667 rows, and
the error fell from 13.8 % to 12.9 %."""

STEEPEST, LEAST_FACTOR = -0.5, 0.5
"""The best bandwidth falls as a power of the rows. The power is at least STEEPEST, that of functions of one input with
jumps. On Covertype it is -0.5 from 1,000 to 4,000 rows, and -0.7 from there to 10,000. From the rows looked at to all
rows the bandwidth falls by at most LEAST_FACTOR."""

UNITS_PER_ROOT = 12.5
"""A function of n rows needs at least this number times √n centers or features to gain from a narrower bandwidth."""


def narrower(
    choice: RidgeChoice,
    scores_of: Callable[..., Array],
    first_rows: Callable[[int], tuple[Array, Array, Array | None]],
    n: int,
    d: int,
    budget: int,
    n_units: float = math.inf,
    *,
    of_classes: bool = False,
    falls_on: bool = True,
    in_metric: bool = False,
) -> RidgeChoice:
    """Narrow a bandwidth that few rows chose, if this lowers the error on half of the rows by more than chance.

    Few rows do not show the fine structure that many rows can learn, so the best bandwidth falls with their number. The
    best bandwidth of half of the rows is at the minimum of a parabola through the errors of three bandwidths. If it is
    narrower, it is extrapolated to all n rows by the same power of their number. Errors are those of kernel ridge
    regression on centers at other rows: squares, or for classes the cross-entropy of calibrated outputs. Each bandwidth
    is tried with the λ of the few rows and with the λ that they choose for this bandwidth: with the λ of a much wider
    bandwidth it would overfit. At the end a tenth of λ is tried. Random features need a wider bandwidth, and theirs is
    not extrapolated (``falls_on=False``): with 5,000 features it was 6.2 for 20,000 and 5.2 for 160,000 rows of digits,
    and 1.6 both times on Covertype.

    ``scores_of(bandwidth, points, targets, weights, p, λ)``: outputs at the last points of a function of p centers or
    features that is fitted to the targets of the first points. ``first_rows(m)``: points, targets and weights in random
    order. ``d`` inputs; ``n_units``: centers or features of the function that will be fitted; ``in_metric``: whether
    the points are in a learned metric. Returns the same object for too few rows, too little memory, or if no narrower
    bandwidth is better.
    """
    n = int(min(n, (n_units / UNITS_PER_ROOT) ** 2))
    m = min(n, max(ALL_ROWS, min(MOST_ROWS, n // SHARE)))
    p = int(min(max(LEAST_CENTERS, m // CENTERS_SHARE), m // 2, MOST_CENTERS, n_units))
    # The matrices of the rows with the centers and of the centers, its factors, the points and copies, in float64.
    start = choice.bandwidth
    if start is None or n < FEWEST_ROWS or 8 * (2 * m * p + 4 * p * p + 6 * m * (d + 2)) > budget // 2:
        return choice
    if choice.bandwidths.get(start / 2, 0.0) > HOPELESS * choice.bandwidths[start]:
        return choice
    points, targets, weights, own = _distinct(*first_rows(m))
    distinct = len(own)
    n_rows = distinct - distinct // ASIDE
    if distinct < FEWEST_ROWS // 4 or n_rows < MORE * choice.n_rows:
        return choice
    if of_classes and own.shape[1] <= MOST_CLASSES and distinct // ASIDE < ROWS_PER_NUMBER * own.shape[1] ** 2:
        return choice
    p = min(p, distinct // 2)
    losses: dict[float, np.ndarray] = {}
    errors: dict[float, float] = {}
    ridges: dict[float, float] = {}

    def measure(tried: float, ridge: float) -> np.ndarray:
        of_fit = targets[:n_rows, :], None if weights is None else weights[:n_rows, :]
        with np.errstate(over="ignore", invalid="ignore"):
            scores = scores_of(tried, points, *of_fit, p, ridge)
            of_rows = _losses(scores, targets, weights, own if of_classes else None)
        if not math.isfinite(of_rows.mean()):
            raise ShallowsError("The values of the kernel are too large.")
        return of_rows

    def error_of(tried: float) -> float:
        for ridge in sorted({choice.regularization, choice.ridge_near(tried)}):
            of_rows = measure(tried, ridge)
            error = float(of_rows.mean())
            if tried not in errors or error <= errors[tried]:
                losses[tried], errors[tried], ridges[tried] = of_rows, error, ridge
        return errors[tried]

    def search() -> float:
        """The narrower bandwidth that is surely better, or the present one."""
        width = start
        error_of(start)
        while width > start * 0.5**MOST_HALVINGS and error_of(width / 2) < errors[width]:
            width /= 2
        if width == start:
            if errors[start / 2] > FAR * errors[start]:
                return start
            error_of(2 * start)
        width = _lowest(errors, width)
        if width >= start:
            return start
        if width not in errors:
            error_of(width)
        width = min((tried for tried in errors if tried < start), key=errors.__getitem__)
        return width if _is_surely_less(losses[width], losses[start]) else start

    try:
        width = search()
        ridge, gives_ridge = ridges[width], len(choice.regularizations) == 1
        if not gives_ridge and _is_surely_less(
            measure(width, LESS * ridge), losses[width], 0.0, 0.0 if in_metric else CHANCE
        ):
            ridge *= LESS
    except ShallowsError:  # The kernel overflows, or its matrix of the centers is singular up to rounding.
        return choice
    if width == start and ridge == choice.regularization:
        return choice
    if falls_on and width < start:
        power = math.log(width / _lowest(choice.bandwidths, start)) / math.log(n_rows / choice.n_rows)
        width *= max((n * distinct / m / n_rows) ** min(max(power, STEEPEST), 0.0), LEAST_FACTOR)
    # Rounded, so that it does not depend on the number of threads that added up the errors.
    width = start if width == start else float(f"{width:.3g}")
    narrowing = {"rows": n_rows, "errors": dict(sorted(errors.items()))}
    return replace(choice, bandwidth=width, regularization=ridge, narrowing=narrowing)


def _is_surely_less(losses: np.ndarray, others: np.ndarray, share: float = LEAST_SHARE, chance: float = CHANCE) -> bool:
    """Whether losses of rows are less than others by more than chance, `LEAST_GAIN` and a share of them."""
    gain = others - losses
    by_chance = chance * gain.std() / math.sqrt(len(gain))
    return bool(gain.mean() > max(by_chance, LEAST_GAIN, share * others.mean()))


def _distinct(points: Array, targets: Array, weights: Array | None) -> tuple[Array, Array, Array | None, Array]:
    """Points with copies joined, in their order, their mean targets and weights, and the targets of the first copies.

    A copy would reveal the target of a row that measures errors. A mean of the codes of classes is not a code.
    """
    wide = None if weights is None else arrays.to_numpy(weights).astype(np.float64)
    joined = join_copies(arrays.to_numpy(points), arrays.to_numpy(targets).astype(np.float64), wide)
    if joined.all_distinct or joined.weights is None:
        return points, targets, None if weights is None else weights[:, None], targets
    order = np.argsort(joined.first)
    of_rows = arrays.like(joined.targets[order], targets), arrays.like(joined.weights[order, None], targets)
    first = joined.first[order]
    return arrays.take_rows(points, first), *of_rows, arrays.take_rows(targets, first)


def scores_of_centers(
    open_kernel: Kernel,
    bandwidth: float,
    points: Array,
    targets: Array,
    weights: Array | None,
    p: int,
    regularization: float,
) -> Array:
    """Outputs at the last points of kernel ridge regression on p centers, fitted to the targets of the first points."""
    kernel = open_kernel.with_bandwidth(bandwidth)
    centers, coefficients = fit_to_centers(kernel, points, targets, weights, p, regularization)
    return gram.cross_product(kernel, points[len(targets) :, :-2], centers, coefficients, budget=2**27)


def fit_to_centers(
    kernel: Kernel,
    points: Array,
    targets: Array,
    weights: Array | None,
    p: int,
    regularization: float,
    *,
    passes: int = PASSES,
) -> tuple[Array, Array]:
    """The first p augmented points as centers, and their coefficients from a few steps of conjugate gradients.

    The function is fitted to the first points, which have targets (n, c) and weights (n, 1) or None.
    """
    n, centers = targets.shape[0], arrays.contiguous(points[:p, :])
    of_centers = None if weights is None else weights[:p, 0]
    made = nystrom_conjugate_gradients.make_preconditioner(kernel, centers, n, regularization, of_centers)
    kept = KeptStrips(n, centers, 2 * n * p * arrays.itemsize(centers))
    of_rows = targets, made, weights
    problem = NystromProblem(kernel, centers, lambda rows: points[rows, :], *of_rows, regularization, kept=kept)
    solver = NystromConjugateGradientsStepper()
    state = solver.init(problem)
    for _ in range(passes):
        state = solver.step(problem, state, slice(0, n))
        if state.exhausted:
            break
    return centers, state.coefficients


def _losses(scores: Array, targets: Array, weights: Array | None, codes: Array | None = None) -> np.ndarray:
    """Losses at the last rows, as shares of a constant's mean: cross-entropies of few classes, else squares."""
    n = targets.shape[0] - targets.shape[0] // ASIDE
    loss, true = (_squares, targets) if codes is None or codes.shape[1] > MOST_CLASSES else (_cross_entropies, codes)
    y = arrays.to_numpy(true[n:, :]).astype(np.float64)
    w = np.ones(len(y)) if weights is None else arrays.to_numpy(weights[n:, 0]).astype(np.float64)
    losses, of_a_constant = loss(arrays.to_numpy(scores).astype(np.float64), y, w)
    return w * losses / (float(np.mean(w * of_a_constant)) or 1.0)


def _squares(scores: np.ndarray, targets: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Squared errors of rows, and those of zero."""
    return np.sum((scores - targets) ** 2, axis=1), np.sum(targets**2, axis=1)


def _cross_entropies(scores: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cross-entropies of rows, by outputs calibrated on these rows, and by the frequencies of the classes."""
    logits = calibrate(scores, codes, weights).logits(scores)
    if logits.shape[1] == 1:
        logits, codes = (np.hstack([-0.5 * each, 0.5 * each]) for each in (logits, codes))
    own = codes.argmax(axis=1)
    shares = np.bincount(own, weights) / weights.sum()
    return -log_softmax(logits, axis=1)[np.arange(len(own)), own], -np.log(shares[own])


def _lowest(errors: dict[float, float], middle: float) -> float:
    """The bandwidth at the minimum of a parabola through the errors of three neighbors, in logarithms.

    The middle bandwidth if it has only one neighbor, or if the parabola does not bend up.
    """
    widths = sorted(errors)
    k = widths.index(middle)
    if k in (0, len(widths) - 1):
        return middle
    narrow, own, wide = (math.log(min(max(errors[widths[j]], 1e-300), 1e300)) for j in (k - 1, k, k + 1))
    bend = wide - 2.0 * own + narrow
    return middle * 2.0 ** (0.5 * (narrow - wide) / bend if bend > 0.0 else 0.0)
