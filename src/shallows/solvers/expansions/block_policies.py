"""Policies for the block that a step moves: always new (DSG), uniform reuse (UDSG), checked reuse (CDSG)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ... import arrays, streams
from ...arrays import Array
from ...errors import ShallowsError

NOISES = ("corrected", "printed")  # the noise terms of the rule of CDSG


@dataclass(frozen=True)
class Fresh:
    """DSG: every step uses a new block."""

    name = "dsg"

    def choose(self, state: Any, gamma: float, g: Array, batch_size: int, seed: int) -> tuple[int | None, float]:
        """The block (None for a new one) and the step."""
        return None, gamma


@dataclass(frozen=True)
class UniformReuse:
    """UDSG: ``fresh`` steps with new blocks, then ``reused`` steps with old blocks drawn uniformly, and so on."""

    fresh: int = 1  # at least 1
    reused: int = 1
    name = "udsg"

    def __post_init__(self) -> None:
        if self.fresh < 1 or self.reused < 0:
            raise ShallowsError(
                f"Uniform reuse needs at least 1 fresh step and 0 reused ones, got fresh={self.fresh!r} and "
                f"reused={self.reused!r}."
            )

    def choose(self, state: Any, gamma: float, g: Array, batch_size: int, seed: int) -> tuple[int | None, float]:
        """The block (None for a new one) and the step."""
        i = state.n_steps - 1
        if i % (self.fresh + self.reused) < self.fresh:
            return None, gamma
        # 64 bits modulo a number of blocks: the deviation from uniform is below 1e-12.
        return int(streams.integers(seed, "reuse", i, 1)[0] % state.n_blocks), gamma


@dataclass(frozen=True)
class CheckedReuse:
    """CDSG: an old block if its variance bound stays below the bound of a new block, with the longest such step.

    With the traces β_k = aᵏ ℓ'_k of the blocks, the mean gradient g of the batch and a noise term c, a step s along
    block k is allowed if 2‖β_k − s g‖² + 2 s² c ≤ ‖β_k‖² + γ²‖g‖², and taken if it is longer than γ. Here
    c = 2M²σ²/((κ + φ)²B); equation 9 of Li and Póczos prints c = M²σ²/B² (errata C8 and C9).
    """

    feature_variance: float  # σ², see `doubly_stochastic.feature_variance`
    gradient_bound: float | None = None  # M; None is the root mean square of ‖ℓ'‖ over the examples so far
    cap: float = 2.0  # θ'/θ ≥ 1: steps are at most this many times γ; 1 never reuses a block
    noise: str = "corrected"  # one of `NOISES`
    # κ + φ with |k(x, x')| ≤ κ and |φ_ω(x)ᵀφ_ω(x')| ≤ φ: 2 for pairs, 3 for cosines with a phase
    product_bound: float = 2.0
    name = "cdsg"

    def __post_init__(self) -> None:
        if not self.cap >= 1.0:
            raise ShallowsError(
                f"cap, the longest step divided by the plain step, must be at least 1, got {self.cap!r}."
            )
        if self.noise not in NOISES:
            raise ShallowsError(f"noise must be one of {', '.join(map(repr, NOISES))}, got {self.noise!r}.")

    def noise_term(self, state: Any, batch_size: int) -> float:
        """The term c."""
        M2 = state.gradient_square if self.gradient_bound is None else self.gradient_bound**2
        share = 1.0 / batch_size if self.noise == "printed" else 2.0 / self.product_bound**2
        return share * M2 * self.feature_variance / batch_size

    def choose(self, state: Any, gamma: float, g: Array, batch_size: int, seed: int) -> tuple[int | None, float]:
        """The block (None for a new one) and the step."""
        if state.n_blocks == 0:
            return None, gamma
        steps = admitted_steps(state.traces, g, gamma, self.noise_term(state, batch_size))
        xp = arrays.namespace(steps)
        best = int(xp.argmax(steps))
        s = min(float(steps[best]), self.cap * gamma)
        return (best, s) if s > gamma else (None, gamma)


POLICIES: dict[str, type] = {"dsg": Fresh, "udsg": UniformReuse, "cdsg": CheckedReuse}
"""Every policy by the name of its method."""


def admitted_steps(traces: Array, g: Array, gamma: float, c: float) -> Array:
    """The longest step that is allowed for each block, or 0; shape (n_blocks,).

    It is the largest root of (‖g‖² + c) s² − 2⟨β, g⟩ s + ½(‖β‖² − γ²‖g‖²) = 0.
    """
    xp = arrays.namespace(traces)
    g2 = float(xp.sum(g * g))
    if g2 == 0.0 or not math.isfinite(g2):
        return xp.zeros(traces.shape[0], dtype=traces.dtype)
    along = traces @ g
    radicand = along**2 - 0.5 * (g2 + c) * (xp.sum(traces * traces, axis=1) - gamma**2 * g2)
    roots = (along + xp.sqrt(xp.clip(radicand, 0.0, None))) / (g2 + c)
    return xp.clip(xp.where(radicand >= 0, roots, xp.zeros_like(roots)), 0.0, None)
