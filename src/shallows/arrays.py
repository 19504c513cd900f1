"""NumPy or CuPy: namespace, device, precision, memory budget, transfers.

The one place that imports CuPy and the one place that knows which array library is in use. Everything below the
estimators takes the namespace from the arrays that it is handed, so the same code runs on both, and on any other
implementation of the Python array API standard.

CuPy multiplies float32 in full single precision. With ``CUPY_TF32=1`` in the environment it rounds the factors to 10
bits (TF32), of which squared distances made by products keep three digits; nothing here turns that on or off.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import contextvars
import functools
import importlib.util
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import MissingExtraError, ShallowsError

Array = Any
"""An array of NumPy, CuPy or another library that follows the Python array API standard."""

_SHARE_OF_FREE_MEMORY = 0.7
_UNITS = {
    "": 1,
    "b": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}


# ---------------------------------------------------------------------------------------------------- devices


@dataclass(frozen=True)
class Device:
    """Where arrays live: ``kind`` is ``"cpu"`` or ``"gpu"``, ``index`` counts the GPUs."""

    kind: str = "cpu"
    index: int = 0

    @property
    def namespace(self) -> Any:
        """The array library of this device."""
        return _cupy() if self.kind == "gpu" else np

    def __str__(self) -> str:
        return self.kind if self.kind == "cpu" else f"{self.kind}:{self.index}"

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """New arrays are made on this device inside the block."""
        if self.kind == "gpu":
            with _cupy().cuda.Device(self.index):
                yield
        else:
            yield


@functools.cache
def _cupy() -> Any:
    """CuPy, or an error that names the extra."""
    if importlib.util.find_spec("cupy") is None:
        raise MissingExtraError("gpu", "device='gpu'")
    import cupy

    return cupy


@functools.cache
def gpu_is_available() -> bool:
    """Whether CuPy is installed and finds a GPU that works. (CuPy imports on a machine without one.)"""
    if importlib.util.find_spec("cupy") is None:
        return False
    try:
        return bool(_cupy().cuda.is_available())
    except Exception:
        return False


def gpu_name(index: int = 0) -> str | None:
    """The model of a GPU, or None where there is none."""
    if not gpu_is_available():
        return None
    return _cupy().cuda.runtime.getDeviceProperties(index)["name"].decode()


def resolve_device(device: str | Device = "auto") -> Device:
    """The device that a user's word means.

    Parameters
    ----------
    device : {"auto", "cpu", "gpu", "gpu:N"} or Device
        ``"auto"`` takes a GPU where one works and the CPU elsewhere.

    Raises
    ------
    ShallowsError
        If the word is unknown, or a GPU is asked for and none works.
    MissingExtraError
        If a GPU is asked for and CuPy is not installed.
    """
    if isinstance(device, Device):
        return device
    match = re.fullmatch(r"(auto|cpu)|gpu(?::(\d+))?", str(device))
    if match is None:
        raise ShallowsError(f"device must be 'auto', 'cpu', 'gpu' or 'gpu:N', got {device!r}.")
    if match[1] == "cpu" or (match[1] == "auto" and not gpu_is_available()):
        return Device("cpu")
    index = int(match[2] or 0)
    if match[1] is None:
        _cupy()
        if not gpu_is_available():
            raise ShallowsError(f"device={device!r} was asked for, but CuPy finds no GPU that works; use device='cpu'.")
    return Device("gpu", index)


def is_numpy(x: Array) -> bool:
    """Whether an array is NumPy's, so that in-place forms and threads may be used."""
    return isinstance(x, np.ndarray)


def namespace(x: Array) -> Any:
    """The array library that an array belongs to."""
    if isinstance(x, np.ndarray):
        return np
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__()
    if type(x).__module__.partition(".")[0] == "cupy":
        return _cupy()
    raise TypeError(f"{type(x).__name__} is no array of a known library.")


def device_of(x: Array) -> Device:
    """The device that an array lies on."""
    if type(x).__module__.partition(".")[0] == "cupy":
        return Device("gpu", x.device.id)
    return Device("cpu")


def to_device(x: Any, device: Device, dtype: Any = None) -> Array:
    """A C-ordered array on the device, copied only where it must be."""
    with device.active():
        if device.kind == "gpu":
            return _cupy().ascontiguousarray(_cupy().asarray(x, dtype=dtype))
        return np.ascontiguousarray(to_numpy(x), dtype=dtype)


