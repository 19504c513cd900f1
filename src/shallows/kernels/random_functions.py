"""Kernels that are known only by their random functions, k(x, z) = E φ(x)φ(z)."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import arrays
from ..arrays import Array
from ..errors import ShallowsError
from ..utils.plain_numbers import takes_numpy_integers
from .base import Kernel

SEED = 2**31 - 1
"""Seed of the functions that estimate values, so that they are not the functions of a fit with a usual seed."""


@takes_numpy_integers
@dataclass(frozen=True)
class RandomFunctionKernel(Kernel):
    """Base of kernels without a formula: a subclass draws functions φ, and k(x, z) is the mean of φ(x)φ(z).

    A subclass defines ``name``, `Kernel.random_features` and `Kernel.relative_moment`. Doubly stochastic gradients draw
    new functions in every step, so that their solution is in the space of the exact kernel (Theorem 3). Where an
    estimator needs values, they are the mean over the same ``n_functions`` functions everywhere: an unbiased estimate
    with a standard error of about 1/√n_functions, and positive semi-definite.

    Parameters
    ----------
    n_functions : int
        How many functions estimate the values.

    References
    ----------
    B. Dai, B. Xie, N. He, Y. Liang, A. Raj, M.-F. Balcan and L. Song (2014), "Scalable kernel methods via doubly
    stochastic gradients", NIPS 27, Theorem 3 (Devinatz).
    """

    n_functions: int = 2000

    def __post_init__(self) -> None:
        if not isinstance(self.n_functions, int) or self.n_functions < 1:
            raise ShallowsError(f"n_functions must be a whole number of at least 1, got {self.n_functions!r}.")

    @abstractmethod
    def random_features(  # noqa: D102
        self,
        seed: int,
        counter: int,
        n: int,
        x: Array,
        mean_square: float,
        kept: Callable[[str, Callable[[], Array]], Array],
    ) -> Array:
        raise NotImplementedError

    @abstractmethod
    def relative_moment(self, mean_square: float) -> float:  # noqa: D102
        raise NotImplementedError

    def left_factor(self, points: Array) -> Array:
        """φ(x)/√n for augmented points, shape (len(points), n_functions)."""
        return self._functions(points[:, :-2])

    def fill(self, left: Array, others: Array, out: Array) -> Array:
        """Write the estimated values into ``out``."""
        out[...] = left @ self._functions(others[:, :-2]).T
        return out

    def diagonal(self, x: Array) -> Array:
        """The mean of φ(xᵢ)², shape (len(x),)."""
        return arrays.row_norms_squared(self._functions(x))

    def _functions(self, x: Array) -> Array:
        def draw(_: str, make: Callable[[], Any]) -> Array:
            return arrays.astype(make(), x.dtype)

        # Mean square 1 for all blocks: otherwise two blocks of points would have different functions.
        return self.random_features(SEED, 0, self.n_functions, x, 1.0, draw) * self.n_functions**-0.5
