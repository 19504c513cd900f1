"""Kernel ridge regression over the span of centers by conjugate gradients, preconditioned as in Falkon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from ... import arrays, kernels
from ...arrays import Array
from ...errors import ShallowsError
from ...kernels import Kernel
from ..settings import Settings, at_least_zero, count, setting
from .kernel_problem import DeviceState, SpanProblem, ratio

SETTLED = 1e-3
"""The iteration stops when it lowers the objective by less than this share."""

ROWS = 256
"""Rows of the centers' matrix that a thread computes at a time on a CPU."""

LEAST_SHIFT = 0.05
"""The preconditioner's λ is at least this times n/p, for a kernel with diagonal 1. The spectrum of the centers
underestimates the weight of small directions at all points: with 1,000 centers of 20,000 points and λ = 0.01 the loss
was within 2 % of its minimum after 10 passes, and three times the minimum with the problem's λ."""

MOST_PASSES_AT_FIRST = 20
"""The most passes over the first rows, for the start of the iteration over all rows."""

_RETRIES = 5


@dataclass(frozen=True)
class NystromPreconditioner:
    """Triangular factors of the matrix of the centers, and of the equations with the centers as rows.

    With L Lᵀ = K_ZZ + μ I and v = Lᵀ α the objective Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖² has the matrix
    L⁻¹ K_ZX W K_XZ L⁻ᵀ + λ I. If the p centers are a sample of the n points, this is approximately
    (n/p) Lᵀ W_Z L + λ I = A Aᵀ, with λ at least `LEAST_SHIFT` n/p.
    """

    factor: Array  # (p, p): L
    inner: Array  # (p, p): A
    jitter: float  # μ, for a real factor in spite of rounding

    def solve(self, residual: Array) -> Array:
        """``(A Aᵀ)⁻¹ residual`` for an array of shape (p, c) in float64."""
        given = arrays.astype(residual, self.inner.dtype)
        solved = arrays.solve_triangular(self.inner, arrays.solve_triangular(self.inner, given), trans="T")
        return arrays.astype(solved, residual.dtype)

    def whitened(self, a: Array) -> Array:
        """``L⁻¹ a``, solved in float64, because float32 loses the small directions."""
        return arrays.solve_triangular_in_double(self.factor, a)

    def coefficients(self, v: Array) -> Array:
        """``L⁻ᵀ v``, the coefficients of coordinates v, in the precision of the factor."""
        return arrays.astype(arrays.solve_triangular_in_double(self.factor, v, trans="T"), self.factor.dtype)


def make_preconditioner(
    kernel: Kernel,
    centers: Array,
    n: int,
    regularization: float,
    weights: Array | None = None,
    *,
    of_all_points: bool = False,
) -> NystromPreconditioner:
    """Factor the kernel matrix of the augmented centers (p, d + 2), and the equations with the centers as rows.

    ``n`` is the number of points, and ``weights`` (p,) belong to the centers. If the centers are all points
    (``of_all_points``) the equations are exact, and in float64 they need no shift. Raises a `ShallowsError` if the
    matrix of the centers is singular to rounding.
    """
    xp, p = arrays.namespace(centers), centers.shape[0]
    # The largest eigenvalue is between a hundredth of the trace and the trace, for bandwidths that generalize.
    diagonal, eps = kernel.diagonal(centers[:, :-2]), float(xp.finfo(centers.dtype).eps)
    trace = n / p * float(xp.sum(diagonal if weights is None else weights * diagonal))
    root = xp.sqrt(n / p * (xp.ones_like(centers[:, -1]) if weights is None else weights))[:, None]
    exact = of_all_points and centers.dtype == xp.float64
    shift = max(regularization, trace * max(0.0 if exact else LEAST_SHIFT / p, 0.25 * eps))
    with arrays.threads_for(p * p):
        factor, jitter = _factor(lambda: _lower_triangle(kernel, centers), 0.25 * eps * float(xp.sum(diagonal)))
        inner, _ = _factor(lambda: arrays.triangular_gram(root * factor), shift)
    return NystromPreconditioner(factor, inner, jitter)


def ridge_for_zero(kernel: Kernel, centers: Array, n: int) -> float:
    """The λ that stands for 0, without which a matrix of low rank has coefficients whose rounding exceeds the targets.

    Rounding ε of the kernel values gives a direction outside the range of K_ZZ + μ I the weight 4 ε n.
    """
    some, xp = centers[: min(centers.shape[0], 1000), :-2], arrays.namespace(centers)
    return 4.0 * float(xp.finfo(centers.dtype).eps) * n * float(xp.max(kernel.diagonal(some)))


def _factor(make: Callable[[], Array], shift: float) -> tuple[Array, float]:
    """The Cholesky factor of a matrix with a shift of its diagonal, which grows if rounding needs more."""
    for _ in range(_RETRIES):
        matrix = make()
        kernels.add_to_diagonal(matrix, shift)
        try:
            return arrays.cholesky_in_place(matrix), shift
        except np.linalg.LinAlgError:
            shift *= 10.0
    raise ShallowsError(
        f"The kernel matrix of the {matrix.shape[0]} centers is singular to rounding; use dtype='float64', fewer "
        "centers or another bandwidth."
    )


