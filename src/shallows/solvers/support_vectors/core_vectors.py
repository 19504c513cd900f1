"""Core vector machines: the smallest enclosing ball of a few points that nearly encloses all."""

import math
import numbers
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ... import arrays, kernels, streams
from ...arrays import Array
from ...kernels import Kernel
from ..array_state import ArrayState
from ..settings import Parameter, count, positive, setting
from .dual_problem import Solution, TwoClassSettings
from .smo import OPTIMAL, take_steps

FULL_LOOKS_AFTER = 5  # all points are searched after this many samples in a row without a point outside the ball
MOST_CALLS = 10_000  # limit of the steps within a core, in thousands; then no point is added any more
SHARE_OF_EXCESS = 0.1
"""Tolerance of a core's ball, as a share of how far the last point was outside, while such points are easy to find."""

LARGE_SHARE = 0.25
"""Share of the margin of classes, or of the targets' deviation, that ε may leave uncertain without a warning."""


@dataclass(frozen=True)
class CoreProblem:
    """Maximize tᵀλ − ½ λᵀK̃λ for λ ≥ 0 and Σλᵢ = 1, with K̃ᵢⱼ = sᵢsⱼ(k(xᵢ, xⱼ) + 1) + rᵢ[i = j].

    It is the dual of the smallest ball around all φ̃ᵢ, where ⟨φ̃ᵢ, φ̃ⱼ⟩ = K̃ᵢⱼ and 2tᵢ + η − K̃ᵢᵢ is added to each
    squared distance; with t = 0 and rᵢ = 1/C of the squared hinge with a penalized intercept.
    """

    kernel: Kernel
    points: Array  # (n, d + 2): augmented points
    row_of: np.ndarray  # (N,): the point of each i; regression has each point twice
    signs: np.ndarray  # (N,), ±1: s
    linear: np.ndarray  # (N,): t
    ridge: np.ndarray  # (N,): r
    seed: int  # of the samples
    most: int  # limit of core points
    budget: int = 0  # bytes for kernel values of core points with all points; 0 keeps none

    def keeps_rows(self, m: int, sample_size: int | None) -> bool:
        """Whether to keep the kernel values of m core points with all points, if that is cheaper than samples."""
        n = self.points.shape[0]
        size = _capacity(m, self.most) * arrays.itemsize(self.points)
        return (1 + (sample_size or n)) * m >= n and size * (n + 2 * _capacity(m, self.most)) <= self.budget

    @cached_property
    def largest_norm(self) -> float:
        """η = max K̃ᵢᵢ − 2tᵢ, for which no squared distance is negative."""
        own = arrays.to_numpy(self.kernel.diagonal(self.points[:, :-2])).astype(np.float64)
        return float((own[self.row_of] + 1.0 + self.ridge - 2.0 * self.linear).max())


@dataclass
class CoreState(ArrayState):
    """The core points and their ball."""

    core: np.ndarray  # (m,): numbers i, in the order in which they were added
    coefficients: np.ndarray  # (m,): λ of the core; all others are zero
    gradient: np.ndarray  # (m,): t − K̃λ on the core
    matrix: np.ndarray  # (capacity, capacity): K̃ of the core in its first m rows and columns
    radius_squared: float = 0.0  # R²
    excess: float = np.inf  # largest squared distance of the last search, over R², less 1
    n_looks: int = 0  # samples that were drawn
    n_misses: int = 0  # samples since the last one with a point outside
    # Points outside in the last search of all points, the furthest first
    outside: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_steps: int = 0  # steps on two variables within the core
    n_evaluations: int = 0  # kernel values that were computed
    exhausted: bool = False  # whether no point is outside the enlarged ball, or a limit was reached
    enclosed: bool = False  # whether no point is outside the enlarged ball
    # (n, capacity): kernel values of all points with the first ``_n_kept`` core points. A checkpoint leaves them out;
    # the same products compute them again.
    _kept: arrays.Array = None
    _n_kept: int = 0

    @property
    def margin(self) -> float:
        """ρ = λᵀK̃λ, the margin between the classes."""
        return -float(self.coefficients @ self.gradient)

    def monitored(self) -> tuple[float, float]:
        """R² of the core, which only grows, without a limit."""
        return self.radius_squared, float("nan")

    def remember(self) -> tuple[dict[str, Any], dict[str, Any]]:
        held, numbers = super().remember()
        return {**held, "matrix": self.matrix[: len(self.core), : len(self.core)].copy()}, numbers

    def recall(self, held: dict[str, Any], numbers: dict[str, Any]) -> None:
        super().recall(held, numbers)
        self._kept, self._n_kept = None, 0

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.gradient).all())


