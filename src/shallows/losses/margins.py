"""Losses of the margin, score times sign: for two classes, or for each of several classes against the rest."""

import numpy as np

from .. import arrays
from ..arrays import Array
from .base import Loss, only_where, positive_part, sigmoid, softmax


class Hinge(Loss):
    """max(0, 1 − yu), of support-vector machines."""

    name = "hinge"
    coding = "signs"
    slope_bound = 1.0

    def _each(self, scores: Array, targets: Array) -> Array:
        return positive_part(arrays.namespace(scores), 1.0 - targets * scores)

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        return only_where(targets * scores < 1.0, -targets)


class SquaredHinge(Loss):
    """½ max(0, 1 − yu)²."""

    name = "squared_hinge"
    coding = "signs"
    smoothness = 1.0

    def _each(self, scores: Array, targets: Array) -> Array:
        return 0.5 * positive_part(arrays.namespace(scores), 1.0 - targets * scores) ** 2

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        return -targets * positive_part(arrays.namespace(scores), 1.0 - targets * scores)


class Logistic(Loss):
    """log(1 + e^{−yu}); with several columns, one against the rest."""

    name = "logistic"
    coding = "signs"
    has_probabilities = True
    slope_bound = 1.0
    smoothness = 0.25

    def _each(self, scores: Array, targets: Array) -> Array:
        xp = arrays.namespace(scores)
        margins = targets * scores
        return positive_part(xp, -margins) + xp.log1p(xp.exp(-xp.abs(margins)))

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        return -targets * sigmoid(-targets * scores)

    def constant_of_classes(self, mean: np.ndarray, n: int) -> np.ndarray:
        """The log-odds; a class without examples counts as half an example, so that it remains possible."""
        positive, negative = (np.where(share > 0, share, 1.0 / n) for share in (1.0 + mean, 1.0 - mean))
        return np.log(positive) - np.log(negative)

    def probabilities(self, scores: Array) -> Array:
        """The sigmoid of the scores; with a column for each class, divided by its sum over the classes."""
        xp = arrays.namespace(scores)
        if scores.shape[1] == 1:
            return xp.concat([sigmoid(-scores), sigmoid(scores)], axis=1)
        # In logarithms, so that scores far below zero in every column do not give 0/0.
        log = -(positive_part(xp, -scores) + xp.log1p(xp.exp(-xp.abs(scores))))
        return softmax(xp, log)
