"""Positive-definite kernels: values on a block, diagonal, frequencies.

================  ======================================  ===============================================
name              k(x, z), r = ‖x − z‖₂                    frequencies (k(x − z) = E cos ωᵀ(x − z))
================  ======================================  ===============================================
gaussian          exp(−r² / (2σ²))                        ω = g/σ
laplace           exp(−r / σ)                             ω = g/(σ|g₀|), multivariate Cauchy
cauchy            1 / (1 + r²/σ²)                         ω = √(2e) g/σ with e from Exp(1)
matern            2^(1−ν)/Γ(ν) t^ν K_ν(t), t = √(2ν) r/σ  ω = (g/σ) / √(χ²/(2ν)), 2ν degrees of freedom
laplace_product   exp(−‖x − z‖₁ / σ)                      independent, Cauchy of scale 1/σ
cauchy_product    Πⱼ 1 / (1 + (xⱼ − zⱼ)²/σ²)              independent, Laplace of scale 1/σ
polynomial        (scale · xᵀz + offset)^degree           none; products of random signs
linear            scale · xᵀz + offset                    none; random signs
exponential       exp(xᵀz / σ²)                           none; products of random signs
arc_cosine        ‖x‖^s ‖z‖^s J_s(θ) / π                  none; units √2 max(gᵀx, 0)^s
heat_circle       Σⱼ exp(−j²s) cos j(x − z) / (2π)        none here: its spectrum is exp(−j²s)
precomputed       a matrix from the user                  none
================  ======================================  ===============================================

with g ~ N(0, I) and g₀ ~ N(0, 1). "laplace" and "cauchy" are the Euclidean (isotropic) forms of Ma and Belkin (2017);
the product forms, which have the same names elsewhere, agree with them for one feature only. A function of the user is
a kernel too, see `FunctionKernel`. Kernels without frequencies may have other random features, see
`Kernel.random_features`. scikit-learn's "rbf", "poly" and "laplacian", with gamma, degree and coef0, are accepted, see
`bandwidth`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..arrays import Array
from ..errors import ShallowsError, UnknownNameError
from ..utils.lazy_tables import LazyTable
from .bandwidth import OTHER_NAMES, median_bandwidth, translate
from .base import Kernel, add_to_diagonal, augmented, matrix, set_diagonal, values
from .function import FunctionKernel
from .precomputed import Precomputed

__all__ = [
    "KERNELS",
    "ArcCosine",
    "Cauchy",
    "CauchyProduct",
    "Exponential",
    "FunctionKernel",
    "Gaussian",
    "HeatCircle",
    "Kernel",
    "Laplace",
    "LaplaceProduct",
    "Linear",
    "Matern",
    "Polynomial",
    "Precomputed",
    "add_to_diagonal",
    "augmented",
    "check_own_parameters",
    "choose",
    "describe",
    "from_description",
    "kind",
    "make",
    "matrix",
    "median_bandwidth",
    "names_that_define",
    "set_diagonal",
    "split",
    "translate",
    "values",
]

KERNELS = LazyTable(
    "kernel",
    __name__,
    {
        "gaussian": ".radial:Gaussian",
        "laplace": ".radial:Laplace",
        "cauchy": ".radial:Cauchy",
        "matern": ".radial:Matern",
        "laplace_product": ".products:LaplaceProduct",
        "cauchy_product": ".products:CauchyProduct",
        "polynomial": ".inner:Polynomial",
        "linear": ".inner:Linear",
        "exponential": ".inner:Exponential",
        "arc_cosine": ".inner:ArcCosine",
        "heat_circle": ".heat:HeatCircle",
        "precomputed": ".precomputed:Precomputed",
    },
)
"""Every kernel by its name."""


def __getattr__(name: str) -> Any:
    return KERNELS.attribute(name)


def kind(name: Any) -> type[Kernel] | Kernel:
    """The class of a kernel's name, or the kernel itself, from which properties are known before the parameters are.

    An unknown name raises an `UnknownNameError` with the nearest name, and an incomplete class of the user a
    `ShallowsError`.
    """
    if isinstance(name, Kernel):
        name.check_complete()
        return name
    if isinstance(name, type) and issubclass(name, Kernel):
        raise ShallowsError(f"{name.__name__} is a class of kernels; give a kernel, such as {name.__name__}(...).")
    if callable(name):
        return FunctionKernel
    name = OTHER_NAMES.get(name, name) if isinstance(name, str) else name
    if not (isinstance(name, str) and name in KERNELS):
        raise UnknownNameError("kernel", name, [*KERNELS, *OTHER_NAMES])
    return KERNELS[name]


def names_that_define(*methods: str) -> str:
    """The quoted names of the kernels that have one of some methods, for messages; see `Kernel.defines`."""
    return ", ".join(repr(name) for name, one in KERNELS.items() if one.defines(*methods))


def split(kernel: Any, bandwidth: Any) -> tuple[Any, Any, dict[str, Any] | None]:
    """A kernel, bandwidth and further parameters, where a kernel object without a bandwidth becomes its name."""
    if not (isinstance(kernel, Kernel) and kernel.is_open):
        return kernel, bandwidth, None
    if KERNELS.get(kernel.name) is not type(kernel):
        raise ShallowsError(f"The kernel {kernel!r} needs a bandwidth, such as {type(kernel).__name__}(bandwidth=1.0).")
    return kernel.name, bandwidth, kernel.parameters or None


def check_own_parameters(
    kernel: Any, bandwidth: float | str | None = None, parameters: Mapping[str, Any] | None = None
) -> None:
    """Refuse parameters that are not a mapping, or that are given together with a kernel object, which has its own.

    Kernel functions accept any parameters. Names accept them too, but not a bandwidth together with a gamma. The name
    of a rule that chooses a bandwidth is accepted together with a kernel object.
    """
    if not (parameters is None or isinstance(parameters, Mapping)):
        raise ShallowsError(f"kernel_params must be a dictionary or None, got {parameters!r}.")
    if not isinstance(kernel, Kernel):
        translate(kernel, bandwidth, parameters)
        if (
            isinstance(kernel, str)
            and kernel == Precomputed.name
            and (parameters or not (bandwidth is None or isinstance(bandwidth, str)))
        ):
            raise ShallowsError("A precomputed kernel has no parameters: leave bandwidth and kernel_params out.")
        return
    if bandwidth is not None and not isinstance(bandwidth, str):
        named = kernel.takes_bandwidth and kernel.name in KERNELS
        raise ShallowsError(
            f"A kernel object has its own bandwidth, and bandwidth={bandwidth!r} with kernel={kernel!r} would be "
            f"ignored. Leave bandwidth out{f', or name the kernel: kernel={kernel.name!r}' if named else ''}."
        )
    if parameters:
        raise ShallowsError(
            f"A kernel object has its own parameters, and {dict(parameters)!r} with kernel={kernel!r} would be "
            "ignored. Leave kernel_params out."
        )


def make(name: Any, bandwidth: float | None = None, **parameters: Any) -> Kernel:
    """The kernel of a name, a bandwidth and further parameters.

    Parameters
    ----------
    name : str, Kernel or callable
        A key of `KERNELS`; a kernel, which is returned unchanged; or a function of two arrays of points, which
        becomes a `FunctionKernel` with the parameters.
    bandwidth : float, optional
        σ of the kernels that have one.
    **parameters
        Parameters of the kernel's class, such as ``nu`` or ``degree``, or scikit-learn's ``gamma`` and ``coef0``.

    Raises
    ------
    UnknownNameError
        If there is no kernel of that name; the message suggests the nearest one.
    ShallowsError
        If a parameter is missing, unknown or out of its range, or is given together with a kernel object.
    """
    name, bandwidth, parameters = translate(name, bandwidth, parameters)
    found = kind(name)
    if isinstance(found, Kernel):
        if found.is_open:
            raise ShallowsError(f"The kernel {found!r} needs a bandwidth, such as {type(found).__name__}(1.0).")
        check_own_parameters(found, bandwidth, parameters)
        return found
    if found is Precomputed:
        raise ShallowsError("kernel='precomputed' has no values for points; a kernel of points is needed here.")
    if found is FunctionKernel:
        if bandwidth is not None:
            raise ShallowsError("A kernel function has no bandwidth; pass it as one of the function's parameters.")
        return FunctionKernel(name, parameters)
    known = found.parameter_names()
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise ShallowsError(
            f"The kernel {name!r} has no parameter {unknown[0]!r}; "
            f"{'its parameters are ' + ', '.join(known) if known else 'it has none but the bandwidth'}."
        )
    if found.takes_bandwidth:
        if bandwidth is None:
            raise ShallowsError(f"bandwidth must be a positive number for the kernel {name!r}, got None.")
        return found(float(bandwidth), **parameters)
    if bandwidth is not None:
        raise ShallowsError(f"The kernel {name!r} has no bandwidth; its parameters are {', '.join(known)}.")
    return found(**parameters)


def choose(
    kernel: Any,
    bandwidth: float | None,
    parameters: Mapping[str, Any] | None,
    points: Array,
    seed: int = 0,
    *,
    all_equal: bool = False,
) -> Kernel:
    """The kernel of a fit, checked on its augmented training points, shape (n, d + 2); see `make` for the other
    parameters.

    The median rule chooses a bandwidth that is needed and not given, on a subsample from ``seed``. If the points are
    ``all_equal``, every bandwidth gives the same function. A `ShallowsError` says if the kernel has no usable values on
    the points, or needs another number of features.
    """
    name, bandwidth, parameters = translate(kernel, bandwidth, parameters)
    found = kind(name)
    found.check_inputs(points.shape[1] - 2)
    if bandwidth is None and found.takes_bandwidth and not isinstance(found, Kernel):
        bandwidth = 1.0 if all_equal else median_bandwidth(points[:, :-2], seed)
    found = make(name, bandwidth, **parameters)
    found.check_values(points)
    return found


def describe(kernel: Kernel) -> str:
    """A kernel as a line of JSON for a file, which `from_description` reads; functions of the user are refused."""
    if KERNELS.get(kernel.name) is not type(kernel):
        raise ShallowsError(f"The kernel {kernel.name!r} is a user's function and cannot be written to a file.")
    return json.dumps({"name": kernel.name, "bandwidth": kernel.bandwidth, **kernel.parameters})


def from_description(line: str) -> Kernel:
    """The kernel that `describe` wrote."""
    return make(**json.loads(line))
