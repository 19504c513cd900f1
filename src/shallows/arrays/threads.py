"""Threads of our own over NumPy, with one thread of BLAS in each."""

from __future__ import annotations

import concurrent.futures
import contextlib
import contextvars
import functools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .devices import Array, uses_numpy


@functools.cache
def _blas() -> list[Any]:
    """The BLAS libraries of the process."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas").lib_controllers


def _counts_by_thread(library: Any) -> bool:
    """Whether each of our threads has a number of BLAS threads of its own; else the process has one."""
    return library.internal_api == "openblas" and library.threading_layer == "openmp"


def _set_threads(libraries: list[Any], numbers: list[int]) -> None:
    for library, number in zip(libraries, numbers, strict=True):
        # threadpoolctl (3.8) lets one thread only, the first to come, change the number of a process.
        release = getattr(library, "clear_controlling_thread", lambda force: None)
        release(force=True)
        library.set_num_threads(number)
        release(force=True)


class _OneThreadLimit:
    """The limit of BLAS to one thread in the whole process, while at least one of our threads is inside a block.

    BLAS mostly has one number of threads for all threads of the process. So the first block to begin sets it to one,
    and the last to end puts back what was there, in whatever order the blocks of several threads begin and end.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._libraries: list[Any] = []
        self._before: list[int] = []

    def begin(self) -> None:
        """Count a block in; the first one sets the limit."""
        with self._lock:
            if self._n_inside == 0:
                self._libraries = [library for library in _blas() if not _counts_by_thread(library)]
                self._before = [library.get_num_threads() for library in self._libraries]
                _set_threads(self._libraries, [1] * len(self._libraries))
            self._n_inside += 1

    def end(self) -> None:
        """Count a block out; the last one puts back the numbers of threads that the first one found."""
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                _set_threads(self._libraries, self._before)

    def threads_outside(self) -> list[int]:
        """Threads of each BLAS library for the caller, who is outside of all blocks."""
        with self._lock:
            libraries = _blas()
            if self._n_inside:
                return self._before + [one.get_num_threads() for one in libraries if _counts_by_thread(one)]
            return [one.get_num_threads() for one in libraries]


_LIMIT = _OneThreadLimit()
_INSIDE: contextvars.ContextVar[bool] = contextvars.ContextVar("inside a block of one BLAS thread", default=False)


def n_threads() -> int:
    """Threads that the caller may use: what BLAS is set to, within the processors the process may run on.

    One inside `one_blas_thread` and inside the work of `in_threads`. A block that another thread is in does not count,
    so that a fit is divided in the same way whatever runs beside it.
    """
    if _INSIDE.get():
        return 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([allowed, *_LIMIT.threads_outside()]))


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
    with one_blas_thread():
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
    Blocks may lie inside each other and run in several threads at once.
    """
    own = [library for library in _blas() if _counts_by_thread(library)]
    before = [library.get_num_threads() for library in own]
    _LIMIT.begin()
    token = _INSIDE.set(True)
    try:
        _set_threads(own, [1] * len(own))
        yield
    finally:
        _set_threads(own, before)
        _LIMIT.end()
        _INSIDE.reset(token)


_forked = False
"""Whether this process is a fork, which has the memory of its parent but not the parent's threads."""


def _note_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


@contextlib.contextmanager
def one_openmp_thread_in_a_fork() -> Iterator[None]:
    """In a forked process, OpenMP uses one thread inside the block; elsewhere nothing changes.

    If the parent has used several threads of GNU's OpenMP, a fork waits for them forever, since a fork has only the
    thread that called it. It can be put around code of other packages that uses OpenMP, such as scikit-learn's k-means.
    """
    if not _forked:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"):
        yield


@contextlib.contextmanager
def own_threads() -> Iterator[None]:
    """Threads of BLAS rest inside the block, and `in_threads` has as many of its own as before.

    A BLAS thread that has nothing to do spins for some milliseconds before it sleeps. Where small products of BLAS and
    work of our own take turns, that takes a core from the work: with another program on one of two cores, EigenPro's
    steps on 10,000 digits took 8 times as long.
    """
    _LIMIT.begin()
    try:
        yield
    finally:
        _LIMIT.end()


def sum_in_order(parts: list[Array]) -> Array:
    """The parts added up in their order, so that the sum is the same to the bit; the first is overwritten."""
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def workers_for(x: Array) -> int:
    """How many threads of our own are worth having over products with ``x``: the cores for NumPy, one elsewhere."""
    return n_threads() if uses_numpy(x) else 1
