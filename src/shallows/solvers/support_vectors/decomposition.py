"""Decomposition of the dual problem into working sets of several variables: SVM-light's method."""

import numbers
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...arrays import Array
from ...utils.compilation import njit
from ..settings import Parameter, setting
from .dual_problem import (
    DualProblem,
    DualState,
    RowSettings,
    activate_all,
    indefinite_kernel,
    most_pair_steps,
)
from .smo import (
    INDEFINITE,
    MISSING,
    MOST_RECONSTRUCTIONS,
    OPTIMAL,
    SMALLEST_CURVATURE,
    SPENT,
    SQUARED_DISTANCE,
    best_partner,
    largest_to_grow,
    move_pair,
    steps_until_change,
)

MOST_PAIRS_PER_VARIABLE = 200  # limit of the steps on pairs within a working set, for each of its variables


@njit(cache=True)
def choose(size, beta, gradient, lower, upper, active, ordered, counted, chosen, is_chosen):
    # type: (int, Array, Array, Array, Array, Array, Array, Array, Array, Array) -> tuple[int, float, float]
    """The working set: the size/2 largest gradients of βᵢ that may grow, and the size/2 smallest of βᵢ that may fall.

    Pairs are added while the k-th of the first is larger than the k-th of the second. ``ordered`` and ``counted`` are
    room for the two lists; ``chosen`` receives the numbers; ``is_chosen`` is False before and after. Returns how many
    are chosen, the gap between the largest and the smallest gradient, and their middle.
    """
    half = size // 2
    n_up, n_down = 0, 0
    for a in range(len(active)):
        t = active[a]
        g = gradient[t]
        if beta[t] < upper[t] and (n_up < half or g > ordered[0, n_up - 1]):
            place = n_up if n_up < half else half - 1
            while place > 0 and ordered[0, place - 1] < g:
                ordered[0, place], counted[0, place] = ordered[0, place - 1], counted[0, place - 1]
                place -= 1
            ordered[0, place], counted[0, place] = g, t
            n_up = min(n_up + 1, half)
        if beta[t] > lower[t] and (n_down < half or g < ordered[1, n_down - 1]):
            place = n_down if n_down < half else half - 1
            while place > 0 and ordered[1, place - 1] > g:
                ordered[1, place], counted[1, place] = ordered[1, place - 1], counted[1, place - 1]
                place -= 1
            ordered[1, place], counted[1, place] = g, t
            n_down = min(n_down + 1, half)
    if n_up == 0 or n_down == 0:
        return 0, 0.0, 0.0
    gap = max(0.0, ordered[0, 0] - ordered[1, 0])
    middle = 0.5 * (ordered[0, 0] + ordered[1, 0])
    n_chosen = 0
    for k in range(min(n_up, n_down)):
        if ordered[0, k] <= ordered[1, k]:
            break
        for side in range(2):
            t = counted[side, k]
            if not is_chosen[t]:
                is_chosen[t] = True
                chosen[n_chosen] = t
                n_chosen += 1
    for k in range(n_chosen):
        is_chosen[chosen[k]] = False
    return n_chosen, gap, middle


@njit(cache=True)
def solve_small(
    tolerance: float, rounding: float, beta: Array, gradient: Array, lower: Array, upper: Array, K: Array
) -> bool:
    """Maximize over a working set in place, by steps on pairs; returns whether a pair had negative curvature."""
    active, diagonal = np.arange(len(beta)), np.diag(K)
    for _ in range(MOST_PAIRS_PER_VARIABLE * len(beta)):
        i = largest_to_grow(beta, gradient, upper, active)
        if i < 0:
            return False
        j, smallest = best_partner(i, beta, gradient, lower, active, diagonal, K[i])
        if j < 0 or gradient[i] - smallest <= tolerance:
            return False
        curvature = K[i, i] + K[j, j] - 2.0 * K[i, j]
        if curvature < -rounding * (K[i, i] + K[j, j]):
            return True
        step = (gradient[i] - gradient[j]) / max(curvature, SMALLEST_CURVATURE)
        move_pair(i, j, step, beta, gradient, lower, upper, active, K[i], K[j])
    return False


@njit(cache=True)
def count_settled(settled, middle, tolerance, beta, gradient, lower, upper, active):
    # type: (Array, float, float, Array, Array, Array, Array, Array) -> None
    """Count how often in succession the gradient of each variable kept it at a bound, by more than the tolerance."""
    for a in range(len(active)):
        t = active[a]
        g = gradient[t] - middle
        held = (beta[t] >= upper[t] and g > tolerance) or (beta[t] <= lower[t] and g < -tolerance)
        settled[t] = settled[t] + 1 if held else 0


