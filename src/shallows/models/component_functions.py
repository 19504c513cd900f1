"""Components: functions by which points are transformed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array, Device
from ..features import Blocks
from ..features.fourier import FourierMap
from .centering import Centering


@dataclass(frozen=True)
class FeatureComponents:
    """h(x) = Wᵀ(φ(x) − μ), the principal components of explicit features."""

    blocks: Blocks  # φ
    centering: Centering  # What is subtracted from points
    coefficients: np.ndarray  # W, orthonormal columns, shape (D, k)
    mean: np.ndarray  # μ, shape (D,); zero if features are not centered
    eigenvalues: np.ndarray  # Of the covariance of the features, descending, shape (k,)

    @classmethod
    def of(cls, blocks: Blocks, centering: Centering, state: Any, n_components: int) -> FeatureComponents:
        """The eigenvectors within the span of the orthonormal coefficients that a solver has found."""
        values, vectors = np.linalg.eigh(arrays.to_numpy(state.moment).astype(np.float64))
        W = arrays.to_numpy(state.coefficients)
        W = W[:, :n_components] @ vectors[:, ::-1].astype(W.dtype)
        W = W * signs_of_columns(W).astype(W.dtype)
        return cls(blocks, centering, W, arrays.to_numpy(state.mean), np.clip(values[::-1], 0.0, None))

    def transform(self, X: Any, device: Device) -> np.ndarray:
        """Values at checked points, shape (m, k)."""
        W, blocks = self.coefficients, self.blocks.to(device)
        out, shift = np.empty((X.shape[0], W.shape[1]), dtype=W.dtype), self.mean @ W
        with device.active():
            on_device = arrays.to_device(W, device, W.dtype)
            for rows, x, _ in self.centering.new_points(X, device, W.dtype):
                out[rows] = arrays.to_numpy(blocks.dot(x, on_device)) - shift
        return out


@dataclass(frozen=True)
class ExpansionComponents:
    """h(x) = (g(x) − μ)T, components of one view over blocks of streamed random features."""

    features: FourierMap
    centering: Centering  # What is subtracted from points
    expansion: Any  # g, a `GrowingExpansion` of k functions; the training that changes it may still be running
    mean: np.ndarray | None  # μ, shape (k,); None if functions are not centered
    turn: np.ndarray  # T, shape (k, k)
    budget: int  # Bytes of features and frequencies at a time

    @property
    def dtype(self) -> np.dtype:
        """Data type of the coefficients and values."""
        return np.dtype(self.expansion.buffer.dtype)

    @property
    def coefficients(self) -> np.ndarray:
        """Coefficients of the components, shape (n_blocks, width, k)."""
        return arrays.to_numpy(self.expansion.coefficients) @ self.turn.astype(self.dtype)

    @property
    def n_random_features(self) -> int:
        """Number of frequencies."""
        return self.expansion.n_blocks * self.features.block_size

    def signs(self) -> np.ndarray:
        """The signs that make the largest coefficient of each component positive, shape (k,)."""
        with self.expansion.device.active():
            coefficients = self.expansion.coefficients
            return signs_of_columns(coefficients @ arrays.like(self.turn, coefficients, coefficients.dtype))

    def times(self, signs: np.ndarray) -> ExpansionComponents:
        """The components, each times its entry of ``signs``, 1 or −1."""
        return replace(self, turn=self.turn * signs)

    def transform(self, X: Any, device: Device) -> np.ndarray:
        """Values at checked points, shape (m, k); the coefficients must be on the device."""
        values = np.empty((X.shape[0], self.turn.shape[0]), dtype=self.dtype)
        with device.active():
            for rows, x, _ in self.centering.new_points(X, device, self.dtype):
                values[rows] = arrays.to_numpy(self.expansion.evaluate(self.features, x, self.budget))
        if self.mean is not None:
            values = values - self.mean.astype(self.dtype)
        return values @ self.turn.astype(self.dtype)


@dataclass(frozen=True)
class TwoViewComponents:
    """Pairs of functions of two views of the same examples."""

    first: ExpansionComponents
    second: ExpansionComponents
    strengths: np.ndarray  # Singular values or correlations of the pairs, shape (k,)

    @property
    def coefficients(self) -> np.ndarray:
        """Coefficients of the functions of the first view."""
        return self.first.coefficients

    @property
    def n_random_features(self) -> int:
        """Number of frequencies in a view."""
        return self.first.n_random_features

    def transform(self, X: Any, device: Device) -> np.ndarray:
        """Values of the functions of the first view, shape (m, k)."""
        return self.first.transform(X, device)

    def transform_second(self, Y: Any, device: Device) -> np.ndarray:
        """Values of the functions of the second view, shape (m, k), for points in its coding."""
        return self.second.transform(Y, device)


def signs_of_columns(columns: Array) -> np.ndarray:
    """The sign of the largest number of each column, 1 or −1, shape (k,); the signs of eigenvectors differ between
    machines.
    """
    xp, k = arrays.namespace(columns), columns.shape[-1]
    flat = xp.reshape(columns, (-1, k))
    largest = flat[xp.argmax(xp.abs(flat), axis=0), xp.arange(k)]
    return np.where(arrays.to_numpy(largest) < 0, -1.0, 1.0)
