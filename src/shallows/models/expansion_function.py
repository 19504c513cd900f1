"""Functions of streamed random features, made anew from their numbers at every evaluation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .. import arrays
from ..arrays import Device
from .centring import Centring


@dataclass(frozen=True)
class Expansion:
    """f(x) = Σⱼ φⱼ(x)ᵀAⱼ + b over blocks j of streamed features.

    Attributes
    ----------
    problem
        With the features and the loss; it says how many bytes the features of an evaluation may take.
    state
        With the coefficients; see `shallows.solvers.expansions.expansion`.
    centring : Centring
        What is subtracted from points.
    dtype : dtype
    """

    problem: Any
    state: Any
    centring: Centring
    dtype: np.dtype

    @property
    def coefficients(self) -> Any:
        """Of all blocks, shape (n_features, c)."""
        return self.state.coefficients

    def scores(self, X: Any, device: Device, budget: int = 0) -> np.ndarray:
        """F at checked points, shape (m, c). The bytes are those of the problem, whatever ``budget`` says."""
        state = self.on(device).state
        out = np.empty((X.shape[0], self.problem.n_outputs), dtype=self.dtype)
        with device.active(), np.errstate(over="ignore", invalid="ignore"):
            for rows, x, _ in self.centring.new_points(X, device, self.dtype):
                out[rows] = arrays.to_numpy(state.shifted_values(self.problem, x))
        return out

    def on(self, device: Device) -> Self:
        """The same function with its coefficients on a device."""
        return self if self.state.device == device else replace(self, state=self.state.to(device))

    def kept(self) -> Self:
        """The function on the host, without room for further blocks, as a file holds it."""
        return replace(self, state=self.state.to(Device("cpu")).trimmed())
