"""The kernel with which plain gradient descent is EigenPro on the original kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .. import arrays, kernels
from ..arrays import Array
from ..errors import ShallowsError
from ..kernels import Kernel
from .kernel_preconditioner import Preconditioner


@dataclass(frozen=True, eq=False)
class EigenProKernel(Kernel):
    """k_EP(x, z) = k(x, z) − Σᵢ (1 − τ (λ_{q+1}/λᵢ)^a) ψᵢ(x) ψᵢ(z), with the ψᵢ of `shallows.spectrum`.

    Any estimator whose functions are combinations of a kernel accepts it; it has no frequencies for random features.
    Its largest eigenvalue is about λ_{q+1} instead of λ₁. Ma and Belkin (2017, section 3) define it by all eigenpairs.
    """

    kernel: Kernel  # k
    points: Array = field(repr=False)  # (M, d): the subsample
    # (M, q): B with k_EP(x, z) = k(x, z) − k(x, points) B Bᵀ k(points, z)
    factor: Array = field(repr=False)
    name = "eigenpro"

    @classmethod
    def of(cls, preconditioner: Preconditioner, X: Any) -> EigenProKernel:
        """The kernel of a preconditioner that `fit_preconditioner` made of the points X, shape (n, d)."""
        p = preconditioner
        if p.indices.max() >= X.shape[0]:
            raise ShallowsError(
                f"The preconditioner was made of at least {p.indices.max() + 1} points, X has {X.shape[0]}."
            )
        xp = arrays.namespace(p.vectors)
        return cls(p.kernel, arrays.like(X[p.indices], p.vectors), p.vectors * xp.sqrt(p.scale)[None, :])

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        self.kernel.fill(self.kernel.left_factor(left), others, out)
        out -= self._functions(left) @ self._functions(others).T
        return out

    def diagonal(self, x: Array) -> Array:
        """k_EP(xᵢ, xᵢ) for points, shape (n, d); shape (n,)."""
        removed = arrays.namespace(x).sum(self._functions(kernels.augmented(x)) ** 2, axis=1)
        return self.kernel.diagonal(x) - removed

    def _functions(self, points: Array) -> Array:
        """The functions that are subtracted, at augmented points; shape (n, q)."""
        sample = kernels.augmented(arrays.like(self.points, points))
        return kernels.values(self.kernel, points, sample) @ arrays.like(self.factor, points)
