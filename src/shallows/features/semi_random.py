"""Semi-random features: units with a random switch and a trained linear function."""

from dataclasses import dataclass

from .. import arrays, streams
from ..arrays import Array
from ..errors import ShallowsError
from ..utils.plain_numbers import takes_numpy_integers
from .base import FeatureMap, check_inputs


@takes_numpy_integers
@dataclass(frozen=True)
class SemiRandomMap(FeatureMap):
    """The products σ_s(rⱼᵀ[x, 1]) · [x, 1] of n random units, where σ_s(z) is z^s for z > 0 and else 0.

    The model is f(x) = (σ_s([x, 1]ᵀR) ⊙ [x, 1]ᵀW₁) W₂ with random R and trained W₁ and W₂. With one output only the
    products wⱼ = W₁ⱼ W₂ⱼ matter, and f is linear in them. So a linear model on these n (d + 1) features, divided by √n,
    is the complete model, and its training is convex. With several outputs each has its own W₁.
    `shallows.kernel_approximation.SemiRandomFeatures` has the sources.
    """

    n_inputs: int  # d
    n_units: int  # n
    order: int = 0  # s; 0 is a step, 1 a rectified unit
    bandwidth: float = 1.0  # Inputs are divided by it
    seed: int = 0

    def __post_init__(self) -> None:
        if type(self.order) is not int or self.order not in (0, 1, 2):
            raise ShallowsError(f"order must be 0, 1 or 2, got {self.order!r}.")
        if not self.n_units >= 1:
            raise ShallowsError(f"n_units must be at least 1, got {self.n_units!r}.")

    @property
    def n_features(self) -> int:
        """Columns of `map`, n (d + 1)."""
        return self.n_units * (self.n_inputs + 1)

    def switches(self, x: Array) -> Array:
        """σ_s(rⱼᵀ[x, 1]) for the unit vectors rⱼ, shape (m, n)."""
        xp = arrays.namespace(x)
        drawn = streams.normal(self.seed, "switches", 0, (self.n_units, self.n_inputs + 1), like=x)
        directions = drawn / xp.sqrt(arrays.row_norms_squared(drawn))[:, None]
        z = self._with_constant(x) @ arrays.astype(directions, x.dtype).T
        if self.order == 0:
            return arrays.astype(z > 0, z.dtype)
        return arrays.clip_in_place(z, at_least=0.0) ** self.order

    def _with_constant(self, x: Array) -> Array:
        xp = arrays.namespace(x)
        return xp.concat([x / self.bandwidth, xp.ones((x.shape[0], 1), dtype=x.dtype)], axis=1)

    def map(self, x: Array) -> Array:
        """The products, unit by unit, shape (m, n (d + 1))."""
        check_inputs(x, self.n_inputs)
        xp = arrays.namespace(x)
        products = self.switches(x)[:, :, None] * self._with_constant(x)[:, None, :]
        products *= self.n_units**-0.5
        return xp.reshape(products, (x.shape[0], self.n_features))


def semi_random(kernel, x, n_features, seed=0, budget=None, n_units=None, order=0) -> SemiRandomMap:
    """The map "semi_random": the number of units follows from the number of columns."""
    n_units = n_units or max(1, n_features // (x.shape[1] + 1))
    return SemiRandomMap(x.shape[1], n_units, order, getattr(kernel, "bandwidth", None) or 1.0, seed)
