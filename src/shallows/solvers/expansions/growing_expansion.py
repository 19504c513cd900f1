"""Functions that grow by a block of random features at a time: their coefficients, with a common factor and matrix."""

import copy
import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from ... import arrays
from ...arrays import Array, Device
from ...features import block_sums
from ...gpu.fused_expressions import fused

FOLD_BELOW, FOLD_ABOVE = 1e-6, 1e6
"""The common factor is multiplied into the coefficients if it is outside this range or 0, before digits are lost."""

WORST_CONDITION = 100.0
"""The same for the common matrix and ‖M‖ ‖M⁻¹‖/k: storing coefficients through M⁻¹ loses digits in proportion."""

FIRST_CAPACITY = 8


@fused("kept = change * step / scale", (5, 3), (), ())
def store(change: Array, step: float, scale: float, kept: Array) -> None:
    """Store a step along a change of coefficients, divided by the common factor."""
    kept[...] = change * step / scale


@fused("kept += change * step / scale", (5, 3), (), ())
def add(change: Array, step: float, scale: float, kept: Array) -> None:
    """Add a step along a change of coefficients, divided by the common factor."""
    kept[...] += change * step / scale


@dataclass
class GrowingExpansion:
    """f(x) = Σⱼ φⱼ(x)ᵀAⱼ over blocks j of streamed features, with c outputs.

    The coefficients are Aⱼ = s Bⱼ M, so that weight decay changes only s, and replacing the c components by
    combinations of them (Oja's rule) only M. New blocks are stored through M⁻¹/s. Before s or M costs digits it is
    multiplied into the Bⱼ.
    """

    buffer: Array  # (capacity, width, c): B of the first ``n_blocks`` blocks
    _: KW_ONLY
    scale: float = 1.0  # s
    n_blocks: int = 0
    mixing: Array | None = None  # (c, c): M; None is the identity
    _unmixing: Array | None = field(default=None, init=False, repr=False)

    _by_block: ClassVar[tuple[str, ...]] = ("buffer",)
    """Arrays with a block in each row and an output in each last column, to which s and M apply."""

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        vars(self).update(arrays.writable(attributes))

    def __post_init__(self) -> None:
        if self.mixing is not None:
            self._unmixing = _inverse(self.mixing)

    @property
    def device(self) -> Device:
        return arrays.device_of(self.buffer)

    @property
    def coefficients(self) -> Array:
        """A of all blocks, shape (n_blocks, width, c)."""
        return self._unfolded(self.buffer)

    def evaluate(self, features: Any, x: Array, budget: int = block_sums.DEFAULT_BUDGET) -> Array:
        """f(x), shape (m, c), with the features of the blocks."""
        total = block_sums.evaluate(features, x, self.buffer[: self.n_blocks, :, :], budget=budget)
        total *= self.scale
        return total if self.mixing is None else total @ arrays.astype(self.mixing, total.dtype)

    def _unfolded(self, buffer: Array) -> Array:
        # After a fit another device may be the current one.
        with arrays.device_of(buffer).active():
            used = buffer[: self.n_blocks, ...] * self.scale
            return used if self.mixing is None else used @ arrays.astype(self.mixing, used.dtype)

    def decay(self, factor: float) -> None:
        """Multiply f with a factor."""
        self.scale *= factor
        if not FOLD_BELOW < abs(self.scale) < FOLD_ABOVE:
            for name in self._by_block:
                buffer = getattr(self, name)
                buffer[: self.n_blocks, ...] *= self.scale
            self.scale = 1.0

    def mix(self, matrix: Array) -> None:
        """Multiply f with a matrix from the right, shape (c, c): Aⱼ ← Aⱼ T for all blocks j."""
        xp = arrays.namespace(self.buffer)
        matrix = arrays.astype(matrix, xp.float64)
        self.mixing = matrix if self.mixing is None else self.mixing @ matrix
        self._unmixing = _inverse(self.mixing)
        if self._unmixing is not None:
            size, c = _norm(self.mixing), matrix.shape[0]
            condition = size * _norm(self._unmixing) / c
            if condition <= WORST_CONDITION and FOLD_BELOW < size / math.sqrt(c) < FOLD_ABOVE:
                return
        for name in self._by_block:
            buffer = getattr(self, name)
            buffer[: self.n_blocks, ...] = buffer[: self.n_blocks, ...] @ arrays.astype(self.mixing, buffer.dtype)
        self.mixing = self._unmixing = None

    def grow(self, change: Array, step: float = 1.0) -> int:
        """Add a block with coefficients ``step`` times ``change``, shape (width, c); returns its number."""
        if self.n_blocks == self.buffer.shape[0]:
            for name in self._by_block:
                setattr(self, name, double_capacity(getattr(self, name)))
        self.n_blocks += 1
        # Stored, not added: a step that was undone may have left numbers there.
        self._store(change, step, self.buffer[self.n_blocks - 1, :, :])
        return self.n_blocks - 1

    def add(self, block: int, change: Array, step: float = 1.0) -> None:
        """Add ``step`` times ``change`` to the coefficients of a block."""
        self._store(change, step, self.buffer[block, :, :], added=True)

    def grow_or_add(self, block: int, change: Array) -> None:
        """Add ``change`` to a block, or make it the next block."""
        if block == self.n_blocks:
            self.grow(change)
        else:
            self.add(block, change)

    def _store(self, change: Array, step: float, place: Array, added: bool = False) -> None:
        """Store or add ``step`` times ``change``, without s and M, in ``place``."""
        if self._unmixing is None:
            (add if added else store)(change, step, self.scale, into=(place,))
            return
        stored = change * step / self.scale @ arrays.astype(self._unmixing, change.dtype)
        place[...] = place + stored if added else stored

    def remember(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        held = {name: arrays.to_numpy(getattr(self, name)[: self.n_blocks, ...]).copy() for name in self._by_block}
        if self.mixing is not None:
            held["mixing"] = arrays.to_numpy(self.mixing).copy()
        return held, {name: value for name, value in vars(self).items() if isinstance(value, (int, float))}

    def recall(self, held: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        like = self.buffer
        for name in self._by_block:
            setattr(self, name, arrays.like(held[name].copy(), like))
        mixed = "mixing" in held
        self.mixing = arrays.like(held["mixing"].copy(), like, np.float64) if mixed else None
        self._unmixing = _inverse(self.mixing) if mixed else None
        for name, value in numbers.items():
            setattr(self, name, value)

    def trimmed(self) -> Self:
        """The same function without room for further blocks, for a file."""
        made = copy.copy(self)
        for name in self._by_block:
            setattr(made, name, getattr(self, name)[: self.n_blocks, ...])
        return made

    def to(self, device: Device) -> Self:
        held, numbers = self.remember()
        moved = copy.copy(self)
        moved.buffer = arrays.to_device(np.empty(0), device, held["buffer"].dtype)
        with device.active():
            moved.recall(held, numbers)
        return moved

    def is_finite(self) -> bool:
        xp = arrays.namespace(self.buffer)
        with arrays.device_of(self.buffer).active():
            used = self.buffer[: self.n_blocks, :, :]
            mixes = self.mixing is None or bool(xp.all(xp.isfinite(self.mixing)))
            return math.isfinite(self.scale) and mixes and bool(xp.all(xp.isfinite(used)))


def zeros(features: Any, n_outputs: int, like: Array) -> Array:
    """A first buffer of coefficients for blocks of these features."""
    return arrays.namespace(like).zeros((FIRST_CAPACITY, features.width, n_outputs), dtype=like.dtype)


def double_capacity(buffer: Array) -> Array:
    """A copy with twice the capacity, which costs O(1) for each block on average."""
    xp, n = arrays.namespace(buffer), buffer.shape[0]
    larger = xp.zeros((max(FIRST_CAPACITY, 2 * n), *buffer.shape[1:]), dtype=buffer.dtype)
    if n:
        larger[:n, ...] = buffer
    return larger


def _norm(matrix: Array) -> float:
    return math.sqrt(float(arrays.namespace(matrix).sum(matrix * matrix)))


def _inverse(matrix: Array) -> Array | None:
    xp = arrays.namespace(matrix)
    try:
        inverse = xp.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    return inverse if bool(xp.all(xp.isfinite(inverse))) else None
