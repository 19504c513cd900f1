"""Losses in the dual problem: the optimal value of one dual variable, and the dual objective.

For a convex loss the regularised risk has the dual

    D(a) = (1/n) Σᵢ −ℓ*(−aᵢ) − λ/2 ‖f_a‖²,    f_a = (1/(λn)) Σ aᵢ k(xᵢ, ·),

and at the optimum aᵢ = −ℓ'(f(xᵢ)). With all other variables fixed, v the score of example i without its own part and
q = k(xᵢ, xᵢ)/(λn), the best a solves a = −ℓ'(v + q a).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from ... import losses
from ...errors import ShallowsError


class Dual:
    """The dual side of a loss.

    Parameters
    ----------
    loss : Loss
    """

    def __init__(self, loss: Any):
        self.loss = loss

    def best(self, v: float, q: float, y: float) -> float:
        """The a that solves a = −ℓ'(v + q a), for q > 0. Plain numbers: it stands in the innermost loop."""
        raise NotImplementedError

    def value(self, a: np.ndarray, y: np.ndarray) -> np.ndarray:
        """−ℓ*(−a), where a is within its bounds."""
        raise NotImplementedError


class _Square(Dual):
    def best(self, v: float, q: float, y: float) -> float:
        return (y - v) / (1.0 + q)

    def value(self, a: np.ndarray, y: np.ndarray) -> np.ndarray:
        return a * y - 0.5 * a * a


class _Hinge(Dual):
    def best(self, v: float, q: float, y: float) -> float:
        p = (1.0 - y * v) / q
        return 0.0 if p <= 0.0 else y if p >= 1.0 else y * p

    def value(self, a: np.ndarray, y: np.ndarray) -> np.ndarray:
        return a * y


class _SquaredHinge(_Square):
    def best(self, v: float, q: float, y: float) -> float:
        return y * max(0.0, (1.0 - y * v) / (1.0 + q))


class _EpsilonInsensitive(Dual):
    def best(self, v: float, q: float, y: float) -> float:
        r = y - v
        size = abs(r) - self.loss.epsilon
        return 0.0 if size <= 0.0 else math.copysign(min(1.0, size / q), r)

    def value(self, a: np.ndarray, y: np.ndarray) -> np.ndarray:
        return a * y - self.loss.epsilon * np.abs(a)


class _Huber(_Square):
    def best(self, v: float, q: float, y: float) -> float:
        delta = self.loss.delta
        return max(-delta, min(delta, (y - v) / (1.0 + q)))


class _Quantile(Dual):
    def best(self, v: float, q: float, y: float) -> float:
        tau = self.loss.quantile
        return max(tau - 1.0, min(tau, (y - v) / q))

    def value(self, a: np.ndarray, y: np.ndarray) -> np.ndarray:
        return a * y


class _Logistic(Dual):
    def best(self, v: float, q: float, y: float) -> float:
        # p = ya solves p = 1/(1 + e^{yv + qp}): its two sides cross once on (0, 1). Newton's steps on the log-odds,
        # log(p/(1 − p)) + yv + qp = 0, kept within the bracket.
        m, low, high = y * v, 0.0, 1.0
        p = 1.0 / (1.0 + math.exp(min(700.0, max(-700.0, m + 0.5 * q))))
        for _ in range(60):
            p = min(1.0 - 1e-16, max(1e-300, p))
            gap = math.log(p) - math.log1p(-p) + m + q * p
            if gap > 0:
                high = p
            else:
                low = p
            next_p = p - gap / (1.0 / (p * (1.0 - p)) + q)
            if not low < next_p < high:
                next_p = 0.5 * (low + high)
            if abs(next_p - p) <= 1e-14 * p:
                break
            p = next_p
        return y * p

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
    """The dual side of a loss.

    Raises
    ------
    ShallowsError
        If the loss is none of a single score.
    """
    if type(loss) not in DUALS:
        known = ", ".join(sorted(repr(known.name) for known in DUALS))
        raise ShallowsError(f"Dual coordinate ascent takes one of the losses {known}, not {loss.name!r}.")
    return DUALS[type(loss)](loss)
