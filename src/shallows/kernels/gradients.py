"""Gradients of sums of radial kernel functions."""

from __future__ import annotations

from .. import arrays
from ..arrays import Array
from ..errors import ShallowsError
from .base import Kernel
from .radial import RadialKernel


def check_gradients(kernel: Kernel) -> None:
    """Raise a `ShallowsError` if `gradients` is not defined for the kernel."""
    if not isinstance(kernel, RadialKernel):
        raise ShallowsError(
            f"A learned metric needs a kernel of the distance, and kernel {kernel.name!r} is none. Set metric=None, or "
            "use kernel='gaussian', 'laplace', 'cauchy' or 'matern'."
        )
    if type(kernel).slope is RadialKernel.slope:
        kernel.slope(0.0)  # Its message.


def gradients(kernel: RadialKernel, x: Array, points: Array, coefficients: Array) -> Array:
    """∇f(x) of f = Σⱼ aⱼ k(zⱼ, ·), shape (m, c, d).

    With k = g(γ ‖x − z‖²) it is 2 Σⱼ aⱼ γ g'(γ ‖x − zⱼ‖²) (x − zⱼ). ``x`` (m, d + 2) and ``points`` (n, d + 2) are
    augmented and ``coefficients`` have the shape (n, c).
    """
    xp, z = arrays.namespace(x), points[:, :-2]
    slopes = kernel.slope(kernel.left_factor(x) @ points.T)
    slopes *= 2.0 * kernel.factor
    sums = slopes @ coefficients
    of_points = xp.stack([slopes @ (column[:, None] * z) for column in coefficients.T], axis=1)
    return sums[:, :, None] * x[:, None, :-2] - of_points
