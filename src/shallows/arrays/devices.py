"""Devices, namespaces, transfers and types of arrays of NumPy, CuPy and other libraries."""

import contextlib
import functools
import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import MissingExtraError, ShallowsError
from .sparse_points import SparsePoints, is_sparse

Array = Any
"""An array of NumPy, CuPy or another library that follows the Python array API standard."""


@dataclass(frozen=True)
class Device:
    """Location of arrays: ``kind`` is ``"cpu"`` or ``"gpu"``, ``index`` is the number of the GPU."""

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
        """Create new arrays on this device inside the block."""
        if self.kind == "gpu":
            with _cupy().cuda.Device(self.index):
                yield
        else:
            yield


@functools.cache
def _cupy() -> Any:
    """CuPy, or an error that names the optional extra."""
    if importlib.util.find_spec("cupy") is None:
        raise MissingExtraError("gpu", "device='gpu'")
    import cupy

    return cupy


@functools.cache
def gpu_is_available() -> bool:
    """Whether CuPy is installed and finds a GPU that works. (CuPy can be imported without a GPU.)"""
    if importlib.util.find_spec("cupy") is None:
        return False
    try:
        return bool(_cupy().cuda.is_available())
    except Exception:
        return False


def gpu_name(index: int = 0) -> str | None:
    """The model of a GPU, or None without a GPU."""
    if not gpu_is_available():
        return None
    return _cupy().cuda.runtime.getDeviceProperties(index)["name"].decode()


def is_device_failure(error: BaseException) -> bool:
    """Whether an error comes from CUDA but not from a compilation; later calls of CUDA mostly fail then."""
    kind = type(error)
    of_cupy = kind.__module__.partition(".")[0] in ("cupy", "cupy_backends")
    return of_cupy and re.fullmatch(r"(CUDARuntime|CUDADriver|CUBLAS|CUSOLVER|CURAND)Error", kind.__name__) is not None


def is_out_of_device_memory(error: BaseException) -> bool:
    """Whether an error is CuPy's error for a GPU without room for an array."""
    kind = type(error)
    return kind.__name__ == "OutOfMemoryError" and kind.__module__.partition(".")[0] == "cupy"


def resolve_device(device: str | Device = "auto") -> Device:
    """The device for "auto" (a GPU if one works, else the CPU), "cpu", "gpu" or "gpu:N"."""
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
            raise ShallowsError(f"device={device!r} needs a GPU, but CuPy finds no GPU that works; use device='cpu'.")
    return Device("gpu", index)


def is_numpy(x: Array) -> bool:
    """Whether an array belongs to NumPy, so that in-place operations and threads can be used."""
    return isinstance(x, np.ndarray)


def uses_numpy(x: Array) -> bool:
    """Whether results for an array belong to NumPy: true for NumPy arrays and sparse rows."""
    return isinstance(x, (np.ndarray, SparsePoints))


def namespace(x: Array) -> Any:
    """The library of an array."""
    if isinstance(x, np.ndarray):
        return np
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__()
    if type(x).__module__.partition(".")[0] == "cupy":
        return _cupy()
    raise TypeError(f"{type(x).__name__} is not an array of a known library.")


def device_of(x: Array) -> Device:
    """The device of an array."""
    if type(x).__module__.partition(".")[0] == "cupy":
        return Device("gpu", x.device.id)
    return Device("cpu")


def to_device(x: Any, device: Device, dtype: Any = None) -> Array:
    """A C-ordered array on the device, copied only if necessary."""
    with device.active():
        if device.kind == "gpu":
            x = x.toarray() if isinstance(x, SparsePoints) else x
            return _cupy().ascontiguousarray(_cupy().asarray(x, dtype=dtype))
        if isinstance(x, SparsePoints):
            return x if dtype is None else x.astype(dtype)
        return np.ascontiguousarray(to_numpy(x), dtype=dtype)


def to_numpy(x: Any) -> np.ndarray:
    """The same numbers as a NumPy array; sparse rows are returned unchanged."""
    if isinstance(x, (np.ndarray, SparsePoints)):
        return x
    if type(x).__module__.partition(".")[0] == "cupy":
        return _cupy().asnumpy(x)
    return np.asarray(x)


def like(values: Any, x: Array, dtype: Any = None) -> Array:
    """Host values as an array of the library and device of ``x``, and of its precision if ``dtype`` is None."""
    xp = namespace(x)
    if is_sparse(values):
        return values.astype(x.dtype if dtype is None else dtype)
    return xp.asarray(values, dtype=x.dtype if dtype is None else dtype)


def supports_out(x: Array) -> bool:
    """Whether ``x`` belongs to NumPy or CuPy: functions accept ``out=``, and items can be set by index arrays."""
    return is_numpy(x) or type(x).__module__.partition(".")[0] == "cupy"


def astype(x: Array, dtype: Any) -> Array:
    """The same numbers in another precision, without a copy if the precision is the same."""
    if supports_out(x) or is_sparse(x):
        return x.astype(dtype, copy=False)
    return namespace(x).astype(x, dtype, copy=False)


def take_rows(x: Array, indices: Any) -> Array:
    """Rows of an array; the indices may be on the host."""
    xp = namespace(x)
    return xp.take(x, xp.asarray(indices), axis=0)


def itemsize(x: Array) -> int:
    """Bytes of a number of a floating-point array."""
    return int(namespace(x).finfo(x.dtype).bits) // 8


def synchronize(x: Array) -> None:
    """Wait until the device of ``x`` has finished, so that measured times are right."""
    if device_of(x).kind == "gpu":
        _cupy().cuda.Device(device_of(x).index).synchronize()
