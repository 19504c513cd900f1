"""Kernel ridge regression by preconditioned conjugate gradients, which need only products with the matrix."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ... import arrays, kernels, spectrum
from ...arrays import Array
from ...features.pivoted_cholesky import pivoted_cholesky
from ...gram import Gram
from ...kernels import Kernel
from ..settings import at_least_zero, choice, count, setting
from .kernel_problem import (
    KernelProblem,
    KernelState,
    RidgePlan,
    RidgeSolver,
    dots,
    ratio,
    ridge_product,
    squared_residual,
)

NYSTROM, RANDOMLY_PIVOTED = "nystrom", "randomly_pivoted"

REPLACE_EVERY = 50
"""Steps after which residuals are recomputed: in float32 the recursion drifts from the true residuals."""


@dataclass(frozen=True)
class LowRank:
    """The inverse R (I − V diag(s) Vᵀ) R of a preconditioner, up to a factor, which changes no iterate.

    If V has orthonormal columns, sᵢ = 1 − ρ/μᵢ inverts V diag(μ₁, …, μ_q) Vᵀ + ρ (I − V Vᵀ), times ρ.
    """

    vectors: Array  # (n, q): V
    shares: Array  # (q,): s
    root: Array | None = None  # (n, 1): the diagonal of R. None is I

    def solve(self, a: Array) -> Array:
        """The inverse times ``a``, shape (n, c)."""
        a = a if self.root is None else self.root * a
        solved = a - self.vectors @ (self.shares[:, None] * (self.vectors.T @ a))
        return solved if self.root is None else self.root * solved


def low_rank(gram: Gram, regularization: float, *, rank: int, n_subsample: int, seed: int = 0) -> LowRank | None:
    """The Nyström preconditioner: eigenpairs of the matrix of the first M points, extended to all n.

    For eigenpairs (σᵢ, vᵢ) of K_MM the columns K_nM vᵢ / √σᵢ are a factor of the approximation of K, with the
    eigenpairs (μᵢ, uᵢ). The q (``rank``) directions are brought to the level ρ = μ_q + λ (Frangella, Tropp and Udell
    2023).
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
    # Small eigenvalues of the factor's Gram matrix are rounding, and their vectors are not orthogonal.
    values, rotation = xp.flip(values), xp.flip(rotation, axis=1)
    kept = int(xp.sum(arrays.astype(values > float(values[0]) * 1e3 * float(xp.finfo(points.dtype).eps), xp.int64)))
    if kept < 2:
        return None
    values = values[:kept]
    basis = factor @ (rotation[:, :kept] / xp.sqrt(values)[None, :])
    level = float(values[kept - 1]) + regularization
    return LowRank(basis[:, : kept - 1], 1.0 - level / (values[: kept - 1] + regularization))


