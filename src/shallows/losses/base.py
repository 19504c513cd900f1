"""The base class of losses, functions for probabilities, and the check of parameters."""

from __future__ import annotations

import dataclasses
import math
import numbers
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import arrays
from ..arrays import Array
from ..errors import ShallowsError


@dataclass(frozen=True)
class Loss:
    """Base class of the losses ℓ(u, y) of the scores u of an example and its target y.

    Attributes
    ----------
    name : str
    coding : {"signs", "indicator", "values", "offset"}
        Targets: −1 and +1, in a column for each class or a single one for two classes; 0 and 1, in a column for
        each class; the numbers themselves; the current offset ρ. The square loss codes classes as signs.
    has_probabilities : bool
        Whether `probabilities` is defined.
    slope_bound : float
        M, the bound of |ℓ'| in each output; may be infinite.
    smoothness : float
        L, the Lipschitz constant of ℓ'; infinite if ℓ has a kink.
    """

    name: ClassVar[str]
    coding: ClassVar[str] = "values"
    has_probabilities: ClassVar[bool] = False
    slope_bound: ClassVar[float] = math.inf
    smoothness: ClassVar[float] = math.inf

    @property
    def for_classes(self) -> bool:
        """Whether the targets must be classes."""
        return self.coding in ("signs", "indicator")

    @property
    def lengths(self) -> dict[str, float]:
        """The parameters in the unit of the targets, ε and δ, by their names."""
        return {name: getattr(self, name) for name in ("epsilon", "delta") if hasattr(self, name)}

    def in_units(self, unit: float) -> Loss:
        """The loss for scores and targets that were divided by a unit: ε and δ are divided too."""
        lengths = {name: length / unit for name, length in self.lengths.items()}
        return dataclasses.replace(self, **lengths) if lengths else self

    def value(self, scores: Array, targets: Array) -> Array:
        """ℓ of each example, shape (m,), for scores and targets of shape (m, c)."""
        return arrays.namespace(scores).sum(self._each(scores, targets), axis=1)

    def derivative(self, scores: Array, targets: Array) -> Array:
        """ℓ' (or a subgradient) in the scores, shape (m, c)."""
        raise NotImplementedError

    def _each(self, scores: Array, targets: Array) -> Array:
        """ℓ of each output, shape (m, c), for losses that are sums over outputs."""
        raise NotImplementedError

    # ---------------------------------------------------------------------------------------- intercept

    def constant(self, targets: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """The intercept of a function: the constant with the least mean loss, float64, shape (c,).

        ``targets``: in the coding of the loss, float64, shape (n, c). ``weights``: shape (n,).
        """
        if self.for_classes:
            return self.constant_of_classes(np.average(targets, axis=0, weights=weights), len(targets))
        low, high = targets.min(axis=0), targets.max(axis=0)
        for _ in range(64):
            middle = 0.5 * low + 0.5 * high
            slopes = self.derivative(np.broadcast_to(middle, targets.shape), targets)
            slope = np.average(slopes, axis=0, weights=weights)
            low, high = np.where(slope <= 0, middle, low), np.where(slope >= 0, middle, high)
        return 0.5 * low + 0.5 * high

    def constant_of_classes(self, mean: np.ndarray, n: int) -> np.ndarray:
        """The intercept for classes, from the mean of the targets, shape (c,), over n examples.

        It is the mean itself, which minimizes the square and the squared hinge. The minimizer of the hinge jumps from
        −1 to 1 where classes are equally frequent; the mean lies between them and has the same sign.
        """
        return mean

    # ------------------------------------------------------------------------------------------- coding

    def n_outputs(self, n_classes: int) -> int:
        """Columns of scores for a number of classes."""
        return n_classes if self.coding == "indicator" or n_classes > 2 else 1

    def encode(self, labels: np.ndarray, n_classes: int) -> np.ndarray:
        """Class numbers 0 to n_classes − 1, shape (m,), as targets, float64, shape (m, n_outputs).

        With one column the second class is +1.
        """
        if self.coding == "offset":
            raise ShallowsError(f"The loss {self.name!r} is not for classes.")
        labels = np.asarray(labels)
        if self.n_outputs(n_classes) == 1:
            return np.where(labels[:, None] == 1, 1.0, -1.0)
        indicator = labels[:, None] == np.arange(n_classes)
        return indicator.astype(np.float64) if self.coding == "indicator" else np.where(indicator, 1.0, -1.0)

    def decide(self, scores: Array) -> Array:
        """The class number with the best score, int64, shape (m,), for scores of shape (m, c)."""
        xp = arrays.namespace(scores)
        if scores.shape[1] == 1:
            return arrays.astype(scores[:, 0] > 0, xp.int64)
        return xp.argmax(scores, axis=1)

    def probabilities(self, scores: Array) -> Array:
        """Probabilities of the classes, shape (m, n_classes)."""
        raise ShallowsError(f"The loss {self.name!r} has no probabilities; 'logistic' and 'softmax' have them.")


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^{−x}), with full relative accuracy at both ends and without overflow."""
    xp = arrays.namespace(x)
    small = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1.0 / (1.0 + small), small / (1.0 + small))


def softmax(xp: Any, scores: Array) -> Array:
    """e^{z_r} / Σ_s e^{z_s}, row by row."""
    powers = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    return powers / xp.sum(powers, axis=1, keepdims=True)


def positive_part(xp: Any, x: Array) -> Array:
    """max(0, x)."""
    return xp.clip(x, 0.0, None)


def only_where(condition: Array, x: Array) -> Array:
    """``x`` where the condition holds, 0 elsewhere."""
    return x * arrays.astype(condition, x.dtype)


def check(loss: Loss, name: str, low: float, high: float, *, open_low: bool = True, open_high: bool = True) -> None:
    """Refuse a parameter outside of its interval."""
    value = getattr(loss, name)
    fine = (
        isinstance(value, numbers.Real) and not isinstance(value, bool) and (low < value if open_low else low <= value)
    )
    if not (fine and math.isfinite(value) and (value < high if open_high else value <= high)):
        interval = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
        raise ShallowsError(f"{name} of the loss {loss.name!r} must be a number in {interval}, got {value!r}.")
