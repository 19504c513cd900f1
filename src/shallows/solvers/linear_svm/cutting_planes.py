"""Cutting planes: BMRM, which for the hinge is the 1-slack method of SVM-perf, and OCAS with its line search."""

import math
from dataclasses import dataclass, field

import numpy as np

from ... import arrays
from ...utils.compilation import njit
from ..settings import flag, setting
from .problem import HINGE, ConvergingSettings, LinearState, LinearSVMProblem
from .rows import products

PATIENCE = 10
"""Newton steps without a gain after which `maximize_by_active_sets` stops: the gradients are only rounding."""

RIDGE = 1e-13  # share of the trace of Q that is added to its diagonal, because Q may be singular

PAIR_STEPS = 20_000
"""Limit of steps on pairs for the smaller problem before active sets are used; scaled columns need fewer steps."""


@njit(cache=True, nogil=True)
def maximize_on_simplex(
    Q: np.ndarray, b: np.ndarray, a: np.ndarray, tolerance: float, most_steps: int
) -> tuple[float, bool]:
    """Maximize bᵀa − ½ aᵀQa over a ≥ 0, Σ a = 1, from a given start, which is overwritten; Q (p, p) is semidefinite.

    Each step moves weight to the corner of the largest gradient, from the corner with which this gains most, until no
    move can gain more than the tolerance. Returns the maximum that was reached, and whether it is within the tolerance.
    """
    p = len(b)
    gradient, ended = b - Q @ a, False
    for _ in range(most_steps):
        to = 0
        for j in range(1, p):
            if gradient[j] > gradient[to]:
                to = j
        best, source, gap = 0.0, -1, 0.0
        for j in range(p):
            difference = gradient[to] - gradient[j]
            if a[j] > 0.0 and difference > 0.0:
                gap = max(gap, difference)
                curvature = max(Q[to, to] + Q[j, j] - 2.0 * Q[to, j], 1e-300)
                moved = min(difference / curvature, a[j])
                gain = moved * (difference - 0.5 * moved * curvature)
                if gain > best:
                    best, source = gain, j
        if source < 0 or gap <= tolerance:
            ended = True
            break
        curvature = max(Q[to, to] + Q[source, source] - 2.0 * Q[to, source], 1e-300)
        moved = min((gradient[to] - gradient[source]) / curvature, a[source])
        a[source] = 0.0 if moved == a[source] else a[source] - moved
        a[to] += moved
        for j in range(p):
            gradient[j] -= moved * (Q[j, to] - Q[j, source])
    return 0.5 * (float(b @ a) + float(gradient @ a)), ended


def maximize_by_active_sets(Q: np.ndarray, b: np.ndarray, a: np.ndarray, tolerance: float) -> None:
    """Solve the problem of `maximize_on_simplex` by Newton steps on the corners with weight, for any condition of Q.

    A step goes to the maximum on these corners, and the corner of the largest gradient is added, or to the point where
    the first of them has no weight left.
    """
    used, best, waited = a > 0.0, -np.inf, 0
    while waited < PATIENCE:
        gradient = b - Q[:, used] @ a[used]
        here = gradient[used]
        if gradient.max() - here.min() <= tolerance:
            return
        value = 0.5 * float(b @ a + gradient @ a)
        waited = 0 if value > best + tolerance else waited + 1
        best = max(best, value)
        # Relative to the corner with the most weight, whose change is minus the sum of the other changes.
        corners = np.flatnonzero(used)
        k = int(np.argmax(a[corners]))
        others = np.delete(np.arange(len(corners)), k)
        to_it = Q[corners[others], corners[k]]
        matrix = Q[np.ix_(corners[others], corners[others])] - to_it[:, None] - to_it + Q[corners[k], corners[k]]
        change = np.zeros(len(corners))
        change[others] = arrays.solve_damped(matrix, here[others] - here[k], RIDGE * float(np.trace(matrix)))
        change[k] = -change.sum()
        old = a[used]
        falls = change < 0.0
        longest = np.min(old[falls] / -change[falls], initial=np.inf)
        new = old + min(1.0, longest) * change
        if longest <= 1.0:
            new[np.argmin(np.where(falls, old / np.where(falls, -change, 1.0), np.inf))] = 0.0
        a[used] = np.maximum(new, 0.0)
        a /= a.sum()
        used = a > 0.0
        if longest > 1.0:
            used[np.argmax(b - Q[:, used] @ a[used])] = True


