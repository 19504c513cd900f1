"""Loops over single examples, compiled by numba."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import FunctionCache

Loop = Callable[..., Any]


def njit(**options: Any) -> Callable[[Loop], Loop]:
    """`numba.njit`, without its cache where no folder can keep it: the package's is read-only, and there is no home.

    A file of the cache that cannot be read is replaced, see `RepairedCache`.
    """
    return functools.partial(_compiled, options)


def _compiled(options: dict[str, Any], loop: Loop) -> Loop:
    made = numba.njit(**{**options, "cache": False})(loop)
    if options.get("cache"):
        with contextlib.suppress(RuntimeError):  # "cannot cache function: no locator available"
            made._cache = RepairedCache(loop)
    return made


class RepairedCache(FunctionCache):
    """numba's cache of a loop; the loop is compiled again if a file of the cache cannot be read.

    A power loss or a full disk can truncate a file. numba then raises an error whenever the loop is called.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled loop, or None if it must be compiled; what cannot be read is forgotten."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling damaged bytes can raise any error
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled loop; warn if that is impossible, since the loop itself works."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            warnings.warn(
                f"Compiled code cannot be saved in {self.cache_path} and is compiled again in each process "
                f"({type(error).__name__}: {error}). Delete this folder, or set NUMBA_CACHE_DIR to a folder that can "
                "be written.",
                stacklevel=2,
            )