@dataclass(frozen=True)
class EnclosingBallStepper:
    """Add a point outside the ball of (1 + ε) times the radius to the core; then enclose the core by steps on pairs.

    The point is the furthest of ``sample_size`` random points (95 % of samples of 59 contain one of the furthest 5 %),
    or of all if it is None. After five samples without a point outside, all points are searched. Sources: I. W. Tsang,
    J. T. Kwok and P.-M. Cheung (2005), JMLR 6; with J. M. Zurada (2006), IEEE TNN 17 (t, regression).
    """

    epsilon: float = 1e-6
    sample_size: int | None = 59

    def init(self, problem: CoreProblem) -> CoreState:
        """A ball of two points: a random point, and the furthest from it in a sample."""
        first = int(streams.integers(problem.seed, "core", 0, 1)[0] % len(problem.signs))
        state = CoreState(np.array([first]), np.ones(1), np.zeros(1), np.empty((0, 0), dtype=problem.points.dtype))
        _append_to_matrix(problem, state)
        state.gradient = problem.linear[[first]] - state.matrix[:1, 0].astype(np.float64)
        others = self._sample(problem, state)
        distances = 2.0 * _gradients(problem, state, others)
        self._add(problem, state, int(others[np.argmax(distances)]) if len(others) else first)
        state.coefficients = np.full(2, 0.5)
        state.gradient = problem.linear[state.core] - state.matrix[:2, :2].astype(np.float64) @ state.coefficients
        self._enclose(problem, state)
        return state

    def step(self, problem: CoreProblem, state: CoreState, batch: int) -> CoreState:
        for _ in range(int(batch)):
            if state.exhausted:
                break
            far = self._outside(problem, state)
            if far is None:
                state.exhausted, state.enclosed = True, not state.exhausted
            elif len(state.core) >= problem.most:
                state.exhausted = True
            else:
                self._add(problem, state, far)
                self._enclose(problem, state)
        return state

    def _outside(self, problem: CoreProblem, state: CoreState) -> int | None:
        """A point outside the enlarged ball; None if all points are inside."""
        while self.sample_size is not None and state.n_misses < FULL_LOOKS_AFTER:
            far = self._furthest(problem, state, self._sample(problem, state))
            if len(far):
                state.n_misses = 0
                return int(far[0])
            state.n_misses += 1
        self._enclose(problem, state, roughly=False)
        # First check the points that the last search of all points found, with the current ball.
        state.outside = self._furthest(problem, state, _not_in_core(problem, state, state.outside))
        if not len(state.outside):
            every = _not_in_core(problem, state, np.arange(len(problem.signs)))
            state.outside = self._furthest(problem, state, every)[: self.sample_size or 1]
        return int(state.outside[0]) if len(state.outside) else None

    def _furthest(self, problem: CoreProblem, state: CoreState, numbers: np.ndarray) -> np.ndarray:
        """The points among ``numbers`` that are outside the enlarged ball, the furthest first."""
        if not len(numbers):
            return numbers
        g = _gradients(problem, state, numbers)
        # The part that all squared distances share is λᵀK̃λ + η.
        same = float((problem.linear[state.core] - state.gradient) @ state.coefficients) + problem.largest_norm
        squares = same + 2.0 * g
        state.excess = float(squares.max() / state.radius_squared - 1.0)
        far = np.flatnonzero(squares > (1.0 + self.epsilon) ** 2 * state.radius_squared)
        return numbers[far[np.argsort(-squares[far], kind="stable")]]

    def _sample(self, problem: CoreProblem, state: CoreState) -> np.ndarray:
        n = len(problem.signs)
        if self.sample_size is None or self.sample_size >= n:
            return _not_in_core(problem, state, np.arange(n))
        state.n_looks += 1
        drawn = streams.integers(problem.seed, "core", state.n_looks, self.sample_size) % np.uint64(n)
        return _not_in_core(problem, state, np.unique(drawn.astype(np.int64)))

    def _add(self, problem: CoreProblem, state: CoreState, i: int) -> None:
        state.core = np.append(state.core, i)
        state.coefficients = np.append(state.coefficients, 0.0)
        if problem.keeps_rows(len(state.core), self.sample_size):
            _keep_rows(problem, state)
        else:
            state._kept, state._n_kept = None, 0
        row = _append_to_matrix(problem, state).astype(np.float64)
        state.gradient = np.append(state.gradient, problem.linear[i] - row @ state.coefficients)

    def _enclose(self, problem: CoreProblem, state: CoreState, *, roughly: bool = True) -> None:
        """The smallest ball of the core, to ε/2; with ``roughly`` only to a share of the last excess."""
        m, matrix = len(state.core), state.matrix
        _measure(problem, state)
        diagonal = matrix.diagonal()[:m].astype(np.float64)
        every, used = np.arange(m), np.zeros(m, dtype=np.int64)
        held = diagonal, matrix, every, used, np.zeros(1, dtype=np.int64)
        outside = SHARE_OF_EXCESS * state.excess if roughly and np.isfinite(state.excess) else 0.0
        tolerance = max(0.5 * self.epsilon, outside) * state.radius_squared
        variables = state.coefficients, state.gradient, np.zeros(m), np.full(m, np.inf), every
        for _ in range(MOST_CALLS):
            taken, status, *_ = take_steps(1000, tolerance, np.inf, variables, held)
            state.n_steps += taken
            if status == OPTIMAL or taken == 0:
                break
        else:
            state.exhausted = True
        _measure(problem, state)


