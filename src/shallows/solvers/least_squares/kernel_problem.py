"""Kernel least squares: the problem, the base of the settings of its solvers, and the states that these keep."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ... import arrays
from ...arrays import Array
from ...errors import ShallowsError
from ...gpu.fused_expressions import fused
from ...gram import Gram, ShuffledGram, rectangular
from ...kernels import Kernel
from ...ranks import ALONE, Alone
from ...spectrum import Preconditioner
from ..settings import Settings

DIRECT_BYTES = 8 * 1.2
"""Bytes of a factorization for every entry of the matrix: a double, factored in place, and room for the check."""


NOTHING: Any = None


@dataclass(frozen=True)
class KernelFit:
    """What a solver plans its steps from, before any large array exists, and makes its problem from."""

    kernel: Kernel
    points: Array  # (n, d + 2): augmented training points, in the order of the fit
    weights: Array | None  # (n,): sample weights
    seed: int
    ridge: float  # λ
    eigensystem: Any = None  # Eigenvalues and eigenvectors of the kernel matrix, if the choice of λ computed them
    all_equal: bool = False  # Whether all points are the same
    n_outputs: int = 1  # Of the model; further outputs may be trained for a calibration
    budget: int = 0  # Bytes for everything but the points; not used for centers, whose fit divides the memory
    n_left_out: int = 0  # The last rows that an exact solver leaves out one by one in closed form
    start: Array | None = None  # (n, c): first coefficients, for exact solvers


@dataclass(frozen=True)
class KernelSolver(Settings):
    """Base of the settings of solvers whose model is a sum of kernel functions at all training points.

    A fit calls `plan`, `build` and `report` in this order.
    """

    n_arrays: ClassVar[int] = 6
    """The most arrays of the targets' shape that a fit holds: the targets, the iterate, the iterate at the start of the
    epoch, the best one, a copy for a checkpoint and one for intermediate results."""
    own_threads: ClassVar[bool] = False
    """Whether our own threads share the large products of a step, while the threads of BLAS rest."""
    ranks: ClassVar[Any] = ALONE
    """The processes that take the steps."""
    is_exact: ClassVar[bool] = False
    """Whether it solves the equations. Others can train further outputs, with other weights, next to the model."""
    is_direct: ClassVar[bool] = False
    """Whether one step in double precision is the solution."""
    solves_singular: ClassVar[bool] = True
    """Whether it has a solution if all points are equal and λ = 0."""
    on_centers: ClassVar[bool] = False
    """Whether the functions of centers span the model, and not those of all points."""
    takes_ridge: ClassVar[bool] = True
    """Whether it can have λ."""
    limit: ClassVar[str] = "max_epochs"
    """The parameter that limits the passes over the rows."""
    remedies: ClassVar[str] = "more iterations"
    """What helps if the iterations end above the tolerance, for the warning."""

    # Without annotations, so that they are no fields and a solver may make them fields.
    tol = 1e-4
    """The share of the zero function's loss, or of the norm of the targets, at which a training stops."""
    shuffle = False
    """Whether the rows of each batch are drawn again in every epoch."""
    preconditioner = NOTHING
    """The user's preconditioner of the steps."""

    @property
    def max_epochs(self) -> int:
        raise NotImplementedError

    def with_preconditioner_read(self) -> KernelSolver:
        """The solver with the user's preconditioner, which may be a file."""
        return self

    def plan(self, fit: KernelFit) -> Any:
        raise NotImplementedError

    def build(self, plan: Any, fit: KernelFit, targets: Array, weights: Array | None) -> tuple[KernelProblem, Any]:
        """Make the problem and the stepper; targets and weights (n, c) may have further columns for a calibration."""
        raise NotImplementedError

    def report(self, plan: Any, problem: KernelProblem, stepper: Any, run: Any) -> dict[str, Any]:
        """The entries of ``report_`` about the solver."""
        raise NotImplementedError

    def step_bytes(self, plan: Any, n_outputs: int, itemsize: int) -> int:
        """Bytes of one step: the batch's kernel values with the subsample, its outputs, and the preconditioner."""
        p = plan.preconditioner
        if p is None:
            return 4 * plan.batch_size * n_outputs * itemsize
        per_row = p.n_subsample + 4 * n_outputs
        return (plan.batch_size * per_row + p.n_subsample * (p.rank + 4 * n_outputs)) * itemsize

    def n_kept(self, n: int, itemsize: int, budget: int) -> int:
        """How many of the first rows, in the order of the fit, every further set of outputs must be trained on."""
        return 0


