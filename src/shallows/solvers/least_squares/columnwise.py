"""Inner products, quotients and bounded steps column by column: methods treat every output by itself."""

from __future__ import annotations

from ... import arrays
from ...arrays import Array
from ...gpu.fused_expressions import FusedExpression


def bounded_step(step_size: float, fitting: Array, energy: Array) -> Array:
    """The step of each output, shape (1, c): ``fitting / energy`` where that is less than the step size, else that.

    With the gradient g of a batch and its residual r, ⟨g, r⟩ / gᵀ K_P(S, S) g is, of all steps along g, the one that
    comes nearest to every function that fits the batch, in the norm that the preconditioner P belongs to.
    """
    xp = arrays.namespace(energy)
    usual, positive = step_size + xp.zeros_like(energy), energy > 0
    return xp.where(positive, xp.minimum(usual, fitting / xp.where(positive, energy, usual)), usual)


def dots(a: Array, b: Array) -> Array:
    """Inner products column by column, shape (1, c)."""
    return arrays.namespace(a).sum(a * b, axis=0)[None, :]


def _plain_quotient(a: Array, b: Array, quotient: Array) -> None:
    xp = arrays.namespace(a)
    positive = b > 0
    quotient[...] = xp.where(positive, a / xp.where(positive, b, xp.ones_like(b)), xp.zeros_like(a))


QUOTIENT = FusedExpression(
    "quotient", ("a", "b"), ("quotient",), "quotient = b > 0 ? a / b : T(0)", _plain_quotient, ((5, 3), (5, 3))
)
"""A / b, and 0 where b is not positive."""


def ratio(a: Array, b: Array) -> Array:
    """A / b, and 0 where b is not positive, for arrays of one shape and dtype."""
    quotient = arrays.namespace(a).empty_like(a)
    QUOTIENT(a, b, into=(quotient,))
    return quotient
