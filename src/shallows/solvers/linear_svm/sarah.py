"""SARAH on the squared hinge: gradients of single examples with a recursive correction."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...arrays import Array
from ...errors import ShallowsError
from ...utils.compilation import njit
from ..pieces import pieces
from .problem import SQUARED_HINGE, CompiledProblem, LinearSettings, LinearState, LinearSVMProblem, slope
from .rows import add, dot, draws, key_of, squared_norms

TINY = 1e-3  # k below this is multiplied into the vectors: p grows as k falls, and u and z p would cancel


@dataclass
class SARAHState(LinearState):
    """The state of SARAH."""

    step_size: float = 0.0


@dataclass(frozen=True)
class SARAHStepper:
    """v₀ = ∇P(w₀), w₁ = w₀ − η v₀; then v_t = ∇P_i(w_t) − ∇P_i(w_{t−1}) + v_{t−1}, w_{t+1} = w_t − η v_t.

    P_i is the regularized loss of a random example. A round is a full gradient and ``inner`` of these steps. Source:
    L. M. Nguyen, J. Liu, K. Scheinberg and M. Takáč (2017), ICML 34.
    """

    inner: int | None = None  # steps of a round; None is n
    step_size: float | None = None  # η; None is 1/(2L) with L = λ + maxᵢ cᵢ ‖xᵢ‖²
    seed: int = 0

    def init(self, problem: LinearSVMProblem) -> SARAHState:
        if problem.loss != SQUARED_HINGE:
            raise ShallowsError("SARAH needs a differentiable loss: use the squared hinge.")
        steepest = problem.regularization + float(np.max(problem.all_weights * squared_norms(problem.rows)))
        return SARAHState(np.zeros(problem.n_features), step_size=self.step_size or 0.5 / steepest)

    def step(self, problem: LinearSVMProblem, state: SARAHState, batch: int) -> SARAHState:
        inner = self.inner or problem.n
        for _ in range(batch):
            w = state.coefficients
            v = problem.regularization * w + problem.risk_gradient(problem.margins(w))
            chosen = draws(key_of(self.seed, "examples of SARAH", state.n_steps), 0, inner - 1, problem.n)
            u, p, scales = w.copy(), v.copy(), np.array([1.0, 0.0])
            for piece in pieces(len(chosen), 8 * problem.rows.mean_length):
                _inner_steps(problem.compiled, state.step_size, chosen[piece], u, p, scales)
            state.coefficients = u + (scales[1] - state.step_size * scales[0]) * p
            state.n_steps += 1
        return state


@njit(cache=True, nogil=True)
def _inner_steps(problem: CompiledProblem, step: float, chosen: Array, u: Array, p: Array, scales: Array) -> None:
    rows, signs, weights, loss, lam = problem
    # v = k p and w = u + z p: the regularizer's part of v_t is −λ η v_{t−1}, so that it only scales v, and a step
    # changes the coordinates of one example.
    k, z = scales
    for i in chosen:
        z -= step * k
        along = dot(rows, i, p)
        margin = signs[i] * (dot(rows, i, u) + z * along)
        before = margin + signs[i] * step * k * along
        change = -weights[i] * signs[i] * (slope(loss, margin) - slope(loss, before))
        k *= 1.0 - lam * step
        if abs(k) < TINY:
            u += z * p
            p *= k
            k, z = 1.0, 0.0
        if change != 0.0:
            add(rows, i, change / k, p)
            add(rows, i, -z * change / k, u)
    scales[0], scales[1] = k, z


@dataclass(frozen=True, kw_only=True)
class SARAH(LinearSettings):
    """SARAH: recursive gradients of the squared hinge, in rounds that begin with a full gradient.

    Parameters
    ----------
    max_epochs : int, optional
        Rounds. None: 20, and as many as visit 20,000 rows.
    """

    losses: ClassVar[tuple[str, ...]] = ("squared_hinge",)

    def build(self, seed: int) -> SARAHStepper:
        return SARAHStepper(seed=seed)