@dataclass(frozen=True)
class RidgePlan:
    """The sizes of a fit, decided before any large array exists."""

    kernel: Kernel
    batch_size: int  # Rows of a step
    rank: int = 0  # Of a preconditioner; 0 without one
    n_subsample: int = 0
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class RidgeSolver(KernelSolver):
    """Base of the settings of exact solvers. A solver adds ``max_epochs, sizes, step_bytes, stepper``."""

    name: ClassVar[str] = ""
    is_exact: ClassVar[bool] = True

    def sizes(self, n: int, itemsize: int, budget: int, *, all_equal: bool) -> tuple[int, int, int]:
        """Rows of a step, and the rank and the subsample of a preconditioner, 0 without one."""
        raise NotImplementedError

    def stepper(self, plan: RidgePlan, points: Array, ridge: float, n_left_out: int, start: Array | None) -> Any:
        raise NotImplementedError

    def plan(self, fit: KernelFit) -> RidgePlan:
        sizes = self.sizes(fit.points.shape[0], arrays.itemsize(fit.points), fit.budget, all_equal=fit.all_equal)
        return RidgePlan(fit.kernel, *sizes, seed=fit.seed)

    def build(
        self, plan: RidgePlan, fit: KernelFit, targets: Array, weights: Array | None
    ) -> tuple[KernelProblem, Any]:
        problem = KernelProblem(Gram(plan.kernel, fit.points, budget=fit.budget), targets, weights)
        return problem, self.stepper(plan, fit.points, fit.ridge, fit.n_left_out, fit.start)

    def report(self, plan: RidgePlan, problem: Any, stepper: Any, run: Any) -> dict[str, Any]:
        return {
            "solver": self.name,
            "jitter": getattr(run.state, "jitter", 0.0),
            "relative_residual": max(run.losses[-1], 0.0) ** 0.5,
            "n_iterations": max(run.epoch, 1),
            "rank": plan.rank,
            "n_subsample": plan.n_subsample,
        }


def gram_of_rows(kernel: Kernel, points: Array, budget: int, batch_size: int, *, shuffle: bool) -> Gram:
    """The kernel matrix of the points: in tiles, or with ``shuffle`` in rows for batches of any rows."""
    if shuffle:
        matrix: Any = ShuffledGram(kernel, points, budget=budget, batch_size=batch_size)  # has the products of a step
        return matrix
    return Gram(kernel, points, budget=budget)


@dataclass(frozen=True)
class KernelProblem:
    """Weighted least squares in the space of a kernel: minimize Σᵢ wᵢ ‖f(xᵢ) − yᵢ‖² over f = Σⱼ αⱼ k(xⱼ, ·)."""

    # Kernel matrix of the n training points. The points of the preconditioner's subsample come first
    gram: Gram
    targets: Array  # (n, c)
    # (n, 1) or (n, c): Sample weights, for all outputs or for each. None: all are one. A weight of zero removes a row.
    weights: Array | None = None
    preconditioner: Preconditioner = NOTHING
    # λ: minimize Σᵢ wᵢ ‖f(xᵢ) − yᵢ‖² + λ ‖f‖². Rows of weight zero must lie outside the preconditioner's subsample.
    regularization: float = 0.0

    def inverse_weights(self, rows: slice) -> Array | float:
        """1/w of some rows, and 0 for w = 0: the factor of λ in K + λW⁻¹."""
        if self.weights is None:
            return 1.0
        xp, here = arrays.namespace(self.weights), self.weights[rows, :]
        return xp.where(here > 0, 1.0 / xp.where(here > 0, here, xp.ones_like(here)), xp.zeros_like(here))


@dataclass(frozen=True)
class SpanProblem:
    """Minimize Σᵢ wᵢ ‖f(xᵢ) − yᵢ‖² + λ ‖f‖² over f = Σⱼ αⱼ k(zⱼ, ·) with p centers zⱼ."""

    kernel: Kernel
    centers: Array  # (p, d + 2): augmented
    points: Callable[[slice], Array]  # Returns a slice of the n augmented training points, shape (m, d + 2)
    targets: Array  # (n, c)
    preconditioner: Any
    weights: Array | None = None  # (n, 1) or (n, c)
    regularization: float = 0.0  # λ
    budget: int = 2**28  # Bytes that strips of the kernel matrix may take
    kept: rectangular.KeptStrips | None = None  # Strips that stay from epoch to epoch
    ranks: Alone = ALONE  # Each process computes the part of its piece of a batch

    def forward_and_back(
        self, a: Array, batch: slice, respond: Callable[[Array, slice], tuple[Array, Any]], sums: Any = None
    ) -> tuple[Array, Any]:
        """K_ZS ``respond(K_SZ a)`` for the rows S of a batch, and the sum of the second results of ``respond``.

        ``respond`` gets values and their rows. ``sums``: dtype of the products, or None for the dtype of ``a``.
        """
        mine, xp = self.ranks.piece(batch), arrays.namespace(a)
        product, total = xp.zeros(a.shape, dtype=sums or a.dtype), 0.0
        if mine.start < mine.stop:
            product, total = rectangular.forward_and_back(
                *(self.kernel, self.points(mine), self.centers, a),
                lambda values, rows: respond(values, slice(mine.start + rows.start, mine.start + rows.stop)),
                budget=self.budget,
                kept=self.kept,
                first=mine.start,
                sums=sums,
            )
            self.ranks.count((mine.stop - mine.start) * a.shape[0])
        return self.ranks.sum_with_row(product, total)


