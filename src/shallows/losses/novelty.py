"""The loss of the one-class support vector machine, for novelty detection."""

from dataclasses import dataclass
from typing import ClassVar

from .. import arrays
from ..arrays import Array
from .base import Loss, check, positive_part


@dataclass(frozen=True)
class Novelty(Loss):
    """max(0, ρ − u) / ν − ρ, for one-class classification: f is above the offset ρ where data are common.

    The offset is trained together with f and replaces the targets: shape (m, 1), or (1, 1) for a common one.

    Parameters
    ----------
    fraction : float
        ν in (0, 1]: at the optimum at most this share of the examples lies below ρ.
    """

    fraction: float = 0.1
    name: ClassVar[str] = "novelty"
    coding: ClassVar[str] = "offset"

    def __post_init__(self) -> None:
        check(self, "fraction", 0.0, 1.0, open_high=False)

    @property
    def slope_bound(self) -> float:  # noqa: D102
        return 1.0 / self.fraction

    def _each(self, scores: Array, targets: Array) -> Array:
        return positive_part(arrays.namespace(scores), targets - scores) / self.fraction - targets

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        return arrays.astype(scores < targets, scores.dtype) * (-1.0 / self.fraction)
