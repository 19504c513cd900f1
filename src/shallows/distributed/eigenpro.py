"""EigenPro with the centers divided among processes."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from .. import arrays, kernels
from ..arrays import Array
from ..gram import TILE
from ..kernels import Kernel
from ..ranks import ALONE, Alone
from ..solvers.least_squares.eigenpro import EigenPro
from ..solvers.least_squares.kernel_problem import AveragedState, KernelFit, KernelProblem, bounded_step, dots
from ..solvers.least_squares.step_rules import Cycle, StepPlan, agreed_plan
from ..spectrum import Preconditioner


class OwnColumns:
    """Kernel values of all n points with the points of this process, in tiles that are kept while they fit.

    Point i belongs to process i modulo the number of processes. So each process has an equal share of every batch and
    of the subsample. All processes have all augmented points.
    """

    def __init__(self, ranks: Alone, kernel: Kernel, points: Array, *, budget: int):
        self.ranks, self.kernel, self.points, self.n = ranks, kernel, points, points.shape[0]
        self.own = arrays.contiguous_copy(points[ranks.own_rows(self.n), :])
        self.tile = min(TILE, max(1, self.n))
        self._spans = list(arrays.blocks(self.own.shape[0], self.tile))
        self._n_workers = max(1, min(arrays.workers_for(points), len(self._spans)))
        size = arrays.itemsize(points)
        self._n_numbers = self.n * self.own.shape[0]
        self._room = max(0, int(budget) // size - 3 * self._n_workers * self.tile**2)
        self._kept: dict[tuple[int, int, int], Array] = {}
        self._lock = threading.Lock()

    @property
    def kept_fraction(self) -> float:
        """Share of the values that are kept now."""
        return sum(tile.shape[0] * tile.shape[1] for tile in self._kept.values()) / max(1, self._n_numbers)

    def rows_dot(self, batch: slice, a: Array, head: int = 0, *, keeps: bool = True) -> tuple[Array, Array]:
        """The own part of ``K[batch] @ a``, and its first ``head`` columns; ``keeps`` tiles for a next call."""
        xp, m = arrays.namespace(a), batch.stop - batch.start
        columns = xp.empty((m, head), dtype=a.dtype)
        pieces = list(arrays.blocks(m, self.tile))

        def work(worker: int) -> Array:
            out = xp.zeros((m, a.shape[1]), dtype=a.dtype)
            lefts: list[Array | None] = [None] * len(pieces)
            scratch = xp.empty((self.tile, self.tile), dtype=a.dtype)
            for span in self._spans[worker :: self._n_workers]:
                for p, piece in enumerate(pieces):
                    rows = slice(batch.start + piece.start, batch.start + piece.stop)
                    block = self._kept.get((rows.start, rows.stop, span.start))
                    if block is None:
                        if lefts[p] is None:
                            lefts[p] = self.kernel.left_factor(self.points[rows, :])
                        block = self._compute(lefts[p], rows, span, scratch, keeps)
                    out[piece, :] += arrays.thin_product(block, a[span, :])
                    if span.start < head:
                        width = min(span.stop, head) - span.start
                        columns[piece, span.start : span.start + width] = block[:, :width]
            return out

        return arrays.sum_in_order(arrays.in_threads(work, self._n_workers)), columns

    def energy(self, batch: slice, g: Array) -> Array:
        """The part of this process of ``gᵀ K_SS g`` for each column of ``g``, shape (m, c), for a batch S; (1, c)."""
        xp = arrays.namespace(g)
        mine, total = self.ranks.local(batch), xp.zeros((1, g.shape[1]), dtype=g.dtype)
        if mine.start >= mine.stop:
            return total
        own = g[(self.ranks.rank - batch.start) % self.ranks.size :: self.ranks.size, :]
        for piece in arrays.blocks(g.shape[0], self.tile):
            rows = slice(batch.start + piece.start, batch.start + piece.stop)
            left = self.kernel.left_factor(self.points[rows, :])
            block = xp.empty((left.shape[0], mine.stop - mine.start), dtype=g.dtype)
            self._fill(left, rows, mine, block)
            total += xp.sum(g[piece, :] * arrays.thin_product(block, own), axis=0)[None, :]
        return total

    def dot(self, a: Array) -> Array:
        """``K @ a`` for ``a`` of shape (n, c), summed over all processes."""
        xp = arrays.namespace(a)
        mine = arrays.contiguous_copy(a[self.ranks.own_rows(self.n), :])
        parts = [self.rows_dot(rows, mine, keeps=False)[0] for rows in arrays.blocks(self.n, self.tile)]
        return self.ranks.sum(xp.concat(parts))

    def _compute(self, left: Array, rows: slice, span: slice, scratch: Array, keeps: bool) -> Array:
        """Compute a tile, and keep it if there is room."""
        shape = (rows.stop - rows.start, span.stop - span.start)
        with self._lock:
            keeps = keeps and self._room >= shape[0] * shape[1]
            self._room -= shape[0] * shape[1] if keeps else 0
        xp = arrays.namespace(scratch)
        block = xp.empty(shape, dtype=scratch.dtype) if keeps else arrays.corner(scratch, *shape)
        self._fill(left, rows, span, block)
        if keeps:
            self._kept[rows.start, rows.stop, span.start] = block
        return block

    def _fill(self, left: Array, rows: slice, span: slice, block: Array) -> None:
        """Kernel values of some points with some own points; exact for a point with itself."""
        self.kernel.fill(left, self.own[span, :], block)
        self.ranks.count(block.shape[0] * block.shape[1])
        met = self.ranks.local(rows)
        first, last = max(met.start, span.start), min(met.stop, span.stop)
        if first >= last:
            return
        size = self.ranks.size
        row = first * size + self.ranks.rank - rows.start
        # Every size-th row is an own point, so these rows and columns are a square block with a diagonal.
        common = block[row : row + (last - first - 1) * size + 1 : size, first - span.start : last - span.start]
        if arrays.supports_out(block):
            kernels.set_diagonal(self.kernel, common, self.own[first:last, :])


@dataclass(frozen=True)
class OwnDirections:
    """Rows of a preconditioner's eigenvectors that belong to this process."""

    vectors: Array  # (about M / ranks, q)
    scale: Array  # (q, 1): (1 − τ (λ_{q+1}/λᵢ)^a) / σᵢ, see `Preconditioner.scale`

    @classmethod
    def of(cls, preconditioner: Preconditioner, ranks: Alone) -> OwnDirections:
        """The share of this process."""
        own = ranks.own_rows(preconditioner.n_subsample)
        return cls(arrays.contiguous_copy(preconditioner.vectors[own, :]), preconditioner.scale[:, None])