def _lower_triangle(kernel: Kernel, centers: Array) -> Array:
    """The kernel matrix of the centers. In a NumPy array the blocks above the diagonal are zero."""
    if not arrays.uses_numpy(centers):
        return kernels.matrix(kernel, centers)
    p = centers.shape[0]
    matrix, strips = np.zeros((p, p), dtype=centers.dtype), list(arrays.blocks(p, ROWS))
    n_workers = min(arrays.workers_for(centers), len(strips))

    def work(worker: int) -> None:
        for rows in strips[worker::n_workers]:
            kernels.values(kernel, centers[rows, :], centers[: rows.stop, :], matrix[rows, : rows.stop])
            kernels.set_diagonal(kernel, matrix[rows, rows], centers[rows, :])

    arrays.in_threads(work, n_workers)
    return matrix


@dataclass(frozen=True)
class NystromProblem(SpanProblem):
    """The problem of the centers, which may begin with a part of the rows."""

    # The iteration starts from the solution of these first rows, which are read in batches of `batch_size`; 0: from
    # zero
    n_first: int = 0
    batch_size: int = 0

    def of_first_rows(self) -> NystromProblem:
        """The problem of the first rows, with their share of λ."""
        rows, share = slice(0, self.n_first), self.n_first / self.targets.shape[0]
        weights = None if self.weights is None else self.weights[rows, :]
        given = {"targets": self.targets[rows, :], "weights": weights, "regularization": share * self.regularization}
        return replace(self, **given, n_first=0)


@dataclass
class NystromState(DeviceState):
    """The state of conjugate gradients; arrays of shape (p, c) are in the coordinates v = Lᵀ α, in float64."""

    counted: ClassVar[tuple[str, ...]] = ("n_seen", "n_passes", "loss", "exhausted", "knows_first_rows")

    coefficients: Array  # (p, c): α of the model
    iterate: Array  # v
    residual: Array  # y − A v, of the equations
    direction: Array
    along: Array  # L⁻ᵀ times the direction, in the precision of the coefficients
    image: Array  # K_ZX W K_XZ times ``along``, over the rows seen; in the first pass K_ZX W (K_XZ α − y)
    start: Array  # The first iterate
    residual_at_start: Array
    product: Array  # (1, c): ⟨r, P⁻¹ r⟩
    squares: Array  # (1, c): Σ wᵢ yᵢ²
    squares_at_start: Array  # (1, c): Σ wᵢ (f(xᵢ) − yᵢ)²
    n_seen: int = 0  # Rows of this pass
    n_passes: int = 0
    loss: float = 0.0  # Σ wᵢ ‖f(xᵢ) − yᵢ‖² of the coefficients
    exhausted: bool = False  # Whether the objectives of all outputs no longer fall
    knows_first_rows: bool = False  # Whether the iteration starts from the solution of the first rows

    @property
    def has_model(self) -> bool:
        """Whether there is a model: after the first pass, or after a start from the first rows."""
        return self.n_passes > 0 or self.knows_first_rows

    def monitored(self) -> tuple[float, float]:
        """The loss at the end of a pass, and the loss of the zero function."""
        return (0.0, 0.0) if self.n_seen else (self.loss, float(arrays.namespace(self.squares).sum(self.squares)))


NystromState.kept = tuple(field.name for field in fields(NystromState) if field.type == "Array")
_OF_OUTPUTS = "product", "squares", "squares_at_start"


@dataclass(frozen=True, kw_only=True)
class NystromConjugateGradients(Settings):
    """Conjugate gradients for the equations of centers, preconditioned as in Falkon.

    Training stops after an iteration that lowers the objective by less than a thousandth. If less than 0.7 of the
    kernel matrix fits into the memory, it starts from the solution on a part of the rows. It needs memory for 2 p²
    numbers with p centers.

    Parameters
    ----------
    max_iterations : int
        The most passes over the training data. The first pass computes the right-hand side.
    tol : float
        Stop after an iteration whose training loss is at most this share of the loss of the zero function.

    Source: A. Rudi, L. Carratino and L. Rosasco (2017), "FALKON: an optimal large scale kernel method", NeurIPS.

    Examples
    --------
    >>> from shallows import KernelRidgeClassifier
    >>> from shallows.solvers import NystromConjugateGradients
    >>> model = KernelRidgeClassifier(centers=5000, solver=NystromConjugateGradients(max_iterations=10))
    """

    max_iterations: int = setting(count(default=20))
    tol: float = setting(at_least_zero(5e-3))

    on_centers: ClassVar[bool] = True
    takes_ranks: ClassVar[bool] = True
    limit: ClassVar[str] = "max_iterations"
    damping: ClassVar[float] = 1.0

    @property
    def max_epochs(self) -> int:
        return self.max_iterations


