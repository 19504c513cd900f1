"""Stochastic dual coordinate ascent, on kernels or on features.

For a convex loss the regularized risk has the dual

    D(a) = (1/n) Σᵢ −ℓ*(−aᵢ) − λ/2 ‖f_a‖²,    f_a = (1/(λn)) Σ aᵢ k(xᵢ, ·),

and at the optimum aᵢ = −ℓ'(f(xᵢ)). With all other variables fixed, v the score of example i without its own part and
q = k(xᵢ, xᵢ)/(λn), the best a solves a = −ℓ'(v + q a).
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ... import arrays, losses
from ...arrays import Array
from ...errors import ShallowsError
from ...features.base import inner_products
from . import ascent
from .risk import FeatureSpan, RiskProblem, RiskSettings, RiskState

#: The losses that dual coordinate ascent takes: their number in `ascent`, and the name of their parameter.
DUALS: dict[type[losses.Loss], tuple[int, str]] = {
    losses.Square: (ascent.SQUARE, ""),
    losses.Hinge: (ascent.HINGE, ""),
    losses.SquaredHinge: (ascent.SQUARED_HINGE, ""),
    losses.EpsilonInsensitive: (ascent.EPSILON_INSENSITIVE, "epsilon"),
    losses.Huber: (ascent.HUBER, "delta"),
    losses.Quantile: (ascent.QUANTILE, "quantile"),
    losses.Logistic: (ascent.LOGISTIC, ""),
}

PIECE = 32
"""Examples of a piece on features: their inner products then cost as much as the inner loop."""


def dual_of(loss: Any) -> tuple[int, float]:
    """The number of a loss in `ascent`, and the value of its parameter, 0 without one."""
    if type(loss) not in DUALS:
        known = ", ".join(sorted(repr(known.name) for known in DUALS))
        raise ShallowsError(f"Dual coordinate ascent takes one of the losses {known}, not {loss.name!r}.")
    number, parameter = DUALS[type(loss)]
    return number, float(getattr(loss, parameter)) if parameter else 0.0


@dataclass
class SDCAState(RiskState):
    """A `RiskState` with its dual variables."""

    dual: Array = field(kw_only=True)  # (n, c): a, with f = (1/(λn)) Σ aᵢ k(xᵢ, ·)


@dataclass(frozen=True)
class SDCAStepper:
    """Set one dual variable after the other to its best value, all variables of a batch with one product.

    The result is the same as for single examples. Source: S. Shalev-Shwartz and T. Zhang (2013), JMLR 14.
    """

    def init(self, problem: RiskProblem) -> SDCAState:
        dual_of(problem.loss)
        targets = problem.targets
        dual = arrays.namespace(targets).zeros(targets.shape, dtype=targets.dtype)
        return SDCAState(problem.span.zero(targets), 1.0, dual=dual)

    def step(self, problem: RiskProblem, state: SDCAState, batch: slice) -> SDCAState:
        if isinstance(problem.span, FeatureSpan):
            return self._step_on_features(problem, state, batch)
        scores = state.evaluate(problem, batch)
        state.advance(batch)
        change = _settle(problem, state, batch, scores, problem.span.products(batch))
        problem.span.add(state.coefficients, batch, change)
        return state

    def _step_on_features(self, problem: RiskProblem, state: SDCAState, batch: slice) -> SDCAState:
        """The same in small pieces, because products within a piece cost its square."""
        Z = problem.feature_span.rows(batch)
        size = PIECE if arrays.is_numpy(state.coefficients) else Z.shape[0]
        state.loss = state.zero_loss = 0.0
        state.advance(batch)
        for piece in arrays.blocks(Z.shape[0], size):
            rows, here = Z[piece, :], slice(batch.start + piece.start, batch.start + piece.stop)
            scores = rows @ state.coefficients
            losses = problem.losses_and_zero_losses(scores, here)
            state.loss, state.zero_loss = state.loss + losses[0], state.zero_loss + losses[1]
            state.coefficients += rows.T @ _settle(problem, state, here, scores, inner_products(rows, rows))
        return state


def _settle(problem: RiskProblem, state: SDCAState, batch: slice, scores: Array, products: Array) -> Array:
    """Set the dual variables of a batch to their best values in turn; returns the change of f's coefficients."""
    scale = 1.0 / (problem.regularization * problem.span.n)
    loss, a, targets = dual_of(problem.loss), state.dual[batch, :], problem.targets[batch, :]
    scores = problem.shifted(scores)
    weights = None if problem.weights is None else problem.weights[batch, 0]
    change = ascent.change_of(*loss, scores, products, scale, a, targets, weights)
    if change is not None:
        return change
    w = np.ones(a.shape[0]) if weights is None else _on_host(weights)
    f, K, old, y = (_on_host(part) for part in (scores, products, a, targets))
    after = ascent.ascend(*loss, f, K, scale, old, y, w)
    rounded = arrays.like(after, state.dual)
    # The coefficients follow the rounded dual variables, so that the two always agree.
    change = (rounded - a) * scale
    state.dual[batch, :] = rounded
    return change


def _on_host(x: Array) -> np.ndarray:
    """The array in float64 and contiguous, so that the loop is compiled for one kind of arrays."""
    return np.ascontiguousarray(arrays.to_numpy(x), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class SDCA(RiskSettings):
    """Stochastic dual coordinate ascent: each dual variable in turn gets its best value, without a step size.

    Parameters
    ----------
    batch_size : int, optional
        Rows of a step. None: a twentieth of the rows, from 16 to 256 with a kernel, from 8 to 64 with features.
    max_epochs : int, default=20
        Most passes over the training rows.
    tol : float, default=0.0
        Stop after an epoch whose training loss is at most this share of the zero function's loss.
    """

    # For a smaller λ than 1/n, about ten epochs do not solve the dual problem of values.
    least_ridge: ClassVar[float] = 1.0

    def why_not(self, loss: losses.Loss) -> str:
        known = ", ".join(sorted(repr(known.name) for known in DUALS))
        return "" if type(loss) in DUALS else f"dual coordinate ascent takes {known}"

    def build(self, problem: RiskProblem, batch_size: int) -> SDCAStepper:
        return SDCAStepper()
