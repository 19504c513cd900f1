"""Dual coordinate descent with shrinking, as in LIBLINEAR."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...arrays import Array
from ...utils.compilation import njit
from ..pieces import steps_of_a_piece
from .problem import HINGE, ConvergingSettings, LinearState, LinearSVMProblem
from .rows import CompiledRows, add, below, dot, key_of, squared_norms


@dataclass
class DualCoordinateState(LinearState):
    """The state of dual coordinate descent."""

    dual: np.ndarray = field(kw_only=True)  # (n,): aᵢ, with w = (1/(λn)) Σ aᵢ yᵢ xᵢ
    order: np.ndarray = field(kw_only=True)  # (n,): row numbers; the first ``n_active`` are not shrunk
    n_active: int = 0
    # (2,): largest and smallest projected gradient of the last pass; a variable at its bound with a gradient beyond
    # them is shrunk
    bounds: np.ndarray = field(kw_only=True)
    violation: float = float("inf")  # largest less smallest projected gradient of the last pass
    _examples: np.ndarray | None = None


@dataclass(frozen=True)
class DualCoordinateDescentStepper:
    """Set each aᵢ to its best value with all others fixed, and update w, through random permutations of the examples.

    Shrinking skips variables at a bound whose gradients keep them there, until the others have converged. Source: C.-J.
    Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi and S. Sundararajan (2008), ICML 25.
    """

    tolerance: float = 0.01
    shrinking: bool = True
    seed: int = 0

    def init(self, problem: LinearSVMProblem) -> DualCoordinateState:
        n = problem.n
        w, bounds = np.zeros(problem.n_features), np.array([np.inf, -np.inf])
        return DualCoordinateState(w, dual=np.zeros(n), order=np.arange(n), n_active=n, bounds=bounds)

    def step(self, problem: LinearSVMProblem, state: DualCoordinateState, batch: int) -> DualCoordinateState:
        if state._examples is None:
            # In one array, so that a random visit waits for memory only once.
            state._examples = np.column_stack([problem.signs, problem.all_weights, squared_norms(problem.rows)])
        for _ in range(batch):
            if state.exhausted:
                break
            self._pass(problem, state)
        return state

    def _pass(self, problem: LinearSVMProblem, state: DualCoordinateState) -> None:
        scale = 1.0 / (problem.regularization * problem.n)
        key = key_of(self.seed, "order of variables", state.n_steps)
        visits = steps_of_a_piece(4 * problem.rows.mean_length)
        bounds = (state.bounds[0], state.bounds[1]) if self.shrinking else (np.inf, -np.inf)
        examples = problem.rows, state._examples, problem.loss, scale
        variables = state.coefficients, state.dual, state.order
        place, n_drawn, largest, smallest = 0, 0, -np.inf, np.inf
        while place < state.n_active:
            stand = place, n_drawn, state.n_active, largest, smallest
            place, n_drawn, state.n_active, largest, smallest = _part_of_pass(
                examples, *variables, stand, n_drawn + visits, bounds, key
            )
        if state.n_active == 0:
            largest = smallest = 0.0
        state.n_steps += 1
        state.violation = float(largest - smallest)
        state.bounds[:] = largest if largest > 0 else np.inf, smallest if smallest < 0 else -np.inf
        if state.violation <= self.tolerance:
            if state.n_active == problem.n:
                state.exhausted = True
            else:
                state.n_active = problem.n
                state.bounds[:] = np.inf, -np.inf


@njit(cache=True, nogil=True)
def _part_of_pass(
    problem: tuple[CompiledRows, Array, int, float],
    w: Array,
    dual: Array,
    order: Array,
    stand: tuple[int, int, int, float, float],
    last_draw: int,
    bounds: tuple[float, float],
    key: np.uint64,
) -> tuple[int, int, int, float, float]:
    # In units of the loss: aᵢ is in [0, cᵢ] for the hinge. For the squared hinge it has no upper bound, and aᵢ/cᵢ is
    # added to its gradient.
    rows, examples, loss, scale = problem
    place, n_drawn, n_active, largest, smallest = stand
    upper, lower = bounds
    while place < n_active and n_drawn < last_draw:
        # The next example of a random permutation (Fisher and Yates, from the front).
        drawn = place + below(key, n_drawn, n_active - place)
        n_drawn += 1
        order[place], order[drawn] = order[drawn], order[place]
        i = order[place]
        sign, weight, norm = examples[i, 0], examples[i, 1], examples[i, 2]
        bound = weight if loss == HINGE else np.inf
        own = 0.0 if loss == HINGE else 1.0 / weight
        a = dual[i]
        gradient = sign * dot(rows, i, w) - 1.0 + own * a
        projected = gradient
        if a <= 0.0:
            if gradient > upper:
                n_active -= 1
                order[place], order[n_active] = order[n_active], order[place]
                continue
            projected = min(gradient, 0.0)
        elif a >= bound:
            if gradient < lower:
                n_active -= 1
                order[place], order[n_active] = order[n_active], order[place]
                continue
            projected = max(gradient, 0.0)
        largest, smallest = max(largest, projected), min(smallest, projected)
        curvature = norm * scale + own
        if projected != 0.0:
            # A row of zeros changes nothing: its variable moves to the bound that its gradient points to.
            new = a - gradient / curvature if curvature > 0.0 else (0.0 if gradient > 0.0 else bound)
            new = min(max(new, 0.0), bound)
            if new != a:
                dual[i] = new
                add(rows, i, (new - a) * sign * scale, w)
        place += 1
    return place, n_drawn, n_active, largest, smallest


@dataclass(frozen=True, kw_only=True)
class DualCoordinateDescent(ConvergingSettings):
    """Dual coordinate descent with shrinking, as in LIBLINEAR.

    Parameters
    ----------
    max_epochs : int, default=1000
        The most passes over the rows.
    tol : float, default=1e-3
        Stop if the projected gradients are within a range of this length.
    """

    certain: ClassVar[bool] = True

    def build(self, seed: int) -> DualCoordinateDescentStepper:
        return DualCoordinateDescentStepper(float(self.tol), True, seed)
