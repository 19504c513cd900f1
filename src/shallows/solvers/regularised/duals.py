"""Losses in the dual problem: the optimal value of one dual variable, and the dual objective.

For a convex loss the regularised risk has the dual

    D(a) = (1/n) Σᵢ −ℓ*(−aᵢ) − λ/2 ‖f_a‖²,    f_a = (1/(λn)) Σ aᵢ k(xᵢ, ·),

and at the optimum aᵢ = −ℓ'(f(xᵢ)). With all other variables fixed, v the score of example i without its own part and
q = k(xᵢ, xᵢ)/(λn), the best a solves a = −ℓ'(v + q a).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from ... import losses
from ...errors import ShallowsError
from . import ascent


class Dual:
    """The dual side of a loss: the number by which `ascent` knows it, and its parameter, 0 where it has none."""

    number: int
    name_of_parameter: str | None = None

    def __init__(self, loss: Any):
        self.loss = loss
        self.parameter = float(getattr(loss, self.name_of_parameter)) if self.name_of_parameter else 0.0

    def best(self, v: float, q: float, y: float) -> float:
        """The a that solves a = −ℓ'(v + q a), for q > 0."""
        return ascent.best(self.number, self.parameter, v, q, y)

    def value(self, a: np.ndarray, y: np.ndarray) -> np.ndarray:
        """−ℓ*(−a), where a is within its bounds."""
        raise NotImplementedError


class _Square(Dual):
    number = ascent.SQUARE

    def value(self, a: np.ndarray, y: np.ndarray) -> np.ndarray:
        return a * y - 0.5 * a * a


class _Hinge(Dual):
    number = ascent.HINGE

    def value(self, a: np.ndarray, y: np.ndarray) -> np.ndarray:
        return a * y


class _SquaredHinge(_Square):
    number = ascent.SQUARED_HINGE


class _EpsilonInsensitive(Dual):
    number = ascent.EPSILON_INSENSITIVE
    name_of_parameter = "epsilon"

    def value(self, a: np.ndarray, y: np.ndarray) -> np.ndarray:
        return a * y - self.loss.epsilon * np.abs(a)


class _Huber(_Square):
    number = ascent.HUBER
    name_of_parameter = "delta"


class _Quantile(_Hinge):
    number = ascent.QUANTILE
    name_of_parameter = "quantile"


class _Logistic(Dual):
    number = ascent.LOGISTIC

    def value(self, a: np.ndarray, y: np.ndarray) -> np.ndarray:
        p = np.clip(a * y, 0.0, 1.0)
        return scipy.special.entr(p) + scipy.special.entr(1.0 - p)


DUALS: dict[type, type[Dual]] = {
    losses.Square: _Square,
    losses.Hinge: _Hinge,
    losses.SquaredHinge: _SquaredHinge,
    losses.EpsilonInsensitive: _EpsilonInsensitive,
    losses.Huber: _Huber,
    losses.Quantile: _Quantile,
    losses.Logistic: _Logistic,
}


def dual_of(loss: Any) -> Dual:
    """The dual side of a loss of a single score."""
    if type(loss) not in DUALS:
        known = ", ".join(sorted(repr(known.name) for known in DUALS))
        raise ShallowsError(f"Dual coordinate ascent takes one of the losses {known}, not {loss.name!r}.")
    return DUALS[type(loss)](loss)
