"""NORMA: stochastic gradient descent on a regularized risk in the space of a kernel."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ... import arrays
from ...arrays import Array
from ...losses import Loss
from ..settings import choice, count, positive, setting
from .risk import RiskProblem, RiskSettings, RiskState

GROWTH = 10.0
"""With unbounded slopes a training has diverged if its loss is this many times the zero function's loss."""


@dataclass
class NORMAState(RiskState):
    """A `RiskState` that knows when rows were visited."""

    visited: Array | None = None  # (n, 1): number of the last step that visited a row, or 0; None without truncation


@dataclass(frozen=True)
class NORMAStepper:
    """f ← (1 − η_t λ) f − (η_t/m) Σ_{i∈S} ℓ'(f(xᵢ), yᵢ) k(xᵢ, ·) for a batch S of m examples.

    Source: J. Kivinen, A. Smola and R. Williamson (2004), IEEE Transactions on Signal Processing 52, with η_t = η₁/√t.
    """

    step_size: float  # η₁
    schedule: str = "root"  # η_t is η₁/√t ("root"), η₁ ("constant") or η₁/t ("inverse", with η₁ = 1/λ as in Pegasos)
    # Drop terms after this many examples, counted from the last visit of a row. Their coefficients have shrunk by
    # ∏(1 − ηλ).
    truncation: int | None = None

    def init(self, problem: RiskProblem) -> NORMAState:
        state = NORMAState(problem.span.zero(problem.targets), self.step_size)
        if self.truncation is not None:
            xp = arrays.namespace(problem.targets)
            state.visited = xp.zeros((state.coefficients.shape[0], 1), dtype=problem.targets.dtype)
        return state

    def step(self, problem: RiskProblem, state: NORMAState, batch: slice) -> NORMAState:
        m = batch.stop - batch.start
        G = problem.gradient(state.evaluate(problem, batch), batch)
        state.advance(batch)
        t = state.n_steps
        eta = state.step_size / {"constant": 1.0, "root": math.sqrt(t), "inverse": float(t)}[self.schedule]
        state.coefficients *= 1.0 - eta * problem.regularization
        problem.span.add(state.coefficients, batch, G * (-eta / m))
        if state.visited is not None:
            state.visited[batch, :] = float(t)
            oldest = t - max(1, self.truncation // m)
            state.coefficients *= arrays.astype(state.visited > oldest, state.coefficients.dtype)
        return state


def default_step(problem: RiskProblem, batch_size: int, schedule: str, n_epochs: int) -> float:
    """The default first step η₁."""
    loss, reg = problem.loss, problem.regularization
    if schedule == "inverse":
        return 1.0 / reg
    K = arrays.to_numpy(problem.span.products(slice(0, batch_size))).astype(np.float64)
    n_steps, M = n_epochs * math.ceil(problem.span.n / batch_size), loss.slope_bound
    if loss.for_classes and math.isfinite(M):
        # The regret of steps η/√t is smallest for η = ‖f‖ over the bound of the gradients; 1/√λ bounds ‖f‖.
        step = 1.0 / (M * math.sqrt(reg * float(K.diagonal().max())))
        return step if schedule == "root" else step / math.sqrt(n_steps)
    with arrays.one_blas_thread():
        top = float(np.linalg.eigvalsh(K)[-1]) / batch_size
    # For values the size of f matters, not only its sign, and that bound is much too wide for a small λ. A loss with
    # kinks counts as a square whose slope is M at the mean distance from the intercept, ℓ/M.
    if math.isfinite(loss.smoothness):
        return 1.0 / (loss.smoothness * top + reg)
    mean = problem.losses(arrays.namespace(problem.targets).zeros_like(problem.targets), slice(0, problem.span.n))
    distance = mean / problem.span.n / M
    step = distance / (M * top + reg * distance)
    return step if schedule == "root" else step / math.sqrt(n_steps)


@dataclass(frozen=True, kw_only=True)
class NORMA(RiskSettings):
    """NORMA: stochastic gradient steps in the space of the kernel, for all losses.

    Parameters
    ----------
    step_size : float, optional
        η₁. None: from bounds of the gradients, or from the largest eigenvalue of the kernel on a batch.
    schedule : {"root", "constant", "inverse"}, default="root"
        η_t = η₁/√t, η₁ or η₁/t.
    truncation : int, optional
        Examples after which terms of the function are dropped. None keeps all terms.
    batch_size, max_epochs, tol
        As of `SDCA`.
    """

    step_size: float | None = setting(positive())
    schedule: str = setting(choice("root", "constant", "inverse"))
    truncation: int | None = setting(count())

    takes: ClassVar[str] = "kernels"

    def growth(self, loss: Loss) -> float:
        """Infinite if no training can diverge: with bounded slopes, or η₁/t, whose first steps are long by design."""
        return math.inf if math.isfinite(loss.slope_bound) or self.schedule == "inverse" else GROWTH

    def build(self, problem: RiskProblem, batch_size: int) -> NORMAStepper:
        step = self.step_size or default_step(problem, batch_size, self.schedule, self.max_epochs)
        return NORMAStepper(float(step), self.schedule, self.truncation)
