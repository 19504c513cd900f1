"""Inner products and quotients column by column: methods treat every output by itself."""

from __future__ import annotations

from ... import arrays
from ...arrays import Array


def dots(a: Array, b: Array) -> Array:
    """Inner products column by column, shape (1, c)."""
    return arrays.namespace(a).sum(a * b, axis=0)[None, :]


def ratio(a: Array, b: Array) -> Array:
    """A / b, and 0 where b is not positive."""
    xp = arrays.namespace(a)
    positive = b > 0
    return xp.where(positive, a / xp.where(positive, b, xp.ones_like(b)), xp.zeros_like(a))
