"""Where arrays live, NumPy or CuPy, and how they get there: devices, namespaces, transfers, types."""

from __future__ import annotations

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


def is_device_failure(error: BaseException) -> bool:
    """Whether an error is CUDA's own: of the driver, the runtime or one of its libraries, and not of a compilation.

    After most of them no call of CUDA succeeds in the process any more.
    """
    kind = type(error)
    of_cupy = kind.__module__.partition(".")[0] in ("cupy", "cupy_backends")
    return of_cupy and re.fullmatch(r"(CUDARuntime|CUDADriver|CUBLAS|CUSOLVER|CURAND)Error", kind.__name__) is not None


def is_out_of_device_memory(error: BaseException) -> bool:
    """Whether an error is CuPy's own for a GPU that has no room for an array."""
    kind = type(error)
    return kind.__name__ == "OutOfMemoryError" and kind.__module__.partition(".")[0] == "cupy"


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


def uses_numpy(x: Array) -> bool:
    """Whether what is computed from an array is NumPy's: of NumPy's arrays and of sparse rows."""
    return isinstance(x, (np.ndarray, SparsePoints))


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
        if isinstance(x, SparsePoints):
            x = x if device.kind == "cpu" else x.toarray()
            if device.kind == "cpu":
                return x if dtype is None else x.astype(dtype)
        if device.kind == "gpu":
            return _cupy().ascontiguousarray(_cupy().asarray(x, dtype=dtype))
        return np.ascontiguousarray(to_numpy(x), dtype=dtype)


def to_numpy(x: Any) -> np.ndarray:
    """The same numbers as a NumPy array on the host; sparse rows stay as they are."""
    if isinstance(x, (np.ndarray, SparsePoints)):
        return x
    if type(x).__module__.partition(".")[0] == "cupy":
        return _cupy().asnumpy(x)
    return np.asarray(x)


def like(values: Any, x: Array, dtype: Any = None) -> Array:
    """Host values as an array beside ``x``: its library, its device, its precision unless another is named."""
    xp = namespace(x)
    if is_sparse(values):
        return values.astype(x.dtype if dtype is None else dtype)
    return xp.asarray(values, dtype=x.dtype if dtype is None else dtype)


def supports_out(x: Array) -> bool:
    """Whether functions of the library of ``x`` take ``out=``, as those of NumPy and CuPy do."""
    return is_numpy(x) or type(x).__module__.partition(".")[0] == "cupy"


def astype(x: Array, dtype: Any) -> Array:
    """The same numbers in another precision; no copy where it is the same."""
    if supports_out(x) or is_sparse(x):
        return x.astype(dtype, copy=False)
    return namespace(x).astype(x, dtype, copy=False)


def take_rows(x: Array, indices: Any) -> Array:
    """Rows of an array by their numbers, which may lie on the host."""
    xp = namespace(x)
    return xp.take(x, xp.asarray(indices), axis=0)


def stable_order(x: Array) -> Array:
    """The indices that sort a vector, equal values in the order they come."""
    if supports_out(x):
        return namespace(x).argsort(x, kind="stable")
    return namespace(x).argsort(x, stable=True)


def itemsize(x: Array) -> int:
    """Bytes of one number of a floating array."""
    return int(namespace(x).finfo(x.dtype).bits) // 8


def synchronise(x: Array) -> None:
    """Wait until the device of ``x`` is done, so that a clock read next is honest."""
    if device_of(x).kind == "gpu":
        _cupy().cuda.Device(device_of(x).index).synchronize()
