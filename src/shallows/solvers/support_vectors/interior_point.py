"""A primal-dual interior-point method for kernel machines with an intercept."""

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg

from .dense_problem import DenseProblem, DenseSettings, DenseState, factor

LONGEST = 0.995  # share of the step to the nearest bound that is taken
AT_BOUND = (1e-3, 1e-4)
"""At the end a variable is set to a bound if its distance, in units of C, is below this share of the multiplier; the
first share that keeps the objectives within the tolerance of each other."""

NEAREST = 1e-10  # the gap at which iterations end anyway, without setting variables to bounds


@dataclass
class InteriorPointState(DenseState):
    """The state of an interior-point method."""

    # (n,): α inside its bounds; ``coefficients`` is yα, at the end with variables set to their bounds
    inner: np.ndarray = field(default_factory=lambda: np.zeros(0))
    low: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (n,): multipliers of α ≥ 0
    high: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (n,): multipliers of α ≤ C
    shift: float = 0.0  # the multiplier b of Σ yᵢαᵢ = 0


@dataclass(frozen=True)
class InteriorPointStepper:
    """Newton steps on the conditions of optimality of the dual problem, with a barrier that falls.

    Minimize ½ αᵀQα − Σ αᵢ over 0 ≤ αᵢ ≤ Cᵢ and Σ yᵢαᵢ = 0, with Q = yyᵀ ∘ K (for the squared hinge + diag(1/C), without
    upper bounds). A step makes Qα − 1 + by − z + u and Σ yᵢαᵢ zero, and zᵢαᵢ and uᵢ(Cᵢ − αᵢ) equal to a barrier μ, to
    first order. Each iteration factors Q + diag(z/α + u/(C − α)) once and takes Mehrotra's prediction and correction.
    Sources: M. C. Ferris and T. S. Munson (2002), SIAM J. Optimization 13; S. Mehrotra (1992), SIAM J. Optimization 2.
    """

    tolerance: float = 1e-8

    def init(self, problem: DenseProblem) -> InteriorPointState:
        """α in the middle of its bounds, all multipliers 1."""
        n = len(problem.signs)
        inner = np.minimum(0.5 * problem.C, 1.0) if problem.squared else 0.5 * problem.C
        high = np.zeros(n) if problem.squared else np.ones(n)
        return InteriorPointState(np.zeros(n), inner=inner, low=np.ones(n), high=high)

    def step(self, problem: DenseProblem, state: InteriorPointState, batch: int) -> InteriorPointState:
        for _ in range(batch):
            if state.exhausted:
                break
            self._iterate(problem, state)
        return state

    def _iterate(self, problem: DenseProblem, state: InteriorPointState) -> None:
        y, squared = problem.signs, problem.squared
        a, low, high, b = state.inner, state.low, state.high, state.shift
        room = np.ones_like(a) if squared else problem.C - a
        values = problem.matrix @ (y * a)
        product = y * values + (a / problem.C if squared else 0.0)
        residual, excess = product - 1.0 + b * y - low + high, float(y @ a)
        gap = float(low @ a + high @ room)
        relative = gap / (abs(float(a.sum()) - 0.5 * float(a @ product)) + 1e-300)
        state.gap = max(relative, relative_gap(problem, a, b, values))
        if max(state.gap, np.abs(residual).max(), abs(excess) / a.sum()) <= self.tolerance:
            settled = self._settled(problem, state, room)
            if settled is None and state.gap <= NEAREST:
                settled = a
            if settled is not None:
                state.coefficients, state.intercept, state.exhausted = y * settled, b, True
                return
        matrix = np.multiply(problem.matrix, y)
        matrix *= y[:, None]
        places = np.arange(len(a))
        matrix[places, places] += low / a + high / room + (1.0 / problem.C if squared else 0.0)
        cholesky = factor(matrix)
        of_signs = scipy.linalg.cho_solve(cholesky, y, check_finite=False)
        n_bounds = len(a) * (1 if squared else 2)
        barrier, (da, dlow, dhigh) = 0.0, (np.zeros_like(a) for _ in range(3))
        for corrected in (False, True):
            # The second turn corrects for products of the predicted changes, which the linear equations ignore.
            first = (barrier - low * a - (dlow * da if corrected else 0.0)) / a
            second = 0.0 if squared else (barrier - high * room + (dhigh * da if corrected else 0.0)) / room
            moved = scipy.linalg.cho_solve(cholesky, first - second - residual, check_finite=False)
            db = (float(y @ moved) + excess) / float(y @ of_signs)
            da = moved - db * of_signs
            dlow = first - low / a * da
            dhigh = np.zeros_like(a) if squared else second + high / room * da
            step = min(longest_step(a, da), longest_step(low, dlow))
            if not squared:
                step = min(step, longest_step(room, -da), longest_step(high, dhigh))
            if not corrected:
                after = float((low + step * dlow) @ (a + step * da))
                after += 0.0 if squared else float((high + step * dhigh) @ (room - step * da))
                barrier = (after / gap) ** 3 * gap / n_bounds
        step *= LONGEST
        state.inner, state.low, state.high = a + step * da, low + step * dlow, high + step * dhigh
        state.shift = b + step * db
        state.coefficients, state.intercept = y * state.inner, state.shift
        state.n_steps += 1

    def _settled(self, problem: DenseProblem, state: InteriorPointState, room: np.ndarray) -> np.ndarray | None:
        """α with variables set to their bounds; None if the gap would then exceed the tolerance."""
        y = problem.signs
        for share in AT_BOUND:
            a = np.where(state.inner < share * problem.C * state.low, 0.0, state.inner)
            if not problem.squared:
                a = np.where(room < share * problem.C * state.high, problem.C, a)
            gap = relative_gap(problem, a, state.shift, problem.matrix @ (y * a))
            if max(gap, abs(float(y @ a)) / state.inner.sum()) <= self.tolerance:
                return a
        return None


def relative_gap(problem: DenseProblem, a: np.ndarray, b: float, values: np.ndarray) -> float:
    """By what share of the dual objective the primal objective exceeds it; ``values`` are f(xᵢ)."""
    y, own = problem.signs, 0.5 * float(np.sum(a * a / problem.C)) if problem.squared else 0.0
    half = 0.5 * float((y * a) @ values)
    missed = np.maximum(0.0, 1.0 - y * (values + b))
    loss = float(problem.C @ (0.5 * missed * missed if problem.squared else missed))
    dual = float(a.sum()) - half - own
    return (half + loss - dual) / (abs(dual) + 1e-300)


def longest_step(x: np.ndarray, change: np.ndarray) -> float:
    """The longest step up to 1 for which x + step · change stays positive."""
    falling = change < 0
    return min(1.0, float(np.min(x[falling] / -change[falling]))) if falling.any() else 1.0


@dataclass(frozen=True, kw_only=True)
class InteriorPoint(DenseSettings):
    """An interior-point method: about ten iterations, each with a Cholesky factor of the whole kernel matrix.

    Parameters
    ----------
    tol : float
        Largest relative gap between the primal and the dual objective.
    max_iterations : int, optional
        Most iterations for two classes. None: 300.
    """

    def build(self, seed: int) -> InteriorPointStepper:
        return InteriorPointStepper(float(self.tol))