def low_rank_of_pivots(
    problem: KernelProblem, regularization: float, *, rank: int, random: bool, seed: int = 0
) -> LowRank | None:
    """The inverse of F Fᵀ + D with the partial Cholesky factor F of W^½ K W^½, between two W^½.

    With D = λI this is K + λ W⁻¹ without the remainder of the factorization (Díaz and others 2023). With the
    remainder's diagonal d and its mean m, D = λI + ½ (diag(d) + mI) has its trace, which saves two thirds of the
    iterations. With G = D^−½ F and L Lᵀ = I + GᵀG the inverse is D^−½ (I − T Tᵀ) D^−½ for T = G L^−ᵀ.
    """
    gram, weights = problem.gram, problem.weights
    factored = pivoted_cholesky(gram.kernel, gram.points, rank, random=random, weights=weights, seed=seed)
    F, xp = factored.factor, arrays.namespace(gram.points)
    (n, r), eps = F.shape, float(xp.finfo(F.dtype).eps)
    if r == 0:
        return None
    # A D below the rounding of the matrix is not better, and I must stay above the rounding of GᵀG.
    rounding = 4.0 * eps * n**0.5 + 16.0 * float(xp.finfo(xp.float64).eps) * n
    least = max(regularization, rounding * float(xp.max(xp.abs(F))) ** 2)
    root = (least + 0.5 * (factored.remainder + factored.remainder.mean())) ** -0.5
    root = arrays.like(root, F, xp.float64)[:, None]
    blocks = list(arrays.blocks(n, max(gram.tile, 1)))

    def scaled(rows: slice) -> Array:
        return root[rows, :] * arrays.astype(F[rows, :], xp.float64)

    inner = xp.eye(r, dtype=xp.float64)
    for rows in blocks:
        block = scaled(rows)
        inner = inner + block.T @ block
    inner = xp.linalg.cholesky(inner)
    vectors = xp.empty((n, r), dtype=F.dtype)
    for rows in blocks:
        vectors[rows, :] = arrays.astype(arrays.solve_triangular(inner, scaled(rows).T).T, F.dtype)
    root = arrays.astype(root / xp.max(root), F.dtype)
    # The vectors are rounded, and I − T Tᵀ stays positive definite.
    shares = xp.full((r,), 1.0 - 8.0 * eps, dtype=F.dtype)
    return LowRank(vectors, shares, root if weights is None else root * xp.sqrt(weights))


@dataclass
class ConjugateGradientState(KernelState):
    """The state of conjugate gradients; the coefficients are the smoothed iterates, whose residual never grows.

    The other arrays are None before the first step and after a resume; the iteration then starts from the coefficients.
    """

    iterate: Array | None = None
    residual: Array | None = None
    direction: Array | None = None
    smoothed_residual: Array | None = None  # (n, c): the residual of ``coefficients``
    product: Array | None = None  # (1, c): ⟨r, P⁻¹ r⟩ of each output
    preconditioner: LowRank | None = None
    n_steps: int = 0  # Since the residuals were computed last
    jitter: float = 0.0  # Added to the diagonal in addition to λ
    exhausted: bool = False  # Whether no output has a direction left


@dataclass(frozen=True)
class ConjugateGradientsStepper:
    """Solves (K + λ W⁻¹ + j I) α = y for all outputs, which share the pass over the matrix.

    The residuals of the smoothed iterates (Schönauer; Zhou and Walker 1994) never grow; the loss is their weighted
    square.
    """

    regularization: float  # λ, for the sum of the losses over all points
    jitter: float = 0.0  # j, which keeps the matrix positive definite under rounding
    rounding: float = 0.0  # Directions with a smaller curvature, as a share of their square, are skipped
    rank: int = 0  # q of the preconditioner; 0 for no preconditioner
    n_subsample: int = 0  # M
    seed: int = 0  # Of the eigensystem or the pivots
    start: Array | None = None  # (n, c): The first coefficients, such as the solution for another λ. None is zero
    preconditioner: str = NYSTROM

    def init(self, problem: KernelProblem) -> ConjugateGradientState:
        xp = arrays.namespace(problem.targets)
        given = self.start is not None and self.start.shape == problem.targets.shape
        first = xp.asarray(self.start, copy=True) if given else xp.zeros_like(problem.targets)
        return ConjugateGradientState(first, 1.0, jitter=self.jitter)

    def step(self, problem: KernelProblem, state: ConjugateGradientState, batch: slice) -> ConjugateGradientState:
        if state.direction is None:
            self._begin(problem, state)
        elif state.n_steps >= REPLACE_EVERY:
            self._replace(problem, state)
        s, xp = state, arrays.namespace(state.coefficients)
        image = self._times(problem, s.direction)
        curvature = dots(s.direction, image)
        # A direction whose image is only rounding has no solution, for instance different targets of points that
        # coincide. Such an output stays as it is.
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
        level = self.regularization + self.jitter
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
        xp = arrays.namespace(problem.targets)
        c = problem.targets.shape[1]
        both = self._times(problem, xp.concat([state.iterate, state.coefficients], axis=1))
        state.residual = problem.targets - both[:, :c]
        state.smoothed_residual = problem.targets - both[:, c:]
        state.product, state.n_steps = dots(state.residual, _precondition(state, state.residual)), 0

    def _times(self, problem: KernelProblem, a: Array) -> Array:
        return ridge_product(problem, a, self.regularization, self.jitter)


