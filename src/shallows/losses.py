"""Losses: value, derivative, coding of targets, links.

With u the score and y the target, summed over the outputs of an example:

====================  ==========================================  ==================================  =========
name                  ℓ(u, y)                                     ℓ'(u, y), or a subgradient          coding
====================  ==========================================  ==================================  =========
square                ½ (u − y)²                                  u − y                               values
hinge                 max(0, 1 − yu)                              −y [yu < 1]                         signs
squared_hinge         ½ max(0, 1 − yu)²                           −y max(0, 1 − yu)                   signs
logistic              log(1 + e^{−yu})                            −y / (1 + e^{yu})                   signs
softmax               log Σ e^{z_r} − z_y                         softmax(z) − e_y                    indicator
multiclass_hinge      max_r {[r ≠ y] − z_y + z_r}                 e_r̂ − e_y                           indicator
epsilon_insensitive   max(0, |u − y| − ε)                         sign(u − y) [|u − y| > ε]           values
huber                 ½ r² for |r| ≤ δ, else δ (|r| − δ/2)        clip(r, −δ, δ), r = u − y           values
quantile              max(τ (y − u), (τ − 1) (y − u))             −τ for u < y, 1 − τ for u > y       values
novelty               max(0, ρ − u) / ν − ρ                       −[u < ρ] / ν                        offset
====================  ==========================================  ==================================  =========

At a kink the derivative is 0 where that is a subgradient, as in the strict inequalities above.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from . import arrays
from .arrays import Array
from .errors import ShallowsError, UnknownNameError


@dataclass(frozen=True)
class Loss:
    """What an example costs, given its scores.

    Attributes
    ----------
    name : str
    coding : {"signs", "indicator", "values", "offset"}
        How targets are written: −1 and +1, a column for each class or a single one for two classes; 0 and 1, a column
        for each class; the numbers themselves; the current offset ρ. The square loss takes classes as signs.
    has_probabilities : bool
        Whether `probabilities` is defined.
    """

    name: ClassVar[str]
    coding: ClassVar[str] = "values"
    has_probabilities: ClassVar[bool] = False

    @property
    def slope_bound(self) -> float:
        """M, the bound of |ℓ'| in each output; infinite where there is none."""
        return math.inf

    @property
    def smoothness(self) -> float:
        """L, the Lipschitz constant of ℓ'; infinite where ℓ has a kink."""
        return math.inf

    @property
    def for_classes(self) -> bool:
        """Whether the targets are classes and nothing else."""
        return self.coding in ("signs", "indicator")

    def value(self, scores: Array, targets: Array) -> Array:
        """ℓ of each example, shape (m,), for scores and targets of shape (m, c)."""
        return arrays.namespace(scores).sum(self._each(scores, targets), axis=1)

    def derivative(self, scores: Array, targets: Array) -> Array:
        """ℓ' (or a subgradient) in the scores, shape (m, c)."""
        raise NotImplementedError

    def _each(self, scores: Array, targets: Array) -> Array:
        """ℓ of each output, shape (m, c), for losses that are sums over outputs."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------- coding

    def n_outputs(self, n_classes: int) -> int:
        """Columns of scores for so many classes."""
        return n_classes if self.coding == "indicator" or n_classes > 2 else 1

    def encode(self, labels: np.ndarray, n_classes: int) -> np.ndarray:
        """Class numbers 0 to n_classes − 1, shape (m,), as targets, float64, shape (m, n_outputs).

        With one column the second class is +1.
        """
        if self.coding == "offset":
            raise ShallowsError(f"The loss {self.name!r} takes no classes.")
        labels = np.asarray(labels)
        if self.n_outputs(n_classes) == 1:
            return np.where(labels[:, None] == 1, 1.0, -1.0)
        indicator = labels[:, None] == np.arange(n_classes)
        return indicator.astype(np.float64) if self.coding == "indicator" else np.where(indicator, 1.0, -1.0)

    def decide(self, scores: Array) -> Array:
        """The class number that scores of shape (m, c) speak for, int64, shape (m,)."""
        xp = arrays.namespace(scores)
        if scores.shape[1] == 1:
            return arrays.astype(scores[:, 0] > 0, xp.int64)
        return xp.argmax(scores, axis=1)

    def probabilities(self, scores: Array) -> Array:
        """Probabilities of the classes, shape (m, n_classes)."""
        raise ShallowsError(f"The loss {self.name!r} has no link to probabilities; 'logistic' and 'softmax' have one.")


def _positive(xp: Any, x: Array) -> Array:
    return xp.clip(x, 0.0, None)


def _where(condition: Array, x: Array) -> Array:
    """``x`` where the condition holds, 0 elsewhere."""
    return x * arrays.astype(condition, x.dtype)


def _check(loss: Loss, name: str, low: float, high: float, *, open_low: bool = True, open_high: bool = True) -> None:
    value = getattr(loss, name)
    fine = isinstance(value, numbers.Real) and (low < value if open_low else low <= value)
    if not (fine and math.isfinite(value) and (value < high if open_high else value <= high)):
        interval = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
        raise ShallowsError(f"{name} of the loss {loss.name!r} must be a number in {interval}, got {value!r}.")


# ------------------------------------------------------------------------------------------------- of numbers


class Square(Loss):
    """½ (u − y)²."""

    name = "square"

    @property
    def smoothness(self) -> float:  # noqa: D102
        return 1.0

    def _each(self, scores: Array, targets: Array) -> Array:
        return 0.5 * (scores - targets) ** 2

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        return scores - targets


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """max(0, |u − y| − ε), of support-vector regression.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0, the error that costs nothing, in the units of the targets.
    """

    epsilon: float = 0.1
    name: ClassVar[str] = "epsilon_insensitive"

    def __post_init__(self) -> None:
        _check(self, "epsilon", 0.0, math.inf, open_low=False)

    @property
    def slope_bound(self) -> float:  # noqa: D102
        return 1.0

    def _each(self, scores: Array, targets: Array) -> Array:
        xp = arrays.namespace(scores)
        return _positive(xp, xp.abs(scores - targets) - self.epsilon)

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        xp = arrays.namespace(scores)
        r = scores - targets
        return _where(xp.abs(r) > self.epsilon, xp.sign(r))


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

    def __post_init__(self) -> None:
        _check(self, "delta", 0.0, math.inf)

    @property
    def slope_bound(self) -> float:  # noqa: D102
        return float(self.delta)

    @property
    def smoothness(self) -> float:  # noqa: D102
        return 1.0

    def _each(self, scores: Array, targets: Array) -> Array:
        # With c = clip(r, −δ, δ) both branches are c (r − c/2).
        clipped = self.derivative(scores, targets)
        return clipped * (scores - targets - 0.5 * clipped)

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        return arrays.namespace(scores).clip(scores - targets, -float(self.delta), float(self.delta))


@dataclass(frozen=True)
class Quantile(Loss):
    """max(τ (y − u), (τ − 1)(y − u)), whose minimiser is the τ-quantile.

    Parameters
    ----------
    quantile : float
        τ in (0, 1).
    """

    quantile: float = 0.5
    name: ClassVar[str] = "quantile"

    def __post_init__(self) -> None:
        _check(self, "quantile", 0.0, 1.0)

    @property
    def slope_bound(self) -> float:  # noqa: D102
        return max(self.quantile, 1.0 - self.quantile)

    def _each(self, scores: Array, targets: Array) -> Array:
        xp = arrays.namespace(scores)
        return self.quantile * _positive(xp, targets - scores) + (1.0 - self.quantile) * _positive(xp, scores - targets)

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        above = arrays.astype(scores > targets, scores.dtype)
        below = arrays.astype(scores < targets, scores.dtype)
        return (1.0 - self.quantile) * above - self.quantile * below


# ------------------------------------------------------------------------------------------------- of margins


class Hinge(Loss):
    """max(0, 1 − yu), of support-vector machines."""

    name = "hinge"
    coding = "signs"

    @property
    def slope_bound(self) -> float:  # noqa: D102
        return 1.0

    def _each(self, scores: Array, targets: Array) -> Array:
        return _positive(arrays.namespace(scores), 1.0 - targets * scores)

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        return _where(targets * scores < 1.0, -targets)


class SquaredHinge(Loss):
    """½ max(0, 1 − yu)²."""

    name = "squared_hinge"
    coding = "signs"

    @property
    def smoothness(self) -> float:  # noqa: D102
        return 1.0

    def _each(self, scores: Array, targets: Array) -> Array:
        return 0.5 * _positive(arrays.namespace(scores), 1.0 - targets * scores) ** 2

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        return -targets * _positive(arrays.namespace(scores), 1.0 - targets * scores)


class Logistic(Loss):
    """log(1 + e^{−yu}); with several columns, one against the rest."""

    name = "logistic"
    coding = "signs"
    has_probabilities = True

    @property
    def slope_bound(self) -> float:  # noqa: D102
        return 1.0

    @property
    def smoothness(self) -> float:  # noqa: D102
        return 0.25

    def _each(self, scores: Array, targets: Array) -> Array:
        xp = arrays.namespace(scores)
        margins = targets * scores
        return _positive(xp, -margins) + xp.log1p(xp.exp(-xp.abs(margins)))

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        return -targets * _sigmoid(-targets * scores)

    def probabilities(self, scores: Array) -> Array:
        """The sigmoid of the scores, divided by its sum over the classes where there is a column for each."""
        xp = arrays.namespace(scores)
        if scores.shape[1] == 1:
            return xp.concat([_sigmoid(-scores), _sigmoid(scores)], axis=1)
        # In logarithms, so that scores far below zero in every column do not give 0/0.
        log = -(_positive(xp, -scores) + xp.log1p(xp.exp(-xp.abs(scores))))
        return _softmax(xp, log)


def _sigmoid(x: Array) -> Array:
    """1 / (1 + e^{−x}), with full relative accuracy at both ends and no overflow."""
    xp = arrays.namespace(x)
    small = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1.0 / (1.0 + small), small / (1.0 + small))


def _softmax(xp: Any, scores: Array) -> Array:
    powers = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    return powers / xp.sum(powers, axis=1, keepdims=True)


# ------------------------------------------------------------------------------------------ of several classes


class Softmax(Loss):
    """log Σ_r e^{z_r} − z_y."""

    name = "softmax"
    coding = "indicator"
    has_probabilities = True

    @property
    def slope_bound(self) -> float:  # noqa: D102
        return 1.0

    @property
    def smoothness(self) -> float:
        """½, the largest eigenvalue that diag(p) − ppᵀ can have."""
        return 0.5

    def value(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        xp = arrays.namespace(scores)
        top = xp.max(scores, axis=1, keepdims=True)
        # Distances to the score of the right class, so that a large common shift does not cancel.
        own = xp.sum(targets * scores, axis=1)
        return xp.log(xp.sum(xp.exp(scores - top), axis=1)) + (top[:, 0] - own)

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        return _softmax(arrays.namespace(scores), scores) - targets

    def probabilities(self, scores: Array) -> Array:
        """The softmax of the scores."""
        return _softmax(arrays.namespace(scores), scores)


class MulticlassHinge(Loss):
    """max_r {[r ≠ y] − z_y + z_r}, of Crammer and Singer."""

    name = "multiclass_hinge"
    coding = "indicator"

    @property
    def slope_bound(self) -> float:  # noqa: D102
        return 1.0

    def value(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        xp = arrays.namespace(scores)
        return xp.max(scores + (1.0 - targets), axis=1) - xp.sum(targets * scores, axis=1)

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        xp = arrays.namespace(scores)
        violated = scores + (1.0 - targets)
        own = xp.sum(targets * scores, axis=1, keepdims=True)
        worst = xp.argmax(violated, axis=1)
        one = arrays.astype(xp.arange(scores.shape[1], dtype=worst.dtype)[None, :] == worst[:, None], scores.dtype)
        # On a tie with the right class itself, 0 is a subgradient.
        return _where(xp.max(violated, axis=1, keepdims=True) > own, one - targets)


# --------------------------------------------------------------------------------------------------- of one class


@dataclass(frozen=True)
class Novelty(Loss):
    """max(0, ρ − u) / ν − ρ, of one-class classification: f is above the offset ρ where data are common.

    The offset is learnt beside f and takes the place of the targets: shape (m, 1), or (1, 1) for one that all share.

    Parameters
    ----------
    fraction : float
        ν in (0, 1]: at the optimum at most this share of the examples lies below ρ.
    """

    fraction: float = 0.1
    name: ClassVar[str] = "novelty"
    coding: ClassVar[str] = "offset"

    def __post_init__(self) -> None:
        _check(self, "fraction", 0.0, 1.0, open_high=False)

    @property
    def slope_bound(self) -> float:  # noqa: D102
        return 1.0 / self.fraction

    def _each(self, scores: Array, targets: Array) -> Array:
        return _positive(arrays.namespace(scores), targets - scores) / self.fraction - targets

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        return arrays.astype(scores < targets, scores.dtype) * (-1.0 / self.fraction)

    def offset_derivative(self, scores: Array, targets: Array) -> Array:
        """∂ℓ/∂ρ = [u < ρ]/ν − 1 of each example, shape (m, 1)."""
        return -self.derivative(scores, targets) - 1.0


LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        Square,
        Hinge,
        SquaredHinge,
        Logistic,
        Softmax,
        MulticlassHinge,
        EpsilonInsensitive,
        Huber,
        Quantile,
        Novelty,
    )
}


def make(name: str | Loss, **parameters: Any) -> Loss:
    """The loss of a name; a loss object is handed through.

    Raises
    ------
    UnknownNameError
        If there is no loss of that name.
    ShallowsError
        If a parameter is out of its range or not one of this loss.
    """
    if isinstance(name, Loss):
        if parameters:
            raise ShallowsError(f"The loss {name.name!r} brings its own parameters; leave out {sorted(parameters)}.")
        return name
    if not isinstance(name, str) or name not in LOSSES:
        raise UnknownNameError("loss", name, LOSSES)
    loss = LOSSES[name]
    takes = sorted(field.name for field in dataclasses.fields(loss))
    unknown = sorted(set(parameters) - set(takes))
    if unknown:
        raise ShallowsError(
            f"The loss {name!r} takes {', '.join(takes) or 'no parameter'}; it does not take {', '.join(unknown)}."
        )
    return loss(**parameters)
