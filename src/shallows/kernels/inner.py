"""Kernels of inner products and norms. They depend on the origin, so data are not centred for them."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass

from .. import arrays
from ..arrays import Array
from ..errors import ShallowsError
from .base import Kernel, check_positive, in_strips

MOST_DEGREE = 1000
"""A higher power of numbers that are not all about one is no number."""


@dataclass(frozen=True)
class Polynomial(Kernel):
    """(scale · xᵀz + offset)^degree.

    Parameters
    ----------
    degree : int
        From 1 to `MOST_DEGREE`.
    offset : float
        Not negative, since the kernel would not be positive semi-definite.
    scale : float
        Positive. The reciprocal of the number of features, or of the mean squared norm, keeps values near one.
    """

    degree: int = 3
    offset: float = 1.0
    scale: float = 1.0
    name = "polynomial"

    def __post_init__(self) -> None:
        whole = isinstance(self.degree, numbers.Integral) and not isinstance(self.degree, bool)
        if not (whole and 1 <= self.degree <= MOST_DEGREE):
            raise ShallowsError(f"degree must be a whole number from 1 to {MOST_DEGREE}, got {self.degree!r}.")
        number = isinstance(self.offset, (int, float)) and not isinstance(self.offset, bool)
        if not (number and math.isfinite(self.offset) and self.offset >= 0):
            raise ShallowsError(f"offset must be a number of at least 0, got {self.offset!r}.")
        check_positive("scale", self.scale)

    def left_factor(self, points: Array) -> Array:
        """``L`` with ``L @ augmented(z).T = scale · xᵀz + offset``: [scale · x, 0, offset]."""
        xp = arrays.namespace(points)
        d = points.shape[1] - 2
        ones = points[:, d + 1 :]
        return xp.concat([points[:, :d] * float(self.scale), ones * 0.0, ones * float(self.offset)], axis=1)

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        arrays.matmul_into(left, others.T, out)
        if self.degree == 1:
            return out
        return in_strips(out, lambda strip: _power_in_place(out[strip, :], self.degree))

    def diagonal(self, x: Array) -> Array:
        """(scale · ‖xᵢ‖² + offset)^degree, shape (len(x),)."""
        return (float(self.scale) * arrays.row_norms_squared(x) + float(self.offset)) ** int(self.degree)


class Linear(Polynomial):
    """scale · xᵀz + offset."""

    name = "linear"

    def __init__(self, offset: float = 0.0, scale: float = 1.0):
        super().__init__(1, offset, scale)

    @property
    def parameters(self) -> dict[str, float]:  # noqa: D102
        return {"offset": self.offset, "scale": self.scale}

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:  # noqa: D102
        return ("offset", "scale")


def _power_in_place(x: Array, degree: int) -> Array:
    """``x ** degree`` by repeated squaring: the general power of floating numbers is many times slower."""
    xp = arrays.namespace(x)
    square, result, left = xp.asarray(x, copy=True), None, int(degree)
    while left:
        if left & 1:
            result = xp.asarray(square, copy=True) if result is None else result * square
        left >>= 1
        if left:
            square *= square
    x[...] = result
    return x


@dataclass(frozen=True)
class ArcCosine(Kernel):
    """The arc-cosine kernel of order s: 2 E Θ(wᵀx) Θ(wᵀz) (wᵀx)^s (wᵀz)^s over w ~ N(0, I).

    It is (1/π) ‖x‖^s ‖z‖^s J_s(θ) for the angle θ between x and z, with J₀ = π − θ, J₁ = sin θ + (π − θ) cos θ and
    J₂ = 3 sin θ cos θ + (π − θ)(1 + 2 cos² θ) (Cho and Saul 2009, "Kernel methods for deep learning"): the limit of a
    layer of infinitely many units, thresholds for s = 0 and rectified linear for s = 1. The threshold of zero is ½.

    Parameters
    ----------
    order : {0, 1, 2}
    """

    order: int = 1
    name = "arc_cosine"

    def __post_init__(self) -> None:
        if not isinstance(self.order, numbers.Integral) or self.order not in (0, 1, 2):
            raise ShallowsError(f"order must be 0, 1 or 2, got {self.order!r}.")

    def left_factor(self, points: Array) -> Array:
        """[x/‖x‖, ‖x‖^s]."""
        xp = arrays.namespace(points)
        norms = xp.sqrt(points[:, -2:-1])
        return xp.concat([points[:, :-2] * _reciprocal(norms), norms ** int(self.order)], axis=1)

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        xp = arrays.namespace(out)
        norms = xp.sqrt(others[:, -2])
        reciprocals, powers = _reciprocal(norms), norms ** int(self.order)
        arrays.matmul_into(left[:, :-1], others[:, :-2].T, out)

        def work(strip: slice) -> None:
            part = out[strip, :]
            part *= reciprocals
            arrays.clip_in_place(part, at_least=-1.0, at_most=1.0)
            part[...] = _arc_cosine(part, int(self.order))
            if self.order:
                part *= powers
                part *= left[strip, -1:]

        return in_strips(out, work)

    def diagonal(self, x: Array) -> Array:
        """J_s(0)/π ‖xᵢ‖^(2s), shape (len(x),): 1, ‖x‖² and 3‖x‖⁴."""
        xp = arrays.namespace(x)
        squares = arrays.row_norms_squared(x)
        if self.order == 0:
            return xp.where(squares > 0, xp.ones_like(squares), 0.5 * xp.ones_like(squares))
        return squares if self.order == 1 else 3.0 * squares * squares


def _reciprocal(x: Array) -> Array:
    """1/x, and 0 for 0: the zero vector is at a right angle to every other."""
    xp = arrays.namespace(x)
    positive = x > 0
    return xp.where(positive, 1.0 / xp.where(positive, x, xp.ones_like(x)), xp.zeros_like(x))


def _arc_cosine(cosine: Array, order: int) -> Array:
    """J_s(θ)/π from cos θ."""
    xp = arrays.namespace(cosine)
    rest = math.pi - (xp.acos if hasattr(xp, "acos") else xp.arccos)(cosine)
    if order == 0:
        return rest / math.pi
    sine = xp.sqrt((1.0 - cosine) * (1.0 + cosine))
    if order == 1:
        return (sine + rest * cosine) / math.pi
    return (3.0 * sine * cosine + rest * (1.0 + 2.0 * cosine * cosine)) / math.pi
