"""Loops compiled by numba."""

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import FunctionCache

Loop = Callable[..., Any]


def njit(**options: Any) -> Callable[[Loop], Loop]:
    """`numba.njit` with a `RepairedCache`, or without a cache if no folder for it can be written."""

    def compile_loop(loop: Loop) -> Loop:
        compiled = numba.njit(**{**options, "cache": False})(loop)
        if options.get("cache"):
            with contextlib.suppress(RuntimeError):  # "cannot cache function: no locator available"
                compiled._cache = RepairedCache(loop)
        return compiled

    return compile_loop


class RepairedCache(FunctionCache):
    """numba's cache of a loop. The loop is compiled again if a file of the cache cannot be read.

    A power loss or a full disk can truncate a file, and numba then raises an error in every call.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled loop, or None if it must be compiled; unreadable files are deleted."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling damaged bytes can raise any error
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the compiled loop; warn if that is impossible, because the loop itself works."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            warnings.warn(
                f"Compiled code cannot be saved in {self.cache_path} and is compiled again in each process "
                f"({type(error).__name__}: {error}). Delete this folder, or set NUMBA_CACHE_DIR to a writable folder.",
                stacklevel=2,
            )