@dataclass
class PlanesState(LinearState):
    """The state of a cutting-plane method; the coefficients are the best w so far."""

    objective: float = math.inf  # P(w)
    bound: float = -math.inf  # minimum of the model, a lower bound of P
    planes: np.ndarray = field(kw_only=True)  # (p, d): subgradients of the risk
    heights: np.ndarray = field(kw_only=True)  # (p,): risk less subgradient times w, at the point of each plane
    products: np.ndarray = field(kw_only=True)  # (p, p): products of the planes with each other
    shares: np.ndarray = field(kw_only=True)  # (p,): dual variables of the planes, nonnegative with the sum 1
    next_point: np.ndarray = field(kw_only=True)  # (d,): where the next plane is computed
    by_active_sets: bool = False  # whether steps on pairs have failed to solve the smaller problem


@dataclass(frozen=True)
class CuttingPlanesStepper:
    """w ← argmin λ/2 ‖w‖² + max_j (aⱼᵀw + bⱼ), where each plane touches the risk from below at an earlier point.

    The minimum of this smaller problem is a lower bound of P; the model is the best point so far. Sources: T. Joachims
    (2006), KDD 12; C. H. Teo, S. V. N. Vishwanathan, A. Smola and Q. V. Le (2010), JMLR 11; V. Franc and S. Sonnenburg
    (2009), JMLR 10 (OCAS).
    """

    tolerance: float = 1e-3
    # Minimize P between the best point and the model's minimum, and compute the next plane a tenth of the way from
    # there to the minimum (OCAS)
    line_search: bool = False
    pair_steps: int = 100_000  # limit of steps on pairs for the smaller problem
    active_sets: bool = False  # continue with active sets if the limit is reached, for columns of different scales

    def init(self, problem: LinearSVMProblem) -> PlanesState:
        d, none = problem.n_features, np.empty(0)
        planes, gram = np.empty((0, d)), np.empty((0, 0))
        return PlanesState(np.zeros(d), planes=planes, heights=none, products=gram, shares=none, next_point=np.zeros(d))

    def step(self, problem: LinearSVMProblem, state: PlanesState, batch: int) -> PlanesState:
        for _ in range(batch):
            if state.exhausted:
                break
            self._add_plane(problem, state)
            w = self._minimum_of_model(problem, state)
            if self.line_search:
                self._search(problem, state, w)
            else:
                state.next_point = w
            state.n_steps += 1
            state.exhausted = state.objective - state.bound <= self.tolerance * state.objective
        return state

    def _add_plane(self, problem: LinearSVMProblem, state: PlanesState) -> None:
        w = state.next_point
        margins = problem.margins(w)
        risk, plane = problem.risk(margins), problem.risk_gradient(margins)
        _keep_if_better(state, w, 0.5 * problem.regularization * float(w @ w) + risk)
        with_others = state.planes @ plane
        p = len(state.heights)
        grown = np.empty((p + 1, p + 1))
        grown[:p, :p], grown[:p, p], grown[p, :p], grown[p, p] = state.products, with_others, with_others, plane @ plane
        state.products = grown
        state.planes = np.vstack([state.planes, plane])
        state.heights = np.append(state.heights, risk - float(plane @ w))
        state.shares = np.append(state.shares, 0.0 if p else 1.0)

    def _minimum_of_model(self, problem: LinearSVMProblem, state: PlanesState) -> np.ndarray:
        # A hundredth of the tolerance, so that the gap comes from the planes.
        allowed, Q = 0.01 * self.tolerance * state.objective, state.products / problem.regularization
        if not state.by_active_sets:
            value, ended = maximize_on_simplex(Q, state.heights, state.shares, allowed, self.pair_steps)
            state.by_active_sets = self.active_sets and not ended
        if state.by_active_sets:
            maximize_by_active_sets(Q, state.heights, state.shares, allowed)
        w = -(state.shares @ state.planes) / problem.regularization
        if state.by_active_sets:
            value = float(state.heights @ state.shares) - 0.5 * problem.regularization * float(w @ w)
        state.bound = max(state.bound, value)
        return w

    def _search(self, problem: LinearSVMProblem, state: PlanesState, w: np.ndarray) -> None:
        direction = w - state.coefficients
        margins, slopes = problem.margins(state.coefficients), problem.signs * products(problem.rows, direction)
        a = minimum_on_line(problem, state.coefficients, direction, margins, slopes)
        best = state.coefficients + a * direction
        value = 0.5 * problem.regularization * float(best @ best) + problem.risk(margins + a * slopes)
        _keep_if_better(state, best, value)
        state.next_point = 0.9 * best + 0.1 * w


