"""Random binning: indicators of the cells of random grids, for the product form of the Laplace kernel."""

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from .. import arrays, streams
from ..arrays import Array
from ..errors import ShallowsError
from ..utils.checks import check_whole
from ..utils.plain_numbers import takes_numpy_integers
from .base import FeatureMap, check_inputs

BINS = 1024
"""Bins of a grid for a given number of columns: two points in different cells share a bin with probability 1/1,024."""


@takes_numpy_integers
@dataclass(frozen=True)
class RandomBinningMap(FeatureMap):
    """One 1/√P in each of P groups of columns: the hashed cell of the point in a random grid.

    The pitch of a grid along each input has the distribution Gamma(2, σ), and its shift is uniform. So two points are
    in the same cell with probability exp(−‖x − z‖₁/σ), and z(x)ᵀz(y) is the share of grids in which this happens. Cells
    are hashed to ``n_bins`` columns (a multilinear hash); two cells of a grid collide with probability 1/n_bins.
    `shallows.kernel_approximation.RandomBinning` has the sources.
    """

    bandwidth: float  # σ
    n_inputs: int  # d
    n_grids: int  # P
    n_bins: int = BINS  # Columns of a grid, a power of two
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole(self, "n_inputs", "n_grids", "n_bins")
        if self.n_bins & (self.n_bins - 1):
            raise ShallowsError(f"n_bins must be a power of two, got {self.n_bins}.")
        if self.n_features >= 2**31:
            raise ShallowsError(
                f"{self.n_grids} grids of {self.n_bins} bins are {self.n_features:,} columns, more than 2³¹. "
                "Take fewer grids or bins."
            )

    @property
    def n_features(self) -> int:
        """P · n_bins."""
        return int(self.n_grids) * int(self.n_bins)

    @property
    def n_nonzeros(self) -> int:
        """P: one value per grid."""
        return self.n_grids

    def columns(self, x: np.ndarray) -> np.ndarray:
        """The column of each point in each grid, int32, shape (m, P)."""
        check_inputs(x, self.n_inputs)
        bits, d = int(self.n_bins).bit_length() - 1, self.n_inputs
        out = np.empty((x.shape[0], self.n_grids), dtype=np.int32)
        for p in range(self.n_grids):
            u = streams.uniform(self.seed, "grids", p, (3, d))
            pitch = -self.bandwidth * (np.log1p(-u[0]) + np.log1p(-u[1]))  # Gamma(2, σ)
            pitch = np.maximum(pitch, 1e-12 * self.bandwidth)
            cells = np.floor((x - u[2] * pitch) / pitch)
            cells = np.clip(cells, -(2.0**62), 2.0**62).astype(np.int64).view(np.uint64)
            factors = streams.integers(self.seed, "hash of a grid", p, d + 1)
            hashed = (cells * factors[:d]).sum(axis=1, dtype=np.uint64) + factors[d]
            out[:, p] = (hashed >> np.uint64(64 - bits)).astype(np.int32) if bits else 0
        out += np.arange(self.n_grids, dtype=np.int32) * np.int32(self.n_bins)
        return out

    def map(self, x: Array) -> scipy.sparse.csr_array:
        """z(x), a CSR matrix of shape (m, n_features) with P values in each row, for points on a CPU."""
        if not arrays.is_numpy(x):
            raise ShallowsError("Random binning makes sparse rows on a CPU. Use device='cpu'.")
        columns = self.columns(x)
        values = np.full(columns.size, 1.0 / math.sqrt(self.n_grids), dtype=x.dtype)
        starts = np.arange(0, columns.size + 1, self.n_grids)
        return scipy.sparse.csr_array((values, columns.reshape(-1), starts), shape=(len(x), self.n_features))


def bins_of_grids(kernel, x, n_features, seed=0, budget=None, n_grids=None, n_bins=None) -> RandomBinningMap:
    """The map "binning": grids of 1,024 bins, or of fewer bins if fewer columns are requested."""
    name = getattr(kernel, "name", kernel)
    if name != "laplace_product":
        raise ShallowsError(
            f"Random binning needs the kernel 'laplace_product', exp(−‖x − z‖₁/σ), got {name!r}. "
            "'fourier' and 'nystrom' take other kernels."
        )
    n_bins = n_bins or min(BINS, 1 << (int(n_features).bit_length() - 1))
    return RandomBinningMap(kernel.bandwidth, x.shape[1], n_grids or max(1, n_features // n_bins), n_bins, seed)
