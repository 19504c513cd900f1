"""Doubly stochastic gradients with the blocks of random features divided among processes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..features import block_sums
from ..ranks import Alone
from ..solvers.examples import Examples
from ..solvers.expansions.doubly_stochastic import DoublyStochasticStepper
from ..solvers.expansions.expansion import ExpansionProblem, ExpansionState, KnownValues
from ..solvers.expansions.growing_expansion import double_capacity


class OwnBlocks:
    """Blocks r, r + R, r + 2R, ... of a stream of features with the numbers 0, 1, 2, ..., for rank r of R."""

    def __init__(self, features: Any, ranks: Alone):
        self._features, self._ranks = features, ranks
        if hasattr(features, "projector"):
            self.projector = lambda i, like: features.projector(self._number(i), like)
            self.phases = lambda i, like: features.phases(self._number(i), like)

    def _number(self, i: int) -> int:
        return i * self._ranks.size + self._ranks.rank

    def block(self, i: int, x: Array) -> Array:
        """Features of a block, shape (m, width)."""
        return self._features.block(self._number(i), x)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("projector", "phases"):
            raise AttributeError(name)
        return getattr(self._features, name)


class DistributedKnownValues(KnownValues):
    """`KnownValues`, the same in all processes. Each process adds the values of the new blocks that it has."""

    def at(self, state: Any, problem: Any, batch: slice) -> Array:
        """Values of f at a batch, shape (m, c)."""
        x = problem.points[batch, :]
        if batch.start not in self._noted:
            return state.values(problem, x)
        n_blocks, factor = self._noted[batch.start]
        new = state.evaluate(problem.features, x, problem.budget, since=n_blocks)
        return new + self.values[batch, :] * (self.factor / factor)


@dataclass
class DistributedExpansionState(ExpansionState):
    """An `ExpansionState` in which each process has the coefficients of some blocks only."""

    ranks: Alone | None = None

    @property
    def n_own(self) -> int:
        """Number of blocks of this process."""
        return self._own_of(self.n_blocks)

    def _own_of(self, n_blocks: int) -> int:
        return len(range(self.ranks.rank, n_blocks, self.ranks.size))

    @property
    def coefficients(self) -> Array:
        """Coefficients of all blocks, shape (n_blocks, width, c); a collective operation."""
        return self.ranks.gather(self.buffer[: self.n_own, :, :], self.n_blocks) * self.scale

    def evaluate(self, features: Any, x: Array, budget: int = block_sums.DEFAULT_BUDGET, since: int = 0) -> Array:
        """The sum over the blocks from number ``since`` on at some points, shape (m, c); a collective operation."""
        first = self._own_of(since)
        own = self.buffer[first : self.n_own, :, :]
        part = block_sums.evaluate(OwnBlocks(features, self.ranks), x, own, first=first, budget=budget)
        self.ranks.count(x.shape[0] * own.shape[0] * own.shape[1])
        total = self.ranks.sum(part)
        total *= self.scale
        return total

    def grow(self, change: Array, step: float = 1.0, trace: Array = 0.0) -> int:
        """Add a block to the coefficients of its process and return its number."""
        if self.n_blocks == self.trace_buffer.shape[0]:
            self.trace_buffer = double_capacity(self.trace_buffer)
        block = self.n_blocks
        self._store(trace, -step, self.trace_buffer[block, :])
        if self._owns(block):
            if self.n_own == self.buffer.shape[0]:
                self.buffer = double_capacity(self.buffer)
            self._store(change, step, self.buffer[self.n_own, :, :])
        self.n_blocks += 1
        return block

    def add(self, block: int, change: Array, step: float = 1.0, trace: Array | None = None) -> None:
        """Add ``step`` times ``change`` to the coefficients of a block, and subtract the same of ``trace``."""
        if self._owns(block):
            self._store(change, step, self.buffer[block // self.ranks.size, :, :], added=True)
        if self.known is not None:
            self.known.changed(block)
        if trace is not None:
            self._store(trace, -step, self.trace_buffer[block, :], added=True)

    def _owns(self, block: int) -> bool:
        return block % self.ranks.size == self.ranks.rank

    def remember(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays of the own blocks on the host, and numbers, for `recall`."""
        held, numbers = super().remember()
        return held | {"buffer": held["buffer"][: self.n_own]}, numbers

    def is_finite(self) -> bool:
        """Whether all coefficients of all processes are finite."""
        xp = arrays.namespace(self.buffer)
        finite = bool(xp.all(xp.isfinite(self.buffer[: self.n_own, :, :])))
        return not self.ranks.any(not (finite and np.isfinite(self.scale)))

    def in_one_process(
        self, problem: ExpansionProblem, stepper: DoublyStochasticStepper
    ) -> tuple[ExpansionState, DoublyStochasticStepper]:
        """The same state with the blocks of all processes, and the stepper for one process."""
        held, numbers = self.remember()
        held["buffer"] = self.ranks.gather(held["buffer"], self.n_blocks)
        whole = ExpansionState.zero(problem, self.step_size, like=self.buffer)
        held = {name: array for name, array in held.items() if not name.startswith("known")}
        whole.recall(held, numbers)
        return whole, DoublyStochasticStepper(**{name: part for name, part in vars(stepper).items() if name != "ranks"})


@dataclass(frozen=True)
class DistributedDoublyStochastic(DoublyStochasticStepper):
    """The step of `DoublyStochasticStepper` by several processes.

    Each process evaluates the blocks that it has at the points of the batch; the values are summed (batch × outputs
    numbers). For the coefficients of a new block, each process adds its share of the rows of the batch to Φᵀ ℓ' and
    Φᵀ W Φ. These are summed too, and the process of the block keeps the solution.
    """

    ranks: Alone | None = None

    def init(self, problem: ExpansionProblem) -> DistributedExpansionState:
        """The zero function."""
        state = DistributedExpansionState.zero(problem, self.step_size)
        state.ranks = self.ranks
        if state.known is not None:
            state.known = DistributedKnownValues(*state.known.values.shape, state.known.values)
        return state

    def _direction(self, problem: ExpansionProblem, block: int, examples: Examples, G: Array) -> Array:
        x, w = examples.points, examples.weights
        xp, features, ranks = arrays.namespace(x), problem.features, self.ranks
        batch_size, preconditioned = x.shape[0], self.preconditioning is not None
        mine = ranks.piece(slice(0, batch_size))
        ranks.count((mine.stop - mine.start) * features.block_size)
        R, C = block_sums.correlate(
            features,
            block,
            x[mine, :],
            G[mine, :],
            with_gram=preconditioned,
            weights=None if w is None else w[mine, :],
            budget=problem.budget,
        )
        if not preconditioned:
            return ranks.sum(R) * (-1.0 / (batch_size * features.block_size))
        summed = ranks.sum(xp.concat([R, C], axis=1))
        R, C = (arrays.contiguous(part) for part in (summed[:, : G.shape[1]], summed[:, G.shape[1] :]))
        damping = batch_size * self.damping_at(features.block_size, batch_size)
        return arrays.contiguous(arrays.solve_damped(C, R, damping) * -1.0)
