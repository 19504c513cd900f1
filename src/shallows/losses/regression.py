"""Losses for regression: functions of the difference between score and target."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .. import arrays
from ..arrays import Array
from .base import Loss, check, only_where, positive_part


class Square(Loss):
    """½ (u − y)²."""

    name = "square"
    smoothness = 1.0

    def _each(self, scores: Array, targets: Array) -> Array:
        return 0.5 * (scores - targets) ** 2

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        return scores - targets

    def constant(self, targets: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """The mean."""
        return np.average(targets, axis=0, weights=weights)


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """max(0, |u − y| − ε), for support-vector regression.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0, the error without a cost, in the units of the targets.
    """

    epsilon: float = 0.1
    name: ClassVar[str] = "epsilon_insensitive"
    slope_bound: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        check(self, "epsilon", 0.0, math.inf, open_low=False)

    def _each(self, scores: Array, targets: Array) -> Array:
        xp = arrays.namespace(scores)
        return positive_part(xp, xp.abs(scores - targets) - self.epsilon)

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        xp = arrays.namespace(scores)
        r = scores - targets
        return only_where(xp.abs(r) > self.epsilon, xp.sign(r))


@dataclass(frozen=True)
class Huber(Loss):
    """½ r² within δ, δ (|r| − δ/2) beyond, with r = u − y.

    Parameters
    ----------
    delta : float
        δ > 0, in the units of the targets.
    """

    delta: float = 1.0
    name: ClassVar[str] = "huber"
    smoothness: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        check(self, "delta", 0.0, math.inf)

    @property
    def slope_bound(self) -> float:  # noqa: D102
        return float(self.delta)

    def _each(self, scores: Array, targets: Array) -> Array:
        # With c = clip(r, −δ, δ) both branches are c (r − c/2).
        clipped = self.derivative(scores, targets)
        return clipped * (scores - targets - 0.5 * clipped)

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        return arrays.namespace(scores).clip(scores - targets, -float(self.delta), float(self.delta))


@dataclass(frozen=True)
class Quantile(Loss):
    """max(τ (y − u), (τ − 1)(y − u)), whose minimizer is the τ-quantile.

    Parameters
    ----------
    quantile : float
        τ in (0, 1).
    """

    quantile: float = 0.5
    name: ClassVar[str] = "quantile"

    def __post_init__(self) -> None:
        check(self, "quantile", 0.0, 1.0)

    @property
    def slope_bound(self) -> float:  # noqa: D102
        return max(self.quantile, 1.0 - self.quantile)

    def _each(self, scores: Array, targets: Array) -> Array:
        xp = arrays.namespace(scores)
        above, below = positive_part(xp, scores - targets), positive_part(xp, targets - scores)
        return self.quantile * below + (1.0 - self.quantile) * above

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        above = arrays.astype(scores > targets, scores.dtype)
        below = arrays.astype(scores < targets, scores.dtype)
        return (1.0 - self.quantile) * above - self.quantile * below
