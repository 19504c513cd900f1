"""A narrower bandwidth than a few rows choose, where a fit has many."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .. import arrays, gram
from ..arrays import Array
from ..errors import ShallowsError
from ..gram.rectangular import KeptStrips
from ..kernels import Kernel
from ..solvers.least_squares import nystrom_conjugate_gradients
from ..solvers.least_squares.nystrom_conjugate_gradients import NystromConjugateGradients, NystromProblem
from ..spectrum.copies import join_copies
from ..spectrum.leave_one_out import RidgeChoice

SHARE, LEAST_ROWS, MOST_ROWS = 5, 2000, 30_000
"""One in so many rows is looked at, where these are at least the second, and at most the third."""

CENTRES_SHARE, LEAST_CENTRES, MOST_CENTRES = 8, 1000, 2500
"""One in so many of these is a centre, between these."""

ASIDE = 3
"""One in so many of the rows is kept aside to tell the errors."""

PASSES = 8
"""Conjugate gradients for a bandwidth, at most; more change little of its error."""

LEAST_HALVINGS, MOST_HALVINGS = 2, 5
"""So often is the bandwidth halved at least, and at most while the error falls."""

CHANCE, LEAST_GAIN, LEAST_SHARE = 2.0, 1e-3, 0.01
"""A narrower bandwidth is better if it lowers the error by more than so many standard errors, this share of a
constant's error, and this share of its own."""

STEEPEST, LEAST_FACTOR = -1.0 / 3.0, 0.25
"""The best bandwidth falls by a power of the rows that is at least the first, which is that of functions of one input
with one derivative; and from the rows looked at to all of them by no smaller factor than the second."""

UNITS_PER_ROOT = 12.5
"""A function of fewer centres or features than so many times √n gains from no bandwidth narrower than fewer rows do."""