def _keep_if_better(state: PlanesState, w: np.ndarray, value: float) -> None:
    if value < state.objective:
        state.coefficients, state.objective = w.copy(), value


def minimum_on_line(
    problem: LinearSVMProblem, w: np.ndarray, direction: np.ndarray, margins: np.ndarray, slopes: np.ndarray
) -> float:
    """The a ≥ 0 that minimizes P(w + a d); for the hinge the derivative rises between its kinks and jumps at them."""
    lam = problem.regularization
    start, rise = lam * float(w @ direction), lam * float(direction @ direction)
    if rise == 0.0:
        return 0.0
    if problem.loss != HINGE:
        return _zero_by_bisection(problem, start, rise, margins, slopes)
    each = problem.all_weights * slopes / problem.n
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = (1.0 - margins) / slopes
    missed = (margins < 1.0) | ((margins == 1.0) & (slopes < 0))
    derivative = start - float(each[missed].sum())
    if derivative >= 0.0:
        return 0.0
    # At its kink an example with a rising margin stops to contribute, and one with a falling margin starts.
    ahead = np.flatnonzero((slopes != 0) & (kinks > 0))
    ahead = ahead[np.argsort(kinks[ahead], kind="stable")]
    places, jumps = kinks[ahead], np.abs(each[ahead])
    before = derivative + np.concatenate([[0.0], np.cumsum(jumps)])
    ends = np.append(places, np.inf)
    # The first stretch at whose end the derivative is nonnegative.
    stretch = int(np.argmax(before + rise * ends >= 0.0))
    begin = 0.0 if stretch == 0 else float(places[stretch - 1])
    return max(begin, -float(before[stretch]) / rise)


def _zero_by_bisection(
    problem: LinearSVMProblem, start: float, rise: float, margins: np.ndarray, slopes: np.ndarray
) -> float:
    def derivative(a: float) -> float:
        missed = np.maximum(0.0, 1.0 - margins - a * slopes)
        return start + a * rise - float((problem.all_weights * missed) @ slopes) / problem.n

    if derivative(0.0) >= 0.0:
        return 0.0
    low, high = 0.0, 1.0
    while derivative(high) < 0.0:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if derivative(middle) < 0.0 else (low, middle)
    return 0.5 * (low + high)


@dataclass(frozen=True, kw_only=True)
class CuttingPlanes(ConvergingSettings):
    """Cutting planes: the OCAS method, or the BMRM method without a line search, which is SVM-perf for the hinge.

    Parameters
    ----------
    line_search : bool, default=True
        Choose each plane by a line search on the objective (OCAS), otherwise at the minimizer of the planes (BMRM).
    max_epochs : int, default=1000
        The most planes.
    tol : float, default=1e-3
        Stop if the gap between objective and planes is at most this share of the objective.
    """

    line_search: bool = setting(flag(True))

    def build(self, seed: int) -> CuttingPlanesStepper:
        return CuttingPlanesStepper(float(self.tol), bool(self.line_search), PAIR_STEPS, True)