@dataclass(frozen=True)
class NystromConjugateGradientsStepper:
    """Solves (K_ZX W K_XZ + λ K_ZZ) α = K_ZX W y for all outputs, which share the pass over the rows.

    A pass computes the products with all rows, batch by batch, and ends with an iteration; the first one computes the
    residual. If only part of the matrix is kept, the iteration starts from the solution of the kept rows.
    """

    settled: float = SETTLED

    def init(self, problem: NystromProblem) -> NystromState:
        xp, targets = arrays.namespace(problem.targets), problem.targets
        made = {}
        for name in NystromState.kept:
            rows = 1 if name in _OF_OUTPUTS else problem.centers.shape[0]
            dtype = targets.dtype if name in ("coefficients", "along") else xp.float64
            made[name] = xp.zeros((rows, targets.shape[1]), dtype=dtype)
        made["squares"] = _dots(targets if problem.weights is None else problem.weights * targets, targets)
        return NystromState(**made)

    def step(self, problem: NystromProblem, state: NystromState, batch: slice) -> NystromState:
        p, first = problem.preconditioner, state.n_passes == 0
        if problem.n_first and first and state.n_seen == 0:
            self._learn_first_rows(problem, state)
        image, squares = self._product(problem, state.along, batch, subtracts_targets=first)
        state.image += image
        state.squares_at_start += squares if first else 0.0
        state.n_seen += batch.stop - batch.start
        if state.n_seen < problem.targets.shape[0]:
            return state
        image = p.whitened(state.image)
        if first:
            state.residual = state.residual_at_start = -image - problem.regularization * state.start
            self._turn(problem, state)
            if not state.knows_first_rows:
                state.squares_at_start = state.squares
                # The solution with the centers as rows is the model until the next pass gives the length of the step.
                state.coefficients = arrays.namespace(image).asarray(state.along, copy=True)
            state.loss = float(arrays.namespace(image).sum(state.squares_at_start))
        else:
            self._go(problem, state, image + problem.regularization * state.direction)
        state.image = arrays.namespace(image).zeros_like(image)
        state.n_seen, state.n_passes = 0, state.n_passes + 1
        return state

    def _learn_first_rows(self, problem: NystromProblem, state: NystromState) -> None:
        part = problem.of_first_rows()
        found = self.init(part)
        while found.n_passes < MOST_PASSES_AT_FIRST and not found.exhausted:
            for batch in arrays.blocks(problem.n_first, problem.batch_size):
                found = self.step(part, found, batch)
        state.start = state.iterate = found.iterate
        state.coefficients = state.along = found.coefficients
        state.knows_first_rows = True

    def _go(self, problem: NystromProblem, state: NystromState, image: Array) -> None:
        """Go along the direction; ``image`` is its product with the matrix of the equations."""
        xp, ridge = arrays.namespace(image), problem.regularization
        length = ratio(state.product, _dots(state.direction, image))
        state.iterate = state.iterate + length * state.direction
        state.residual = state.residual - length * image
        state.coefficients = problem.preconditioner.coefficients(state.iterate)
        gone = state.iterate - state.start
        objective = state.squares_at_start + ridge * _dots(state.start, state.start)
        objective = objective - _dots(gone, state.residual_at_start) - _dots(gone, state.residual)
        state.loss = max(float(xp.sum(objective - ridge * _dots(state.iterate, state.iterate))), 0.0)
        gain = length * state.product
        self._turn(problem, state, state.product)
        settled = gain <= self.settled * xp.clip(objective, 0.0, None)
        state.product = xp.where(settled, xp.zeros_like(gain), state.product)
        state.exhausted = bool(xp.all(settled))

    @staticmethod
    def _turn(problem: NystromProblem, state: NystromState, before: Array | None = None) -> None:
        """The next direction, conjugate to the last one, whose product was ``before``."""
        last, state.direction = state.direction, problem.preconditioner.solve(state.residual)
        state.product = _dots(state.residual, state.direction)
        if before is not None:
            state.direction = state.direction + ratio(state.product, before) * last
        state.along = problem.preconditioner.coefficients(state.direction)

    @staticmethod
    def _product(problem: NystromProblem, a: Array, batch: slice, *, subtracts_targets: bool) -> tuple[Array, Any]:
        """K_ZS W K_SZ a for the rows S of a batch; or K_ZS W (K_SZ a − y), and Σ wᵢ (f(xᵢ) − yᵢ)² of each output."""
        targets, weights = problem.targets, problem.weights

        def respond(values: Array, here: slice) -> tuple[Array, Any]:
            values = values - targets[here, :] if subtracts_targets else values
            weighted = values if weights is None else weights[here, :] * values
            return weighted, _dots(weighted, values) if subtracts_targets else 0.0

        return problem.forward_and_back(a, batch, respond, sums=arrays.namespace(targets).float64)


def _dots(a: Array, b: Array) -> Array:
    xp = arrays.namespace(a)
    return xp.sum(arrays.astype(a * b, xp.float64), axis=0)[None, :]
