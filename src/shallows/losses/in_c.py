"""Losses that are sums over outputs, as text of C: the loss of one score and its slope, for a GPU to compile."""

from __future__ import annotations

from functools import cache

from .base import Loss

_BODIES = {
    "square": "const T r = u - y; value = T(0.5) * r * r; slope = r;",
    "epsilon_insensitive": (
        "const T r = u - y, size = r < 0 ? -r : r, over = size - T({epsilon}); value = over < 0 ? T(0) : over; "
        "slope = over > 0 ? (r > 0 ? T(1) : T(-1)) : T(0);"
    ),
    "huber": (
        "const T r = u - y, d = T({delta}); slope = r < -d ? -d : r > d ? d : r; value = slope * (r - T(0.5) * slope);"
    ),
    "quantile": (
        "const T r = u - y; value = r > 0 ? T(1.0 - {quantile}) * r : -T({quantile}) * r; "
        "slope = r > 0 ? T(1.0 - {quantile}) : r < 0 ? -T({quantile}) : T(0);"
    ),
    "hinge": "const T r = T(1) - y * u; value = r < 0 ? T(0) : r; slope = y * u < T(1) ? -y : T(0);",
    "squared_hinge": (
        "const T r = T(1) - y * u, left = r < 0 ? T(0) : r; value = T(0.5) * left * left; slope = -y * left;"
    ),
    "logistic": (
        "const T r = y * u, small = exp(r < 0 ? r : -r); value = (r < 0 ? -r : T(0)) + log1p(small); "
        "slope = -y * (r > 0 ? small : T(1)) / (T(1) + small);"
    ),
}
"""By the name of the loss, with its parameters in braces. What is not a number stays none, as in the plain loss."""


@cache
def in_c(loss: Loss) -> str | None:
    """Statements that set ``value`` and ``slope`` from a score ``u`` and its target ``y``, all of type ``T``.

    Parameters
    ----------
    loss : Loss

    Returns
    -------
    str or None
        None for a loss of all scores of an example together, and for one of the user's own.
    """
    body = _BODIES.get(loss.name) if type(loss).__module__.startswith(__package__) else None
    return None if body is None else body.format(**{name: repr(float(number)) for name, number in vars(loss).items()})