def _precondition(state: ConjugateGradientState, residual: Array) -> Array:
    return residual if state.preconditioner is None else state.preconditioner.solve(residual)


@dataclass(frozen=True, kw_only=True)
class ConjugateGradients(RidgeSolver):
    """Preconditioned conjugate gradients: products with the kernel matrix, of which as much is kept as memory allows.

    Parameters
    ----------
    preconditioner : {"nystrom", "randomly_pivoted", "pivoted"}
        From the spectrum of a subsample, or from a partial Cholesky factor with random or greedy pivots.
    rank : int, optional
        q of the preconditioner. None: as much as the memory allows, up to 4 √n or 12 √n.
    tol : float
        Stop when the norm of the residual is at most this share of the norm of the targets.
    max_iterations : int
        The most iterations.

    Examples
    --------
    >>> from shallows import KernelRidgeRegressor
    >>> from shallows.solvers import ConjugateGradients
    >>> model = KernelRidgeRegressor(solver=ConjugateGradients(rank=100))
    """

    preconditioner: str = setting(choice(NYSTROM, RANDOMLY_PIVOTED, "pivoted"))
    rank: int | None = setting(count())
    tol: float = setting(at_least_zero(1e-4))
    max_iterations: int = setting(count(default=1000))

    limit: ClassVar[str] = "max_iterations"
    name: ClassVar[str] = "conjugate_gradients"

    @property
    def max_epochs(self) -> int:
        return self.max_iterations

    def sizes(self, n: int, itemsize: int, budget: int, *, all_equal: bool) -> tuple[int, int, int]:
        # The preconditioner's vectors, n q numbers twice while they are made, should take a small share of the budget.
        affordable, of_sample = int(budget // (16 * itemsize * n)), self.preconditioner == NYSTROM
        n_subsample = min(n, max(min(max(100, round(12 * math.sqrt(n))), 6000), 3 * (self.rank or 0)))
        # Both need the same number of columns of the matrix. A sample gives a third of that number of directions.
        rank = max(0, min(self.rank or (n_subsample // 3 if of_sample else n_subsample), n, affordable))
        return n, rank, n_subsample if of_sample else 0

    def step_bytes(self, plan: RidgePlan, n_outputs: int, itemsize: int) -> int:
        squares = 2 * plan.n_subsample**2 if self.preconditioner == NYSTROM else 4 * plan.rank**2
        return itemsize * (2 * plan.batch_size * plan.rank + squares + 12 * plan.batch_size * n_outputs)

    def stepper(
        self, plan: RidgePlan, points: Array, ridge: float, n_left_out: int, start: Array | None
    ) -> ConjugateGradientsStepper:
        rounding = rounding_of(plan.kernel, points)
        # Rounding of the entries is a random matrix of this norm at most; without λ it alone could make K indefinite.
        jitter = rounding if ridge < rounding else 0.0
        of_plan = plan.rank, plan.n_subsample, plan.seed
        return ConjugateGradientsStepper(ridge, jitter, 2.0 * rounding, *of_plan, start, self.preconditioner)

    def report(self, plan: RidgePlan, problem: Any, stepper: Any, run: Any) -> dict[str, Any]:
        return {"preconditioner": self.preconditioner, **super().report(plan, problem, stepper, run)}


def rounding_of(kernel: Kernel, points: Any) -> float:
    """A bound of the norm of the rounding errors of the kernel matrix."""
    some, xp = points[: min(points.shape[0], 1000), :-2], arrays.namespace(points)
    largest_diagonal = max(float(xp.max(kernel.diagonal(some))), 1e-300)
    return 4.0 * float(xp.finfo(points.dtype).eps) * math.sqrt(points.shape[0]) * largest_diagonal
