"""A small sample taken as the whole population, so that the minimum of its regularised risk can be computed exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import losses
from ...errors import ShallowsError
from ..samples import sample


@dataclass(frozen=True)
class Population:
    """A sample as the population, with the minimum of its regularised risk.

    Attributes
    ----------
    points : ndarray, shape (N, d)
        The n points of the sample, and places beside it.
    targets : ndarray, shape (n,)
    rows : ndarray, shape (n, N)
        k between the sample and all points.
    minimum : ndarray, shape (N,)
        f* at all points.
    norm : float
        ‖f*‖.
    """

    kernel: Any
    loss: Any
    regularisation: float
    points: np.ndarray
    targets: np.ndarray
    rows: np.ndarray
    minimum: np.ndarray
    norm: float

    @property
    def n(self) -> int:
        """Points of the sample."""
        return len(self.targets)

    def risk(self, values: np.ndarray) -> np.ndarray:
        """E ℓ(f(x), y) over the sample, shape (R,), for functions by their values at the points, shape (R, N)."""
        return np.array([self.loss.value(one[: self.n, None], self.targets[:, None]).mean() for one in values])

    @classmethod
    def of(
        cls, data: Any, kernel: str, bandwidth: float | None, loss: str, nu: float, n: int, n_places: int, seed: int
    ) -> Population:
        """A part of the training data in float64; the targets of a regression are standardised."""
        part = sample(data, kernel, bandwidth, n_points=n + n_places, random_state=seed, device="cpu")
        points, y = np.asarray(part.inputs), np.asarray(part.targets)[:, 0]
        if loss == "square":
            y = (y - y.mean()) / y.std()
        n = min(n, len(points) - 1)
        rows = np.asarray(part.matrix)[:n]
        loss = losses.make(loss)
        a = minimiser(rows[:, :n], y[:n], loss, nu)
        return cls(part.kernel, loss, nu, points, y[:n], rows, a @ rows, math.sqrt(a @ rows[:, :n] @ a))


def minimiser(K: np.ndarray, y: np.ndarray, loss: Any, nu: float) -> np.ndarray:
    """Coefficients a of the minimum f = Σ aᵢ k(xᵢ, ·) of (1/n) Σ ℓ(f(xᵢ), yᵢ) + ν/2 ‖f‖², by Newton's method.

    Where the gradient vanishes, ν a + ℓ'(Ka)/n = 0.

    Raises
    ------
    ShallowsError
        For losses that are not smooth, or where Newton's method does not arrive.
    """
    n, a = len(y), np.zeros(len(y))
    for _ in range(100):
        u = K @ a
        residual = nu * a + loss.derivative(u[:, None], y[:, None])[:, 0] / n
        if np.abs(residual).max() < 1e-14:
            return a
        change = np.linalg.solve(nu * np.eye(n) + curvature(loss, u, y)[:, None] * K / n, residual)
        a = a - change
        if np.abs(change).max() <= 1e-13 * max(1.0, np.abs(a).max()):
            return a
    raise ShallowsError("Newton's method did not find the minimum; take a larger regularisation.")


def curvature(loss: Any, u: np.ndarray, y: np.ndarray) -> np.ndarray:
    """ℓ'' at scores u, shape (n,)."""
    if loss.name == "square":
        return np.ones_like(u)
    if loss.name == "logistic":
        return 0.25 / np.cosh(0.5 * u) ** 2
    raise ShallowsError(f"The minimum is known for the losses 'square' and 'logistic', not for {loss.name!r}.")
