"""EigenPro with the centres divided among processes: problem, state, step, and what the estimators do differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays, gram
from ..arrays import Array
from ..models.functions import KernelSum
from ..ranks import ALONE, Alone
from ..solvers.least_squares.eigenpro import EigenPro
from ..solvers.least_squares.kernel_problem import AveragedState, KernelProblem, bounded_step, dots
from ..solvers.least_squares.step_rules import Cycle, StepPlan, agreed_plan
from ..spectrum import Preconditioner
from .kernel_columns import OwnColumns


@dataclass(frozen=True)
class OwnDirections:
    """The rows of a preconditioner's eigenvectors that belong to this process."""

    vectors: Array  # (about M / ranks, q)
    scale: Array  # (q, 1): (1 − τ (λ_{q+1}/λᵢ)^a) / σᵢ, see `Preconditioner.scale`

    @classmethod
    def of(cls, preconditioner: Preconditioner, ranks: Alone) -> OwnDirections:
        """The share of this process."""
        own = ranks.own(preconditioner.n_subsample)
        return cls(arrays.contiguous_copy(preconditioner.vectors[own, :]), preconditioner.scale[:, None])


@dataclass(frozen=True)
class DistributedProblem(KernelProblem):
    """A `KernelProblem` whose kernel matrix is divided by columns among processes; targets and weights are whole."""

    gram: OwnColumns
    directions: OwnDirections | None = None

    @property
    def ranks(self) -> Alone:
        """The processes."""
        return self.gram.ranks


@dataclass
class DistributedState(AveragedState):
    """Where the solver stands: of the iterate and of what is averaged, the rows of the centres of this process."""

    problem: DistributedProblem | None = None

    @property
    def coefficients(self) -> Array:
        """Those of all processes, shape (n, c), gathered at every call: all processes must ask for them."""
        return self.problem.ranks.gathered(AveragedState.coefficients.fget(self), self.problem.gram.n)

    def is_finite(self) -> bool:
        """Whether all coefficients of all processes are numbers."""
        return not self.problem.ranks.any(not super().is_finite())


@dataclass(frozen=True)
class DistributedEigenPro:
    """The step of `EigenProStepper`, taken by several processes that have a share of the centres each.

    The process of rank r holds the coefficients of the centres r, r + R, r + 2R, ... of R processes, and the rows of
    the eigenvectors V at those of its centres that belong to the subsample. For a batch S all of them

    1. multiply the kernel values of S with their own centres, and add the products up (batch × outputs numbers),
    2. have the residual g in full then, multiply the values of S with the own part of the subsample by g and V, and add
       these up (rank × outputs numbers, and the energy gᵀ K_SS g where the iterates are averaged),
    3. change the coefficients of their own centres in S and in the subsample.

    Apart from the order of the sums the iterates are those of `EigenProStepper`.
    """

    step_size: float  # η, for a sum over the batch
    cycle: Cycle | None = None  # As for `EigenProStepper`

    def init(self, problem: DistributedProblem) -> DistributedState:
        """Coefficients of zero."""
        shape = (problem.gram.own.shape[0], problem.targets.shape[1])
        zeros = arrays.namespace(problem.targets).zeros(shape, dtype=problem.targets.dtype)
        return DistributedState(zeros, self.step_size, problem=problem)

    def step(self, problem: DistributedProblem, state: DistributedState, batch: slice) -> DistributedState:
        """One batch."""
        ranks, own = problem.ranks, problem.directions
        xp, mine, m = arrays.namespace(state.iterate), problem.ranks.local(batch), own.vectors.shape[0]
        places = slice((ranks.rank - batch.start) % ranks.size, batch.stop - batch.start, ranks.size)
        values, columns = problem.gram.rows_dot(batch, state.iterate, head=m)
        diagonal = problem.regularisation
        if diagonal:
            diagonal = problem.regularisation * problem.inverse_weights(batch)
            ridge = diagonal if isinstance(diagonal, float) else diagonal[places, :]
            values[places, :] += ridge * state.iterate[mine, :]
        difference = ranks.sum(values) - problem.targets[batch, :]
        gradient = difference if problem.weights is None else problem.weights[batch, :] * difference
        state.loss = float(xp.sum(gradient * difference))
        projected = arrays.thin_product(own.vectors.T, arrays.thin_product(columns.T, gradient))
        factor, share = (1.0, 0.0) if self.cycle is None else self.cycle.at(state.n_steps)
        step_size = state.step_size * factor
        if share:
            summed = ranks.sum(xp.concat([projected, problem.gram.energy(batch, gradient)]))
            projected, energy = summed[:-1, :], summed[-1:, :]
            energy = energy - xp.sum(own.scale * projected**2, axis=0)[None, :]
            if problem.regularisation:
                energy = energy + dots(gradient, diagonal * gradient)
            step_size = bounded_step(step_size, dots(gradient, difference), energy)
        else:
            projected = ranks.sum(projected)
        state.move(mine, -step_size * gradient[places, :])
        state.move(slice(0, m), step_size * arrays.thin_product(own.vectors, own.scale * projected))
        state.advance(share)
        return state


@dataclass(frozen=True)
class DistributedKernelSum(KernelSum):
    """A `KernelSum` at work in a fit by several processes, each of which adds what its own points give."""

    own: Array | None = None
    ranks: Any = None

    def scores(self, X: Any, device: arrays.Device, budget: int) -> np.ndarray:
        """F at checked points, shape (m, c); a collective operation."""
        mine = arrays.contiguous_copy(self.coefficients[self.ranks.own(self.points.shape[0]), :])
        X = X if self.components is None else self.components(X)
        out = np.empty((X.shape[0], mine.shape[1]), dtype=np.dtype(str(self.own.dtype)))
        with device.active(), np.errstate(over="ignore", invalid="ignore"):
            for rows, x, extra in self.centring.new_points(X, device, out.dtype):
                made = gram.cross_product(self.kernel, x, self.own, mine, budget=budget, extra=extra)
                out[rows] = arrays.to_numpy(made)
        return self.ranks.sum(out)


@dataclass(frozen=True, kw_only=True)
class DistributedEigenProSettings(EigenPro):
    """EigenPro with all training points as centres, which are divided among the processes."""

    ranks: Any = ALONE

    def plan(self, kernel: Any, points: Any, *args: Any, **options: Any) -> StepPlan:
        """The plan of the first process."""
        return agreed_plan(super().plan(kernel, points, *args, **options), self.ranks, points)

    def build(
        self,
        plan: StepPlan,
        points: Any,
        targets: Any,
        weights: Any,
        ridge: float,
        n_outputs: int,
        budget: int,
        *,
        n_left_out: int = 0,
        start: Any = None,
    ) -> tuple[DistributedProblem, DistributedEigenPro]:
        """The problem and the stepper of this process."""
        columns = OwnColumns(self.ranks, plan.kernel, points, budget=budget)
        own = OwnDirections.of(plan.preconditioner, self.ranks)
        problem = DistributedProblem(columns, targets, weights, plan.preconditioner, ridge, own)
        return problem, DistributedEigenPro(float(plan.step_size), plan.cycle)

    def function(self, function: KernelSum, matrix: OwnColumns) -> DistributedKernelSum:
        """The function of a fit at work, which all processes evaluate together."""
        return DistributedKernelSum(**vars(function), own=matrix.own, ranks=self.ranks)