def to_numpy(x: Any) -> np.ndarray:
    """The same numbers as a NumPy array on the host."""
    if isinstance(x, np.ndarray):
        return x
    if type(x).__module__.partition(".")[0] == "cupy":
        return _cupy().asnumpy(x)
    return np.asarray(x)


def like(values: Any, x: Array, dtype: Any = None) -> Array:
    """Host values as an array beside ``x``: its library, its device, its precision unless another is named."""
    xp = namespace(x)
    return xp.asarray(values, dtype=x.dtype if dtype is None else dtype)


def astype(x: Array, dtype: Any) -> Array:
    """The same numbers in another precision; no copy where it is the same."""
    if _has_out(x):
        return x.astype(dtype, copy=False)
    return namespace(x).astype(x, dtype, copy=False)


def take_rows(x: Array, indices: Any) -> Array:
    """Rows of an array by their numbers, which may lie on the host."""
    xp = namespace(x)
    return xp.take(x, xp.asarray(indices), axis=0)


def stable_order(x: Array) -> Array:
    """The indices that sort a vector, equal values in the order they come."""
    if _has_out(x):
        return namespace(x).argsort(x, kind="stable")
    return namespace(x).argsort(x, stable=True)


def contiguous(x: Array) -> Array:
    """The same numbers in C order; products with reversed or strided views are slow."""
    if _has_out(x):
        return namespace(x).ascontiguousarray(x)
    return namespace(x).asarray(x, copy=True)


def contiguous_copy(x: Array) -> Array:
    """The same numbers in C order, in memory of their own."""
    if _has_out(x):
        return namespace(x).array(x, order="C", copy=True)
    return namespace(x).asarray(x, copy=True)


def itemsize(x: Array) -> int:
    """Bytes of one number of a floating array."""
    return int(namespace(x).finfo(x.dtype).bits) // 8


def synchronise(x: Array) -> None:
    """Wait until the device of ``x`` is done, so that a clock read next is honest."""
    if device_of(x).kind == "gpu":
        _cupy().cuda.Device(device_of(x).index).synchronize()


# ---------------------------------------------------------------------------------------------------- memory


def parse_bytes(size: int | float | str) -> int:
    """A size in bytes from a number or a text such as ``"4GB"``, ``"512 MiB"``.

    Raises
    ------
    ShallowsError
        If it cannot be read or is not positive.
    """
    if isinstance(size, str):
        match = re.fullmatch(r"\s*((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[0-9]+)?)\s*([kmgt]?i?)b?\s*", size.lower())
        if match is None or match[2] not in _UNITS:
            raise ShallowsError(f"A size in bytes is a number or a text such as '4GB' or '512MiB', got {size!r}.")
        size = float(match[1]) * _UNITS[match[2]]
    if not (isinstance(size, (int, float, np.number)) and math.isfinite(size) and size > 0):
        raise ShallowsError(f"A size in bytes must be positive, got {size!r}.")
    return int(size)


def available_memory(device: Device | None = None) -> int:
    """Bytes that can be used now on a device without pushing anything out.

    On a CPU the limit of the control group counts too (a container's or a batch system's share of the machine).
    """
    if device is not None and device.kind == "gpu":
        with device.active():
            free, _ = _cupy().cuda.runtime.memGetInfo()
            return int(free + _cupy().get_default_memory_pool().free_bytes())
    import psutil

    free = psutil.virtual_memory().available
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        with contextlib.suppress(OSError, ValueError), open(limit) as a, open(used) as b:
            free = min(free, int(a.read()) - int(b.read()))
    return max(free, 2**26)


def memory_budget(memory: int | float | str | None, device: Device | None = None) -> int:
    """Bytes that a fit may use: what was asked for, or a share (70 %) of what is free."""
    if memory is not None:
        return parse_bytes(memory)
    return int(_SHARE_OF_FREE_MEMORY * available_memory(device))


def resident_memory() -> int:
    """Bytes of main memory that this process holds now."""
    import psutil

    return psutil.Process().memory_info().rss


def peak_memory() -> int:
    """The most bytes of main memory that this process ever held."""
    # Linux hands ru_maxrss down from the process that started this one, so its own account comes first.
    with contextlib.suppress(OSError, StopIteration), open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) * 1024
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


