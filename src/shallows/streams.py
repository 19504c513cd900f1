"""Counter-based random numbers: a seed and a counter give the same numbers on any device, in any order.

The generator is Philox-4x64-10 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"), as
in ``numpy.random.Philox``. A number is a function of (seed, purpose, counter, position). It does not depend on earlier
draws, on the number of workers, or on the division of a block.

Integers and uniform numbers have the same bits everywhere. Normal numbers use ``log`` and ``cos`` of the array library
and agree up to rounding.
"""

import functools
import hashlib
import math
from typing import Any

import numpy as np

from . import arrays
from .arrays import Array
from .gpu import streams_on_gpu
from .utils.plain_numbers import takes_numpy_integers

_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_ROUNDS = 10
_MASK = (1 << 64) - 1

STRIP = 2**13
"""Pairs of normal numbers that are computed at a time on a CPU."""


@functools.lru_cache(maxsize=4096)
def _key(seed: int, purpose: str) -> tuple[int, int]:
    """128 bits from a seed and the name of a purpose, so that no two purposes share a stream."""
    digest = hashlib.sha256(f"{int(seed)}|{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")


@takes_numpy_integers
def integers(seed: int, purpose: str, counter: int, n: int, *, like: Array | None = None) -> Array:
    """The first n uniform 64-bit integers of a block of a stream, uint64, shape (n,), in the library of ``like``.

    Streams of different purposes, such as ``"batches"``, are independent. ``counter`` is the number of a block, such as
    the epoch.
    """
    key = _key(seed, purpose)
    if like is None or arrays.uses_numpy(like):
        # NumPy increments the counter before its first block, so it starts at block −1 (mod 2^256).
        start = (int(counter) << 64) - 1
        return np.random.Philox(counter=start % (1 << 256), key=key[0] | key[1] << 64).random_raw(n)
    words = streams_on_gpu.words(key, int(counter), n, like)
    return _philox(arrays.namespace(like), key, int(counter), n) if words is None else words


