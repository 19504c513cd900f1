"""Losses of all scores of an example together, for several classes."""

import numpy as np

from .. import arrays
from ..arrays import Array
from .base import Loss, only_where, softmax


class Softmax(Loss):
    """log Σ_r e^{z_r} − z_y."""

    name = "softmax"
    coding = "indicator"
    has_probabilities = True
    slope_bound = 1.0
    smoothness = 0.5  # the largest eigenvalue that diag(p) − ppᵀ can have

    def value(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        xp = arrays.namespace(scores)
        top = xp.max(scores, axis=1, keepdims=True)
        # Distances to the score of the right class, so that a large common shift does not cancel.
        own = xp.sum(targets * scores, axis=1)
        return xp.log(xp.sum(xp.exp(scores - top), axis=1)) + (top[:, 0] - own)

    def derivative(self, scores: Array, targets: Array) -> Array:  # noqa: D102
        return softmax(arrays.namespace(scores), scores) - targets

    def constant_of_classes(self, mean: np.ndarray, n: int) -> np.ndarray:
        """The logarithms of the shares; a class without examples counts as half an example."""
        shares = np.where(mean > 0, mean, 0.5 / n)
        return np.log(shares / shares.sum())

    def probabilities(self, scores: Array) -> Array:
        """The softmax of the scores."""
        return softmax(arrays.namespace(scores), scores)


class MulticlassHinge(Loss):
    """max_r {[r ≠ y] − z_y + z_r}, of Crammer and Singer."""

    name = "multiclass_hinge"
    coding = "indicator"
    slope_bound = 1.0

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
        return only_where(xp.max(violated, axis=1, keepdims=True) > own, one - targets)
