"""Sparse features in other forms: the same map with dense rows, and an endless stream of grids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from shallows.features import RandomBinningMap


@dataclass(frozen=True)
class Dense:
    """The same map with dense rows."""

    sparse: RandomBinningMap

    @property
    def n_features(self) -> int:
        return self.sparse.n_features

    def map(self, x):
        return self.sparse.map(x).toarray()


@dataclass(frozen=True)
class BinningStream:
    """Endless grids in blocks, for functions that grow; k(x, z) is the mean over blocks of block(x) block(z)ᵀ/F."""

    bandwidth: float
    n_inputs: int
    block_size: int
    n_bins: int = 256

    @property
    def width(self) -> int:
        return self.block_size * self.n_bins

    def block(self, i: int, x: np.ndarray) -> scipy.sparse.csr_array:
        grids = RandomBinningMap(self.bandwidth, self.n_inputs, self.block_size, self.n_bins, seed=i)
        return grids.map(x) * np.asarray(np.sqrt(self.block_size), dtype=x.dtype)
