"""Which block a step moves: always a new one (DSG), uniform reuse (UDSG), checked reuse (CDSG).

Users give `UniformReuse` and `CheckedReuse`; policies of the stepper are `Fresh`, `UniformReuse` and `CheckedBlocks`.
"""

import math
from dataclasses import dataclass
from typing import Any

from ... import arrays, streams
from ...arrays import Array
from ...errors import ShallowsError
from ..settings import Checked, at_least, count, positive, setting

NOISES = ("corrected", "printed")  # the noise terms of the rule of CDSG


@dataclass(frozen=True)
class Fresh:
    """DSG: every step uses a new block."""

    name = "dsg"

    def choose(self, state: Any, gamma: float, g: Array, batch_size: int, seed: int) -> tuple[int | None, float]:
        """The block (None for a new one) and the step."""
        return None, gamma


@dataclass(frozen=True)
class UniformReuse(Checked):
    """Steps that alternate between new blocks of features and old ones (UDSG).

    Parameters
    ----------
    fresh : int
        G, steps with new blocks.
    reused : int
        U, the steps after them, each with an old block that is drawn uniformly.
    """

    fresh: int = setting(count(default=1))
    reused: int = setting(count(0, default=1))
    name = "udsg"

    def choose(self, state: Any, gamma: float, g: Array, batch_size: int, seed: int) -> tuple[int | None, float]:
        i = state.n_steps - 1
        if i % (self.fresh + self.reused) < self.fresh:
            return None, gamma
        # 64 bits modulo a number of blocks: the deviation from uniform is below 1e-12.
        return int(streams.integers(seed, "reuse", i, 1)[0] % state.n_blocks), gamma


@dataclass(frozen=True)
class CheckedReuse(Checked):
    """Steps on an old block of features where a variance bound then allows a longer step (CDSG).

    Parameters
    ----------
    cap : float
        θ'/θ ≥ 1, the longest step as a multiple of the plain one; with 1 no block is used again.
    gradient_bound : float, optional
        M. None: the root mean square of the gradients so far.
    feature_variance : float, optional
        σ². None: the variance of the features on a subsample of the rows.
    """

    cap: float = setting(at_least(1.0, default=2.0))
    gradient_bound: float | None = setting(positive())
    feature_variance: float | None = setting(positive())


@dataclass(frozen=True)
class CheckedBlocks:
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
        if self.noise not in NOISES:
            raise ShallowsError(f"noise must be one of {', '.join(map(repr, NOISES))}, got {self.noise!r}.")

    def noise_term(self, state: Any, batch_size: int) -> float:
        """The term c."""
        M2 = state.gradient_square if self.gradient_bound is None else self.gradient_bound**2
        share = 1.0 / batch_size if self.noise == "printed" else 2.0 / self.product_bound**2
        return share * M2 * self.feature_variance / batch_size

    def choose(self, state: Any, gamma: float, g: Array, batch_size: int, seed: int) -> tuple[int | None, float]:
        if state.n_blocks == 0:
            return None, gamma
        steps = admitted_steps(state.traces, g, gamma, self.noise_term(state, batch_size))
        xp = arrays.namespace(steps)
        best = int(xp.argmax(steps))
        s = min(float(steps[best]), self.cap * gamma)
        return (best, s) if s > gamma else (None, gamma)


POLICIES: dict[str, type] = {"dsg": Fresh, "udsg": UniformReuse, "cdsg": CheckedBlocks}
"""Every policy by the name of its method."""

REUSE: dict[str, type[Checked]] = {"uniform_reuse": UniformReuse, "checked_reuse": CheckedReuse}
"""What ``reuse`` may be besides "fresh"."""


def admitted_steps(traces: Array, g: Array, gamma: float, c: float) -> Array:
    """The longest step s of each block: the largest root of (‖g‖² + c) s² − 2⟨β, g⟩ s + ½(‖β‖² − γ²‖g‖²), or 0."""
    xp = arrays.namespace(traces)
    g2 = float(xp.sum(g * g))
    if g2 == 0.0 or not math.isfinite(g2):
        return xp.zeros(traces.shape[0], dtype=traces.dtype)
    along = traces @ g
    radicand = along**2 - 0.5 * (g2 + c) * (xp.sum(traces * traces, axis=1) - gamma**2 * g2)
    roots = (along + xp.sqrt(xp.clip(radicand, 0.0, None))) / (g2 + c)
    return xp.clip(xp.where(radicand >= 0, roots, xp.zeros_like(roots)), 0.0, None)
