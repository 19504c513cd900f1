"""Positive-definite kernels: values on a block, diagonal, spectral draws.

The radial kernels here are functions of the squared Euclidean distance, so a block of values is one matrix product
and one pass over its result:

=========  =============================  ====================================================================
name       k(x, z), r = ‖x − z‖₂          frequency law (k(x − z) = E cos ωᵀ(x − z))
=========  =============================  ====================================================================
gaussian   exp(−r² / (2σ²))               ω = g/σ
laplace    exp(−r / σ)                    ω = g/(σ|g₀|), a multivariate Cauchy law
cauchy     1 / (1 + r²/σ²)                ω = √(2e) g/σ with e from Exp(1)
=========  =============================  ====================================================================

with g ~ N(0, I) and g₀ ~ N(0, 1). "Laplace" and "Cauchy" are the Euclidean (isotropic) forms of Ma and Belkin (2017);
the product forms that also go by these names agree with them for one feature only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.spatial.distance

from . import arrays, streams
from .arrays import Array
from .errors import ShallowsError, UnknownNameError


@dataclass(frozen=True)
class RadialKernel:
    """A kernel that depends on ‖x − z‖² alone, with k(x, x) = 1.

    Parameters
    ----------
    bandwidth : float
        σ, in the units of the features; positive and finite.
    """

    bandwidth: float
    name: ClassVar[str]

    def __post_init__(self) -> None:
        if not (isinstance(self.bandwidth, (int, float)) and math.isfinite(self.bandwidth) and self.bandwidth > 0):
            raise ShallowsError(f"bandwidth must be a positive number, got {self.bandwidth!r}.")

    @property
    def factor(self) -> float:
        """What the squared distance is multiplied with before `apply_in_place` sees it (folded into the product)."""
        raise NotImplementedError

    def apply_in_place(self, scaled: Array) -> Array:
        """Kernel values from ``factor * ‖x − z‖²``, written over them.

        Rounding can leave a distance below zero; it counts as zero, so that values stay within (0, 1].
        """
        raise NotImplementedError

    def frequencies(
        self,
        seed: int,
        purpose: str,
        counter: int,
        n: int,
        d: int,
        *,
        like: Array | None = None,
        dtype: Any = None,
    ) -> Array:
        """Draws from the frequency law, shape (n, d), as a function of (seed, purpose, counter)."""
        raise NotImplementedError

    def __call__(self, x: Array, z: Array) -> Array:
        """The matrix of values k(xᵢ, zⱼ), shape (len(x), len(z)); for blocks that fit in memory."""
        return values(self, augmented(x), augmented(z))

    def diagonal(self, x: Array) -> Array:
        """k(xᵢ, xᵢ) = 1, shape (len(x),)."""
        return arrays.namespace(x).ones(x.shape[0], dtype=x.dtype)


class Gaussian(RadialKernel):
    """exp(−‖x − z‖² / (2σ²))."""

    name = "gaussian"

    @property
    def factor(self) -> float:  # noqa: D102
        return -0.5 / self.bandwidth**2

    def apply_in_place(self, scaled: Array) -> Array:  # noqa: D102
        return arrays.apply_in_place("exp", arrays.clip_in_place(scaled, at_most=0.0))

    def frequencies(self, seed, purpose, counter, n, d, *, like=None, dtype=None):  # noqa: D102
        return streams.normal(seed, purpose, counter, (n, d), like=like, dtype=dtype) / self.bandwidth


class Laplace(RadialKernel):
    """exp(−‖x − z‖ / σ), the Euclidean form."""

    name = "laplace"

    @property
    def factor(self) -> float:  # noqa: D102
        return 1.0 / self.bandwidth**2

    def apply_in_place(self, scaled: Array) -> Array:  # noqa: D102
        distance = arrays.apply_in_place("sqrt", arrays.clip_in_place(scaled, at_least=0.0))
        return arrays.apply_in_place("exp", arrays.apply_in_place("negative", distance))

    def frequencies(self, seed, purpose, counter, n, d, *, like=None, dtype=None):  # noqa: D102
        draws = streams.normal(seed, purpose, counter, (n, d + 1), like=like, dtype=dtype)
        return draws[:, :d] / (self.bandwidth * arrays.namespace(draws).abs(draws[:, d:]))


class Cauchy(RadialKernel):
    """1 / (1 + ‖x − z‖² / σ²), the isotropic form."""

    name = "cauchy"

    @property
    def factor(self) -> float:  # noqa: D102
        return 1.0 / self.bandwidth**2

    def apply_in_place(self, scaled: Array) -> Array:  # noqa: D102
        scaled = arrays.clip_in_place(scaled, at_least=0.0)
        scaled += 1.0
        return arrays.apply_in_place("reciprocal", scaled)

    def frequencies(self, seed, purpose, counter, n, d, *, like=None, dtype=None):  # noqa: D102
        draws = streams.normal(seed, purpose, counter, (n, d), like=like, dtype=dtype)
        xp = arrays.namespace(draws)
        mixing = -xp.log1p(-streams.uniform(seed, f"{purpose}/mixing", counter, (n, 1), like=like, dtype=dtype))
        return xp.sqrt(2.0 * mixing) * draws / self.bandwidth


KERNELS: dict[str, type[RadialKernel]] = {kernel.name: kernel for kernel in (Gaussian, Laplace, Cauchy)}


def make(name: str | RadialKernel, bandwidth: float | None = None) -> RadialKernel:
    """The kernel of a name and a bandwidth; a kernel object is handed through.

    Raises
    ------
    UnknownNameError
        If there is no kernel of that name; the message has the nearest one.
    ShallowsError
        If the bandwidth is missing, not positive or not finite.
    """
    if isinstance(name, RadialKernel):
        return name
    if not isinstance(name, str) or name not in KERNELS:
        raise UnknownNameError("kernel", name, KERNELS)
    return KERNELS[name](bandwidth if bandwidth is None else float(bandwidth))


def augmented(x: Array) -> Array:
    """Points with two columns more, [x, ‖x‖², 1], so that one product gives squared distances; shape (n, d + 2)."""
    xp = arrays.namespace(x)
    return xp.concat([x, arrays.row_norms_squared(x)[:, None], xp.ones((x.shape[0], 1), dtype=x.dtype)], axis=1)


def left_factor(kernel: RadialKernel, points: Array) -> Array:
    """``L`` with ``L @ augmented(z).T = factor * ‖x − z‖²`` for augmented points x: factor·[−2x, 1, ‖x‖²]."""
    xp = arrays.namespace(points)
    d = points.shape[1] - 2
    return xp.concat(
        [
            points[:, :d] * (-2.0 * kernel.factor),
            points[:, d + 1 :] * kernel.factor,
            points[:, d : d + 1] * kernel.factor,
        ],
        axis=1,
    )


def values(kernel: RadialKernel, points: Array, others: Array, out: Array | None = None) -> Array:
    """Kernel values of two sets of augmented points.

    Parameters
    ----------
    kernel : RadialKernel
    points, others : arrays, shapes (m, d + 2) and (n, d + 2)
        What `augmented` returns.
    out : array, shape (m, n), optional
        Where the values are written.
    """
    if out is None:
        out = arrays.namespace(points).empty((points.shape[0], others.shape[0]), dtype=points.dtype)
    return fill(kernel, left_factor(kernel, points), others, out)


_STRIP_BYTES = 2**19
"""The elementwise pass goes in strips that are still in the cache when the next operation reads them."""


def fill(kernel: RadialKernel, left: Array, others: Array, out: Array) -> Array:
    """`values` with the left factor at hand: a product, then one pass over its result."""
    arrays.matmul_into(left, others.T, out)
    if arrays.is_numpy(out):
        rows = max(1, _STRIP_BYTES // max(1, out.shape[1] * out.itemsize))
        for strip in arrays.blocks(out.shape[0], rows):
            kernel.apply_in_place(out[strip])
    else:
        kernel.apply_in_place(out)
    return out


def median_bandwidth(x: Array, seed: int = 0, n_points: int = 1000) -> float:
    """The median of ‖xᵢ − xⱼ‖ over the pairs i < j of the distinct points of a random subsample.

    Points that are there several times count once, so that the rule does not depend on whether an example was repeated
    or given a weight.

    Parameters
    ----------
    x : array, shape (n, d)
        Training points.
    seed : int
        Which subsample.
    n_points : int
        Its size; the sources that name the rule do not give one, and 1,000 points make half a million pairs.

    Raises
    ------
    ShallowsError
        If all points of the subsample coincide, so that no bandwidth follows.
    """
    n = x.shape[0]
    chosen = streams.permutation(seed, "median bandwidth", 0, n)[: min(n, n_points)]
    sample = arrays.to_numpy(arrays.take_rows(x, chosen))
    distances = scipy.spatial.distance.pdist(np.unique(sample, axis=0))
    if distances.size == 0 or not np.median(distances) > 0:
        raise ShallowsError(
            "All points of the subsample coincide, so the median rule gives no bandwidth; set bandwidth yourself."
        )
    return float(np.median(distances))
