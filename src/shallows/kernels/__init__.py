"""Positive-definite kernels: values on a block, diagonal, frequencies.

=================  ======================================  ===============================================
name               k(x, z), r = ‖x − z‖₂                    frequencies (k(x − z) = E cos ωᵀ(x − z))
=================  ======================================  ===============================================
gaussian           exp(−r² / (2σ²))                        ω = g/σ
laplace            exp(−r / σ)                             ω = g/(σ|g₀|), multivariate Cauchy
exponential_power  exp(−(r / σ)^q), 0 < q ≤ 2              ω = √(2a) g/σ, a positive stable of index q/2
cauchy             1 / (1 + r²/σ²)                         ω = √(2e) g/σ with e from Exp(1)
matern             2^(1−ν)/Γ(ν) t^ν K_ν(t), t = √(2ν) r/σ  ω = (g/σ) / √(χ²/(2ν)), 2ν degrees of freedom
laplace_product    exp(−‖x − z‖₁ / σ)                      independent, Cauchy of scale 1/σ
cauchy_product     Πⱼ 1 / (1 + (xⱼ − zⱼ)²/σ²)              independent, Laplace of scale 1/σ
polynomial         (scale · xᵀz + offset)^degree           none; products of random signs
linear             scale · xᵀz + offset                    none; random signs
exponential        exp(xᵀz / σ²)                           none; products of random signs
arc_cosine         ‖x‖^s ‖z‖^s J_s(θ) / π                  none; units √2 max(gᵀx, 0)^s
heat_circle        Σⱼ exp(−j²s) cos j(x − z) / (2π)        none here: its spectrum is exp(−j²s)
precomputed        a matrix from the user                  none
=================  ======================================  ===============================================

with g ~ N(0, I) and g₀ ~ N(0, 1). "laplace" and "cauchy" are the Euclidean (isotropic) forms of Ma and Belkin (2017);
the product forms, which have the same names elsewhere, agree with them for one feature only. A function of the user is
a kernel too, see `FunctionKernel`. Kernels without frequencies may have other random features, see
`Kernel.random_features`. scikit-learn's "rbf", "poly" and "laplacian", with gamma, degree and coef0, are accepted, see
`bandwidth`.
"""

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

from ..arrays import Array
from ..errors import ShallowsError, UnknownNameError
from ..utils.lazy_tables import LazyTable
from .bandwidth import OTHER_NAMES, median_bandwidth, with_our_names
from .base import Kernel, add_to_diagonal, augmented, check_semidefinite, matrix, set_diagonal, values
from .function import FunctionKernel
from .precomputed import Precomputed

