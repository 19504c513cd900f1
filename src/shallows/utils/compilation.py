"""Loops over single examples, compiled by numba where it is installed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..errors import MissingExtraError

try:
    from numba import njit
except ModuleNotFoundError as error:
    if error.name != "numba":
        raise

    def njit(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Replace a loop, which plain Python would take too long for, by the error that names the extra."""

        def replace(loop: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(loop)
            def refuse(*arguments: Any, **keywords: Any) -> Any:
                raise MissingExtraError("compiled", "A solver that goes through single examples in a compiled loop")

            return refuse

        return replace


__all__ = ["njit"]
