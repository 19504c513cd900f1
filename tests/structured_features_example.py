"""Small feature maps of the two kinds that have no dense matrix: projections by Hadamard transforms, sparse rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from shallows import streams
from shallows.features import FourierMap

# ------------------------------------------------------------------------- a projection that multiplies by no matrix


def hadamard(x: np.ndarray) -> np.ndarray:
    """x H for the Hadamard matrix H, by the fast transform of Walsh; (m, d) with d a power of two."""
    m, d = x.shape
    h = 1
    while h < d:
        parts = x.reshape(m, d // (2 * h), 2, h)
        x = np.stack([parts[:, :, 0] + parts[:, :, 1], parts[:, :, 0] - parts[:, :, 1]], axis=2).reshape(m, d)
        h *= 2
    return x


@dataclass(frozen=True)
class HadamardProjector:
    """x ↦ x Vᵀ with V = S H G Π H B (Le, Sarlós and Smola 2013; SPEC 3.2), one stack after another up to F rows."""

    signs: np.ndarray  # B, (stacks, d)
    permutations: np.ndarray  # Π, (stacks, d)
    gaussians: np.ndarray  # G, (stacks, d)
    scales: np.ndarray  # S, (stacks, d)
    n_frequencies: int

    def project(self, x, out=None):
        d = self.signs.shape[1]
        padded = np.zeros((len(x), d), dtype=x.dtype)
        padded[:, : x.shape[1]] = x
        parts = [
            hadamard(hadamard(padded * B)[:, permutation] * G) * S
            for B, permutation, G, S in zip(self.signs, self.permutations, self.gaussians, self.scales, strict=True)
        ]
        angles = np.concatenate(parts, axis=1)[:, : self.n_frequencies]
        if out is None:
            return angles
        out[...] = angles
        return out


@dataclass(frozen=True)
class Fastfood(FourierMap):
    """Fourier features whose frequencies are never written down."""

    def projector(self, i, like):
        d = 1 << (self.n_inputs - 1).bit_length()
        shape = (-(-self.block_size // d), d)
        signs = np.where(streams.uniform(self.seed, "signs", i, shape) < 0.5, -1.0, 1.0)
        order = np.argsort(streams.uniform(self.seed, "permutations", i, shape), axis=1)
        gaussians = streams.normal(self.seed, "gaussians", i, shape)
        # Rows of H G Π H B have the length √d ‖G‖; they get that of a frequency of the kernel.
        lengths = np.linalg.norm(self.kernel.frequencies(self.seed, "lengths", i, shape[0] * d, d, like=like), axis=1)
        scales = lengths.reshape(shape) / (np.sqrt(d) * np.linalg.norm(gaussians, axis=1, keepdims=True))
        parts = (part.astype(like.dtype) for part in (signs, gaussians, scales))
        signs, gaussians, scales = parts
        return HadamardProjector(signs, order, gaussians, scales, self.block_size)

    def frequencies(self, i, like):
        raise AssertionError("Nothing asks for the matrix.")


# ------------------------------------------------------------------------------------------------- sparse rows


@dataclass(frozen=True)
class RandomBinning:
    """Indicators of hashed bins of random grids (SPEC 3.2), for the kernel exp(−‖x − z‖₁/σ): one 1/√P a grid."""

    bandwidth: float
    n_inputs: int
    n_grids: int
    n_bins: int = 4096
    seed: int = 0

    @property
    def n_features(self) -> int:
        return self.n_grids * self.n_bins

    @property
    def n_nonzeros(self) -> int:
        return self.n_grids

    def columns(self, x: np.ndarray) -> np.ndarray:
        """The bin of each point in each grid, (m, P)."""
        rng = np.random.default_rng(self.seed)
        pitch = rng.gamma(2.0, self.bandwidth, size=(self.n_grids, self.n_inputs))
        shift = rng.uniform(size=pitch.shape) * pitch
        odd = rng.integers(1, 2**31, size=pitch.shape) * 2 + 1
        cells = np.floor((x[:, None, :] - shift) / pitch).astype(np.int64)
        hashed = ((cells * odd).sum(axis=2) * 0x9E3779B1 >> 8) % self.n_bins
        return hashed + np.arange(self.n_grids) * self.n_bins

    def map(self, x: np.ndarray) -> scipy.sparse.csr_array:
        columns = self.columns(x)
        values = np.full(columns.size, 1 / np.sqrt(self.n_grids), dtype=x.dtype)
        starts = np.arange(0, columns.size + 1, self.n_grids)
        return scipy.sparse.csr_array((values, columns.reshape(-1), starts), shape=(len(x), self.n_features))


@dataclass(frozen=True)
class Dense:
    """The same map with dense rows."""

    sparse: RandomBinning

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
        one = RandomBinning(self.bandwidth, self.n_inputs, self.block_size, self.n_bins, seed=i)
        return one.map(x) * np.asarray(np.sqrt(self.block_size), dtype=x.dtype)
