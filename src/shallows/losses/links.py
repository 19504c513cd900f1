"""Links: functions that turn scores into class probabilities."""

from __future__ import annotations

from typing import Any

from .. import arrays
from ..arrays import Array


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^{−x}), with full relative accuracy at both ends and no overflow."""
    xp = arrays.namespace(x)
    small = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1.0 / (1.0 + small), small / (1.0 + small))


def softmax(xp: Any, scores: Array) -> Array:
    """e^{z_r} / Σ_s e^{z_s}, row by row."""
    powers = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    return powers / xp.sum(powers, axis=1, keepdims=True)
