"""Blocks of random features of any kernel that has some: Fourier features, or features that the kernel defines."""

from dataclasses import dataclass, field
from typing import Any

from .. import arrays, kernels
from ..arrays import Array
from ..errors import ShallowsError
from ..kernels import Kernel
from .base import check_inputs
from .fourier import BlockCache, FourierMap, kind_of_array


@dataclass(frozen=True)
class RandomFeatures:
    """Blocks of the random features of `Kernel.random_features`; block i is a function of (seed, i)."""

    kernel: Any  # With ``random_features``
    n_inputs: int
    block_size: int  # F, the number of features of a block
    seed: int = 0
    mean_square: float = 1.0  # R², the mean of ‖x‖² over the data, on which the variance of the features depends
    cache_bytes: int = 2**28  # Bytes of random numbers that are kept; the others are drawn again
    _cache: BlockCache = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_cache", BlockCache(self.cache_bytes))

    @property
    def width(self) -> int:
        """Columns of a block: F."""
        return self.block_size

    @property
    def relative_moment(self) -> float:
        """`Kernel.relative_moment` at the mean square of the data."""
        return self.kernel.relative_moment(self.mean_square)

    @property
    def drawn_numbers(self) -> float:
        """`Kernel.drawn_numbers` of a feature."""
        return self.kernel.drawn_numbers(self.n_inputs, self.mean_square)

    @property
    def product_bound(self) -> float | None:
        """κ + φ, with |k(x, z)| ≤ κ and |φ(x)φ(z)| ≤ φ; None where there are no such bounds."""
        return self.kernel.product_bound

    def block(self, i: int, x: Array) -> Array:
        """Unnormalized features of block i, shape (m, F): ``block(i, x) @ block(i, z).T / F`` has the mean k(x, z)."""
        check_inputs(x, self.n_inputs)

        def cache(purpose: str, make: Any) -> Array:
            return self._cache.get((purpose, int(i), *kind_of_array(x)), lambda: arrays.astype(make(), x.dtype))

        return self.kernel.random_features(self.seed, int(i), self.block_size, x, self.mean_square, cache)


def check_draws_features(kernel: Kernel) -> None:
    """Refuse a kernel that has no random features."""
    ways = "frequencies", "random_features"
    if not kernel.defines(*ways):
        raise ShallowsError(
            f"The kernel {kernel.name!r} draws no random features, which doubly stochastic gradients need. "
            f"Kernels that do: {kernels.names_that_define(*ways)}. KernelSGD and EigenPro take every kernel, and "
            "so does FeatureEigenPro with features='nystrom'."
        )
    if not kernel.has_frequencies:
        kernel.check_complete("relative_moment")


def stream_of(
    kernel: Kernel,
    n_inputs: int,
    block_size: int,
    seed: int,
    *,
    form: str = "pair",
    orthogonal: bool = False,
    mean_square: float = 1.0,
    cache_bytes: int = 2**28,
) -> FourierMap | RandomFeatures:
    """The blocks of random features of a kernel: from its frequencies if it has any, else the features that it defines.

    The parameters are described in `FourierMap` and `RandomFeatures`. A kernel without frequencies has no ``form``
    and no orthogonal frequencies.
    """
    if kernel.has_frequencies:
        return FourierMap(kernel, n_inputs, block_size, seed, form=form, orthogonal=orthogonal, cache_bytes=cache_bytes)
    check_draws_features(kernel)
    if form != "pair" or orthogonal:
        option = "orthogonal=True" if orthogonal else f"form={form!r}"
        raise ShallowsError(
            f"{option} is for kernels of the difference x − z, whose features are cosines of frequencies, not for "
            f"{kernel.name!r}. Leave it out."
        )
    return RandomFeatures(kernel, n_inputs, block_size, seed, mean_square, cache_bytes)
