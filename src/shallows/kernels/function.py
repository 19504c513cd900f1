"""A kernel that the user gives as a Python function."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import arrays
from ..arrays import Array
from ..errors import ShallowsError
from .base import Kernel, check_semidefinite


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """The kernel that a function computes.

    Parameters
    ----------
    function : callable
        ``function(X, Z, **options)`` returns the matrix of k(xᵢ, zⱼ), shape (len(X), len(Z)), for two arrays of
        points in the library, device and precision of the fit. It must be symmetric and positive semi-definite.
    options : mapping
        Passed to the function.

    Notes
    -----
    Functions of ``sklearn.metrics.pairwise`` and `shallows.kernels` may be used. The function is called for small and
    large blocks from several threads. Its temporary arrays are not counted in the memory budget. A model can be pickled
    if the function is not a lambda.
    """

    function: Callable[..., Array]
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ShallowsError(f"A kernel function must be callable, got {self.function!r}.")

    @property
    def parameters(self) -> dict[str, Any]:
        """The options."""
        return dict(self.options)

    @property
    def name(self) -> str:  # noqa: D102
        return getattr(self.function, "__name__", type(self.function).__name__)

    def left_factor(self, points: Array) -> Array:  # noqa: D102
        return points[:, :-2]

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        out[...] = self._matrix(left, others[:, :-2])
        return out

    def diagonal(self, x: Array) -> Array:
        """k(xᵢ, xᵢ), shape (len(x),), from small blocks."""
        xp = arrays.namespace(x)
        parts = []
        for rows in arrays.blocks(x.shape[0], 32):
            block = self._matrix(x[rows, :], x[rows, :])
            on_diagonal = xp.eye(block.shape[0], dtype=block.dtype)
            parts.append(xp.sum(block * on_diagonal, axis=1))
        return xp.concat(parts)

    def check_values(self, points: Array) -> None:
        """Also refuse functions that are not symmetric or not positive semi-definite."""
        super().check_values(points)
        check_semidefinite(self, points, f"kernel function {self.name!r}")

    def _matrix(self, x: Array, z: Array) -> Array:
        try:
            matrix = self.function(x, z, **self.options)
        except Exception as error:
            raise ShallowsError(
                f"The kernel function {self.name!r} failed for {x.shape[0]} and {z.shape[0]} points of {x.shape[1]} "
                f"features ({error}); given two arrays of points it must return the matrix of all pairs."
            ) from error
        shape = getattr(matrix, "shape", None)
        what = f"the shape {shape}" if shape else type(matrix).__name__
        if shape != (x.shape[0], z.shape[0]):
            raise ShallowsError(
                f"The kernel function {self.name!r} returned {what} for {x.shape[0]} and {z.shape[0]} points; it must "
                f"return the matrix of all pairs, shape ({x.shape[0]}, {z.shape[0]})."
            )
        return matrix if matrix.dtype == x.dtype else arrays.astype(matrix, x.dtype)