KERNELS = LazyTable(
    "kernel",
    __name__,
    {
        "gaussian": ".radial:Gaussian",
        "laplace": ".radial:Laplace",
        "exponential_power": ".radial:ExponentialPower",
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

__all__ = [
    *KERNELS.attributes(),
    *("KERNELS", "FunctionKernel", "Kernel", "add_to_diagonal", "augmented", "choose", "describe", "from_description"),
    *("make", "matrix", "median_bandwidth", "names_that_define", "set_diagonal", "values"),
]

RULES = ("auto", "median")
"""Names of the rules by which estimators choose the bandwidth of an open kernel."""


def __getattr__(name: str) -> Any:
    return KERNELS.attribute(name)


def names_that_define(*methods: str) -> str:
    """The quoted names of the kernels that have one of some methods, for messages; see `Kernel.defines`."""
    return ", ".join(repr(name) for name, one in KERNELS.items() if one.defines(*methods))


def make(name: Any, bandwidth: float | str | None = None, **parameters: Any) -> Kernel:
    """The kernel of a name, a function or an object, which is open if it has no bandwidth yet; see `Kernel.is_open`.

    Parameters
    ----------
    name : str, Kernel or callable
        A key of `KERNELS` or scikit-learn's name of a kernel; a kernel; or a function of two arrays of points, which
        becomes a `FunctionKernel` with the parameters.
    bandwidth : float, "auto", "median" or None
        σ of the kernels that have one. The names of rules and None leave the kernel as it is.
    **parameters
        Parameters of the kernel's class, such as ``nu`` or ``degree``, or scikit-learn's ``gamma`` and ``coef0``.

    Raises
    ------
    UnknownNameError
        If there is no kernel of that name; the message suggests the nearest one.
    ShallowsError
        If a parameter is unknown or out of its range, or a bandwidth or parameter is given to a kernel that has its
        own or has none.
    """
    if isinstance(bandwidth, str):
        if bandwidth not in RULES:
            raise ShallowsError(f"bandwidth must be a positive number, 'auto' or 'median', got {bandwidth!r}.")
        bandwidth = None
    if isinstance(name, Kernel):
        return _complete(name, bandwidth, parameters)
    if isinstance(name, type) and issubclass(name, Kernel):
        raise ShallowsError(f"kernel={name.__name__} is a class. Give an object, such as kernel={name.__name__}().")
    if callable(name):
        if bandwidth is not None:
            raise ShallowsError("A kernel function has no bandwidth; pass it as one of the function's parameters.")
        return FunctionKernel(name, parameters)
    found = KERNELS.get(OTHER_NAMES.get(name, name)) if isinstance(name, str) else None
    if isinstance(name, str) and name == "cosine":
        raise ShallowsError(
            "There is no kernel 'cosine'. It is the kernel 'linear' on rows of length one: put "
            "sklearn.preprocessing.Normalizer() before the estimator in a pipeline."
        )
    if found is None:
        raise UnknownNameError("kernel", name, [*KERNELS, *OTHER_NAMES])
    bandwidth, parameters = with_our_names(OTHER_NAMES.get(name, name), bandwidth, parameters)
    if found is Precomputed and (parameters or bandwidth is not None):
        raise ShallowsError("A precomputed kernel has no parameters: leave bandwidth out.")
    known = found.parameter_names()
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise ShallowsError(
            f"The kernel {name!r} has no parameter {unknown[0]!r}; "
            f"{'its parameters are ' + ', '.join(known) if known else 'it has none but the bandwidth'}."
        )
    if bandwidth is None:
        return found(**parameters)
    if not found.takes_bandwidth:
        raise ShallowsError(f"The kernel {name!r} has no bandwidth; its parameters are {', '.join(known)}.")
    return found(bandwidth=float(bandwidth), **parameters)


def _complete(kernel: Kernel, bandwidth: float | None, parameters: Mapping[str, Any]) -> Kernel:
    """A user's kernel with a bandwidth, if it is open."""
    kernel.check_complete()
    if isinstance(kernel, Precomputed) and kernel.matrix is not None:
        raise ShallowsError(
            "The kernel matrix is given to fit, in place of X, and not to the kernel: KernelRidgeRegressor("
            "kernel='precomputed').fit(K, y)."
        )
    if parameters:
        raise ShallowsError(f"The kernel {kernel!r} has its own parameters, and {dict(parameters)!r} would be ignored.")
    if kernel.is_open:
        if not is_dataclass(kernel):
            raise ShallowsError(f"The kernel {kernel!r} needs a bandwidth, such as {type(kernel).__name__}(1.0).")
        return kernel if bandwidth is None else kernel.with_bandwidth(float(bandwidth))
    if bandwidth is not None:
        named = kernel.takes_bandwidth and kernel.name in KERNELS
        has = "has its own" if kernel.takes_bandwidth else "takes no"
        raise ShallowsError(
            f"The kernel {kernel!r} {has} bandwidth, and bandwidth={bandwidth!r} would be ignored. Leave bandwidth out"
            f"{f', or name the kernel: kernel={kernel.name!r}' if named else ''}."
        )
    return kernel


def choose(kernel: Kernel, points: Array, seed: int = 0, *, all_equal: bool = False) -> Kernel:
    """The kernel of a fit, checked on its augmented training points, shape (n, d + 2).

    The median rule chooses the bandwidth of an open kernel, on a subsample from ``seed``. If the points are
    ``all_equal``, every bandwidth gives the same function. A `ShallowsError` says if the kernel has no usable values on
    the points, or needs another number of features.
    """
    kernel.check_inputs(points.shape[1] - 2)
    if kernel.is_open:
        kernel = kernel.with_bandwidth(1.0 if all_equal else median_bandwidth(points[:, :-2], seed, kernel=kernel))
    kernel.check_values(points)
    if KERNELS.get(kernel.name) is not type(kernel) and not isinstance(kernel, FunctionKernel):
        check_semidefinite(kernel, points, f"kernel {kernel.name!r}")
    return kernel


def describe(kernel: Kernel) -> str:
    """A kernel as a line of JSON for a file, which `from_description` reads; functions of the user are refused."""
    if KERNELS.get(kernel.name) is not type(kernel):
        raise ShallowsError(f"The kernel {kernel.name!r} is a user's function and cannot be written to a file.")
    return json.dumps({"name": kernel.name, "bandwidth": kernel.bandwidth, **kernel.parameters})


def from_description(line: str) -> Kernel:
    """The kernel that `describe` wrote."""
    return make(**json.loads(line))
