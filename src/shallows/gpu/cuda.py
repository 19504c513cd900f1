"""Our own CUDA functions: compiled when first needed, checked against a plain expression, and given up where they fail.

Each such function stands beside a plain expression that does the same with the array library's own operations. It is
compiled by CuPy when a GPU first meets it, held against the plain expression on a small example, and used from then on.
Where it does not compile, does not run or gives other numbers, the plain expression is used instead, with one warning.
``SHALLOWS_CUDA=0`` in the environment, or `off` in a program, leaves the plain expressions alone in place.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

from .. import arrays
from ..arrays import Array

VARIABLE = "SHALLOWS_CUDA"
"""The variable of the environment that, set to 0, turns every function of this kind off."""

Function = TypeVar("Function", bound=Callable[..., Any])

_depth_of_off = 0
_made: dict[Hashable, Any] = {}
_warned: set[str] = set()


def wanted(x: Array) -> bool:
    """Whether CUDA of our own is to be used for an array: it is CuPy's, and nobody turned it off."""
    return arrays.device_of(x).kind == "gpu" and not _depth_of_off and os.environ.get(VARIABLE, "1") != "0"


@contextlib.contextmanager
def off() -> Iterator[None]:
    """Only plain expressions inside the block, as with ``SHALLOWS_CUDA=0``."""
    global _depth_of_off
    _depth_of_off += 1
    try:
        yield
    finally:
        _depth_of_off -= 1


def first_use(key: Hashable, make: Callable[[], Function], x: Array) -> Function | None:
    """What ``make`` gives, made once for each key and device; None where it failed.

    ``key``: what is made, with all that it depends on but the device. ``make``: compiles a function and holds it
    against the plain expression. What it raises, but for a want of memory, ends in one warning a process. ``x``: whose
    device is meant.
    """
    key = (key, arrays.device_of(x))
    if key not in _made:
        try:
            _made[key] = make()
        except MemoryError:
            raise
        except Exception as error:
            _made[key] = None
            # The compiler's whole log helps nobody; its first lines name the cause.
            cause = " ".join(str(error).split())[:300]
            if "failed" not in _warned:
                _warned.add("failed")
                warnings.warn(
                    f"A CUDA function of this package cannot be used here, and CuPy's own operations take its place: "
                    f"results stay right, but slower ({type(error).__name__}: {cause}). "
                    f"{VARIABLE}=0 in the environment leaves such functions out from the start.",
                    RuntimeWarning,
                    stacklevel=2,
                )
    return _made[key]


def real(dtype: Any) -> str:
    """The C type of a floating dtype."""
    return {"float32": "float", "float64": "double"}[str(dtype)]


def elementwise(xp: Any, name: str, body: str, dtype: str) -> Callable[[Array, Array], Array]:
    """An ``ElementwiseKernel`` of a function of one number, which may write over what it reads.

    ``xp``: CuPy. ``name``: what profilers call it. ``body``: the body of ``REAL radial(REAL scaled)`` in C. ``dtype``:
    ``"float32"`` or ``"float64"``.
    """
    return xp.ElementwiseKernel(
        f"{dtype} scaled", f"{dtype} value", "value = radial(scaled)", name=name, preamble=function(body, dtype)
    )


def function(body: str, dtype: str) -> str:
    """The C text of ``REAL radial(REAL scaled)``."""
    return f"#define REAL {real(dtype)}\n__device__ __forceinline__ REAL radial(REAL scaled)\n{{\n{body}\n}}\n"


def compiled(xp: Any, source: str, name: str) -> Callable[..., None]:
    """A function of CUDA C, called as ``f(grid, block, arguments)``.

    ``xp``: CuPy. ``name``: of the function in the source.
    """
    return xp.RawKernel(source, name)