@dataclass(frozen=True)
class DistributedProblem(KernelProblem):
    """A `KernelProblem` with the columns of the kernel matrix divided among processes."""

    gram: OwnColumns
    directions: OwnDirections | None = None

    @property
    def ranks(self) -> Alone:
        """The processes."""
        return self.gram.ranks


@dataclass
class DistributedState(AveragedState):
    """The state of the solver, with the rows of the centers of this process."""

    problem: DistributedProblem | None = None

    @property
    def coefficients(self) -> Array:
        """Coefficients of all processes, shape (n, c); a collective operation."""
        return self.problem.ranks.gather(AveragedState.coefficients.fget(self), self.problem.gram.n)

    def is_finite(self) -> bool:
        """Whether all coefficients of all processes are finite."""
        return not self.problem.ranks.any(not super().is_finite())


@dataclass(frozen=True)
class DistributedEigenPro:
    """The step of `EigenProStepper` by several processes. The iterates are the same up to the order of the sums.

    Process r of R has the coefficients of the centers r, r + R, r + 2R, ..., and the rows of the eigenvectors V at its
    centers in the subsample. For a batch S, each process

    1. multiplies the kernel values of S with its own centers; the products are summed (batch × outputs numbers),
    2. multiplies the values of S with its part of the subsample by the residual g and by V; the products are summed
       (rank × outputs numbers, and the energy gᵀ K_SS g if the iterates are averaged),
    3. changes the coefficients of the centers that it has, in S and in the subsample.
    """

    step_size: float  # η, for a sum over the batch
    cycle: Cycle | None = None  # As for `EigenProStepper`

    def init(self, problem: DistributedProblem) -> DistributedState:
        """Start with coefficients of zero."""
        shape = (problem.gram.own.shape[0], problem.targets.shape[1])
        zeros = arrays.namespace(problem.targets).zeros(shape, dtype=problem.targets.dtype)
        return DistributedState(zeros, self.step_size, problem=problem)

    def step(self, problem: DistributedProblem, state: DistributedState, batch: slice) -> DistributedState:
        """Take one step on a batch."""
        ranks, own = problem.ranks, problem.directions
        xp, mine, m = arrays.namespace(state.iterate), problem.ranks.local(batch), own.vectors.shape[0]
        places = slice((ranks.rank - batch.start) % ranks.size, batch.stop - batch.start, ranks.size)
        values, columns = problem.gram.rows_dot(batch, state.iterate, head=m)
        diagonal = problem.regularization
        if diagonal:
            diagonal = problem.regularization * problem.inverse_weights(batch)
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
            if problem.regularization:
                energy = energy + dots(gradient, diagonal * gradient)
            step_size = bounded_step(step_size, dots(gradient, difference), energy)
        else:
            projected = ranks.sum(projected)
        state.move(mine, -step_size * gradient[places, :])
        state.move(slice(0, m), step_size * arrays.thin_product(own.vectors, own.scale * projected))
        state.advance(share)
        return state


@dataclass(frozen=True, kw_only=True)
class DistributedEigenProSettings(EigenPro):
    """EigenPro with all training points as centers, which are divided among the processes."""

    ranks: Any = ALONE

    def plan(self, fit: KernelFit) -> StepPlan:
        """The plan of the first process."""
        return agreed_plan(super().plan(fit), self.ranks, fit.points)

    def build(
        self, plan: StepPlan, fit: KernelFit, targets: Array, weights: Array | None
    ) -> tuple[DistributedProblem, DistributedEigenPro]:
        """The problem and the stepper of this process."""
        columns = OwnColumns(self.ranks, plan.kernel, fit.points, budget=fit.budget)
        own = OwnDirections.of(plan.preconditioner, self.ranks)
        problem = DistributedProblem(columns, targets, weights, plan.preconditioner, fit.ridge, own)
        return problem, DistributedEigenPro(float(plan.step_size), plan.cycle)
