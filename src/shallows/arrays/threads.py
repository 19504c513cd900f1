"""Threads of our own over NumPy, with one thread of BLAS in each."""

from __future__ import annotations

import concurrent.futures
import contextlib
import contextvars
import functools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .devices import Array, is_numpy


@functools.cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def n_threads() -> int:
    """Threads that this process may use: what its BLAS is set to, within the processors it may run on."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    blas = [pool["num_threads"] for pool in _blas().info() if pool["user_api"] == "blas"]
    return max(1, min([allowed, *blas]))


@functools.lru_cache(maxsize=4)
def _pool(n_workers: int, process: int) -> ThreadPoolExecutor:
    """Threads that stay: to start them anew for every product costs more than a small product."""
    return ThreadPoolExecutor(n_workers, thread_name_prefix="shallows")


def in_threads(work: Callable[[int], Any], n_workers: int) -> list[Any]:
    """``[work(0), ..., work(n_workers - 1)]``, one thread each, with one BLAS thread inside each of them.

    Many middle-sized products on threads of their own beat one product on all threads when elementwise work lies
    between them, since NumPy's elementwise loops use one thread. ``work`` must not call this function itself.
    """
    if n_workers == 1:
        return [work(0)]
    with _blas().limit(limits=1, user_api="blas"):
        pool = _pool(n_workers - 1, os.getpid())
        # In copies of this thread's context, since what NumPy warns of is a part of it.
        others = [pool.submit(contextvars.copy_context().run, work, worker) for worker in range(1, n_workers)]
        try:
            first = work(0)
        finally:
            concurrent.futures.wait(others)
        return [first, *(other.result() for other in others)]


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Small decompositions inside the block use one thread.

    They gain nothing from two, and threads of BLAS that wait for each other on a busy machine can cost a hundredfold.
    """
    with _blas().limit(limits=1, user_api="blas"):
        yield


def sum_in_order(parts: list[Array]) -> Array:
    """The parts added up in their order, so that the sum is the same to the bit; the first is overwritten."""
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def workers_for(x: Array) -> int:
    """How many threads of our own are worth having over products with ``x``: the cores for NumPy, one elsewhere."""
    return n_threads() if is_numpy(x) else 1
