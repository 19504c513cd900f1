"""Problem and state of a regularized risk over functions that grow by blocks of streamed random features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ... import arrays
from ...arrays import Array
from ...features import block_sums
from ...features.base import FeatureStream
from ...gpu.fused_expressions import fused
from ..examples import Examples, ExampleSet
from .growing_expansion import FIRST_CAPACITY, GrowingExpansion, zeros

SMALLEST_FACTOR = 1e-200
"""If the factor of known values falls below this they are forgotten, before they vanish in the smallest numbers."""


@fused("values = values * scale + known * factor", (), (5, 3), ())
def update(scale: float, known: Array, factor: float, values: Array) -> None:
    """Values of f from the sums over the new blocks and from its earlier values."""
    values *= scale
    values += known * factor


class KnownValues:
    """The values of f at the last visit of each batch: at the next visit only the blocks since then are summed.

    Between two visits the values change by a factor and by the new blocks. A change of an old block makes the values
    that contain it unknown.
    """

    def __init__(self, n: int, c: int, like: Array):
        self.values = arrays.namespace(like).zeros((n, c), dtype=like.dtype)
        self.factor = 1.0
        self._noted: dict[int, tuple[int, float]] = {}  # blocks and factor of a batch, by its first row

    def at(self, state: Any, problem: Any, batch: slice) -> Array:
        """Values of f at a batch, shape (m, c)."""
        x = problem.points[batch, :]
        if batch.start not in self._noted:
            return state.values(problem, x)
        n_blocks, factor = self._noted[batch.start]
        new = state.buffer[n_blocks : state.n_blocks, :, :]
        values = block_sums.evaluate(problem.features, x, new, first=n_blocks, budget=problem.budget)
        update(state.scale, self.values[batch, :], self.factor / factor, into=(values,))
        return values

    def note(self, state: Any, batch: slice, values: Array) -> None:
        self.values[batch, :] = values
        self._noted[batch.start] = (state.n_blocks, self.factor)

    def multiply(self, factor: float) -> None:
        self.factor *= factor
        if not abs(self.factor) > SMALLEST_FACTOR:
            self.factor = 1.0
            self._noted.clear()

    def changed(self, block: int) -> None:
        """Forget the values that contain a block."""
        for start in [start for start, (n_blocks, _) in self._noted.items() if n_blocks > block]:
            del self._noted[start]

    def remember(self) -> dict[str, np.ndarray]:
        noted = [(start, *numbers) for start, numbers in self._noted.items()]
        return {
            "known_values": arrays.to_numpy(self.values).copy(),
            "known_at": np.array([(-1, -1, self.factor), *noted], dtype=np.float64),
        }

    def recall(self, held: dict[str, np.ndarray]) -> None:
        self.values = arrays.like(held["known_values"].copy(), self.values)
        (_, _, self.factor), *noted = held["known_at"].tolist()
        self._noted = {int(start): (int(n_blocks), factor) for start, n_blocks, factor in noted}


@dataclass(frozen=True)
class ExpansionProblem(ExampleSet):
    """Minimize E w ℓ(f(x) + b, y) + ν/2 ‖f‖² over the space of a kernel, with its streamed features.

    ``points, targets, weights``: a set, whose slices are batches; None for a stream, whose batches are `Examples`.
    Weights have mean 1.
    """

    features: FeatureStream
    loss: Any  # see `shallows.losses`
    n_outputs: int  # c
    points: Array = None
    targets: Array | None = None
    weights: Array | None = None
    budget: int = block_sums.DEFAULT_BUDGET  # bytes for features and frequencies during a step
    # A batch loss of more than this many times the zero function's loss means divergence. Infinite for the steps θ/t,
    # of which the first are long by design.
    growth: float = 10.0
    keep_values: bool = False  # whether to keep f at the points, n × c numbers, see `KnownValues`
    counts: np.ndarray | None = None  # (c + 2,): initial counts for the intercept b, see `counts_of`; None for no b

    def training_scores(self, state: ExpansionState) -> np.ndarray:
        """Values of f + b at the points of the set, shape (n, c), on the host."""
        return arrays.to_numpy(state.shifted_values_at_points(self))


@dataclass
class ExpansionState(GrowingExpansion):
    """The state of a doubly stochastic solver; `GrowingExpansion` has the fields of its function."""

    trace_buffer: Array  # (capacity, c): β of the blocks over ``scale``, the coefficients without the feature values
    step_size: float  # γ₁
    n_steps: int = 0
    n_reused: int = 0  # steps that moved an old block
    last_step: float = 0.0
    shrunk: float = 0.0  # Σκ over the steps so far
    gradient_square: float = 0.0  # mean of ‖ℓ'‖² over the batches so far
    offset: float = 0.0  # ρ of the novelty loss
    loss: float = 0.0  # over the last batch, before its step
    zero_loss: float = 0.0  # the same for the zero function
    rows_seen: float = 0.0  # rows of the batches so far
    loss_seen: float = 0.0  # loss of the zero function on them
    # Mean loss of the zero function over the batches so far, times the rows of the last one. A small batch may have no
    # loss of the zero function, so divergence is judged by this.
    mean_zero_loss: float = 0.0
    # The direction of the last step, its block and its κ, until the next batch has decided its length (line search)
    direction: Array = None
    direction_block: int = -1
    direction_shrinkage: float = 0.0
    known: KnownValues | None = None  # f at the points of the set
    # (c + 2,): counts of the targets of a fit, or of a stream so far, for the intercept; None for no intercept
    counts: np.ndarray | None = None

    _by_block: ClassVar[tuple[str, ...]] = ("buffer", "trace_buffer")

    @classmethod
    def zero(cls, problem: ExpansionProblem, step_size: float, like: Array | None = None) -> ExpansionState:
        """The zero function, in the library and precision of the problem's points or of ``like``."""
        like = problem.points[:1, :] if like is None else like
        xp, c = arrays.namespace(like), problem.n_outputs
        traces = xp.zeros((FIRST_CAPACITY, c), dtype=like.dtype)
        keeps = problem.keep_values and problem.points is not None
        known = KnownValues(problem.points.shape[0], c, like) if keeps else None
        return cls(zeros(problem.features, c, like), traces, step_size, known=known, counts=problem.counts)

    @property
    def traces(self) -> Array:
        """β of the blocks, shape (n_blocks, c)."""
        return self._unfolded(self.trace_buffer)

    def values(self, problem: ExpansionProblem, x: Array) -> Array:
        """f(x), shape (m, c)."""
        return self.evaluate(problem.features, x, problem.budget)

    def decay(self, factor: float) -> None:
        super().decay(factor)
        if self.known is not None:
            self.known.multiply(factor)

    def grow(self, change: Array, step: float = 1.0, trace: Array = 0.0) -> int:
        """Add a block with coefficients ``step`` times ``change`` and trace −``step`` ``trace``; returns its number."""
        block = super().grow(change, step)
        self._store(trace, -step, self.trace_buffer[block, :])
        return block

    def add(self, block: int, change: Array, step: float = 1.0, trace: Array | None = None) -> None:
        """Add ``step`` times ``change`` to a block's coefficients, and subtract ``step`` ``trace`` from its trace."""
        super().add(block, change, step)
        if self.known is not None:
            self.known.changed(block)
        if trace is not None:
            self._store(trace, -step, self.trace_buffer[block, :], added=True)

    def count(self, examples: Examples) -> None:
        """Add the targets of a batch of a stream to the counts."""
        if self.counts is not None:
            w = None if examples.weights is None else arrays.to_numpy(examples.weights)[:, 0]
            self.counts = self.counts + counts_of(arrays.to_numpy(examples.targets), w)

    def intercept(self, problem: ExpansionProblem) -> Array | None:
        """b, which is added to f in the loss and in predictions, shape (c,)."""
        if self.counts is None or not self.counts[-1]:
            return None
        b = problem.loss.constant_of_classes(self.counts[:-2] / self.counts[-2], int(self.counts[-1]))
        return arrays.like(b, self.buffer, self.buffer.dtype)

    def shifted_values(self, problem: ExpansionProblem, x: Array) -> Array:
        values, b = self.values(problem, x), self.intercept(problem)
        return values if b is None else values + b

    def shifted_values_at_points(self, problem: ExpansionProblem) -> Array:
        """Values of f + b at all points of the set, shape (n, c)."""
        n = problem.points.shape[0]
        blocks = arrays.blocks(n, getattr(problem.points, "block_rows", n))
        parts = [self.shifted_values(problem, problem.points[rows, :]) for rows in blocks]
        return parts[0] if len(parts) == 1 else arrays.namespace(parts[0]).concat(parts)

    def monitored(self) -> tuple[float, float]:
        return self.loss, self.zero_loss

    def observe_zero_loss(self, zero_loss: float, n_rows: int) -> None:
        """Update the mean loss of the zero function with its loss on a batch."""
        self.zero_loss = zero_loss
        self.rows_seen += n_rows
        self.loss_seen += zero_loss
        self.mean_zero_loss = self.loss_seen * n_rows / self.rows_seen

    def targets_for(self, problem: ExpansionProblem, examples: Examples, scores: Array) -> Array:
        """The targets of a batch; for novelty the best offset ρ for its scores."""
        if problem.loss.coding != "offset":
            return examples.targets
        xp = arrays.namespace(scores)
        m, w = scores.shape[0], examples.weights
        order = xp.argsort(scores[:, 0])
        if w is None:
            place = min(m - 1, int(problem.loss.fraction * m))
        else:
            cumulated = (getattr(xp, "cumulative_sum", None) or xp.cumsum)(xp.take(w[:, 0], order))
            below = cumulated <= problem.loss.fraction * float(cumulated[-1]) * (1.0 - 1e-12)
            place = min(m - 1, int(xp.sum(arrays.astype(below, xp.int64))))
        self.offset = float(scores[int(order[place]), 0])
        return xp.full((1, 1), self.offset, dtype=scores.dtype)

    def gradient(self, problem: ExpansionProblem, scores: Array, targets: Array, weights: Array | None = None) -> Array:
        """The weighted ℓ' on the batch, shape (m, c)."""
        w = 1.0 if weights is None else weights
        if problem.loss.coding != "offset":
            G = problem.loss.derivative(scores, targets)
            return G if weights is None else w * G
        # At the best ρ the subdifferential in ρ contains 0, so ℓ' has mean −1; examples at ρ share the rest.
        xp = arrays.namespace(scores)
        below = w * arrays.astype(scores < targets, scores.dtype)
        at = w * arrays.astype(scores == targets, scores.dtype)
        total = scores.shape[0] if weights is None else float(xp.sum(weights))
        missing = problem.loss.fraction * total - float(xp.sum(below))
        return (below + at * (missing / float(xp.sum(at)))) * (-1.0 / problem.loss.fraction)

    def remember(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        held, numbers = super().remember()
        if self.direction is not None:
            held["direction"] = arrays.to_numpy(self.direction).copy()
        if self.known is not None:
            held |= self.known.remember()
        if self.counts is not None:
            held["counts"] = self.counts
        return held, numbers

    def recall(self, held: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        like = self.buffer
        super().recall(held, numbers)
        self.direction = arrays.like(held["direction"].copy(), like) if "direction" in held else None
        self.counts = held.get("counts")
        if self.known is not None:
            self.known.recall(held)


def counts_of(targets: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Σ wᵢ yᵢ over the examples, Σ wᵢ, and their number; float64, shape (c + 2,)."""
    m = len(targets)
    w = np.ones(m) if weights is None else weights.astype(np.float64)
    return np.array([*(w @ targets.astype(np.float64)), w.sum(), m])