# ---------------------------------------------------------------------------------------------------- threads


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


# ------------------------------------------------------------------------------------ operations in place
# The standard has no `out=`; NumPy and CuPy have, and save a pass over memory by it.


def _has_out(x: Array) -> bool:
    return is_numpy(x) or type(x).__module__.partition(".")[0] == "cupy"


def assigns_by_index(x: Array) -> bool:
    """Whether ``x[rows, columns] = value`` works with arrays of indices, which the standard does not ask for."""
    return _has_out(x)


def matmul_into(a: Array, b: Array, out: Array) -> Array:
    """``out[...] = a @ b``."""
    if _has_out(out):
        return namespace(out).matmul(a, b, out=out)
    out[...] = a @ b
    return out


def corner(x: Array, m: int, n: int) -> Array:
    """``m`` rows and ``n`` columns of the space of a larger C-ordered array.

    For CuPy they lie in one piece, since it multiplies into a result whose rows are parts of longer ones by way of a
    copy; elsewhere they are the upper left corner.
    """
    if is_numpy(x) or not _has_out(x):
        return x[:m, :n]
    return x.reshape(-1)[: m * n].reshape(m, n)


_SMALL_PRODUCT = 10**6
"""Multiplications up to which OpenBLAS's kernels for AVX-512 read their operands where they lie."""

_FEW_COLUMNS = 64


def thin_product(block: Array, a: Array) -> Array:
    """``block @ a`` for a large ``block`` and an ``a`` of few columns.

    A BLAS copies the operands of a product into an order of its own first, which for ten columns costs more than the
    product; OpenBLAS leaves that out for small products. So the block goes through in pieces small enough for that:
    for 466 rows of a tile of float32 out of main memory and ten columns 0.13 ms against 0.21 ms, and 0.18 ms against
    0.26 ms where the block lies transposed. With more than about 64 columns, or one, nothing is gained. A side of the
    block that is too long for that is cut as well: 256 rows of 20,000 numbers and ten columns take 1.1 ms against 1.7.

    Small products use one thread. Where other work keeps the cores busy that is far from slower: the threads of one
    product wait for each other, and what takes 0.6 ms alone was seen to take 150.

    Parameters
    ----------
    block : array, shape (m, k)
        In C order or transposed.
    a : array, shape (k, c)

    Returns
    -------
    array, shape (m, c)
    """
    (m, k), c = block.shape, a.shape[1]
    if not is_numpy(block) or not 1 < c <= _FEW_COLUMNS or m * k * c <= _SMALL_PRODUCT:
        return block @ a
    longest = _SMALL_PRODUCT // (128 * c) // 16 * 16
    if block.strides[1] <= block.strides[0]:
        width = _SMALL_PRODUCT // (k * c) // 16 * 16
        if width < 32:
            return sum_in_order([thin_product(block[:, part], a[part]) for part in blocks(k, longest)])
        pieces, whole = m // width, m // width * width
        out = np.empty((m, c), dtype=block.dtype)
        np.matmul(block[:whole].reshape(pieces, width, k), a, out=out[:whole].reshape(pieces, width, c))
        if whole < m:
            np.matmul(block[whole:], a, out=out[whole:])
        return out
    width = _SMALL_PRODUCT // (m * c) // 16 * 16
    if width < 32:
        out = np.empty((m, c), dtype=block.dtype)
        for part in blocks(m, longest):
            out[part] = thin_product(block[part], a)
        return out
    pieces, whole = k // width, k // width * width
    parts = block.T[:whole].reshape(pieces, width, m).transpose(0, 2, 1)
    out = np.matmul(parts, a[:whole].reshape(pieces, width, c)).sum(axis=0)
    if whole < k:
        out += block[:, whole:] @ a[whole:]
    return out


def apply_in_place(name: str, x: Array) -> Array:
    """``x[...] = xp.<name>(x)`` for a function of one argument, such as ``"exp"`` or ``"sqrt"``."""
    function = getattr(namespace(x), name)
    if _has_out(x):
        return function(x, out=x)
    x[...] = function(x)
    return x


