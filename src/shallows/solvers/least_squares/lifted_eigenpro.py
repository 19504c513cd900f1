"""EigenPro with separate coefficients of the flattened directions, so that a step needs few launches or passes."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ... import arrays
from ...arrays import Array
from ...gpu.fused_expressions import fused
from ...gram.whole import diagonal_of_product
from .kernel_problem import AveragedState, DeviceState, KernelProblem, bounded_step, residual
from .step_rules import Cycle

READ_EVERY = 32
"""Steps between two readings of the losses on a GPU. Waiting for a number costs a tenth of a millisecond."""


@fused(
    "difference = values + lifted - target + ridge * coefficient; gradient = weight * difference; "
    "ridged = ridge * gradient",
    *((5, 3), (5, 3), (5, 3), (5, 3), (5, 1), (5, 1)),
)
def residuals(values, lifted, target, coefficient, ridge, weight, difference, gradient, ridged):
    # type: (Array, Array, Array, Array, Array | float, Array | float, Array, Array, Array) -> None
    """The residual of a batch with λ α, the weighted residual, and the weighted residual times λ/w."""
    difference[...] = values + lifted - target + ridge * coefficient
    gradient[...] = weight * difference
    ridged[...] = ridge * gradient


@fused(
    "const T left = energy + of_ridge - removed; const T most = fitting / left; "
    "const T length = left > 0 && most < step ? most : step; const T change = sign * length * direction; "
    "iterate += change; lag += change * over_scale",
    *((5, 3), (3,), (3,), (3,), (3,), (), (), ()),
)
def bounded_move(direction, fitting, energy, of_ridge, removed, step, sign, over_scale, iterate, lag):
    # type: (Array, Array, Array, Array | float, Array, float, float, float, Array, Array) -> None
    """A step along a direction, with the length of `bounded_step`, for the iterate and for its average."""
    length = bounded_step(step, fitting, energy + of_ridge - removed)
    change = (sign * length) * direction
    iterate[...] += change
    lag[...] += change * over_scale


@fused("iterate += step * direction", (5, 3), ())
def move(direction: Array, step: float, iterate: Array) -> None:
    """A step along a direction."""
    iterate[...] += step * direction


@dataclass(frozen=True)
class LiftedProblem(KernelProblem):
    """A `KernelProblem` with the arrays of every step of `LiftedEigenPro`, see `lifted`."""

    # (M, q), or (n, q) for `FullLengthEigenPro`: V diag(s)^½ with eigenvectors V and scale s of the preconditioner
    directions: Array = None
    functions: Array = None  # (n, q): K_nM V diag(s)^½: values of the flattened directions at the points
    ridge: Array = None  # (n, 1): λ/w of every row, and 0 for w = 0
    # (at least M, q): the first rows of Φ + ridge [V diag(s)^½; 0]: K + λW⁻¹ instead of K
    with_ridge: Array = None
    # (n + 1,): cumulative losses of the zero function
    zero_losses: Array = field(default=None, repr=False)

    def functions_of(self, batch: slice) -> Array:
        """The factor of b in the residual of a batch, shape (m, q)."""
        first = self.with_ridge is not None and batch.start < self.directions.shape[0]
        return (self.with_ridge if first else self.functions)[batch, :]


def lifted(problem: KernelProblem, batch_size: int) -> LiftedProblem:
    """The problem with the values of the flattened directions at all points, from one product with the matrix."""
    p, xp = problem.preconditioner, arrays.namespace(problem.targets)
    directions = p.vectors * xp.sqrt(xp.clip(p.scale, 0.0, None))[None, :]
    functions = problem.gram.columns_dot(0, p.n_subsample, directions)
    ridge = with_ridge = None
    if problem.regularization:
        inverse = problem.inverse_weights(slice(0, problem.gram.n))
        ridge = problem.regularization * (inverse + xp.zeros_like(problem.targets[:, :1]))
        with_ridge = arrays.contiguous_copy(functions[: p.n_subsample + batch_size, :])
        # The weights of outputs differ only outside the subsample.
        with_ridge[: p.n_subsample, :] += ridge[: p.n_subsample, :1] * directions
    # The same losses as in the loop for `EigenPro`, so that both stop after the same epoch.
    squares = problem.targets**2 if problem.weights is None else problem.weights[:, :1] * problem.targets**2
    rows = arrays.to_numpy(xp.sum(squares, axis=1)).astype(np.float64)
    return LiftedProblem(
        **vars(problem),
        directions=directions,
        functions=functions,
        ridge=ridge,
        with_ridge=with_ridge,
        zero_losses=np.concatenate([[0.0], np.cumsum(rows)]),
    )


def lifted_numbers(n: int, n_subsample: int, batch_size: int, rank: int, n_outputs: int) -> int:
    """Numbers that `lifted` and the state of `LiftedEigenPro` hold in addition to those of `EigenPro`."""
    return (n + 2 * n_subsample + batch_size) * rank + 8 * rank * n_outputs + n + READ_EVERY * n_outputs**2


@dataclass
class LiftedState(AveragedState):
    """The state of `LiftedEigenPro`, whose iterate has coefficients of the points, then of the flattened directions.

    `remember` adds the second to the first, so that a checkpoint has the form of an `AveragedState`.
    """

    directions: Array = None  # (M, q): as in `LiftedProblem`
    losses: Array = None  # (k, c, c): diagonals have the losses of the outputs in the unread batches
    n_unread: int = 0
    unread_zero_loss: float = 0.0  # The loss of the zero function on the unread batches
    # Loss, and loss of the zero function, that a checkpoint has read early
    carried: tuple[float, float] = (0.0, 0.0)
    # The same losses over the batches that the last step read, or zeros
    read: tuple[float, float] = (0.0, 0.0)

    @property
    def coefficients(self) -> Array:
        """The coefficients of the points, shape (n, c), computed at every call."""
        n = self.iterate.shape[0] - self.directions.shape[1]
        stacked = super().coefficients
        points = arrays.contiguous_copy(stacked[:n, :])
        points[: self.directions.shape[0], :] += self.directions @ stacked[n:, :]
        return points

    def monitored(self) -> tuple[float, float]:
        """The loss of the batches that the last step read, and the loss of the zero function on them."""
        return self.read

    def note(self, zero_loss: float, read_now: bool) -> None:
        """Count the batch whose loss was written last, and read all losses if it is time."""
        self.n_unread += 1
        self.unread_zero_loss += zero_loss
        self.read = (0.0, 0.0)
        if read_now or self.n_unread == self.losses.shape[0]:
            self._collect()
            self.read, self.carried = self.carried, (0.0, 0.0)
            self.loss = self.read[0]

    def _collect(self) -> None:
        if self.n_unread:
            waiting = arrays.to_numpy(self.losses[: self.n_unread, :, :]).astype(np.float64)
            found = float(np.trace(waiting, axis1=1, axis2=2).sum())
            self.carried = (self.carried[0] + found, self.carried[1] + self.unread_zero_loss)
        self.n_unread, self.unread_zero_loss = 0, 0.0

    def _write_out(self) -> None:
        """Move the coefficients of the flattened directions to the subsample; the function stays the same."""
        m, q = self.directions.shape
        n = self.iterate.shape[0] - q
        for stacked in (self.iterate, self.lag):
            if stacked is not None:
                stacked[:m, :] += self.directions @ stacked[n:, :]
                stacked[n:, :] = 0.0

    def remember(self) -> tuple[dict[str, Array], dict[str, Any]]:
        self._write_out()
        self._collect()
        n = self.iterate.shape[0] - self.directions.shape[1]
        held, numbers = super().remember()
        held = {name: arrays.contiguous_copy(array[:n, :]) for name, array in held.items()}
        return held, {**numbers, "carried": list(self.carried)}

    def recall(self, held: dict[str, Array], numbers: dict[str, Any]) -> None:
        xp, (q, c) = arrays.namespace(self.iterate), (self.directions.shape[1], self.iterate.shape[1])
        averages, none = self.lag is not None, xp.zeros((q, c), dtype=self.iterate.dtype)
        super().recall(
            {name: xp.concat([arrays.like(array, self.iterate), none], axis=0) for name, array in held.items()}, numbers
        )
        if averages and self.lag is None:
            # An `AveragedState` has no lag before its first step.
            self.lag = xp.zeros_like(self.iterate)
        self.n_unread, self.unread_zero_loss = 0, 0.0
        found, zero = numbers.get("carried", (0.0, 0.0))
        self.carried, self.read = (found, zero), (0.0, 0.0)


@dataclass(frozen=True)
class LiftedEigenPro:
    """The iteration of `EigenPro` in a form for devices on which a launch costs more than its arithmetic.

    Instead of η V diag(s) Vᵀ K_MS g for the subsample M in every step, the model has coefficients of flattened
    directions,

        f = Σᵢ αᵢ k(xᵢ, ·) + Σⱼ bⱼ φⱼ,        φ = diag(s)^½ Vᵀ k(x_M, ·),

    whose values Φ at all points are computed once, so that a step is

        g = w (K_S α + Φ_S b − y_S) + λ α_S,        α_S ← α_S − η g,        b ← b + η Φ_Sᵀ g.

    The iterates are those of `EigenPro` to rounding. The losses stay on the device until they are read. With a
    `gram.WholeGram` a step has at most twelve launches.
    """

    step_size: float  # η, for a sum over the batch
    cycle: Cycle | None = None  # As for `EigenPro`
    n_batches: int = 1  # In an epoch. At its end the losses are read
    read_every: int = READ_EVERY  # Steps after which the losses are also read

    def init(self, problem: LiftedProblem) -> LiftedState:
        xp, (n, c) = arrays.namespace(problem.targets), problem.targets.shape
        q, dtype = problem.directions.shape[1], problem.targets.dtype
        averages = self.cycle is not None and self.cycle.memory
        return LiftedState(
            xp.zeros((n + q, c), dtype=dtype),
            self.step_size,
            lag=xp.zeros((n + q, c), dtype=dtype) if averages else None,
            directions=problem.directions,
            losses=xp.empty((min(self.read_every, self.n_batches), c, c), dtype=dtype),
        )

    def step(self, problem: LiftedProblem, state: LiftedState, batch: slice) -> LiftedState:
        xp, n = arrays.namespace(state.iterate), problem.gram.n
        points, flattened = state.iterate[:n, :], state.iterate[n:, :]
        values, _ = problem.gram.rows_dot(batch, points)
        difference, gradient, ridged = (xp.empty_like(values) for _ in range(3))
        ridge = 0.0 if problem.ridge is None else problem.ridge[batch, :]
        weight = 1.0 if problem.weights is None else problem.weights[batch, :]
        lifted_values, targets = problem.functions_of(batch) @ flattened, problem.targets[batch, :]
        inputs = (values, lifted_values, targets, points[batch, :], ridge, weight)
        residuals(*inputs, into=(difference, gradient, ridged))
        products = state.losses[state.n_unread, :, :]
        arrays.matmul_into(gradient.T, difference, products)
        projected = problem.functions[batch, :].T @ gradient

        factor, share = (1.0, 0.0) if self.cycle is None else self.cycle.at(state.n_steps)
        step = state.step_size * factor
        if share:
            energy = problem.gram.energy(batch, gradient)[0, :]
            of_ridge = 0.0 if problem.ridge is None else diagonal_of_product(gradient, ridged)
            bound = (arrays.diagonal(products), energy, of_ridge, diagonal_of_product(projected, projected), step)
            over_scale = 1.0 / state.scale
            bounded_move(gradient, *bound, -1.0, over_scale, into=(points[batch, :], state.lag[batch, :]))
            bounded_move(projected, *bound, 1.0, over_scale, into=(flattened, state.lag[n:, :]))
        else:
            move(gradient, -step, into=(points[batch, :],))
            move(projected, step, into=(flattened,))
        state.advance(share)
        zero_loss = problem.zero_losses[batch.stop] - problem.zero_losses[batch.start]
        state.note(float(zero_loss), state.n_steps % self.n_batches == 0)
        return state


def with_functions(problem: KernelProblem) -> LiftedProblem:
    """As `lifted`, for eigenvectors of length n and without regularization."""
    p = problem.preconditioner
    directions = p.vectors * arrays.namespace(p.vectors).sqrt(p.scale)[None, :]
    return LiftedProblem(**vars(problem), directions=directions, functions=problem.gram.dot(directions))


@dataclass
class FullLengthState(DeviceState):
    """The state of `FullLengthEigenPro`; the model has the coefficients points + directions · flattened."""

    kept: ClassVar[tuple[str, ...]] = ("coefficients",)
    counted: ClassVar[tuple[str, ...]] = ()

    points: Array  # (n, c)
    flattened: Array  # (q, c): b
    directions: Array  # (n, q): as in `LiftedProblem`
    step_size: float  # η, for a sum over a batch
    loss: float = 0.0  # Σ wᵢ ‖f(xᵢ) − yᵢ‖² over the last batch, before the step that used it

    @property
    def coefficients(self) -> Array:
        """The coefficients of the model, shape (n, c), into which b is added first."""
        self.points += self.directions @ self.flattened
        self.flattened[...] = 0.0
        return self.points

    @coefficients.setter
    def coefficients(self, points: Array) -> None:
        self.points, self.flattened[...] = points, 0.0


@dataclass(frozen=True)
class FullLengthEigenPro:
    """The steps of `EigenPro` for eigenvectors V of length n, as in the authors' release.

    Φ = K V diag(s)^½ is computed once, and a step for a batch S, with the iterates of `EigenPro` to rounding, is

        g = w (K_S α + Φ_S b − y_S),        α_S ← α_S − η g,        b ← b + η Φ_Sᵀ g.
    """

    step_size: float  # η, for a sum over the batch

    def init(self, problem: LiftedProblem) -> FullLengthState:
        xp, (n, c) = arrays.namespace(problem.targets), problem.targets.shape
        q, dtype = problem.directions.shape[1], problem.targets.dtype
        return FullLengthState(
            xp.zeros((n, c), dtype=dtype), xp.zeros((q, c), dtype=dtype), problem.directions, self.step_size
        )

    def step(self, problem: LiftedProblem, state: FullLengthState, batch: slice) -> FullLengthState:
        values, _ = problem.gram.rows_dot(batch, state.points)
        functions = problem.functions[batch, :]
        gradient, state.loss = residual(problem, values + functions @ state.flattened, batch)
        state.points[batch, :] -= state.step_size * gradient
        state.flattened += state.step_size * (functions.T @ gradient)
        return state
