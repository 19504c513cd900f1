"""Our CUDA functions. Each has a plain reference in array operations.

CuPy compiles a function at its first use. It is then compared with the reference on a small example. If it does not
compile or gives other numbers, the reference is used instead, with one warning. ``SHALLOWS_CUDA=0`` in the environment,
or the block `off`, switches all functions off.
"""

import contextlib
import os
import warnings
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

from .. import arrays
from ..arrays import Array

VARIABLE = "SHALLOWS_CUDA"
"""Environment variable that switches all our CUDA functions off if it is 0."""

Function = TypeVar("Function", bound=Callable[..., Any])

_depth_of_off = 0
_functions: dict[Hashable, Any] = {}
_warned: set[str] = set()


def is_enabled(x: Array) -> bool:
    """Whether our CUDA functions are used for an array: it is on a GPU, and they are not switched off."""
    return arrays.device_of(x).kind == "gpu" and not _depth_of_off and os.environ.get(VARIABLE, "1") != "0"


@contextlib.contextmanager
def off() -> Iterator[None]:
    """Use the references inside the block, as with ``SHALLOWS_CUDA=0``."""
    global _depth_of_off
    _depth_of_off += 1
    try:
        yield
    finally:
        _depth_of_off -= 1


def first_use(key: Hashable, make: Callable[[], Function], x: Array) -> Function | None:
    """The result of ``make``, called once for each key and device, or None after an error, of which the first one
    warns.
    """
    key = (key, arrays.device_of(x))
    if key not in _functions:
        try:
            _functions[key] = make()
        except MemoryError:
            raise
        except Exception as error:
            _functions[key] = None
            # The first lines of the compiler's log name the cause.
            cause = " ".join(str(error).split())[:300]
            if "failed" not in _warned:
                _warned.add("failed")
                warnings.warn(
                    "A CUDA function of this package cannot be used here, and CuPy's own operations take its place: "
                    f"results are right, but slower ({type(error).__name__}: {cause}). "
                    f"{VARIABLE}=0 in the environment switches such functions off.",
                    RuntimeWarning,
                    stacklevel=2,
                )
    return _functions[key]


def real(dtype: Any) -> str:
    """The C type of a floating dtype."""
    return {"float32": "float", "float64": "double"}[str(dtype)]


def elementwise(xp: Any, name: str, body: str, dtype: str) -> Callable[[Array, Array], Array]:
    """A CuPy ``ElementwiseKernel`` of ``REAL radial(REAL scaled)`` with a body in C, which may be applied in place."""
    return xp.ElementwiseKernel(
        f"{dtype} scaled", f"{dtype} value", "value = radial(scaled)", name=name, preamble=function(body, dtype)
    )


def function(body: str, dtype: str) -> str:
    """The C text of ``REAL radial(REAL scaled)``."""
    return f"#define REAL {real(dtype)}\n__device__ __forceinline__ REAL radial(REAL scaled)\n{{\n{body}\n}}\n"


def compiled(xp: Any, source: str, name: str) -> Callable[..., None]:
    """The function ``name`` of a CUDA source, called as ``f(grid, block, arguments)``. ``xp``: CuPy."""
    return xp.RawKernel(source, name)
