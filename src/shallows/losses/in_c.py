"""Losses that are sums over outputs, as C code for a GPU: the loss of one score and its slope."""

from dataclasses import fields

from .base import Loss

BODIES = {
    "square": "const T r = u - y; value = T(0.5) * r * r; slope = r;",
    "epsilon_insensitive": (
        "const T r = u - y, size = r < 0 ? -r : r, over = size - parameter; value = over < 0 ? T(0) : over; "
        "slope = over > 0 ? (r > 0 ? T(1) : T(-1)) : T(0);"
    ),
    "huber": (
        "const T r = u - y; slope = r < -parameter ? -parameter : r > parameter ? parameter : r; "
        "value = slope * (r - T(0.5) * slope);"
    ),
    "quantile": (
        "const T r = u - y; value = r > 0 ? (T(1) - parameter) * r : -parameter * r; "
        "slope = r > 0 ? T(1) - parameter : r < 0 ? -parameter : T(0);"
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
"""By the name of the loss: statements that set ``value`` and ``slope`` from a score ``u``, its target ``y`` and the
``parameter`` of the loss, all of type ``T``. NaN stays NaN, as in the plain loss."""


def has_text(loss: Loss) -> bool:
    """Whether `BODIES` has the loss, which must be a sum over outputs and not a class of the user."""
    return loss.name in BODIES and type(loss).__module__.startswith(__package__)


def parameter(loss: Loss) -> float:
    """The parameter of a loss, or 0 if it has none."""
    return next((float(getattr(loss, field.name)) for field in fields(loss)), 0.0)