_SMALLEST_SCALE = 2.0**-20
"""Smallest scale of an `AveragedState`: quotients stay far below the largest number of float32."""


class DeviceState:
    """Base of states whose copies stay on their device.

    ``kept`` names the arrays of a checkpoint; the first decides whether the state is finite. ``counted`` names numbers.
    """

    kept: ClassVar[tuple[str, ...]]
    counted: ClassVar[tuple[str, ...]] = ("n_steps",)

    def remember(self) -> tuple[dict[str, Array], dict[str, Any]]:
        named = {name: getattr(self, name) for name in self.kept if getattr(self, name) is not None}
        held = {name: arrays.namespace(array).asarray(array, copy=True) for name, array in named.items()}
        return held, {name: getattr(self, name) for name in self.counted}

    def recall(self, held: dict[str, Array], numbers: dict[str, Any]) -> None:
        first = getattr(self, self.kept[0])
        xp = arrays.namespace(first)
        for name in self.kept:
            like = getattr(self, name)
            like = first if like is None else like
            setattr(self, name, xp.asarray(arrays.like(held[name], like), copy=True) if name in held else None)
        for name in self.counted:
            setattr(self, name, numbers[name])

    def is_finite(self) -> bool:
        first = getattr(self, self.kept[0])
        xp = arrays.namespace(first)
        return bool(xp.all(xp.isfinite(first)))


@dataclass
class KernelState(DeviceState):
    """The state of a solver of kernel machines."""

    kept: ClassVar[tuple[str, ...]] = ("coefficients",)
    counted: ClassVar[tuple[str, ...]] = ()

    coefficients: Array  # (n, c): α
    step_size: float  # η, for a sum over a batch
    loss: float = 0.0  # Σ wᵢ ‖f(xᵢ) − yᵢ‖² over the last batch, before the step that used it


@dataclass
class AveragedState(DeviceState):
    """The state of a solver that counts its steps and whose model may be an average of iterates.

    The average ā ← (1 − s) ā + s a is kept as a − ℓ L. After a step δ it is a − (1 − s)(ℓ L + δ): ℓ is multiplied, and
    L changes only where a changes, so that a batch needs no pass over all points.
    """

    kept: ClassVar[tuple[str, ...]] = ("iterate", "lag")
    counted: ClassVar[tuple[str, ...]] = ("n_steps", "scale")

    iterate: Array  # (n, c): a, which only `move` changes
    step_size: float  # η, for a sum over a batch
    loss: float = 0.0  # Σ wᵢ ‖f(xᵢ) − yᵢ‖² over the last batch, of the iterate before the step that used it
    n_steps: int = 0  # Steps taken
    lag: Array = None  # (n, c): L. None if the model is the last iterate
    scale: float = 1.0  # ℓ

    @property
    def coefficients(self) -> Array:
        """The model, shape (n, c), computed at every call: the average of the iterates, or the last one."""
        if self.lag is None:
            return self.iterate
        average = self.lag * -self.scale
        average += self.iterate
        return average

    def move(self, rows: slice, change: Array) -> None:
        self.iterate[rows, :] += change
        if self.lag is not None:
            self.lag[rows, :] += change if self.scale == 1.0 else change / self.scale

    def advance(self, share: float) -> None:
        """Count a step, and add its iterate to the average with the weight ``share``, unless that is 0."""
        self.n_steps += 1
        if not share:
            return
        if self.lag is None:
            self.lag = arrays.namespace(self.iterate).zeros_like(self.iterate)
            return
        self.scale *= 1.0 - share
        if self.scale < _SMALLEST_SCALE:
            self.lag *= self.scale
            self.scale = 1.0


def bounded_step(step_size: float, fitting: Array, energy: Array) -> Array:
    """The step of each output, shape (1, c): the smaller of ``fitting / energy`` and the step size.

    The step ⟨g, r⟩ / gᵀ K_P(S, S) g along the gradient g of a batch with the residual r comes nearest to every function
    that fits the batch, in the norm of the preconditioner P.
    """
    xp = arrays.namespace(energy)
    usual, positive = step_size + xp.zeros_like(energy), energy > 0
    return xp.where(positive, xp.minimum(usual, fitting / xp.where(positive, energy, usual)), usual)


