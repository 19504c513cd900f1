"""The compiled loop of the methods that take stochastic subgradient steps of a length that falls as 1/t.

The iterate is kept as w = s v and the average of iterates as r u + z v, so that a step changes the coordinates of its
examples alone and shrinking costs one multiplication.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...utils.compilation import njit
from ..pieces import pieces
from .problem import LinearState, LinearSVMProblem, slope
from .rows import add, dot, squared_norms

AVERAGINGS = ("none", "uniform", "weighted")
"""The last iterate; the mean of all; their mean with growing weights, f̄ ← f̄ + 4/(t + 3) (f − f̄)."""

SCALE, NORM, OLD, OWN = 0, 1, 2, 3  # s, ‖v‖², r and z
TINY = 1e-3
"""Where s or r falls below this, vectors take it over: v grows as s falls, and r u and z v would cancel each other."""


@dataclass
class SubgradientState(LinearState):
    """The state of a method of subgradient steps."""

    direction: np.ndarray | None = None  # (d,): v of the iterate s v
    average: np.ndarray | None = None  # (d,): u of the average r u + z v
    scales: np.ndarray | None = None  # (4,): s, ‖v‖², r, z
    offset: float = 0.0  # t₀: steps are 1/(λ(t + t₀))
    n_visits: int = 0  # Examples that were visited so far, from which the next ones follow
    _held: dict[str, Any] = field(default_factory=dict, repr=False)


def zero_state(problem: LinearSVMProblem, offset: float = 0.0) -> SubgradientState:
    """The state of w = 0."""
    zeros = np.zeros((3, problem.n_features))
    return SubgradientState(
        zeros[0].copy(),
        direction=zeros[1].copy(),
        average=zeros[2].copy(),
        scales=np.array([1.0, 0.0, 1.0, 0.0]),
        offset=offset,
    )


def take_steps(
    problem: LinearSVMProblem,
    state: SubgradientState,
    visited: np.ndarray,
    *,
    batch_size: int = 1,
    forward_looking: bool = False,
    projection: bool = False,
    averaging: str = "none",
) -> None:
    """Take one step for every ``batch_size`` of the visited rows; what remains of them makes a smaller last batch."""
    norms = state._held.setdefault("norms", squared_norms(problem.rows)) if projection else np.empty(0)
    n_steps = -(-len(visited) // batch_size)
    for piece in pieces(n_steps, 6 * batch_size * problem.rows.mean_length):
        rows = visited[piece.start * batch_size : piece.stop * batch_size]
        step = state.n_steps + piece.start, state.offset, forward_looking, projection, AVERAGINGS.index(averaging)
        _steps(problem.compiled, rows, batch_size, *step, norms, state.direction, state.average, state.scales)
    state.n_steps += n_steps
    state.n_visits += len(visited)
    if averaging == "none":
        state.coefficients = state.scales[SCALE] * state.direction
    else:
        state.coefficients = state.scales[OLD] * state.average + state.scales[OWN] * state.direction


@njit(cache=True, nogil=True)
def _steps(problem, visited, batch_size, t, offset, forward_looking, projection, averaging, norms, v, u, scales):
    rows, signs, weights, loss, lam = problem
    s, norm, r, z = scales[SCALE], scales[NORM], scales[OLD], scales[OWN]
    gains = np.empty(batch_size)
    for first in range(0, len(visited), batch_size):
        size = min(batch_size, len(visited) - first)
        t += 1
        step = 1.0 / (lam * (t + offset))
        kept = 1.0 / (1.0 + step * lam) if forward_looking else 1.0 - step * lam
        gain = (step * kept if forward_looking else step) / size
        for j in range(size):
            i = visited[first + j]
            margin = signs[i] * s * dot(rows, i, v)
            gains[j] = gain * weights[i] * signs[i] * slope(loss, margin)
        s *= kept
        if s < TINY:
            if averaging:
                u *= r
                u += z * v
                r, z = 1.0, 0.0
            v *= s  # Zero in the first step, which forgets what it started from.
            s, norm = 1.0, np.dot(v, v)
        for j in range(size):
            if gains[j] != 0.0:
                i, factor = visited[first + j], gains[j] / s
                if projection:
                    norm += factor * (2.0 * dot(rows, i, v) + factor * norms[i])
                add(rows, i, factor, v)
                if z != 0.0:
                    add(rows, i, -z * factor / r, u)
        if projection and lam * s * s * norm > 1.0:
            s = 1.0 / np.sqrt(lam * norm)
        if averaging:
            share = 1.0 / t if averaging == 1 else 4.0 / (t + 3.0)
            if share >= 1.0:
                u[:] = 0.0
                r, z = 1.0, s
            else:
                r, z = r * (1.0 - share), z * (1.0 - share) + share * s
                if r < TINY:
                    u *= r
                    r = 1.0
    scales[SCALE], scales[NORM], scales[OLD], scales[OWN] = s, norm, r, z
