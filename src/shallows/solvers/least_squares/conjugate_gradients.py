"""Kernel regularised least squares by preconditioned conjugate gradients: nothing but products with the matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ... import arrays, kernels, spectrum
from ...arrays import Array
from ...gram import Gram
from .columnwise import dots, ratio
from .kernel_problem import KernelProblem, KernelState
from .ridge_solver import RidgePlan, RidgeSolver, RidgeTask


@dataclass(frozen=True)
class LowRank:
    """The inverse of U diag(μ₁, …, μ_q) Uᵀ + ρ (I − U Uᵀ), up to the factor 1/ρ, which changes no iterate."""

    vectors: Array  # (n, q): U, orthonormal columns
    shares: Array  # (q,): 1 − ρ/μᵢ

    def solve(self, a: Array) -> Array:
        """Times the inverse; ``a`` of shape (n, c)."""
        return a - self.vectors @ (self.shares[:, None] * (self.vectors.T @ a))


def low_rank(gram: Gram, regularisation: float, *, rank: int, n_subsample: int, seed: int = 0) -> LowRank | None:
    """The Nyström preconditioner: eigenpairs of the matrix of the first M points, extended to all n.

    For eigenpairs (σᵢ, vᵢ) of K_MM the columns K_nM vᵢ / √σᵢ are a factor of the Nyström approximation of K; with its
    eigenpairs (μᵢ, uᵢ), and λ on both sides, the q directions are brought to the level ρ = μ_q + λ of the last one
    (Frangella, Tropp and Udell 2023).

    The first points of ``gram`` are a random subsample. ``rank, n_subsample``: q and M.
    """
    points, xp = gram.points, arrays.namespace(gram.points)
    m = min(n_subsample, gram.n)
    sample = points[:m, :]
    values, vectors = spectrum.eigensystem(kernels.values(gram.kernel, sample, sample), min(rank, m), seed=seed)
    resolved = int(xp.sum(arrays.astype(values > float(values[0]) * float(xp.finfo(points.dtype).eps) * m, xp.int64)))
    if resolved < 2:
        return None
    vectors = vectors[:, :resolved] / xp.sqrt(values[:resolved])[None, :]
    factor = xp.empty((gram.n, resolved), dtype=points.dtype)
    for rows in arrays.blocks(gram.n, max(gram.tile, 1)):
        factor[rows, :] = kernels.values(gram.kernel, points[rows, :], sample) @ vectors
    small = factor.T @ factor
    values, rotation = xp.linalg.eigh((small + small.T) / 2)
    # Small eigenvalues of the factor's own Gram matrix are rounding, and their vectors are not orthogonal.
    values, rotation = xp.flip(values), xp.flip(rotation, axis=1)
    kept = int(xp.sum(arrays.astype(values > float(values[0]) * 1e3 * float(xp.finfo(points.dtype).eps), xp.int64)))
    if kept < 2:
        return None
    values = values[:kept]
    basis = factor @ (rotation[:, :kept] / xp.sqrt(values)[None, :])
    level = float(values[kept - 1]) + regularisation
    return LowRank(basis[:, : kept - 1], 1.0 - level / (values[: kept - 1] + regularisation))


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
        q and M of the preconditioner, see `nystrom.low_rank`; with q = 0 there is none.
    seed : int
        Of its eigensystem.
    start : array, shape (n, c), optional
        Coefficients to begin with, such as those of a neighbouring λ; none means zero.
    """

    regularisation: float
    jitter: float = 0.0
    rounding: float = 0.0
    rank: int = 0
    n_subsample: int = 0
    seed: int = 0
    start: Array | None = None

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
        if self.rank:
            state.preconditioner = low_rank(
                problem.gram,
                self.regularisation + self.jitter,
                rank=self.rank,
                n_subsample=self.n_subsample,
                seed=self.seed,
            )
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


def _plan(n: int, itemsize: int, budget: int) -> RidgePlan:
    # The preconditioner's vectors, n q numbers twice while they are made, should take a small share of the budget.
    affordable = int(budget // (16 * itemsize * n))
    n_subsample = min(n, max(100, round(12 * math.sqrt(n))), 6000)
    rank = max(0, min(n_subsample // 3, affordable))
    return RidgePlan(
        n, lambda _, n_outputs: itemsize * (2 * n * rank + 2 * n_subsample**2 + 12 * n * n_outputs), rank, n_subsample
    )


def _make(task: RidgeTask) -> ConjugateGradients:
    # Rounding of the entries is a random matrix of this norm at most; without λ it alone could make K indefinite.
    jitter = task.rounding if task.regularisation < task.rounding else 0.0
    plan = task.plan
    return ConjugateGradients(
        task.regularisation, jitter, 2.0 * task.rounding, plan.rank, plan.n_subsample, task.seed, task.start
    )


CONJUGATE_GRADIENTS_SOLVER = RidgeSolver("conjugate_gradients", _plan, _make)