@njit(cache=True)
def take_working_sets(n_iterations, size, tolerance, rounding, variables, held):
    # type: (int, int, float, float, tuple[Array, ...], tuple[Array, ...]) -> tuple[int, int, int, float]
    """Take working sets while their rows are available; ``held`` is `KernelRowSlab.compiled`.

    Returns how many were taken, why they ended, the row that is missing (with `MISSING`), and the gap.
    """
    beta, gradient, lower, upper, active, settled = variables
    diagonal, rows, slot_of, used, clock = held
    gap = np.inf
    ordered, counted = np.empty((2, size)), np.empty((2, size), np.int64)
    chosen, is_chosen = np.empty(size, np.int64), np.zeros(len(beta), np.bool_)
    K = np.empty((size, size))
    for taken in range(n_iterations):
        q, gap, middle = choose(size, beta, gradient, lower, upper, active, ordered, counted, chosen, is_chosen)
        if q < 2 or gap <= tolerance:
            return taken, OPTIMAL, -1, gap
        for k in range(q):
            # Note all uses before a missing row replaces the row that was used longest ago.
            slot = slot_of[chosen[k]]
            if slot >= 0:
                clock[0] += 1
                used[slot] = clock[0]
        for k in range(q):
            if slot_of[chosen[k]] < 0:
                return taken, MISSING, chosen[k], gap
        own, before, g = np.empty(q), np.empty(q), np.empty(q)
        low, high = np.empty(q), np.empty(q)
        for k in range(q):
            t = chosen[k]
            own[k], before[k], g[k], low[k], high[k] = beta[t], beta[t], gradient[t], lower[t], upper[t]
            for m in range(q):
                K[k, m] = rows[slot_of[t], chosen[m]]
            K[k, k] = diagonal[t]
        if solve_small(0.1 * tolerance, rounding, own, g, low, high, K[:q, :q]):
            return taken, INDEFINITE, -1, gap
        for k in range(q):
            t, change = chosen[k], own[k] - before[k]
            beta[t] = own[k]
            if change != 0.0:
                row = rows[slot_of[t]]
                if len(active) == len(gradient):
                    for s in range(len(gradient)):
                        gradient[s] -= change * row[s]
                else:
                    for a in range(len(active)):
                        gradient[active[a]] -= change * row[active[a]]
        count_settled(settled, middle, tolerance, beta, gradient, lower, upper, active)
    return n_iterations, SPENT, -1, gap


@dataclass
class DecompositionState(DualState):
    """The state of a decomposition; ``n_steps`` counts working sets."""

    # (n,): for how many successive working sets each variable was at a bound and its gradient kept it there
    settled: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True)
class DecompositionStepper:
    """Maximize the dual objective over a working set of q variables at a time, see `choose`.

    Its problem is solved to a tenth of the tolerance. Shrinking skips variables that stayed at a bound for ``patience``
    working sets. Source: T. Joachims (1999), "Making large-scale SVM learning practical" (SVM-light).
    """

    tolerance: float = 1e-3
    size: int = 10  # q, even
    shrinking: bool = True
    patience: int = 100

    def init(self, problem: DualProblem) -> DecompositionState:
        settled = np.zeros(problem.rows.n, np.int64)
        return DecompositionState.start(problem, until_shrinking=self.patience, settled=settled)

    def step(self, problem: DualProblem, state: DecompositionState, batch: int) -> DecompositionState:
        size = max(2, min(self.size, problem.rows.capacity // 2 * 2))

        def take(most: int, rounding: float, variables: tuple[np.ndarray, ...]) -> tuple[int, int, int, float]:
            variables = *variables, state.settled
            found = take_working_sets(most, size, self.tolerance, rounding, variables, problem.rows.compiled)
            if found[1] == INDEFINITE:
                raise indefinite_kernel(problem, f"{SQUARED_DISTANCE} is negative for two rows")
            return found

        # A working set reads the active variables three times, and once more for each variable in it.
        for is_optimal in steps_until_change(problem, state, batch, take, 3 + size, shrinks=self.shrinking):
            if is_optimal:
                activate_all(problem, state)
                state.settled[:] = 0
                state.until_shrinking = self.patience
                continue
            if state.n_reconstructions < MOST_RECONSTRUCTIONS:
                state.active = state.active[state.settled[state.active] < self.patience]
            state.until_shrinking = max(1, self.patience // 4)
        return state


EVEN = Parameter(10, "an even whole number of at least 2", numbers.Integral, above=1, most=2**31 - 1, multiple_of=2)


@dataclass(frozen=True, kw_only=True)
class Decomposition(RowSettings):
    """SVM-light's method: several dual variables at a time.

    Parameters
    ----------
    working_set : int
        Dual variables of a step, an even number.
    shrinking, cache, tol
        As of `SMO`.
    max_steps : int, optional
        Most steps for two classes, each on a working set. None: max(10⁷, 100 n)/working_set for n rows.
    """

    working_set: int = setting(EVEN)

    steps: ClassVar[str] = "working sets"
    steps_of_a_call: ClassVar[int] = 1000

    @property
    def rows_of_a_step(self) -> int:
        return int(self.working_set)

    def most_steps(self, n: int) -> int:
        return self.max_steps or most_pair_steps(None, n) // self.rows_of_a_step

    def build(self, seed: int) -> DecompositionStepper:
        return DecompositionStepper(float(self.tol), self.rows_of_a_step, bool(self.shrinking))
