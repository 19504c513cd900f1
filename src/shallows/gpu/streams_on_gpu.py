"""The random numbers of `streams` on a GPU, in one launch instead of about 500 for plain array operations."""

from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from . import cuda

THREADS = 256
BITS = {"float32": 24, "float64": 32}
_MASK = (1 << 64) - 1


def words(key: tuple[int, int], counter: int, n: int, like: Array) -> Array | None:
    """The first n words of Philox-4x64-10, shape (n,), or None if our CUDA is not used for ``like``."""
    function = _function("words", "float64", like) if cuda.is_enabled(like) else None
    return None if function is None else _launch(function, key, counter, n, 4, like, arrays.namespace(like).uint64)


def normal_numbers(key: tuple[int, int], counter: int, n: int, like: Array, dtype: Any) -> Array | None:
    """The first n normal numbers by the transform of Box and Muller, shape (n,), or None; see `words`."""
    if not cuda.is_enabled(like):
        return None
    name = str(np.dtype(str(dtype)) if isinstance(dtype, str) else np.dtype(dtype))
    function = _function("normal_numbers", name, like)
    return None if function is None else _launch(function, key, counter, n, 8, like, dtype)


def _launch(
    function: Any, key: tuple[int, int], counter: int, n: int, of_a_thread: int, like: Array, dtype: Any
) -> Array:
    out = arrays.namespace(like).empty(n, dtype=dtype)
    if n:
        counters = (counter & _MASK, counter >> 64 & _MASK)
        n_blocks = -(-n // (of_a_thread * THREADS))
        numbers = [np.uint64(part) for part in (*counters, *key)]
        function((n_blocks, 1, 1), (THREADS, 1, 1), (out, np.int64(n), *numbers))
    return out


def _function(name: str, dtype: str, like: Array) -> Any:
    """The compiled kernel, or None if its first numbers differ from NumPy's Philox."""

    def make() -> Any:
        source = f"#define REAL {cuda.real(dtype)}\n#define BITS {BITS[dtype]}\n{_text()}"
        made = cuda.compiled(arrays.namespace(like), source, name)
        key, counter, n = (0x0123456789ABCDEF, 0xFEDCBA9876543210), 2**64 + 5, 1003
        raw = np.random.Philox(counter=((counter << 64) - 1) % (1 << 256), key=key[0] | key[1] << 64).random_raw(n)
        if name == "words":
            found = arrays.to_numpy(_launch(made, key, counter, n, 4, like, arrays.namespace(like).uint64))
            if not np.array_equal(found, raw):
                raise ArithmeticError("the random numbers differ from the numbers of the generator")
            return made
        found = arrays.to_numpy(_launch(made, key, counter, n, 8, like, dtype)).astype(np.float64)
        bits = BITS[dtype]
        upper = (raw >> np.uint64(64 - bits)).astype(np.float64) * 2.0**-bits
        lower = (raw >> np.uint64(32 - bits) & np.uint64((1 << bits) - 1)).astype(np.float64) * 2.0**-bits
        radius, angle = np.sqrt(-2.0 * np.log1p(-upper)), 2.0 * np.pi * lower
        exact = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()[:n]
        error = float(np.abs(found - exact).max())
        if not error < 64 * np.finfo(dtype).eps:
            raise ArithmeticError(f"normal numbers are off by {error:.1e}")
        return made

    return cuda.first_use(("draws", name, dtype), make, like)


@cache
def _text() -> str:
    return resources.files(__package__).joinpath("draws.cu").read_text(encoding="utf-8")
