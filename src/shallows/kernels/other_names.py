"""The names that scikit-learn has for kernels and their parameters, in terms of ours.

==========  =================  ===========================================================================
there       here               parameters
==========  =================  ===========================================================================
rbf         gaussian           exp(−gamma ‖x − z‖²): bandwidth = 1/√(2 gamma)
laplacian   laplace_product    exp(−gamma ‖x − z‖₁): bandwidth = 1/gamma
poly        polynomial         (gamma xᵀz + coef0)^degree: scale = gamma, offset = coef0; scale = 1 by default
==========  =================  ===========================================================================
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

from ..errors import ShallowsError

NAMES = {"rbf": "gaussian", "laplacian": "laplace_product", "poly": "polynomial"}

OF_DISTANCE = {"gaussian": "1/√(2·gamma)", "laplace_product": "1/gamma"}
"""The bandwidth for a gamma, by our name of the kernel."""

OF_PRODUCT = {"polynomial": "scale", "linear": "scale"}
"""What gamma is called for kernels of inner products; their coef0 is the offset."""


def own_name(name: Any) -> Any:
    """Our name of a kernel; what is no name of scikit-learn's alone is returned as it is."""
    return NAMES.get(name, name) if isinstance(name, str) else name


def translated(
    name: Any, bandwidth: Any = None, parameters: Mapping[str, Any] | None = None
) -> tuple[Any, Any, dict[str, Any]]:
    """A kernel's name, bandwidth and parameters in our terms.

    Parameters
    ----------
    name : str, Kernel or callable
        Kernels and functions pass, with their parameters.
    bandwidth : float or str, optional
    parameters : mapping, optional

    Returns
    -------
    name, bandwidth, dict

    Raises
    ------
    ShallowsError
        If a parameter is given under both names or at another's place, or ``gamma`` is no positive number.
    """
    parameters = dict(parameters or {})
    if not isinstance(name, str):
        return name, bandwidth, parameters
    if "bandwidth" in parameters:
        width = parameters["bandwidth"]
        raise ShallowsError(f"The bandwidth is a parameter of its own: bandwidth={width!r}, not in kernel_params.")
    name = own_name(name)
    if name in OF_DISTANCE and "gamma" in parameters:
        formula = OF_DISTANCE[name]
        gamma = _positive(parameters.pop("gamma"), f"bandwidth = {formula}")
        width = 1.0 / math.sqrt(2.0 * gamma) if "√" in formula else 1.0 / gamma
        if bandwidth is not None and not isinstance(bandwidth, str):
            raise ShallowsError(
                f"bandwidth={bandwidth!r} and gamma={gamma!r} say the same thing twice: bandwidth is {formula}, here "
                f"{width:.6g}. Leave one of the two out."
            )
        return name, width, parameters
    for theirs, ours in (("gamma", OF_PRODUCT.get(name)), ("coef0", "offset")):
        if name in OF_PRODUCT and theirs in parameters:
            if ours in parameters:
                raise ShallowsError(f"{theirs} is another name of {ours}; leave one of the two out of kernel_params.")
            value = parameters.pop(theirs)
            parameters[ours] = _positive(value, f"it is the kernel's {ours}") if theirs == "gamma" else value
    return name, bandwidth, parameters


def _positive(gamma: Any, meaning: str) -> float:
    good = isinstance(gamma, numbers.Real) and not isinstance(gamma, bool) and math.isfinite(gamma) and gamma > 0
    if not good:
        raise ShallowsError(
            f"gamma must be a positive number ({meaning}), got {gamma!r}. Where it is left out of kernel_params, "
            "a bandwidth is chosen from the data, for the kernels that have one."
        )
    return float(gamma)