def _philox(xp: Any, key: tuple[int, int], counter: int, n: int) -> Array:
    """Philox-4x64-10 in plain array operations."""
    n_blocks = -(-n // 4)
    word = functools.partial(xp.full, n_blocks, dtype=xp.uint64)
    # Not every library has an arange of uint64.
    x = [
        arrays.astype(xp.arange(n_blocks, dtype=xp.int64), xp.uint64),
        word(counter & _MASK),
        word(counter >> 64 & _MASK),
        word(0),
    ]
    k = list(key)
    for _ in range(_ROUNDS):
        high0, low0 = _wide_product(xp, x[0], _MULTIPLIERS[0])
        high1, low1 = _wide_product(xp, x[2], _MULTIPLIERS[1])
        x = [high1 ^ x[1] ^ word(k[0]), low1, high0 ^ x[3] ^ word(k[1]), low0]
        k = [(k[0] + _WEYL[0]) & _MASK, (k[1] + _WEYL[1]) & _MASK]
    return xp.reshape(xp.stack(x, axis=1), (-1,))[:n]


def _wide_product(xp: Any, a: Array, b: int) -> tuple[Array, Array]:
    """The high and the low 64 bits of ``a * b``, from 32-bit halves."""
    half, low_mask = xp.asarray(32, dtype=xp.uint64), xp.asarray(0xFFFFFFFF, dtype=xp.uint64)
    b0, b1 = (xp.asarray(part, dtype=xp.uint64) for part in (b & 0xFFFFFFFF, b >> 32))
    a0, a1 = a & low_mask, a >> half
    low = a0 * b0
    middle = a1 * b0 + (low >> half)
    middle2 = a0 * b1 + (middle & low_mask)
    return a1 * b1 + (middle >> half) + (middle2 >> half), (middle2 << half) | (low & low_mask)


@takes_numpy_integers
def uniform(
    seed: int,
    purpose: str,
    counter: int,
    shape: tuple[int, ...],
    *,
    like: Array | None = None,
    dtype: Any = None,
) -> Array:
    """Uniform numbers in [0, 1), from the top 53 bits of integers (24 for float32); see `integers`.

    ``shape``: of the result; more rows begin with the same numbers. ``dtype``: float32 or float64, the default.
    """
    xp = np if like is None else arrays.namespace(like)
    dtype = xp.float64 if dtype is None else dtype
    bits = 24 if dtype == xp.float32 else 53
    raw = integers(seed, purpose, counter, math.prod(shape), like=like)
    raw = raw >> xp.asarray(64 - bits, dtype=xp.uint64)
    return xp.reshape(arrays.astype(raw, dtype), shape) * 2.0**-bits


@takes_numpy_integers
def normal(
    seed: int,
    purpose: str,
    counter: int,
    shape: tuple[int, ...],
    *,
    like: Array | None = None,
    dtype: Any = None,
) -> Array:
    """Standard normal numbers by the transform of Box and Muller; parameters as for `uniform`.

    A 64-bit integer gives two numbers: its upper half the radius, its lower half the angle (24 bits of each half for
    float32, 32 for float64). So float32 and float64 agree up to rounding. The largest number is 6.7 (5.8 in float32).
    """
    xp = np if like is None else arrays.namespace(like)
    dtype = xp.float64 if dtype is None else dtype
    n, bits = math.prod(shape), 24 if dtype == xp.float32 else 32
    n_pairs = -(-n // 2)
    on_host = like is None or arrays.uses_numpy(like)
    if not on_host:
        numbers = streams_on_gpu.normal_numbers(_key(seed, purpose), int(counter), n, like, dtype)
        if numbers is not None:
            return xp.reshape(numbers, shape)
    raw = integers(seed, purpose, counter, n_pairs, like=like)
    word = functools.partial(xp.asarray, dtype=xp.uint64)
    drawn = xp.empty((n_pairs, 2), dtype=dtype)
    # Strips stay in the cache: whole arrays took five times as long, mostly for new memory.
    for strip in arrays.blocks(n_pairs, STRIP if on_host else max(1, n_pairs)):
        upper = arrays.astype(raw[strip] >> word(64 - bits), dtype)
        lower = arrays.astype((raw[strip] >> word(32 - bits)) & word((1 << bits) - 1), dtype)
        # 1 − u is exact, so log(1 − u) is as accurate as log1p(−u), and much faster in NumPy.
        radius, angle = xp.sqrt(-2.0 * xp.log(1.0 - upper * 2.0**-bits)), lower * (2.0 * math.pi * 2.0**-bits)
        drawn[strip, 0], drawn[strip, 1] = radius * xp.cos(angle), radius * xp.sin(angle)
    return xp.reshape(xp.reshape(drawn, (-1,))[:n], shape)


@takes_numpy_integers
def signs(
    seed: int, purpose: str, counter: int, shape: tuple[int, ...], *, like: Array | None = None, dtype: Any = None
) -> Array:
    """Random signs, one for each bit of the integers; parameters as for `uniform`."""
    xp, n = np if like is None else arrays.namespace(like), math.prod(shape)
    dtype = xp.float64 if dtype is None else dtype
    raw = integers(seed, purpose, counter, -(-n // 64), like=like)[:, None]
    places = arrays.astype(xp.arange(64, dtype=xp.int64), xp.uint64)[None, :]
    drawn, n_words = xp.empty((raw.shape[0], 64), dtype=dtype), raw.shape[0]
    for strip in arrays.blocks(n_words, STRIP if like is None or arrays.uses_numpy(like) else max(1, n_words)):
        bits = (raw[strip, :] >> places) & xp.asarray(1, dtype=xp.uint64)
        drawn[strip, :] = arrays.astype(bits, dtype) * 2.0 - 1.0
    return xp.reshape(xp.reshape(drawn, (-1,))[:n], shape)


@takes_numpy_integers
def permutation(seed: int, purpose: str, counter: int, n: int, *, like: Array | None = None) -> Array:
    """A uniformly random order of ``range(n)``, int64, shape (n,)."""
    # Signed, because not every library sorts unsigned integers. Stable, so that even equal keys give a defined order.
    raw = integers(seed, purpose, counter, n, like=like)
    xp = np if like is None else arrays.namespace(like)
    keys = arrays.astype(raw >> xp.asarray(1, dtype=xp.uint64), xp.int64)
    return xp.argsort(keys, kind="stable") if arrays.supports_out(keys) else xp.argsort(keys, stable=True)
