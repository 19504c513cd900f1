"""Sequential minimal optimization: the dual of a support vector machine, two variables at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...utils.compilation import njit
from ..pieces import steps_of_a_piece
from .dual_problem import (
    DualProblem,
    DualState,
    RowSettings,
    activate_all,
    indefinite_kernel,
    most_pair_steps,
    refuse_indefinite,
)

SHRINKING_INTERVAL = 1000  # steps between two removals of rows, as in LIBSVM
UNSHRINK_FACTOR = 10.0
"""At a gap of this many tolerances all rows are activated once: some were removed too early."""

MOST_RECONSTRUCTIONS = 10
"""After this many no rows are removed any more: in float32 rounding alone may keep the gap open."""

SPENT, OPTIMAL, MISSING, INDEFINITE = 0, 1, 2, 3
"""Why steps end: all were taken; the gap is within the tolerance; a row is missing; a pair has negative curvature."""

SQUARED_DISTANCE = "k(x, x) + k(z, z) − 2k(x, z), a squared distance,"
SMALLEST_CURVATURE = 1e-12  # lower limit of k(x, x) + k(z, z) − 2k(x, z), which rounding may make zero


@njit(cache=True)
def largest_to_grow(beta: Array, gradient: Array, upper: Array, active: Array) -> int:
    """The place in ``active`` of the row with the largest gradient whose βᵢ may grow, or −1."""
    place, largest = -1, -np.inf
    for a in range(len(active)):
        t = active[a]
        if gradient[t] > largest and beta[t] < upper[t]:
            place, largest = a, gradient[t]
    return place


@njit(cache=True)
def best_partner(
    i: int, beta: Array, gradient: Array, lower: Array, active: Array, diagonal: Array, row: Array
) -> tuple[int, float]:
    """The row whose β may fall with the largest gain next to row i, or −1; and the smallest gradient of such rows."""
    best, most, smallest = -1, -np.inf, np.inf
    g, own = gradient[i], diagonal[i]
    for a in range(len(active)):
        t = active[a]
        if beta[t] > lower[t]:
            if gradient[t] < smallest:
                smallest = gradient[t]
            difference = g - gradient[t]
            if difference > 0:
                curvature = own + diagonal[t] - 2.0 * row[t]
                gain = difference * difference / max(curvature, SMALLEST_CURVATURE)
                if gain > most:
                    best, most = t, gain
    return best, smallest


@njit(cache=True)
def move_pair(i, j, step, beta, gradient, lower, upper, active, row_i, row_j):
    # type: (int, int, float, Array, Array, Array, Array, Array, Array, Array) -> None
    """β ← β + s (eᵢ − eⱼ), with s cut off at the bounds; update the gradient of the active rows."""
    room_i, room_j = upper[i] - beta[i], beta[j] - lower[j]
    step = min(step, room_i, room_j)
    # Set a bound exactly, so that comparisons find it.
    beta[i] = upper[i] if step == room_i else beta[i] + step
    beta[j] = lower[j] if step == room_j else beta[j] - step
    if len(active) == len(gradient):
        for t in range(len(gradient)):
            gradient[t] -= step * (row_i[t] - row_j[t])
    else:
        for a in range(len(active)):
            t = active[a]
            gradient[t] -= step * (row_i[t] - row_j[t])


@njit(cache=True)
def take_steps(
    n_steps: int, tolerance: float, rounding: float, variables: tuple[Array, ...], held: tuple[Array, ...]
) -> tuple[int, int, int, int, float]:
    """Take steps while the rows are available, each on the pair of second order (Fan, Chen and Lin 2005).

    ``variables`` are β, its gradient, the bounds and the active rows; ``held`` is `KernelRowSlab.compiled`. Returns the
    number of steps, why they ended, i and j, and the gap; with `MISSING` row i is missing.
    """
    beta, gradient, lower, upper, active = variables
    diagonal, rows, slot_of, used, clock = held
    gap = np.inf
    for taken in range(n_steps):
        place = largest_to_grow(beta, gradient, upper, active)
        if place < 0:
            return taken, OPTIMAL, -1, -1, 0.0
        i = active[place]
        if slot_of[i] < 0:
            return taken, MISSING, i, -1, gap
        clock[0] += 1
        used[slot_of[i]] = clock[0]
        row_i = rows[slot_of[i]]
        j, smallest = best_partner(i, beta, gradient, lower, active, diagonal, row_i)
        gap = max(gradient[i] - smallest, 0.0)
        if j < 0 or gap <= tolerance:
            return taken, OPTIMAL, i, j, gap
        if slot_of[j] < 0:
            return taken, MISSING, j, i, gap
        clock[0] += 1
        used[slot_of[j]] = clock[0]
        curvature = diagonal[i] + diagonal[j] - 2.0 * row_i[j]
        if curvature < -rounding * (diagonal[i] + diagonal[j]):
            return taken, INDEFINITE, i, j, gap
        step = (gradient[i] - gradient[j]) / max(curvature, SMALLEST_CURVATURE)
        move_pair(i, j, step, beta, gradient, lower, upper, active, row_i, rows[slot_of[j]])
    return n_steps, SPENT, -1, -1, gap


def steps_until_change(
    problem: DualProblem, state: DualState, batch: int, take: Callable[..., Any], reads: int, *, shrinks: bool
) -> Iterator[bool]:
    """Take up to ``batch`` steps; yields True if the active rows are optimal, but not all, and False to remove rows.

    ``take(most, rounding, variables)`` returns the steps that it took, each of which reads the active rows ``reads``
    times, why it ended, the row that is missing, and the gap.
    """
    rows, left = problem.rows, int(batch)
    rounding = 1e-3 if rows.dtype == np.float32 else 1e-6
    while left > 0 and not state.exhausted:
        most = min(left, steps_of_a_piece(reads * len(state.active)))
        most = min(most, state.until_shrinking) if shrinks else most
        variables = state.coefficients, state.gradient, problem.lower, problem.upper, state.active
        taken, status, row, gap = take(most, rounding, variables)
        left -= taken
        state.n_steps += taken
        state.until_shrinking -= taken
        state.gap = gap if np.isfinite(gap) else state.gap
        if status == MISSING:
            rows.fetch(row)
        elif status == OPTIMAL and len(state.active) == rows.n:
            refuse_indefinite(problem, state)
            state.gap, state.exhausted = gap, True
        elif status == OPTIMAL or (shrinks and state.until_shrinking <= 0):
            yield status == OPTIMAL


@dataclass(frozen=True)
class SMOStepper:
    """β ← β + s (eᵢ − eⱼ) on the pair with the largest gain to second order, with the best s within the bounds.

    It stops when no gradient of a βᵢ that may grow exceeds the gradient of a βⱼ that may fall by more than the
    tolerance, in units of the targets ±1. Shrinking skips rows at a bound that their gradients keep there. Sources: J.
    Platt (1999); R.-E. Fan, P.-H. Chen and C.-J. Lin (2005), JMLR 6; C.-C. Chang and C.-J. Lin (2011), LIBSVM.
    """

    tolerance: float = 1e-3
    shrinking: bool = True

    def init(self, problem: DualProblem) -> DualState:
        return DualState.start(problem, until_shrinking=min(problem.rows.n, SHRINKING_INTERVAL))

    def step(self, problem: DualProblem, state: DualState, batch: int) -> DualState:
        rows = problem.rows

        def take(most: int, rounding: float, variables: tuple[np.ndarray, ...]) -> tuple[int, int, int, float]:
            taken, status, i, j, gap = take_steps(most, self.tolerance, rounding, variables, rows.compiled)
            if status == INDEFINITE:
                distance = rows.diagonal[i] + rows.diagonal[j] - 2.0 * float(rows.fetch(i)[j])
                raise indefinite_kernel(problem, f"{SQUARED_DISTANCE} is {distance:.3g} for two rows")
            return taken, status, i, gap

        # A step reads the active rows about four times.
        for is_optimal in steps_until_change(problem, state, batch, take, 4, shrinks=self.shrinking):
            if is_optimal:
                activate_all(problem, state)
                state.until_shrinking = 1
            else:
                self._shrink(problem, state)
                state.until_shrinking = min(rows.n, SHRINKING_INTERVAL)
        return state

    def _shrink(self, problem: DualProblem, state: DualState) -> None:
        if state.n_reconstructions >= MOST_RECONSTRUCTIONS:
            return
        beta, g = state.coefficients[state.active], state.gradient[state.active]
        may_grow, may_fall = beta < problem.upper[state.active], beta > problem.lower[state.active]
        largest, smallest = g[may_grow].max(initial=-np.inf), g[may_fall].min(initial=np.inf)
        near = largest - smallest <= UNSHRINK_FACTOR * self.tolerance
        if near and state.n_reconstructions == 0 and len(state.active) < problem.rows.n:
            activate_all(problem, state)
            self._shrink(problem, state)
            return
        settled = (~may_grow & (g > largest)) | (~may_fall & (g < smallest))
        state.active = state.active[~settled]


@dataclass(frozen=True, kw_only=True)
class SMO(RowSettings):
    """Sequential minimal optimization: two dual variables at a time.

    Parameters
    ----------
    shrinking : bool
        Whether to skip rows that stay at a bound for a while.
    cache : int or str, optional
        Bytes for rows of the kernel matrix, such as "500MB". The rows of a step are always kept.
    tol : float
        Largest violation of the conditions of optimality, in units of the targets ±1.
    max_steps : int, optional
        Most steps for two classes. None: max(10⁷, 100 n) for n rows.

    Examples
    --------
    >>> from shallows import KernelSVMClassifier
    >>> from shallows.solvers import SMO
    >>> model = KernelSVMClassifier(solver=SMO(cache="1GB", tol=1e-4))
    """

    steps_of_a_call: ClassVar[int] = 10_000

    def most_steps(self, n: int) -> int:
        return most_pair_steps(self.max_steps, n)

    def build(self, seed: int) -> SMOStepper:
        return SMOStepper(float(self.tol), bool(self.shrinking))
