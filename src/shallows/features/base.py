"""The base class of the explicit feature maps."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from ..arrays import Array, Device
from ..errors import ShallowsError


class FeatureMap:
    """A map φ of points to explicit features, so that f(x) = φ(x)ᵀa.

    A map has a property ``n_features`` and a method ``map(x)``. Those whose features come in blocks that are made one
    at a time are `streamed`, and have ``width`` and ``columns(k, x, n_columns, n_features)`` as well (see
    `FourierFeatures`).

    Attributes
    ----------
    streamed : bool
        Whether the features can be made block by block.
    """

    streamed: ClassVar[bool] = False

    def map(self, x: Array) -> Array:
        """φ(x) for points of shape (m, d), shape (m, n_features)."""
        raise NotImplementedError

    def to(self, device: Device) -> Self:
        """The same map with the arrays that it holds on a device."""
        return self


def check_is_polynomial(kernel: Any, what: str) -> None:
    """Refuse every kernel but the polynomial one."""
    name = getattr(kernel, "name", kernel)
    if name != "polynomial":
        raise ShallowsError(f"A {what} is one of the kernel 'polynomial'; {name!r} has none. 'nystrom' takes it.")