def clip_in_place(x: Array, *, at_least: float | None = None, at_most: float | None = None) -> Array:
    """Values brought into ``[at_least, at_most]`` in place."""
    xp = namespace(x)
    if is_numpy(x) and x.ndim:
        # NumPy's loop is vectorised against a row, not against a number: 0.09 and 0.32 ms for a million values.
        for bound, nearer in ((at_least, np.maximum), (at_most, np.minimum)):
            if bound is not None:
                nearer(x, np.full(x.shape[-1], bound, dtype=x.dtype), out=x)
        return x
    if _has_out(x):
        if at_least is not None:
            xp.maximum(x, x.dtype.type(at_least), out=x)
        if at_most is not None:
            xp.minimum(x, x.dtype.type(at_most), out=x)
        return x
    x[...] = xp.clip(x, at_least, at_most)
    return x


def solve_triangular(factor: Array, b: Array) -> Array:
    """``x`` with ``factor @ x = b`` for a lower triangular factor."""
    if is_numpy(factor):
        from scipy.linalg import solve_triangular as solve

        return solve(factor, b, lower=True, check_finite=False)
    if type(factor).__module__.partition(".")[0] == "cupy":
        from cupyx.scipy.linalg import solve_triangular as solve

        return solve(factor, b, lower=True, check_finite=False)
    return namespace(factor).linalg.solve(factor, b)


def cholesky_in_place(matrix: Array) -> Array:
    """``L`` with ``L @ L.T = matrix`` for a C-ordered symmetric matrix, which is overwritten where it can be.

    What lies above the diagonal of the result has no meaning.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite to rounding.
    """
    if is_numpy(matrix):
        from scipy.linalg import cho_factor

        # The transpose lies in Fortran order, so LAPACK factors it in place; its upper factor is Lᵀ.
        return cho_factor(matrix.T, lower=False, overwrite_a=True, check_finite=False)[0].T
    xp = namespace(matrix)
    factor = xp.linalg.cholesky(matrix)
    if not bool(xp.all(xp.isfinite(factor))):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return factor


def solve_positive_definite(matrix: Array, b: Array) -> Array:
    """``x`` with ``matrix @ x = b`` for a symmetric positive-definite matrix, which is overwritten where it can be.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite to rounding.
    """
    if is_numpy(matrix):
        from scipy.linalg import cho_factor, cho_solve

        # The transpose lies in Fortran order, so LAPACK factors it in place: a second matrix may not fit.
        factor = cho_factor(matrix.T, lower=False, overwrite_a=True, check_finite=False)
        return cho_solve(factor, b, check_finite=False)
    xp = namespace(matrix)
    factor = xp.linalg.cholesky(matrix)
    if not bool(xp.all(xp.isfinite(factor))):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    halfway = solve_triangular(factor, b)
    if type(factor).__module__.partition(".")[0] == "cupy":
        from cupyx.scipy.linalg import solve_triangular as solve

        return solve(factor, halfway, lower=True, trans="T", check_finite=False)
    return xp.linalg.solve(factor.T, halfway)


def solve_damped(matrix: Array, b: Array, damping: float) -> Array:
    """``x`` with ``(matrix + damping I) @ x = b`` for a positive semi-definite matrix, solved in float64.

    Where rounding has made the damped matrix indefinite, the damping grows tenfold until it is not.
    """
    xp = namespace(matrix)
    wide, right = astype(matrix, xp.float64), astype(b, xp.float64)
    eye = xp.eye(wide.shape[0], dtype=wide.dtype)
    if not is_numpy(matrix):
        return astype(xp.linalg.solve(wide + damping * eye, right), b.dtype)
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    floor = float(np.finfo(matrix.dtype).eps) * float(wide.diagonal().max(initial=0.0))
    while True:
        try:
            factor = cho_factor(wide + damping * eye, lower=True, check_finite=False, overwrite_a=True)
            return astype(cho_solve(factor, right, check_finite=False), b.dtype)
        except LinAlgError:
            if not (math.isfinite(damping) and np.isfinite(wide).all()):
                return np.full_like(b, np.nan)
            damping = max(10.0 * damping, floor, 1e-300)


def row_norms_squared(x: Array) -> Array:
    """Squared Euclidean norms of the rows, in one pass and without a copy of ``x`` where the library allows it."""
    if _has_out(x):
        return namespace(x).einsum("ij,ij->i", x, x)
    return namespace(x).sum(x * x, axis=1)


def blocks(n: int, size: int) -> Iterable[slice]:
    """Consecutive slices that cover ``range(n)``."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))