def gradient_step(
    problem: KernelProblem, state: AveragedState, batch: slice, cycle: Any, p: Preconditioner | None
) -> AveragedState:
    """A step of `EigenProStepper` with the preconditioner p, or of `KernelSGDStepper` without one."""
    values, columns = problem.gram.rows_dot(batch, state.iterate, head=p.n_subsample if p else 0)
    difference, diagonal = values - problem.targets[batch, :], None
    if problem.regularization:
        diagonal = problem.regularization * problem.inverse_weights(batch)
        difference += diagonal * state.iterate[batch, :]
    gradient = difference if problem.weights is None else problem.weights[batch, :] * difference
    state.loss = float(arrays.namespace(gradient).sum(gradient * difference))
    projected = p.project(columns, gradient) if p else None
    factor, share = (1.0, 0.0) if cycle is None else cycle.at(state.n_steps)
    step_size = state.step_size * factor
    if share:
        energy = problem.gram.energy(batch, gradient)
        energy = energy - p.energy(projected) if p else energy
        energy = energy if diagonal is None else energy + dots(gradient, diagonal * gradient)
        step_size = bounded_step(step_size, dots(gradient, difference), energy)
    state.move(batch, -step_size * gradient)
    if p:
        state.move(slice(0, p.n_subsample), step_size * p.expand(projected))
    state.advance(share)
    return state


def dots(a: Array, b: Array) -> Array:
    """Inner products column by column, shape (1, c)."""
    return arrays.namespace(a).sum(a * b, axis=0)[None, :]


@fused("quotient = b > 0 ? a / b : T(0)", (5, 3), (5, 3))
def write_ratio(a: Array, b: Array, quotient: Array) -> None:
    """A / b, and 0 where b is not positive."""
    xp = arrays.namespace(a)
    positive = b > 0
    quotient[...] = xp.where(positive, a / xp.where(positive, b, xp.ones_like(b)), xp.zeros_like(a))


def ratio(a: Array, b: Array) -> Array:
    """A / b, and 0 where b is not positive, for arrays of one shape and dtype."""
    quotient = arrays.namespace(a).empty_like(a)
    write_ratio(a, b, into=(quotient,))
    return quotient


def residual(problem: Any, values: Array, batch: slice) -> tuple[Array, float]:
    """The weighted residual w (f(x) − y) of a batch, shape (m, c), and its loss."""
    xp = arrays.namespace(values)
    difference = values - problem.targets[batch, :]
    gradient = difference if problem.weights is None else problem.weights[batch, :] * difference
    return gradient, float(xp.sum(gradient * difference))


def ridge_product(problem: KernelProblem, a: Array, regularization: float, jitter: float = 0.0) -> Array:
    """(K + λ W⁻¹ + j I) a for ``a`` of shape (n, c)."""
    out = problem.gram.dot(a)
    if regularization:
        out = out + (regularization * a if problem.weights is None else regularization * a / problem.weights)
    return out + jitter * a if jitter else out


def squared_residual(problem: KernelProblem, residual: Array) -> float:
    """Σᵢ wᵢ ‖rᵢ‖²."""
    weighted = residual if problem.weights is None else problem.weights * residual
    return float(arrays.namespace(residual).sum(weighted * residual))


def subsample_first(given: Preconditioner, order: np.ndarray) -> np.ndarray:
    """An order that begins with the subsample of the user's preconditioner and continues like ``order``."""
    indices = given.indices
    if indices.max() >= len(order):
        raise ShallowsError(
            f"The preconditioner was made for at least {indices.max() + 1} training points, here are {len(order)}."
        )
    rest = np.ones(len(order), dtype=bool)
    rest[indices] = False
    return np.concatenate([indices, order[rest[order]]])


def kernel_of_preconditioner(given: Preconditioner, kernel: Kernel) -> Kernel:
    """The kernel of the user's preconditioner; a `ShallowsError` if the estimator's parameters describe another one."""
    same = type(kernel) is type(given.kernel) and kernel.parameters == given.kernel.parameters
    # Without a bandwidth the preconditioner decides.
    if not (same and (kernel.is_open or math.isclose(kernel.bandwidth or 0.0, given.kernel.bandwidth or 0.0))):
        raise ShallowsError(
            f"The preconditioner was made for the kernel {given.kernel.name!r} of bandwidth "
            f"{given.kernel.bandwidth} and parameters {given.kernel.parameters}, but the fit "
            f"has the kernel {kernel.name!r} of bandwidth {kernel.bandwidth} and parameters {kernel.parameters}."
        )
    return given.kernel
