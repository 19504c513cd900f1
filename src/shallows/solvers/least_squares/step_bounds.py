"""A bound on the step of a batch, for methods whose steps are otherwise chosen before any batch is seen."""

from __future__ import annotations

from ... import arrays
from ...arrays import Array


def bounded_step(step_size: float, fitting: Array, energy: Array) -> Array:
    """The step of each output, shape (1, c): ``fitting / energy`` where that is less than the step size, else that.

    With the gradient g of a batch and its residual r, ⟨g, r⟩ / gᵀ K_P(S, S) g is, of all steps along g, the one that
    comes nearest to every function that fits the batch, in the norm that the preconditioner P belongs to.

    ``fitting`` (1, c): ⟨g, r⟩ of each output. ``energy`` (1, c): gᵀ K_P(S, S) g of each output.
    """
    xp = arrays.namespace(energy)
    usual, positive = step_size + xp.zeros_like(energy), energy > 0
    return xp.where(positive, xp.minimum(usual, fitting / xp.where(positive, energy, usual)), usual)
