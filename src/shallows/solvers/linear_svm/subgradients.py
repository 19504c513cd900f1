"""Stochastic subgradient steps of a length that falls as 1/t: Pegasos, FOLOS and Bottou's SVM-SGD.

The iterate is s v and the average r u + z v, so that a step changes only the coordinates of its examples.
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...utils.compilation import njit
from ..pieces import pieces
from ..settings import choice, count, flag, setting
from .problem import HINGE, CompiledProblem, LinearSettings, LinearState, LinearSVMProblem, slope
from .rows import SAMPLINGS, add, dot, permutation, products_of, squared_norms, visits

AVERAGINGS = ("none", "uniform", "weighted")
"""The last iterate; the mean of all; the mean with growing weights, f̄ ← f̄ + 4/(t + 3) (f − f̄)."""

SCALE, NORM, OLD, OWN = 0, 1, 2, 3  # s, ‖v‖², r and z
TINY = 1e-3
"""If s or r falls below this it is multiplied into the vectors: v grows as s falls, and r u and z v would cancel."""

SAMPLE = 1000  # examples on which SVM-SGD tries its first step
MOST_TRIALS = 40


@dataclass
class SubgradientState(LinearState):
    """The state of subgradient steps."""

    direction: np.ndarray = field(kw_only=True)  # (d,): v of the iterate s v
    average: np.ndarray = field(kw_only=True)  # (d,): u of the average r u + z v
    scales: np.ndarray = field(kw_only=True)  # (4,): s, ‖v‖², r, z
    offset: float = 0.0  # t₀: steps are 1/(λ(t + t₀))
    n_visits: int = 0  # examples visited so far, which determine the next ones
    _held: dict[str, Any] = field(default_factory=dict, repr=False)


def zero_state(problem: LinearSVMProblem, offset: float = 0.0) -> SubgradientState:
    """The state of w = 0."""
    w, v, u = (np.zeros(problem.n_features) for _ in range(3))
    return SubgradientState(w, direction=v, average=u, scales=np.array([1.0, 0.0, 1.0, 0.0]), offset=offset)


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
    """Take one step for each ``batch_size`` of the visited rows; the last batch may be smaller."""
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
def _steps(
    problem: CompiledProblem,
    visited: Array,
    batch_size: int,
    t: int,
    offset: float,
    forward_looking: bool,
    projection: bool,
    averaging: int,
    norms: Array,
    v: Array,
    u: Array,
    scales: Array,
) -> None:
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
            v *= s  # s is 0 in the first step, which removes the start.
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


@dataclass(frozen=True, kw_only=True)
class SubgradientStepper:
    """Base of the methods of this module."""

    batch_size: int = 1  # k
    averaging: str = "none"  # one of `AVERAGINGS`
    # One of `SAMPLINGS`. The paper on Pegasos prints "subsets"; the authors' release uses "uniform".
    sampling: str = "uniform"
    seed: int = 0

    forward_looking: ClassVar[bool] = False
    projection = False  # without an annotation, so that it is no field but can be one

    def init(self, problem: LinearSVMProblem) -> SubgradientState:
        return zero_state(problem)

    def step(self, problem: LinearSVMProblem, state: SubgradientState, batch: int) -> SubgradientState:
        size = min(self.batch_size, problem.n)
        chosen = visits(self.sampling, self.seed, state.n_visits, batch, problem.n, state._held, size)
        take_steps(
            problem,
            state,
            chosen,
            batch_size=size,
            forward_looking=self.forward_looking,
            projection=self.projection,
            averaging=self.averaging,
        )
        return state


@dataclass(frozen=True, kw_only=True)
class LinearPegasosStepper(SubgradientStepper):
    """w ← (1 − 1/t) w + (1/(λ t k)) Σ yᵢ xᵢ over the examples among k with yᵢ wᵀxᵢ < 1, then perhaps a projection.

    Sources: S. Shalev-Shwartz, Y. Singer, N. Srebro and A. Cotter (2011), Mathematical Programming 127; O. Shamir and
    T. Zhang (2013), ICML 30 (the growing weights).
    """

    projection: bool = False  # onto the ball ‖w‖ ≤ 1/√λ, which contains the optimum


@dataclass(frozen=True, kw_only=True)
class FOLOSStepper(SubgradientStepper):
    """w ← (w + η yᵢ xᵢ [yᵢ wᵀxᵢ < 1])/(1 + ηλ) with η = 1/(λt): a step along the loss, then the regularizer exactly.

    Source: J. Duchi and Y. Singer (2009), JMLR 10.
    """

    forward_looking: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class SVMSGDStepper(SubgradientStepper):
    """w ← (1 − η_t λ) w + η_t yᵢ xᵢ · (−ℓ') with η_t = 1/(λ(t + t₀)) and t₀ = 1/(λη₀), η₀ from `best_first_step`.

    Source: L. Bottou (2010), COMPSTAT 19, and his program ``svmsgd`` (version 2: the trial of first steps).
    """

    step_size: float | None = None  # η₀; None tries steps on a sample
    sampling: str = "new_permutation"

    def init(self, problem: LinearSVMProblem) -> SubgradientState:
        """The zero vector, with the best first step."""
        step = best_first_step(problem, self.seed) if self.step_size is None else self.step_size
        return zero_state(problem, 1.0 / (problem.regularization * step))


def best_first_step(problem: LinearSVMProblem, seed: int) -> float:
    """The power of two with the smallest objective on a sample after a pass over it."""
    chosen = permutation(seed, 0, problem.n)[:SAMPLE]

    def objective_after(step: float) -> float:
        state = zero_state(problem, 1.0 / (problem.regularization * step))
        take_steps(problem, state, chosen)
        # A step that overflows is too long.
        with np.errstate(over="ignore", invalid="ignore"):
            margins = problem.signs[chosen] * products_of(problem.rows, chosen, state.coefficients)
            missed = np.maximum(0.0, 1.0 - margins)
            each = missed if problem.loss == HINGE else 0.5 * missed * missed
            own = 0.5 * problem.regularization * float(state.coefficients @ state.coefficients)
            return own + float(np.mean(problem.all_weights[chosen] * each))

    step, value, factor = 1.0, objective_after(1.0), 2.0
    if not objective_after(2.0) < value:
        factor = 0.5
    for _ in range(MOST_TRIALS):
        tried = objective_after(step * factor)
        if math.isfinite(value) and not tried < value:
            break
        step, value = step * factor, tried
    return step


@dataclass(frozen=True, kw_only=True)
class StochasticSettings(LinearSettings):
    """Base of the settings of solvers that step along the subgradients of single examples."""

    averaging: str = setting(choice("weighted", "uniform", "none"))
    sampling: str = setting(choice("new_permutation", *(name for name in SAMPLINGS if name != "new_permutation")))

    is_online: ClassVar[bool] = True

    def _rows(self, seed: int) -> dict[str, Any]:
        return {"averaging": self.averaging, "sampling": self.sampling, "seed": seed}


@dataclass(frozen=True, kw_only=True)
class LinearPegasos(StochasticSettings):
    """Pegasos for a linear machine: subgradient steps of 1/(λt), for the hinge.

    Parameters
    ----------
    batch_size : int, default=1
        Rows of a step.
    projection : bool, default=False
        Project w onto the ball ‖w‖ ≤ 1/√λ after every step.
    averaging : {"weighted", "uniform", "none"}, default="weighted"
        The model is the mean of the iterates with growing or equal weights, or the last iterate.
    sampling : {"new_permutation", "fixed_permutation", "uniform", "subsets", "in_order"}, default="new_permutation"
        Order of rows: permuted in each epoch, permuted once, independent draws, batches of different rows, or as given.
    max_epochs : int, optional
        Passes over the rows. None: 20, and as many as visit 20,000 rows.
    """

    batch_size: int = setting(count(default=1))
    projection: bool = setting(flag())

    losses: ClassVar[tuple[str, ...]] = ("hinge",)

    def build(self, seed: int) -> LinearPegasosStepper:
        return LinearPegasosStepper(batch_size=self.batch_size, projection=bool(self.projection), **self._rows(seed))


@dataclass(frozen=True, kw_only=True)
class FOLOS(StochasticSettings):
    """Forward-looking subgradients: a step along the hinge, then the regularizer exactly.

    Parameters
    ----------
    batch_size, averaging, sampling, max_epochs
        As of `LinearPegasos`.
    """

    batch_size: int = setting(count(default=1))

    losses: ClassVar[tuple[str, ...]] = ("hinge",)

    def build(self, seed: int) -> FOLOSStepper:
        return FOLOSStepper(batch_size=self.batch_size, **self._rows(seed))


@dataclass(frozen=True, kw_only=True)
class SVMSGD(StochasticSettings):
    """Bottou's stochastic gradient descent for SVMs, which tries its first step on a sample.

    Parameters
    ----------
    averaging, sampling, max_epochs
        As of `LinearPegasos`.
    """

    def build(self, seed: int) -> SVMSGDStepper:
        return SVMSGDStepper(**self._rows(seed))
