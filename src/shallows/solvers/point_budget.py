"""Kernel machines that own a budget of points, which come and go, instead of being bound to the training set."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from .. import arrays, kernels
from ..arrays import Array
from ..errors import ShallowsError
from ..kernels import Kernel

FOLD_BELOW = 1e-6
"""The common factor is multiplied into the coefficients when it falls below this, before digits are lost."""


@dataclass
class PointBudget:
    """f(x) = s Σⱼ bⱼ k(zⱼ, x) over at most ``capacity`` points zⱼ.

    Whose room is used up must make some before a point is added: by `remove`, which costs `removal_costs`, or by
    `merge`. Which of them, and of which points, is the solver's to say.
    """

    kernel: Kernel
    points: Array  # (capacity, d + 2): z, augmented (`kernels.augmented`); the first ``n_points`` are in use
    buffer: Array  # (capacity, c): b
    _: KW_ONLY
    n_points: int = 0  # Points in use
    scale: float = 1.0  # s, so that weight decay costs nothing

    @classmethod
    def empty(cls, kernel: Kernel, capacity: int, n_outputs: int, like: Array, **others: Any) -> Self:
        """The zero function, for points like the rows of ``like``, shape (n, d)."""
        xp, d = arrays.namespace(like), like.shape[1]
        points, buffer = (xp.zeros((capacity, width), dtype=like.dtype) for width in (d + 2, n_outputs))
        return cls(kernel, points, buffer, **others)

    # ------------------------------------------------------------------------------------- the function

    @property
    def capacity(self) -> int:
        """How many points there is room for."""
        return self.points.shape[0]

    @property
    def n_free(self) -> int:
        """How many points may be added."""
        return self.capacity - self.n_points

    @property
    def coefficients(self) -> Array:
        """S b of the points in use, shape (n_points, c)."""
        return self.buffer[: self.n_points, :] * self.scale

    @property
    def centres(self) -> Array:
        """The points in use, shape (n_points, d)."""
        return self.points[: self.n_points, :-2]

    def evaluate(self, x: Array) -> Array:
        """f(x), shape (m, c)."""
        values = kernels.values(self.kernel, kernels.augmented(x), self.points[: self.n_points, :])
        return (values @ self.buffer[: self.n_points, :]) * self.scale

    @property
    def removal_costs(self) -> Array:
        """‖aⱼ‖² k(zⱼ, zⱼ), shape (n_points,): the squared norm of what f loses with each point."""
        a = self.coefficients
        return arrays.namespace(a).sum(a * a, axis=1) * self.kernel.diagonal(self.centres)

    # --------------------------------------------------------------------------------------------- changes

    def decay(self, factor: float) -> None:
        """Multiply f with a factor."""
        self.scale *= factor
        if abs(self.scale) < FOLD_BELOW:
            self.buffer[: self.n_points, :] *= self.scale
            self.scale = 1.0

    def add(self, points: Array, coefficients: Array) -> None:
        """Add Σ aᵢ k(xᵢ, ·) for points of shape (m, d) and coefficients of shape (m, c)."""
        m = points.shape[0]
        if m > self.n_free:
            raise ShallowsError(f"{m} points do not fit: {self.n_points} of a budget of {self.capacity} are in use.")
        new = slice(self.n_points, self.n_points + m)
        self.points[new, :] = kernels.augmented(points)
        self.buffer[new, :] = coefficients / self.scale
        self.n_points += m

    def remove(self, j: int) -> None:
        """Drop a point; the last one takes its number."""
        last = self.n_points - 1
        self.points[j, :] = self.points[last, :]
        self.buffer[j, :] = self.buffer[last, :]
        self.n_points = last

    def merge(self, i: int, j: int, point: Array) -> float:
        """Put one point, shape (d,), in the place of two, with the coefficients that change f least.

        They are a = (aᵢ k(zᵢ, z) + aⱼ k(zⱼ, z)) / k(z, z). The new point takes the number of the first, the last point
        that of the second. Returns the squared norm of the change of f.
        """
        xp = arrays.namespace(self.points)
        both = xp.stack([self.points[i, :], self.points[j, :]])
        old = xp.stack([self.buffer[i, :], self.buffer[j, :]]) * self.scale
        new = kernels.augmented(point[None, :])
        products, own = kernels.values(self.kernel, new, both), float(self.kernel.diagonal(point[None, :])[0])
        merged = products @ old / own
        before = float(xp.sum(old * (kernels.matrix(self.kernel, both) @ old)))
        self.points[i, :], self.buffer[i, :] = new[0, :], merged[0, :] / self.scale
        self.remove(j)
        return max(0.0, before - own * float(xp.sum(merged * merged)))

    # -------------------------------------------------------------------------------------------- keeping

    def remember(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays on the host and numbers that `recall` takes up again, to the bit."""
        held = {name: arrays.to_numpy(getattr(self, name)[: self.n_points, :]).copy() for name in ("points", "buffer")}
        return held, {name: value for name, value in vars(self).items() if isinstance(value, (int, float))}

    def recall(self, held: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        """Take up what `remember` gave, in the library and on the device of this state."""
        for name, value in numbers.items():
            setattr(self, name, value)
        for name, value in held.items():
            getattr(self, name)[: self.n_points, :] = arrays.like(value, self.points)

    def is_finite(self) -> bool:
        """Whether all coefficients are numbers."""
        xp = arrays.namespace(self.buffer)
        return bool(xp.all(xp.isfinite(self.coefficients)))
