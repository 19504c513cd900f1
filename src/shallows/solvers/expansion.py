"""Problems and states of functions that grow: sums over blocks of streamed random features."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array, Device
from ..features import FourierFeatures, expansion

FOLD_BELOW, FOLD_ABOVE = 1e-6, 1e6
"""The common factor is multiplied into the coefficients when it leaves this range (or is 0), before digits are lost."""

FIRST_CAPACITY = 8


@dataclass(frozen=True)
class Examples:
    """A batch that is handed in as it is.

    Attributes
    ----------
    points : array, shape (m, d)
    targets : array, shape (m, c), or None for losses without targets
    weights : array, shape (m, 1), optional
    """

    points: Array
    targets: Array | None = None
    weights: Array | None = None


@dataclass(frozen=True)
class ExpansionProblem:
    """Minimise E w ℓ(f(x), y) + ν/2 ‖f‖² over the space of a kernel, with streamed features of it.

    Attributes
    ----------
    features : FourierFeatures
    loss : Loss
        See `shallows.losses`.
    n_outputs : int
        c.
    points, targets, weights : arrays, shapes (n, d), (n, c), (n, 1), optional
        A set that batches are slices of; none for a stream, whose batches are `Examples`. Weights have mean one.
    budget : int
        Bytes for features and frequencies in the course of a step.
    growth : float
        A batch whose loss exceeds this many times that of the zero function means divergence. Infinite for the steps
        θ/t, whose first ones are long by design.
    """

    features: FourierFeatures
    loss: Any
    n_outputs: int
    points: Array | None = None
    targets: Array | None = None
    weights: Array | None = None
    budget: int = expansion.DEFAULT_BUDGET
    growth: float = 10.0

    def take(self, batch: slice | Examples) -> Examples:
        """The examples of a batch."""
        if isinstance(batch, Examples):
            return batch
        return Examples(
            self.points[batch, :],
            None if self.targets is None else self.targets[batch, :],
            None if self.weights is None else self.weights[batch, :],
        )


@dataclass
class ExpansionState:
    """Where a doubly stochastic solver stands.

    Attributes
    ----------
    buffer : array, shape (capacity, width, c)
        Coefficients of the blocks over ``scale``; the first ``n_blocks`` are in use.
    trace_buffer : array, shape (capacity, c)
        β of the blocks over ``scale``, the coefficients without the feature values.
    scale : float
        What all coefficients are multiplied with, so that weight decay costs nothing.
    n_blocks, n_steps, n_reused : int
        Blocks in use, steps taken, steps that moved an old block.
    step_size : float
        γ₁.
    last_step : float
    gradient_square : float
        Mean of ‖ℓ'‖² over the batches so far.
    offset : float
        ρ of the novelty loss.
    loss, zero_loss : float
        Over the last batch, before its step: of the function, and of the zero function.
    direction, direction_block
        What the last step moved along, until the next batch has settled its length (line search only).
    """

    buffer: Array
    trace_buffer: Array
    step_size: float
    scale: float = 1.0
    n_blocks: int = 0
    n_steps: int = 0
    n_reused: int = 0
    last_step: float = 0.0
    gradient_square: float = 0.0
    offset: float = 0.0
    loss: float = 0.0
    zero_loss: float = 0.0
    direction: Array | None = None
    direction_block: int = -1

    @classmethod
    def zero(cls, problem: ExpansionProblem, step_size: float, like: Array | None = None) -> ExpansionState:
        """The zero function, in the library and precision of the problem's points or of ``like``."""
        like = problem.points if like is None else like
        xp, c = arrays.namespace(like), problem.n_outputs
        buffer = xp.zeros((FIRST_CAPACITY, problem.features.width, c), dtype=like.dtype)
        return cls(buffer, xp.zeros((FIRST_CAPACITY, c), dtype=like.dtype), step_size)

    # ------------------------------------------------------------------------------------- the function

    @property
    def coefficients(self) -> Array:
        """Of all blocks in use, shape (n_blocks, width, c)."""
        return self.buffer[: self.n_blocks, :, :] * self.scale

    @property
    def traces(self) -> Array:
        """β of the blocks in use, shape (n_blocks, c)."""
        return self.trace_buffer[: self.n_blocks, :] * self.scale

    def values(self, problem: ExpansionProblem, x: Array) -> Array:
        """f(x), shape (m, c)."""
        total = expansion.evaluate(problem.features, x, self.buffer[: self.n_blocks, :, :], budget=problem.budget)
        total *= self.scale
        return total

    def decay(self, factor: float) -> None:
        """Multiply f with a factor."""
        self.scale *= factor
        if not FOLD_BELOW < abs(self.scale) < FOLD_ABOVE:
            self.buffer[: self.n_blocks, :, :] *= self.scale
            self.trace_buffer[: self.n_blocks, :] *= self.scale
            self.scale = 1.0

    def grow(self, change: Array, trace: Array) -> int:
        """Add a block with coefficients ``change`` and trace −``trace``; returns its number."""
        if self.n_blocks == self.buffer.shape[0]:
            self.buffer = _extended(self.buffer)
            self.trace_buffer = _extended(self.trace_buffer)
        self.n_blocks += 1
        # Written, not added: the place may hold what a rolled-back step left.
        self.buffer[self.n_blocks - 1, :, :] = change / self.scale
        self.trace_buffer[self.n_blocks - 1, :] = -trace / self.scale
        return self.n_blocks - 1

    def add(self, block: int, change: Array, trace: Array | None) -> None:
        """Add to a block's coefficients, and take from its trace."""
        self.buffer[block, :, :] += change / self.scale
        if trace is not None:
            self.trace_buffer[block, :] -= trace / self.scale

    # ------------------------------------------------------------------------------------------ the loss

    def monitored(self) -> tuple[float, float]:
        """The loss of the last batch, held against that of the zero function."""
        return self.loss, self.zero_loss

    def observe_gradient(self, mean_square: float) -> None:
        """Take a batch's mean of ‖ℓ'‖² into the estimate of M²."""
        self.gradient_square += (mean_square - self.gradient_square) / self.n_steps

    def targets_for(self, problem: ExpansionProblem, examples: Examples, scores: Array) -> Array:
        """The targets of a batch; for novelty the offset ρ that is best for its scores."""
        if problem.loss.coding != "offset":
            return examples.targets
        xp = arrays.namespace(scores)
        m, w = scores.shape[0], examples.weights
        order = xp.argsort(scores[:, 0])
        if w is None:
            place = min(m - 1, int(problem.loss.fraction * m))
        else:
            cumulated = xp.cumulative_sum(xp.take(w[:, 0], order)) if hasattr(xp, "cumulative_sum") else None
            cumulated = xp.cumsum(xp.take(w[:, 0], order)) if cumulated is None else cumulated
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
        # At the best ρ the derivative in ρ holds 0, so ℓ' has mean −1; examples at ρ itself share what is missing.
        xp = arrays.namespace(scores)
        below = w * arrays.astype(scores < targets, scores.dtype)
        at = w * arrays.astype(scores == targets, scores.dtype)
        total = scores.shape[0] if weights is None else float(xp.sum(weights))
        missing = problem.loss.fraction * total - float(xp.sum(below))
        return (below + at * (missing / float(xp.sum(at)))) * (-1.0 / problem.loss.fraction)

    # ------------------------------------------------------------------------------- keeping and moving

    def remember(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays on the host and numbers that `recall` takes up again, to the bit."""
        held = {
            "buffer": arrays.to_numpy(self.buffer[: self.n_blocks, :, :]).copy(),
            "trace_buffer": arrays.to_numpy(self.trace_buffer[: self.n_blocks, :]).copy(),
        }
        if self.direction is not None:
            held["direction"] = arrays.to_numpy(self.direction).copy()
        numbers = {f.name: getattr(self, f.name) for f in fields(self)}
        return held, {name: value for name, value in numbers.items() if isinstance(value, (int, float))}

    def recall(self, held: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        """Take up what `remember` gave, in the library and on the device of this state."""
        like = self.buffer
        self.buffer = arrays.like(held["buffer"].copy(), like)
        self.trace_buffer = arrays.like(held["trace_buffer"].copy(), like)
        self.direction = arrays.like(held["direction"].copy(), like) if "direction" in held else None
        for name, value in numbers.items():
            setattr(self, name, value)

    def to(self, device: Device) -> ExpansionState:
        """The same state on a device."""
        held, numbers = self.remember()
        empty = arrays.to_device(np.empty(0), device, held["buffer"].dtype)
        moved = ExpansionState(empty, empty, self.step_size)
        with device.active():
            moved.recall(held, numbers)
        return moved

    def is_finite(self) -> bool:
        """Whether all coefficients are numbers."""
        xp = arrays.namespace(self.buffer)
        used = self.buffer[: self.n_blocks, :, :]
        return math.isfinite(self.scale) and bool(xp.all(xp.isfinite(used)))


def _extended(buffer: Array) -> Array:
    """A buffer of twice the capacity with the same beginning; copying so costs O(1) a block on average."""
    xp, n = arrays.namespace(buffer), buffer.shape[0]
    larger = xp.zeros((max(FIRST_CAPACITY, 2 * n), *buffer.shape[1:]), dtype=buffer.dtype)
    if n:
        larger[:n, ...] = buffer
    return larger
