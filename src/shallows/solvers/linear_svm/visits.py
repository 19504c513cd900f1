"""The order in which examples are visited, as a function of the seed and of how many visits there were before."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import streams
from ...utils.compilation import njit

SAMPLINGS = ("uniform", "subsets", "fixed_permutation", "new_permutation", "in_order")
"""Independent draws; batches of different rows, drawn independently of each other; one permutation for all passes;
another one in each pass; the order of the rows."""


@njit(cache=True, nogil=True)
def mixed(key: np.uint64, counter: np.uint64) -> np.uint64:
    """A pseudo-random 64-bit number for each counter (SplitMix64; Steele, Lea and Flood 2014)."""
    z = key + (counter + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def below(key: np.uint64, counter: int, n: int) -> int:
    """A pseudo-random number from 0 to n − 1 for each counter, n < 2³²; a product in the place of a division."""
    return np.int64(((mixed(key, np.uint64(counter)) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def draws(key: np.uint64, first: int, count: int, n: int) -> np.ndarray:
    """Independent uniform row numbers, those of the counters from ``first`` on."""
    out = np.empty(count, np.int64)
    for j in range(count):
        out[j] = below(key, first + j, n)
    return out


@njit(cache=True, nogil=True)
def shuffle(order: np.ndarray, size: int, key: np.uint64) -> None:
    """Shuffle the first ``size`` entries in place (Fisher and Yates)."""
    for i in range(size - 1, 0, -1):
        j = below(key, i, i + 1)
        order[i], order[j] = order[j], order[i]


@njit(cache=True, nogil=True)
def subsets(key: np.uint64, first: int, count: int, size: int, order: np.ndarray) -> np.ndarray:
    """Uniformly random subsets of ``size`` rows one after the other; ``order`` holds all rows and is left as it was."""
    out, swapped = np.empty(count, np.int64), np.empty(size, np.int64)
    for start in range(0, count, size):
        own, stop = mixed(key, np.uint64(first + start)), min(size, count - start)
        for i in range(stop):
            j = i + below(own, i, len(order) - i)
            order[i], order[j] = order[j], order[i]
            out[start + i], swapped[i] = order[i], j
        for i in range(stop - 1, -1, -1):
            j = swapped[i]
            order[i], order[j] = order[j], order[i]
    return out


def key_of(seed: int, purpose: str, counter: int) -> np.uint64:
    """64 bits from which compiled code draws."""
    return np.uint64(streams.integers(seed, purpose, counter, 1)[0])


def permutation(seed: int, epoch: int, n: int) -> np.ndarray:
    """The permutation of an epoch."""
    order = np.arange(n)
    shuffle(order, n, key_of(seed, "order of examples", epoch))
    return order


def visits(
    sampling: str, seed: int, first: int, count: int, n: int, held: dict[str, Any], batch_size: int = 1
) -> np.ndarray:
    """Row numbers of the visits ``first`` to ``first + count``, by one of `SAMPLINGS`, shape (count,).

    ``held`` keeps the permutation of the last epoch for the next call. Of subsets of at most n rows, the first one
    begins with the visit ``first``.
    """
    if sampling == "uniform":
        return draws(key_of(seed, "drawn examples", 0), first, count, n)
    if sampling == "subsets":
        key = key_of(seed, "drawn subsets", 0)
        return subsets(key, first, count, batch_size, held.setdefault("rows", np.arange(n)))
    if sampling == "in_order":
        return np.arange(first, first + count) % n
    parts, end = [], first + count
    while first < end:
        epoch, place = divmod(first, n)
        epoch = 0 if sampling == "fixed_permutation" else epoch
        if held.get("epoch") != epoch:
            held.update(epoch=epoch, order=permutation(seed, epoch, n))
        parts.append(held["order"][place : place + end - first])
        first += len(parts[-1])
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int64), *parts])
