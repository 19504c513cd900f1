"""Components: functions of points by which the points are transformed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array, Device
from ..features import Blocks
from .centring import Centring


@dataclass(frozen=True)
class FeatureComponents:
    """h(x) = Wᵀ(φ(x) − μ), the principal components of explicit features.

    Attributes
    ----------
    blocks : Blocks
        φ.
    centring : Centring
        What is subtracted from points.
    coefficients : ndarray, shape (D, k)
        W, orthonormal columns.
    mean : ndarray, shape (D,)
        μ; zero if features are not centred.
    eigenvalues : ndarray, shape (k,)
        Of the covariance of the features, descending.
    """

    blocks: Blocks
    centring: Centring
    coefficients: np.ndarray
    mean: np.ndarray
    eigenvalues: np.ndarray

    @classmethod
    def of(cls, blocks: Blocks, centring: Centring, state: Any, n_components: int) -> FeatureComponents:
        """The eigenvectors within the span that a state of a solver has found.

        The state's coefficients are orthonormal, and its moment is that of the functions of the first k of them.
        """
        values, vectors = np.linalg.eigh(arrays.to_numpy(state.moment).astype(np.float64))
        W = arrays.to_numpy(state.coefficients)
        W = W[:, :n_components] @ vectors[:, ::-1].astype(W.dtype)
        W = W * signs_of_columns(W).astype(W.dtype)
        return cls(blocks, centring, W, arrays.to_numpy(state.mean), np.clip(values[::-1], 0.0, None))

    def transform(self, X: Any, device: Device) -> np.ndarray:
        """H at checked points, shape (m, k)."""
        W, blocks = self.coefficients, self.blocks.to(device)
        out, shift = np.empty((X.shape[0], W.shape[1]), dtype=W.dtype), self.mean @ W
        with device.active():
            on_device = arrays.to_device(W, device, W.dtype)
            for rows, x, _ in self.centring.new_points(X, device, W.dtype):
                out[rows] = arrays.to_numpy(blocks.dot(x, on_device)) - shift
        return out


def signs_of_columns(columns: Array) -> np.ndarray:
    """The sign of the largest number of each column, 1 or −1, shape (k,), for an array of shape (..., k).

    The signs of eigenvectors are arbitrary, and differ between data types and between versions of LAPACK.
    """
    xp, k = arrays.namespace(columns), columns.shape[-1]
    flat = xp.reshape(columns, (-1, k))
    largest = flat[xp.argmax(xp.abs(flat), axis=0), xp.arange(k)]
    return np.where(arrays.to_numpy(largest) < 0, -1.0, 1.0)
