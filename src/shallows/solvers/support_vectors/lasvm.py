"""LASVM: a support vector machine that takes examples one after the other, and drops those it does not need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ... import arrays, kernels
from ...arrays import Array
from ...kernels import Kernel
from ...utils.compilation import njit
from ..array_state import ArrayState
from ..pieces import steps_of_a_piece
from ..settings import Settings, count, flag, positive, setting
from .dual_problem import middle_of_gap
from .smo import SMALLEST_CURVATURE, best_partner, largest_to_grow, move_pair

MOST_WAITING = 1000  # most examples of a class that are kept until examples of the other class come


@dataclass(frozen=True)
class ExampleProblem:
    """Examples of two classes, of which a solver sees some at a time."""

    kernel: Kernel
    points: np.ndarray  # (n, d + 2): augmented points, on the host
    signs: np.ndarray  # (n,), ±1
    C: np.ndarray  # (n,): bounds of the dual variables
    numbers: np.ndarray  # (n,): names of the examples; the state takes each name only once
    classes: np.ndarray  # (n,): their classes, which may be more than two


@dataclass
class LASVMState(ArrayState):
    """The current examples, in slots of arrays that grow, with β and the gradient y − Kβ of each."""

    numbers: np.ndarray  # (capacity,): of the examples in the slots, −1 for a free slot
    classes: np.ndarray  # (capacity,)
    points: arrays.Array  # (capacity, d + 2), sparse or not
    coefficients: np.ndarray  # (capacity,)
    gradient: np.ndarray  # (capacity,)
    lower: np.ndarray  # (capacity,)
    upper: np.ndarray  # (capacity,)
    matrix: np.ndarray  # (capacity, capacity): kernel values
    gap: float = 2.0  # by how much the current examples violate the conditions of optimality
    n_steps: int = 0
    n_evaluations: int = 0  # kernel values that were computed
    waits: bool = False  # whether examples are kept because b is undetermined, see `LASVMStepper`

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        vars(self).update(arrays.writable(attributes))

    @classmethod
    def empty(cls, points: arrays.Array) -> LASVMState:
        """No examples, for points like the rows of ``points``, shape (m, d + 2)."""
        return cls(
            numbers=np.empty(0, dtype=np.int64),
            classes=np.empty(0, dtype=np.int64),
            points=points[:0, :] if arrays.is_sparse(points) else np.empty((0, points.shape[1]), dtype=points.dtype),
            coefficients=np.empty(0),
            gradient=np.empty(0),
            lower=np.empty(0),
            upper=np.empty(0),
            matrix=np.empty((0, 0), dtype=points.dtype),
        )

    @property
    def variables(self) -> tuple[np.ndarray, ...]:
        """β, the gradient and the bounds, for compiled steps."""
        return self.coefficients, self.gradient, self.lower, self.upper

    @property
    def at_hand(self) -> np.ndarray:
        """The slots with examples, ascending."""
        return np.flatnonzero(self.numbers >= 0)

    @property
    def intercept(self) -> float:
        """b, the middle between the gradients that a step would move; β within rounding of a bound is at the bound."""
        slots = self.at_hand
        beta, lower, upper = self.coefficients[slots], self.lower[slots], self.upper[slots]
        rounding = 1e-12 * (upper - lower)
        return middle_of_gap(self.gradient[slots], beta < upper - rounding, beta > lower + rounding)

    @property
    def room_of_intercept(self) -> float:
        """The length of the interval of all b for which the support vectors are optimal; it may be negative."""
        lowest, highest = _bounds_of_intercept(*self.variables, self.at_hand)
        return highest - lowest if np.isfinite(lowest) and np.isfinite(highest) else 0.0

    @property
    def objective(self) -> float:
        slots = self.at_hand
        beta = self.coefficients[slots]
        return float(0.5 * (np.abs(beta).sum() + beta @ self.gradient[slots]))

    def monitored(self) -> tuple[float, float]:
        return self.gap, float("nan")

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.gradient[self.at_hand]).all())

    def take_slots(self, n: int) -> np.ndarray:
        """Free slots for n examples; the arrays grow if there are too few."""
        free = np.flatnonzero(self.numbers < 0)
        if len(free) < n:
            old = len(self.numbers)
            new = max(2 * old, old + n, 256)
            for name in ("numbers", "classes", "points", "coefficients", "gradient", "lower", "upper", "matrix"):
                array = getattr(self, name)
                if arrays.is_sparse(array):
                    self.points = array.resized(new)
                    continue
                shape = (new, new) if name == "matrix" else (new, *array.shape[1:])
                larger = np.full(shape, -1 if name == "numbers" else 0, dtype=array.dtype)
                larger[tuple(map(slice, array.shape))] = array
                setattr(self, name, larger)
            free = np.flatnonzero(self.numbers < 0)
        return free[:n]

    def drop_all_but(self, kept: np.ndarray) -> None:
        dropped = np.ones(len(self.numbers), dtype=bool)
        dropped[kept] = False
        self.numbers[dropped] = -1
        self.coefficients[dropped] = 0.0


@dataclass(frozen=True)
class LASVMStepper:
    """Each example takes a step when it comes (PROCESS); then the best pair of all current examples does (REPROCESS).

    REPROCESS also drops examples with β = 0 whose gradients keep them at zero. If all support vectors are at their
    bounds at the end of a batch, b may be anywhere in an interval, and an example that one end keeps at zero may be
    needed at the other. The batch is then shown again, and up to 1,000 such examples of each class are kept until b is
    determined. Source: A. Bordes, S. Ertekin, J. Weston and L. Bottou (2005), JMLR 6; here pairs are of second order.
    """

    tolerance: float = 1e-3

    def init(self, problem: ExampleProblem) -> LASVMState:
        return LASVMState.empty(problem.points)

    def step(self, problem: ExampleProblem, state: LASVMState, batch: slice) -> LASVMState:
        self._show(problem, state, batch)
        undetermined = state.room_of_intercept > self.tolerance
        if undetermined and not state.waits:
            state.waits = True
            self._show(problem, state, batch)
        state.waits = undetermined
        return state

    def _show(self, problem: ExampleProblem, state: LASVMState, batch: slice) -> None:
        known = np.isin(problem.numbers[batch], state.numbers[state.at_hand])
        rows = np.arange(batch.start, batch.stop)[~known]
        if not len(rows):
            return
        slots = state.take_slots(len(rows))
        before = state.at_hand
        _place(problem, state, rows, slots)
        together = np.concatenate([before, slots])
        points = state.points[slots]
        # Thousands of small products: on a busy machine, two BLAS threads that wait for each other took 5 times longer.
        with arrays.one_blas_thread():
            values = kernels.values(problem.kernel, points, state.points[together])
        kernels.set_diagonal(problem.kernel, values, points, len(before))
        state.matrix[np.ix_(slots, together)] = values
        state.matrix[np.ix_(together, slots)] = values.T
        state.n_evaluations += values.size
        active = np.empty(len(state.numbers), dtype=np.int64)
        active[: len(before)] = before
        kernel_values = state.matrix.diagonal().astype(np.float64), state.matrix
        signs, n_active, waiting = problem.signs[rows], len(before), MOST_WAITING if state.waits else 0
        left, taken, state.gap = _process_all(
            slots, self.tolerance, signs, state.variables, active, n_active, *kernel_values, waiting
        )
        state.n_steps += taken
        state.drop_all_but(active[:left])

    def finish(self, state: LASVMState, most: int = 2**62) -> LASVMState:
        """REPROCESS until no pair violates the conditions by more than the tolerance, or ``most`` times."""
        diagonal = state.matrix.diagonal().astype(np.float64)
        while most > 0:
            before = state.at_hand
            active = np.empty(len(state.numbers), dtype=np.int64)
            active[: len(before)] = before
            # A step reads the current examples about eight times.
            allowed = min(most, steps_of_a_piece(8 * len(before)))
            left, taken, state.gap = _reprocess_all(
                allowed, self.tolerance, state.variables, active, len(before), diagonal, state.matrix
            )
            state.n_steps += taken
            most -= taken
            state.drop_all_but(active[:left])
            if taken < allowed:
                break
        return state


def _place(problem: ExampleProblem, state: LASVMState, rows: np.ndarray, slots: np.ndarray) -> None:
    signs, C = problem.signs[rows], problem.C[rows]
    state.numbers[slots], state.classes[slots] = problem.numbers[rows], problem.classes[rows]
    if arrays.is_sparse(state.points):
        state.points = state.points.replaced(slots, problem.points[rows])
    else:
        state.points[slots] = problem.points[rows]
    state.coefficients[slots] = 0.0
    state.lower[slots], state.upper[slots] = np.where(signs > 0, 0.0, -C), np.where(signs > 0, C, 0.0)


@njit(cache=True)
def _smallest_to_fall(beta: Array, gradient: Array, lower: Array, active: Array) -> int:
    """The slot with the smallest gradient whose βᵢ may fall, or −1."""
    best, smallest = -1, np.inf
    for a in range(len(active)):
        t = active[a]
        if gradient[t] < smallest and beta[t] > lower[t]:
            best, smallest = t, gradient[t]
    return best


@njit(cache=True)
def _move(i: int, j: int, variables: tuple[Array, ...], active: Array, diagonal: Array, matrix: Array) -> None:
    beta, gradient, lower, upper = variables
    curvature = max(diagonal[i] + diagonal[j] - 2.0 * matrix[i, j], SMALLEST_CURVATURE)
    step = (gradient[i] - gradient[j]) / curvature
    move_pair(i, j, step, beta, gradient, lower, upper, active, matrix[i], matrix[j])


@njit(cache=True)
def _bounds_of_intercept(
    beta: Array, gradient: Array, lower: Array, upper: Array, active: Array
) -> tuple[float, float]:
    """The largest gradient of a support vector whose βᵢ may grow, and the smallest of one whose βᵢ may fall."""
    lowest, highest = -np.inf, np.inf
    for a in range(len(active)):
        t = active[a]
        if beta[t] != 0.0:
            rounding = 1e-12 * (upper[t] - lower[t])
            if beta[t] < upper[t] - rounding:
                lowest = max(lowest, gradient[t])
            if beta[t] > lower[t] + rounding:
                highest = min(highest, gradient[t])
    return lowest, highest


@njit(cache=True)
def _reprocess(tolerance, variables, active, n_active, diagonal, matrix, most_waiting):
    # type: (float, tuple[Array, ...], Array, int, Array, Array, int) -> tuple[int, bool, float]
    """One REPROCESS; returns how many examples remain, whether a pair was moved, and the gap."""
    beta, gradient, lower, upper = variables
    at_hand = active[:n_active]
    place = largest_to_grow(beta, gradient, upper, at_hand)
    if place < 0:
        return n_active, False, 0.0
    i = at_hand[place]
    j, smallest = best_partner(i, beta, gradient, lower, at_hand, diagonal, matrix[i])
    largest, moved = gradient[i], j >= 0 and gradient[i] - smallest > tolerance
    if moved:
        _move(i, j, variables, at_hand, diagonal, matrix)
        place = largest_to_grow(beta, gradient, upper, at_hand)
        j = _smallest_to_fall(beta, gradient, lower, at_hand)
        if place < 0 or j < 0:
            return n_active, True, 0.0
        largest, smallest = gradient[at_hand[place]], gradient[j]
    if smallest == np.inf:
        return n_active, False, 0.0
    lowest, highest = np.inf, -np.inf
    if most_waiting:
        lowest, highest = _bounds_of_intercept(beta, gradient, lower, upper, active[:n_active])
    left, n_positive, n_negative = 0, 0, 0
    for a in range(n_active):
        t = active[a]
        # 0 is the lower bound of a positive example and the upper bound of a negative one.
        positive = upper[t] > 0.0
        idle = gradient[t] <= smallest if positive else gradient[t] >= largest
        if beta[t] == 0.0 and idle and (gradient[t] > lowest if positive else gradient[t] < highest):
            n_positive, n_negative = n_positive + positive, n_negative + (not positive)
            idle = (n_positive if positive else n_negative) > most_waiting
        if beta[t] != 0.0 or not idle:
            active[left] = t
            left += 1
    return left, moved, max(largest - smallest, 0.0)


@njit(cache=True)
def _process_all(slots, tolerance, signs, variables, active, n_active, diagonal, matrix, most_waiting):
    # type: (Array, float, Array, tuple[Array, ...], Array, int, Array, Array, int) -> tuple[int, int, float]
    beta, gradient, lower, upper = variables
    n_steps, gap = 0, 0.0
    for b in range(len(slots)):
        k = slots[b]
        score = 0.0
        for a in range(n_active):
            score += beta[active[a]] * matrix[k, active[a]]
        gradient[k] = signs[b] - score
        active[n_active] = k
        n_active += 1
        at_hand = active[:n_active]
        i, j = k, k
        if signs[b] > 0:
            j = _smallest_to_fall(beta, gradient, lower, at_hand)
        else:
            place = largest_to_grow(beta, gradient, upper, at_hand)
            i = at_hand[place] if place >= 0 else -1
        if i >= 0 and j >= 0 and gradient[i] - gradient[j] > tolerance:
            _move(i, j, variables, at_hand, diagonal, matrix)
            n_steps += 1
        n_active, moved, gap = _reprocess(tolerance, variables, active, n_active, diagonal, matrix, most_waiting)
        n_steps += moved
    return n_active, n_steps, gap


@njit(cache=True)
def _reprocess_all(most, tolerance, variables, active, n_active, diagonal, matrix):
    # type: (int, float, tuple[Array, ...], Array, int, Array, Array) -> tuple[int, int, float]
    for n_steps in range(most):
        n_active, moved, gap = _reprocess(tolerance, variables, active, n_active, diagonal, matrix, 0)
        if not moved:
            return n_active, n_steps, gap
    return n_active, most, gap


@dataclass(frozen=True, kw_only=True)
class LASVM(Settings):
    """Examples one after the other: each takes a step, then the best pair of the kept examples.

    Examples whose coefficients stay zero are dropped, so that memory and time of an example depend on the number of
    support vectors. One pass over many rows is nearly exact. For a few hundred
    rows or a large C take more epochs. ``partial_fit`` continues with more rows.

    Parameters
    ----------
    max_epochs : int
        Passes of a fit over the training data, each in a new order.
    finish : bool
        Whether a fit ends with steps on the kept examples until ``tol`` holds for them.
    tol : float
        Largest violation of the conditions of optimality, in units of the targets ±1.
    max_steps : int, optional
        Most steps at the end of a fit, for two classes. None: max(10⁷, 100 n) for n rows.
    """

    max_epochs: int = setting(count(default=1))
    finish: bool = setting(flag(True))
    tol: float = setting(positive(1e-3))
    max_steps: int | None = setting(count())

    losses: ClassVar[tuple[str, ...]] = ("hinge",)
    takes_precomputed: ClassVar[bool] = False
    takes_outputs: ClassVar[bool] = False
    is_online: ClassVar[bool] = True
    devices: ClassVar[tuple[str, ...]] = ("cpu",)

    def build(self) -> LASVMStepper:
        return LASVMStepper(float(self.tol))
