"""The library's own threads, each with one BLAS thread."""

import concurrent.futures
import contextlib
import contextvars
import functools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..utils import memory_limits
from .devices import Array, uses_numpy

_INSIDE: contextvars.ContextVar[bool] = contextvars.ContextVar("inside a block of one BLAS thread", default=False)
_LOCK = threading.Lock()
_n_blocks = 0
"""Blocks of `own_threads` that are active now, in all threads."""
_before: list[int] = []
"""The number of threads of each BLAS library before the first active block."""


@functools.cache
def _blas() -> tuple[list[Any], list[Any]]:
    """BLAS libraries with one number of threads for the process, and libraries with a number for each thread.

    The first call limits their threads to the processors that a container's quota pays for. The system stops a process
    that has used its quota, and BLAS threads use it while they wait for each other.
    """
    from threadpoolctl import ThreadpoolController

    libraries, most = ThreadpoolController().select(user_api="blas").lib_controllers, memory_limits.processors()
    too_many = [x for x in libraries if x.get_num_threads() > most]
    _set_threads(too_many, [int(most) for _ in too_many])
    by_thread = [x for x in libraries if x.internal_api == "openblas" and x.threading_layer == "openmp"]
    return [x for x in libraries if x not in by_thread], by_thread


def _set_threads(libraries: list[Any], numbers: list[int]) -> None:
    for library, number in zip(libraries, numbers, strict=True):
        # threadpoolctl 3.8 lets only the thread that came first change the number of threads of a process.
        release = getattr(library, "clear_controlling_thread", lambda force: None)
        release(force=True)
        library.set_num_threads(number)
        release(force=True)


def n_threads() -> int:
    """Number of threads that the caller may use: the setting of BLAS, at most the processors of the process.

    It is 1 inside `one_blas_thread` and inside the work of `in_threads`. Blocks of other threads do not count, so a
    fit is divided in the same way if other fits run in the process.
    """
    if _INSIDE.get():
        return 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    shared, by_thread = _blas()
    with _LOCK:
        settings = _before if _n_blocks else [library.get_num_threads() for library in shared]
    return max(1, min([allowed, *settings, *(library.get_num_threads() for library in by_thread)]))


@functools.lru_cache(maxsize=4)
def _pool(n_workers: int, process: int) -> ThreadPoolExecutor:
    """Threads that are kept, because starting them costs more than a small product."""
    return ThreadPoolExecutor(n_workers, thread_name_prefix="shallows")


def in_threads(work: Callable[[int], Any], n_workers: int) -> list[Any]:
    """``[work(0), ..., work(n_workers - 1)]``, each in its own thread with one BLAS thread.

    This is faster than one product on all threads if elementwise work lies between the products, because NumPy's
    elementwise loops use one thread. ``work`` must not call this function.
    """
    if n_workers == 1:
        return [work(0)]
    with one_blas_thread():
        pool = _pool(n_workers - 1, os.getpid())
        # Each worker gets a copy of this thread's context, which contains NumPy's error settings.
        others = [pool.submit(contextvars.copy_context().run, work, worker) for worker in range(1, n_workers)]
        try:
            first = work(0)
        finally:
            concurrent.futures.wait(others)
        return [first, *(other.result() for other in others)]


@contextlib.contextmanager
def own_threads() -> Iterator[None]:
    """Limit BLAS to one thread inside the block. The number of threads of `in_threads` stays.

    The first active block sets the limit and the last one removes it. Blocks of several threads may end in any order.
    An idle BLAS thread spins for some milliseconds before it sleeps, and takes a core from our own threads meanwhile:
    with another program on one of two cores, EigenPro's steps on 10,000 digits took 8 times as long.
    """
    global _n_blocks, _before
    shared, _ = _blas()
    counted = False
    try:  # Counted before the number is set, so an interruption meanwhile restores it.
        with _LOCK:
            if _n_blocks == 0:
                _before = [library.get_num_threads() for library in shared]
            _n_blocks, counted = _n_blocks + 1, True
            if _n_blocks == 1:
                _set_threads(shared, [1] * len(shared))
        yield
    finally:
        if counted:
            with _LOCK:
                _n_blocks -= 1
                if _n_blocks == 0:
                    _set_threads(shared, _before)


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Use one thread inside the block, for small decompositions. Blocks may be nested and run in several threads.

    Small decompositions are not faster with two threads. On a busy machine, BLAS threads that wait for each other can
    cost a hundredfold.
    """
    _, by_thread = _blas()
    before = [library.get_num_threads() for library in by_thread]
    token = _INSIDE.set(True)
    try:  # An interruption may come while the next block is entered.
        with own_threads():
            _set_threads(by_thread, [1] * len(by_thread))
            yield
    finally:
        _INSIDE.reset(token)
        _set_threads(by_thread, before)


SMALL_STEP = 2**20
"""Numbers of a batch, rows times features, up to which the products of a step are faster on one thread of BLAS."""


def threads_for(n_numbers: int) -> contextlib.AbstractContextManager[None]:
    """`own_threads` around steps with batches of at most `SMALL_STEP` numbers, else nothing.

    On a busy machine kernel principal components took 9 times as many processor seconds with two BLAS threads, and
    doubly stochastic gradients 4 times.
    """
    return own_threads() if n_numbers <= SMALL_STEP else contextlib.nullcontext()


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

    If the parent has used several threads of GNU's OpenMP, a fork waits for them forever. Use the block around code of
    other packages that uses OpenMP, such as scikit-learn's k-means.
    """
    if not _forked:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"):
        yield


def sum_in_order(parts: list[Array]) -> Array:
    """The sum of the parts in their order, so that it always has the same bits. The first part is overwritten."""
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def workers_for(x: Array) -> int:
    """Number of own threads to use for products with ``x``: `n_threads` for NumPy, 1 for other libraries."""
    return n_threads() if uses_numpy(x) else 1
