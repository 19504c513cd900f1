"""Loops over single examples, compiled by numba where it is installed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..errors import MissingExtraError

Loop = Callable[..., Any]

try:
    import numba
except ModuleNotFoundError as error:
    if error.name != "numba":
        raise
    numba = None


def njit(**options: Any) -> Callable[[Loop], Loop]:
    """`numba.njit`, without its cache where no folder can keep it: the package's is read-only, and there is no home.

    Without numba a loop, which plain Python would take too long for, is replaced by the error that names the extra.
    """
    return functools.partial(_compiled, options) if numba is not None else _refused


def _compiled(options: dict[str, Any], loop: Loop) -> Loop:
    try:
        return numba.njit(**options)(loop)
    except RuntimeError:  # "cannot cache function: no locator available"
        return numba.njit(**{**options, "cache": False})(loop)


def _refused(loop: Loop) -> Loop:
    @functools.wraps(loop)
    def refuse(*arguments: Any, **keywords: Any) -> Any:
        raise MissingExtraError("compiled", "A solver that goes through single examples in a compiled loop")

    return refuse
