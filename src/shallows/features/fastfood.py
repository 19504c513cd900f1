"""Fastfood: Fourier features whose frequencies are products of Hadamard, diagonal and permutation matrices."""

import functools
import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.special

from .. import arrays, streams
from ..arrays import Array
from ..errors import ShallowsError
from ..utils.plain_numbers import takes_numpy_integers
from .fourier import FourierMap, fourier_pairs

STRIP_NUMBERS = 2**16
"""Numbers that are transformed at a time on a CPU, so that they stay in the cache for the next product."""


def hadamard_factors(d: int, like: Array) -> tuple[Array, Array]:
    """Hadamard matrices of sizes a and b near √d, with ab = d a power of two: H_d is their Kronecker product."""
    log = d.bit_length() - 1
    sizes = 2 ** (log // 2), 2 ** (log - log // 2)
    return tuple(arrays.like(scipy.linalg.hadamard(size).astype(np.float64), like) for size in sizes)


def hadamard_transform(x: Array, factors: tuple[Array, Array]) -> Array:
    """The products of rows with a Hadamard matrix whose rows are in another order, shape (m, d).

    Two dense products with the small matrices of `hadamard_factors` take O(d√d) operations per row. For usual d they
    are faster than the d log d additions of the textbook's transform. The transposition to the usual order is omitted:
    it is a permutation, which is random in Fastfood anyway.
    """
    xp = arrays.namespace(x)
    left, right = factors
    m, a, b = x.shape[0], left.shape[0], right.shape[0]
    half = xp.reshape(xp.reshape(x, (m * a, b)) @ right, (m, a, b))
    turned = xp.reshape(arrays.contiguous(xp.permute_dims(half, (0, 2, 1))), (m * b, a))
    return xp.reshape(turned @ left, (m, a * b))


@dataclass(frozen=True)
class FastfoodProjector:
    """x ↦ xVᵀ with one or several matrices V = S H G Π H B of d rows."""

    diagonals: Array  # (3, n_stacks, d): signs B, Gaussian numbers G and scales S
    order: Array  # (n_stacks, d): the permutations Π
    factors: tuple[Array, Array]  # See `hadamard_factors`
    n_frequencies: int  # Rows that are used; of the last matrix perhaps a part

    def project(self, x: Array, out: Array | None = None) -> Array:
        """The angles xωᵀ, shape (m, n_frequencies)."""
        xp = arrays.namespace(x)
        m, d = x.shape[0], self.order.shape[1]
        if out is None:
            out = xp.empty((m, self.n_frequencies), dtype=x.dtype)
        if x.shape[1] < d:
            x = xp.concat([x, xp.zeros((m, d - x.shape[1]), dtype=x.dtype)], axis=1)
        strip = max(1, STRIP_NUMBERS // d) if arrays.is_numpy(x) else max(1, m)
        for rows in arrays.blocks(m, strip):
            for k, columns in enumerate(arrays.blocks(self.n_frequencies, d)):
                signs, gaussians, scales = (self.diagonals[i, k, :] for i in range(3))
                once = hadamard_transform(x[rows, :] * signs, self.factors)
                once = xp.take(once, self.order[k, :], axis=1)
                once *= gaussians
                twice = hadamard_transform(once, self.factors)
                width = columns.stop - columns.start
                out[rows, columns] = twice[:, :width] * scales[:width]
        return out


@takes_numpy_integers
@dataclass(frozen=True)
class FastfoodMap(FourierMap):
    """Fourier features with structured frequencies: about √d instead of d products per frequency, and no stored matrix.

    The frequencies of a block are rows of matrices V = S H G Π H B. H is a Hadamard matrix of size d (the number of
    inputs, padded with zeros to a power of two), Π a random permutation, and B, G and S are diagonal: random signs,
    normal numbers, and lengths of frequencies of the kernel. Up to rounding each frequency has the kernel's
    distribution, so the features are unbiased. Frequencies of one matrix are dependent, so the variance is slightly
    larger than for independent ones.

    The kernel must be a function of ‖x − z‖₂. The parameters are those of `FourierMap`, without ``orthogonal``.
    `shallows.kernel_approximation.Fastfood` has the sources.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.orthogonal:
            raise ShallowsError("The frequencies of Fastfood have a structure already. Use orthogonal=False.")
        if not self.kernel.of_distance:
            raise ShallowsError(
                f"Fastfood needs a kernel of ‖x − z‖₂ alone; {self.kernel.name!r} is not one. 'fourier' takes it."
            )

    @property
    def padded(self) -> int:
        """The number of inputs, padded to a power of two; at least 2."""
        return max(2, 1 << (self.n_inputs - 1).bit_length())

    def projector(self, i: int, like: Array) -> FastfoodProjector:
        """The projection of block i, in the library, on the device and in the precision of ``like``."""
        kind = (arrays.namespace(like).__name__, str(like.dtype), str(arrays.device_of(like)))
        diagonals = self._cache.get(("diagonals", int(i), *kind), lambda: self._draw_diagonals(int(i), like))
        order = self._cache.get(("order", int(i), *kind), lambda: self._draw_order(int(i), like))
        order = arrays.astype(order, arrays.namespace(like).int64)
        return FastfoodProjector(diagonals, order, hadamard_factors(self.padded, like), self.block_size)

    @property
    def _shape(self) -> tuple[int, int]:
        return -(-self.block_size // self.padded), self.padded

    def _draw_order(self, i: int, like: Array) -> Array:
        stacks, d = self._shape
        orders = [streams.permutation(self.seed, f"fastfood permutation {k}", i, d) for k in range(stacks)]
        return arrays.like(np.stack(orders), like)  # small whole numbers, kept as numbers of that precision

    def _draw_diagonals(self, i: int, like: Array) -> Array:
        shape = self._shape
        signs = np.where(streams.uniform(self.seed, "fastfood signs", i, shape) < 0.5, -1.0, 1.0)
        gaussians = streams.normal(self.seed, "fastfood gaussians", i, shape)
        # Each row of H G Π H B has the length √d ‖G‖.
        scales = self._lengths(i, shape) / (math.sqrt(shape[1]) * np.linalg.norm(gaussians, axis=1, keepdims=True))
        return arrays.like(np.stack([signs, gaussians, scales]), like)

    def _lengths(self, i: int, shape: tuple[int, int]) -> np.ndarray:
        """Lengths of frequencies whose d coordinates have the kernel's distribution, shape (stacks, d)."""
        stacks, d = shape
        if self.kernel.name == "gaussian":
            # χ² with d degrees of freedom is twice a Gamma(d/2); d numbers instead of d² for whole frequencies.
            uniform = streams.uniform(self.seed, "fastfood lengths", i, shape)
            return np.sqrt(2.0 * scipy.special.gammaincinv(d / 2, uniform)) / self.kernel.bandwidth
        drawn = [self.kernel.frequencies(self.seed, f"fastfood lengths {k}", i, d, d) for k in range(stacks)]
        return np.stack([np.linalg.norm(one, axis=1) for one in drawn])

    def _draw(self, i: int, like: Array) -> Array:
        return arrays.contiguous(self.projector(i, like).project(arrays.like(np.eye(self.n_inputs), like)).T)


fastfood_frequencies = functools.partial(fourier_pairs, cls=FastfoodMap)
