"""Kernel regularised least squares by preconditioned conjugate gradients: nothing but products with the matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ... import arrays
from ...arrays import Array
from ..solver_parameters import choice, count
from .kernel_problem import KernelProblem, KernelState, dots, ratio
from .low_rank import LowRank, low_rank, low_rank_of_pivots
from .ridge_solver import RidgePlan, RidgeSolver, RidgeTask

NYSTROM, RANDOMLY_PIVOTED = "nystrom", "randomly_pivoted"

REPLACE_EVERY = 50
"""Steps after which residuals are computed anew: in float32 those of the recursion drift from the true ones."""


@dataclass
class ConjugateGradientState(KernelState):
    """Where conjugate gradients stand.

    ``coefficients`` are the smoothed iterates, whose residual never grows. The rest is None before the first step and
    after a resume, and is then made from the coefficients: the iteration begins anew from where they are.
    """

    iterate: Array | None = None
    residual: Array | None = None
    direction: Array | None = None
    smoothed_residual: Array | None = None  # (n, c): that of ``coefficients``
    product: Array | None = None  # (1, c): ⟨r, P⁻¹ r⟩ of each output
    preconditioner: LowRank | None = None
    n_steps: int = 0  # Since the beginning, or since the residuals were computed anew
    jitter: float = 0.0  # What is added to the diagonal beyond the regularisation
    exhausted: bool = False  # Whether no output has a direction left to go along


@dataclass(frozen=True)
class ConjugateGradients:
    """Solves (K + λ W⁻¹ + j I) α = y, the outputs side by side, so that they share the pass over the matrix.

    The plain residuals of conjugate gradients go up and down; those of the smoothed iterates (Schönauer; Zhou and
    Walker 1994) never grow. The loss of a state is the weighted sum of their squares, so that its share of the loss of
    the zero function is the square of the relative residual.

    Parameters
    ----------
    regularisation : float
        λ, for the sum of the losses over all points.
    jitter : float
        j: a part of the diagonal that keeps the matrix positive definite under rounding.
    rounding : float
        Directions whose curvature is smaller, as a share of their square, are not gone along.
    rank, n_subsample : int
        q and M of the preconditioner, see `low_rank.low_rank`; with q = 0 there is none.
    seed : int
        Of its eigensystem, or of the draw of its pivots.
    start : array, shape (n, c), optional
        Coefficients to begin with, such as those of a neighbouring λ; none means zero.
    preconditioner : {"nystrom", "randomly_pivoted", "pivoted"}
        Of the spectrum of a subsample, or of a partial Cholesky factor with random or greedy pivots, see `low_rank`.
    """

    regularisation: float
    jitter: float = 0.0
    rounding: float = 0.0
    rank: int = 0
    n_subsample: int = 0
    seed: int = 0
    start: Array | None = None
    preconditioner: str = NYSTROM

    def init(self, problem: KernelProblem) -> ConjugateGradientState:
        """Coefficients of zero, or those to begin with."""
        xp = arrays.namespace(problem.targets)
        given = self.start is not None and self.start.shape == problem.targets.shape
        first = xp.asarray(self.start, copy=True) if given else xp.zeros_like(problem.targets)
        return ConjugateGradientState(first, 1.0, jitter=self.jitter)

    def step(self, problem: KernelProblem, state: ConjugateGradientState, batch: slice) -> ConjugateGradientState:
        """One product with the matrix. The batch, which is all there is, plays no part."""
        if state.direction is None:
            self._begin(problem, state)
        elif state.n_steps >= REPLACE_EVERY:
            self._replace(problem, state)
        s, xp = state, arrays.namespace(state.coefficients)
        image = self._times(problem, s.direction)
        curvature = dots(s.direction, image)
        # A direction that the matrix sends to nothing but rounding cannot be solved for: contradictory targets of
        # points that coincide lie there. Such an output is left where it is.
        curvature = xp.where(curvature > self.rounding * dots(s.direction, s.direction), curvature, 0.0 * curvature)
        length = ratio(s.product, curvature)
        s.iterate = s.iterate + length * s.direction
        s.residual = s.residual - length * image
        difference = s.residual - s.smoothed_residual
        weighted = difference if problem.weights is None else problem.weights * difference
        share = ratio(-dots(weighted, s.smoothed_residual), dots(weighted, difference))
        s.smoothed_residual = s.smoothed_residual + share * difference
        s.coefficients = s.coefficients + share * (s.iterate - s.coefficients)
        s.loss = squared_residual(problem, s.smoothed_residual)
        preconditioned = _precondition(s, s.residual)
        product = dots(s.residual, preconditioned)
        s.direction = preconditioned + ratio(product, s.product) * s.direction
        s.product = xp.where(curvature > 0, product, xp.zeros_like(product))
        s.exhausted = not bool(xp.any(s.product > 0))
        s.n_steps += 1
        return s

    def _begin(self, problem: KernelProblem, state: ConjugateGradientState) -> None:
        xp = arrays.namespace(problem.targets)
        level = self.regularisation + self.jitter
        if self.rank and self.preconditioner == NYSTROM:
            state.preconditioner = low_rank(
                problem.gram, level, rank=self.rank, n_subsample=self.n_subsample, seed=self.seed
            )
        elif self.rank:
            random = self.preconditioner == RANDOMLY_PIVOTED
            state.preconditioner = low_rank_of_pivots(problem, level, rank=self.rank, random=random, seed=self.seed)
        state.iterate = xp.asarray(state.coefficients, copy=True)
        state.residual = problem.targets
        if bool(xp.any(state.coefficients != 0)):
            state.residual = problem.targets - self._times(problem, state.coefficients)
        state.smoothed_residual = state.residual
        state.direction = _precondition(state, state.residual)
        state.product, state.n_steps = dots(state.residual, state.direction), 0

    def _replace(self, problem: KernelProblem, state: ConjugateGradientState) -> None:
        """True residuals for those of the recursion; the direction stays."""
        xp = arrays.namespace(problem.targets)
        c = problem.targets.shape[1]
        both = self._times(problem, xp.concat([state.iterate, state.coefficients], axis=1))
        state.residual = problem.targets - both[:, :c]
        state.smoothed_residual = problem.targets - both[:, c:]
        state.product, state.n_steps = dots(state.residual, _precondition(state, state.residual)), 0

    def _times(self, problem: KernelProblem, a: Array) -> Array:
        return ridge_product(problem, a, self.regularisation, self.jitter)


def _precondition(state: ConjugateGradientState, residual: Array) -> Array:
    return residual if state.preconditioner is None else state.preconditioner.solve(residual)


def ridge_product(problem: KernelProblem, a: Array, regularisation: float, jitter: float = 0.0) -> Array:
    """(K + λ W⁻¹ + j I) a for ``a`` of shape (n, c)."""
    out = problem.gram.dot(a)
    if regularisation:
        out = out + (regularisation * a if problem.weights is None else regularisation * a / problem.weights)
    return out + jitter * a if jitter else out


def squared_residual(problem: KernelProblem, residual: Array) -> float:
    """Σᵢ wᵢ ‖rᵢ‖²."""
    weighted = residual if problem.weights is None else problem.weights * residual
    return float(arrays.namespace(residual).sum(weighted * residual))


def _plan(n: int, itemsize: int, budget: int, preconditioner: str = NYSTROM, rank: int | None = None) -> RidgePlan:
    # The preconditioner's vectors, n q numbers twice while they are made, should take a small share of the budget.
    affordable, of_sample = int(budget // (16 * itemsize * n)), preconditioner == NYSTROM
    n_subsample = min(n, max(min(max(100, round(12 * math.sqrt(n))), 6000), 3 * (rank or 0)))
    # As many columns of the matrix either way: a sample's are brought down to a third of as many directions.
    rank = max(0, min(rank or (n_subsample // 3 if of_sample else n_subsample), n, affordable))
    squares = 2 * n_subsample**2 if of_sample else 4 * rank**2
    return RidgePlan(
        n,
        lambda _, n_outputs: itemsize * (2 * n * rank + squares + 12 * n * n_outputs),
        rank,
        n_subsample if of_sample else 0,
        preconditioner,
    )


def _make(task: RidgeTask) -> ConjugateGradients:
    # Rounding of the entries is a random matrix of this norm at most; without λ it alone could make K indefinite.
    jitter = task.rounding if task.regularisation < task.rounding else 0.0
    plan = task.plan
    return ConjugateGradients(
        task.regularisation,
        jitter,
        2.0 * task.rounding,
        plan.rank,
        plan.n_subsample,
        task.seed,
        task.start,
        plan.preconditioner,
    )


CONJUGATE_GRADIENTS_SOLVER = RidgeSolver(
    "conjugate_gradients",
    _plan,
    _make,
    {"preconditioner": choice(NYSTROM, RANDOMLY_PIVOTED, "pivoted"), "rank": count()},
)