def _not_in_core(problem: CoreProblem, state: CoreState, numbers: np.ndarray) -> np.ndarray:
    inside = np.zeros(len(problem.signs), dtype=bool)
    inside[state.core] = True
    return numbers[~inside[numbers]]


def _gradients(problem: CoreProblem, state: CoreState, numbers: np.ndarray) -> np.ndarray:
    """The gradient t − K̃λ at points outside the core, shape (len(numbers),)."""
    m, mixed = len(state.core), state.coefficients * problem.signs[state.core]
    kept = state._kept if state._n_kept == m else None
    points = None if kept is not None else arrays.take_rows(problem.points, problem.row_of[state.core])
    out = np.empty(len(numbers))
    with arrays.threads_for(len(numbers) * max(m, problem.points.shape[1])):
        for part in arrays.blocks(len(numbers), max(59, 2**24 // (m + problem.points.shape[1]))):
            rows = problem.row_of[numbers[part]]
            if kept is not None:
                values = kept[rows, :m]
            else:
                values = arrays.to_numpy(kernels.values(problem.kernel, arrays.take_rows(problem.points, rows), points))
                state.n_evaluations += values.size
            out[part] = values @ mixed
    return problem.linear[numbers] - problem.signs[numbers] * (out + mixed.sum())


def _capacity(m: int, most: int) -> int:
    return min(64 * 2 ** max(0, math.ceil(math.log2(m / 64))), max(most, m))


def _keep_rows(problem: CoreProblem, state: CoreState) -> None:
    """Compute the kernel values of all points with the core points that are not kept yet, by one product for each."""
    m, n = len(state.core), problem.points.shape[0]
    if state._kept is None or state._kept.shape[1] < m:
        kept = np.empty((n, _capacity(m, problem.most)), dtype=state.matrix.dtype)
        if state._kept is not None:
            kept[:, : state._n_kept] = state._kept[:, : state._n_kept]
        state._kept = kept
    for place in range(state._n_kept, m):
        own = int(problem.row_of[state.core[place]])
        here = problem.points[own : own + 1, :]
        with arrays.one_blas_thread():
            values = kernels.values(problem.kernel, here, problem.points)
        state._kept[:, place] = arrays.to_numpy(kernels.set_diagonal(problem.kernel, values, here, own))[0]
        state.n_evaluations += n
    state._n_kept = m


def _append_to_matrix(problem: CoreProblem, state: CoreState) -> np.ndarray:
    """Compute the row of K̃ of the last core point, and store it as row and column of the matrix."""
    m, core = len(state.core), state.core
    if len(state.matrix) < m:
        larger = np.empty((_capacity(m, problem.most),) * 2, dtype=state.matrix.dtype)
        larger[: m - 1, : m - 1] = state.matrix[: m - 1, : m - 1]
        state.matrix = larger
    i = core[-1]
    if state._n_kept == m:
        values = state._kept[problem.row_of[core], m - 1]
    else:
        points = arrays.take_rows(problem.points, problem.row_of[core])
        here = points[m - 1 : m, :]
        with arrays.one_blas_thread():
            made = kernels.values(problem.kernel, here, points)
        values = arrays.to_numpy(kernels.set_diagonal(problem.kernel, made, here, m - 1))[0]
        state.n_evaluations += m
    row = problem.signs[i] * problem.signs[core] * (values + 1.0)
    row[-1] += problem.ridge[i]
    state.matrix[m - 1, :m] = state.matrix[:m, m - 1] = row
    return state.matrix[m - 1, :m]


def _measure(problem: CoreProblem, state: CoreState) -> None:
    t, a = problem.linear[state.core], state.coefficients
    state.radius_squared = problem.largest_norm + float(t @ a) + float(state.gradient @ a)


SAMPLE = Parameter(59, "a whole number of at least 2 or None", numbers.Integral, names=(None,), above=1, most=2**31 - 1)


@dataclass(frozen=True, kw_only=True)
class EnclosingBall(TwoClassSettings):
    """The smallest ball that encloses the points, of core points that are added one at a time.

    Parameters
    ----------
    epsilon : float
        ε. A smaller value adds more core points and comes closer to the exact solution.
    sample_size : int, optional
        Points that are searched for one outside the ball. None searches all points.
    max_core_points : int, optional
        The most core points. None allows what fits into the memory.
    """

    epsilon: float = setting(positive(1e-6))
    sample_size: int | None = setting(SAMPLE)
    max_core_points: int | None = setting(count(2))

    losses: ClassVar[tuple[str, ...]] = ("squared_hinge",)
    steps_of_a_call: ClassVar[int] = 50
    calls_of_an_epoch: ClassVar[int] = 1000
    # Wider kernels need many steps, and λ would have to be much smaller than 10⁻³.
    widest_bandwidth: ClassVar[float] = 1.0
    compares_at_C: ClassVar[bool] = False

    def most_steps(self, n: int) -> int:
        return 2**62  # The number of core points is the limit.

    def build_ball(
        self,
        kernel: Kernel,
        points: Array,
        signs: np.ndarray,
        linear: np.ndarray,
        ridge: np.ndarray,
        budget: int,
        seed: int,
    ) -> CoreProblem:
        """The problem of the ball; its row i is the point i modulo the number of points."""
        # Room for the matrix of the core, and for a larger one while it grows.
        most = math.isqrt(budget // (2 * arrays.itemsize(points)))
        most = max(2, min(most, len(signs), self.max_core_points or len(signs)))
        row_of = np.arange(len(signs)) % points.shape[0]
        return CoreProblem(kernel, points, row_of, signs, linear, ridge, seed, most, budget)

    def build_problem(
        self, kernel: Kernel, points: Array, signs: np.ndarray, C: np.ndarray, squared: bool, budget: int, seed: int
    ) -> CoreProblem:
        return self.build_ball(kernel, points, signs, np.zeros(len(signs)), 1.0 / C, budget, seed)

    def build(self, seed: int) -> EnclosingBallStepper:
        return EnclosingBallStepper(float(self.epsilon), self.sample_size)

    def solution(self, problem: CoreProblem, state: CoreState) -> Solution:
        """The function is the center of the ball divided by the margin ρ."""
        margin = state.margin
        coefficients = np.zeros(len(problem.signs))
        coefficients[state.core] = problem.signs[state.core] * state.coefficients / margin
        b, objective = float(coefficients.sum()), 0.5 / margin
        return Solution(coefficients, b, objective, state.n_steps, state.n_evaluations, state.enclosed)

    def left_undone(self, state: CoreState, solution: Solution, most: int) -> tuple[str, str] | None:
        return self.uncertain(state, state.margin)

    def uncertain(self, state: CoreState, unit: float) -> tuple[str, str] | None:
        """Why the function is uncertain in the ``unit`` (margin for classes, λ for values), and what helps; or None."""
        share = 0.5 * self.epsilon * state.radius_squared / unit
        if not state.enclosed:
            left = f"With {len(state.core)} core points and {state.n_steps:,} steps, all that the limits allow, a point"
            left += f" is still outside the ball by {state.excess:.2g} of its radius squared"
            return left, "use a larger epsilon or a smaller C, or allow more core points"
        if not 0.0 <= share <= LARGE_SHARE:  # Rounding makes squares of lengths negative.
            left = f"With epsilon={self.epsilon:g} values of the function are uncertain by {abs(share):.2g}"
            return left, "use a smaller epsilon"
        return None
