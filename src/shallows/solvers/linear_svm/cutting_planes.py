"""Cutting planes: BMRM, which for the hinge is SVM-perf's method of one slack, and OCAS with its line search."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .problem import HINGE, LinearState, LinearSVMProblem
from .rows import products
from .simplex_qp import maximise_by_active_sets, maximise_on_simplex


@dataclass
class PlanesState(LinearState):
    """The state of a cutting-plane method.

    ``coefficients`` (d,): the best w so far.
    """

    objective: float = math.inf  # P of it
    bound: float = -math.inf  # The minimum of the model, at most that of P
    planes: np.ndarray | None = None  # (p, d): subgradients of the risk
    heights: np.ndarray | None = None  # (p,): risk less subgradient times w, where each was taken
    products: np.ndarray | None = None  # (p, p): of the planes with each other
    shares: np.ndarray | None = None  # (p,): the dual variables of the planes: none negative, their sum is 1
    next_point: np.ndarray | None = None  # (d,): where the next plane is taken
    by_active_sets: bool = False  # Whether steps on pairs have failed to solve the smaller problem


@dataclass(frozen=True)
class CuttingPlanes:
    """w ← argmin λ/2 ‖w‖² + max_j (aⱼᵀw + bⱼ), where each plane touches the risk from below at an earlier point.

    The smaller problem has as many dual variables as there are planes. Its minimum bounds P from below, and the best
    of the points is the model. A step of the protocol is a given number of planes. The end is where P exceeds the
    bound by ``tolerance`` of P.

    Parameters
    ----------
    tolerance : float
    line_search : bool
        Minimise P between the best point and the model's minimum, and take the next plane a tenth of the way from
        there to the minimum (OCAS).
    pair_steps : int
        Of the smaller problem, at most.
    active_sets : bool
        Go on by active sets where so many steps on pairs do not solve the smaller problem, as with columns of different
        scales.

    References
    ----------
    T. Joachims (2006), "Training linear SVMs in linear time", KDD 12. C. H. Teo, S. V. N. Vishwanathan, A. Smola and
    Q. V. Le (2010), "Bundle methods for regularized risk minimization", Journal of Machine Learning Research 11.
    V. Franc and S. Sonnenburg (2009), "Optimized cutting plane algorithm for large-scale risk minimization", Journal of
    Machine Learning Research 10.
    """

    tolerance: float = 1e-3
    line_search: bool = False
    pair_steps: int = 100_000
    active_sets: bool = False

    def init(self, problem: LinearSVMProblem) -> PlanesState:
        """The zero vector without a plane."""
        d = problem.n_features
        return PlanesState(
            np.zeros(d),
            planes=np.empty((0, d)),
            heights=np.empty(0),
            products=np.empty((0, 0)),
            shares=np.empty(0),
            next_point=np.zeros(d),
        )

    def step(self, problem: LinearSVMProblem, state: PlanesState, batch: int) -> PlanesState:
        """``batch`` planes, or fewer at the end."""
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
        """The plane that touches the risk at the next point; the point is kept if it is the best."""
        w = state.next_point
        margins = problem.margins(w)
        risk, plane = problem.risk(margins), problem.risk_gradient(margins)
        _keep_if_better(state, w, 0.5 * problem.regularisation * float(w @ w) + risk)
        with_others = state.planes @ plane
        p = len(state.heights)
        grown = np.empty((p + 1, p + 1))
        grown[:p, :p], grown[:p, p], grown[p, :p], grown[p, p] = state.products, with_others, with_others, plane @ plane
        state.products = grown
        state.planes = np.vstack([state.planes, plane])
        state.heights = np.append(state.heights, risk - float(plane @ w))
        state.shares = np.append(state.shares, 0.0 if p else 1.0)

    def _minimum_of_model(self, problem: LinearSVMProblem, state: PlanesState) -> np.ndarray:
        # Solved so much more exactly than asked for that the gap is that of the planes.
        allowed, Q = 0.01 * self.tolerance * state.objective, state.products / problem.regularisation
        if not state.by_active_sets:
            value, ended = maximise_on_simplex(Q, state.heights, state.shares, allowed, self.pair_steps)
            state.by_active_sets = self.active_sets and not ended
        if state.by_active_sets:
            maximise_by_active_sets(Q, state.heights, state.shares, allowed)
        w = -(state.shares @ state.planes) / problem.regularisation
        if state.by_active_sets:
            value = float(state.heights @ state.shares) - 0.5 * problem.regularisation * float(w @ w)
        state.bound = max(state.bound, value)
        return w

    def _search(self, problem: LinearSVMProblem, state: PlanesState, w: np.ndarray) -> None:
        direction = w - state.coefficients
        margins, slopes = problem.margins(state.coefficients), problem.signs * products(problem.rows, direction)
        a = minimum_on_line(problem, state.coefficients, direction, margins, slopes)
        best = state.coefficients + a * direction
        value = 0.5 * problem.regularisation * float(best @ best) + problem.risk(margins + a * slopes)
        _keep_if_better(state, best, value)
        state.next_point = 0.9 * best + 0.1 * w


def _keep_if_better(state: PlanesState, w: np.ndarray, value: float) -> None:
    if value < state.objective:
        state.coefficients, state.objective = w.copy(), value


def minimum_on_line(
    problem: LinearSVMProblem, w: np.ndarray, direction: np.ndarray, margins: np.ndarray, slopes: np.ndarray
) -> float:
    """The a ≥ 0 that minimises P(w + a d), for the hinge from its sorted kinks.

    The derivative along the line rises linearly between the kinks and jumps at each; its zero is the minimum.
    """
    lam = problem.regularisation
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
    # An example with a rising margin stops to be missed at its kink, one with a falling margin begins to be.
    ahead = np.flatnonzero((slopes != 0) & (kinks > 0))
    ahead = ahead[np.argsort(kinks[ahead], kind="stable")]
    places, jumps = kinks[ahead], np.abs(each[ahead])
    before = derivative + np.concatenate([[0.0], np.cumsum(jumps)])
    ends = np.append(places, np.inf)
    # The first stretch at whose end the derivative is not negative any more.
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