def narrower(
    choice: RidgeChoice,
    kernel_of: Callable[[float], Kernel],
    first_rows: Callable[[int], tuple[Any, Any, Any]],
    n: int,
    d: int,
    budget: int,
    n_units: float = math.inf,
) -> RidgeChoice:
    """Halve a bandwidth that few rows chose where more rows have a smaller error then, by more than chance.

    Few rows do not show the finer structure that many can learn: the best bandwidth falls with their number. Where it
    fell between the few and the more, it is taken to fall on to all n rows by the same power of their number. Errors
    are those of kernel ridge regression on centres, at rows that it was not fitted to and with the λ of the few.

    Parameters
    ----------
    choice : RidgeChoice
        By few rows, with the errors of the bandwidths beside its own.
    kernel_of : callable
        The kernel of a bandwidth.
    first_rows : callable
        Augmented points, shape (m, d + 2), targets, shape (m, c), and weights, shape (m,), or None, of the first m rows
        in random order.
    n, d : int
        All rows, and their inputs.
    budget : int
        Bytes.
    n_units : float
        Centres or features of the function that is to be fitted.

    Returns
    -------
    RidgeChoice
        With the narrower bandwidth, and how it was found; the same one for too few rows or too little memory, and where
        no narrower bandwidth is better.
    """
    n = int(min(n, (n_units / UNITS_PER_ROOT) ** 2))
    m = min(MOST_ROWS, n // SHARE)
    p = int(min(max(LEAST_CENTRES, m // CENTRES_SHARE), MOST_CENTRES, n_units))
    # The matrix with the centres, their own and its factors, and the points beside copies, in double precision at most.
    if m < LEAST_ROWS or 8 * (2 * m * p + 4 * p * p + 6 * m * (d + 2)) > budget // 2:
        return choice
    rows = _distinct(*first_rows(m))
    distinct = len(rows[0])
    if distinct < LEAST_ROWS:
        return choice
    start, n_rows = choice.bandwidth, distinct - distinct // ASIDE
    squares: dict[float, np.ndarray] = {}
    best = start
    try:
        for halvings in range(MOST_HALVINGS + 1):
            width = start * 0.5**halvings
            with np.errstate(over="ignore", invalid="ignore"):
                squares[width] = _squares(kernel_of(width), *rows, p, choice.regularisation)
            if not np.isfinite(squares[width]).all():  # Values of a kernel without a bound
                return choice
            best = min(squares, key=lambda tried: squares[tried].mean())
            if halvings >= LEAST_HALVINGS and best != width:
                break
    except ShallowsError:  # The kernel matrix of the centres is singular to rounding.
        return choice
    gain = squares[start] - squares[best]
    by_chance = CHANCE * gain.std() / math.sqrt(len(gain))
    if gain.mean() <= max(by_chance, LEAST_GAIN, LEAST_SHARE * squares[start].mean()):
        return choice
    errors = {width: float(squares[width].mean()) for width in sorted(squares)}
    width = _lowest(errors)
    power = math.log(width / _lowest(choice.bandwidths)) / math.log(n_rows / choice.n_rows)
    width *= max((n * distinct / m / n_rows) ** min(max(power, STEEPEST), 0.0), LEAST_FACTOR)
    # Rounded, so that it is the same however many threads have added up the errors.
    return replace(choice, bandwidth=float(f"{width:.3g}"), narrowing={"rows": n_rows, "errors": errors})


def _distinct(points: Array, targets: Array, weights: Array | None) -> tuple[Array, Array, Array | None]:
    """Points with copies joined, in the order in which they came: a copy would tell the target of one kept aside."""
    wide = [None if part is None else arrays.to_numpy(part).astype(np.float64) for part in (targets, weights)]
    joined = join_copies(arrays.to_numpy(points), *wide)
    if joined.all_distinct:
        return points, targets, None if weights is None else weights[:, None]
    order = np.argsort(joined.first)
    of_rows = arrays.like(joined.targets[order], targets), arrays.like(joined.weights[order, None], targets)
    return arrays.take_rows(points, joined.first[order]), *of_rows


def _squares(
    kernel: Kernel, points: Array, targets: Array, weights: Array | None, p: int, regularisation: float
) -> np.ndarray:
    """Squared errors at the last rows, as shares of a constant's, of a function of p centres fitted to the others."""
    n = points.shape[0] - points.shape[0] // ASIDE
    centres = arrays.contiguous(points[:p, :])
    of_centres = None if weights is None else weights[:p, 0]
    made = nystrom_conjugate_gradients.make_preconditioner(kernel, centres, n, regularisation, of_centres)
    kept = KeptStrips(n, centres, 2 * n * p * arrays.itemsize(centres))
    of_rows = targets[:n, :], made, None if weights is None else weights[:n, :]
    problem = NystromProblem(kernel, centres, lambda rows: points[rows, :], *of_rows, regularisation, kept=kept)
    solver = NystromConjugateGradients()
    state = solver.init(problem)
    for _ in range(PASSES):
        state = solver.step(problem, state, slice(0, n))
        if state.exhausted:
            break
    scores = gram.cross_product(kernel, points[n:, :-2], centres, state.coefficients, budget=2**27)
    y = arrays.to_numpy(targets[n:, :]).astype(np.float64)
    w = np.ones((len(y), 1)) if weights is None else arrays.to_numpy(weights[n:, :]).astype(np.float64)
    constant = float(np.mean(w * np.sum(y**2, axis=1, keepdims=True))) or 1.0
    return np.sum(w * (arrays.to_numpy(scores) - y) ** 2, axis=1) / constant


def _lowest(errors: dict[float, float]) -> float:
    """The bandwidth at which a parabola through the least error and its neighbours, in logarithms, is lowest."""
    widths = sorted(errors)
    k = widths.index(min(widths, key=errors.__getitem__))
    if k in (0, len(widths) - 1):
        return widths[k]
    narrow, own, wide = (math.log(min(max(errors[widths[j]], 1e-300), 1e300)) for j in (k - 1, k, k + 1))
    bend = wide - 2.0 * own + narrow
    return widths[k] * 2.0 ** (0.5 * (narrow - wide) / bend if bend > 0 else 0.0)
