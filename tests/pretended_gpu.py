"""A pretended GPU: the package takes counted NumPy arrays for CuPy's, and its kernels are compiled for the CPU."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import numpy as np

import cuda_on_cpu
from counted_arrays import LEDGER, NAMESPACE, CountedArray, compilers_folder
from shallows import arrays
from shallows.gpu import cuda


class _Device(contextlib.nullcontext):
    def __init__(self, index=0):
        super().__init__()

    def synchronize(self):
        """Done already."""


def _cuda(free: int) -> SimpleNamespace:
    """A substitute for ``cupy.cuda`` on a device with some bytes free."""
    return SimpleNamespace(
        Device=_Device,
        is_available=lambda: True,
        runtime=SimpleNamespace(
            memGetInfo=lambda: (free, free),
            getDeviceProperties=lambda index: {"name": b"pretended"},
            getDeviceCount=lambda: 1,
            driverGetVersion=lambda: 13000,
            runtimeGetVersion=lambda: 13000,
        ),
    )


@contextlib.contextmanager
def pretended_gpu(monkeypatch, folder=None, free=2**30):
    """The package takes `CountedArray` for CuPy's inside the block; yields the ledger, empty.

    With a folder, elementwise kernels are compiled for the CPU there; without, the plain expressions take their place.
    ``free`` is the device's memory.
    """
    monkeypatch.setattr(arrays.devices, "_cupy", lambda: NAMESPACE)
    monkeypatch.setattr(arrays.memory, "_cupy", lambda: NAMESPACE)
    monkeypatch.setattr(arrays.devices, "gpu_is_available", lambda: True)
    monkeypatch.setattr(type(NAMESPACE), "cuda", _cuda(free))
    monkeypatch.setattr(
        type(NAMESPACE),
        "get_default_memory_pool",
        lambda self: SimpleNamespace(free_bytes=lambda: 0, total_bytes=lambda: 0),
    )
    monkeypatch.setattr(type(NAMESPACE), "folder", folder)
    monkeypatch.setattr(cuda, "elementwise", _one_pass)
    monkeypatch.setattr(cuda, "compiled", _raw_kernel)
    monkeypatch.setattr(cuda, "_functions", {})
    monkeypatch.setattr(cuda, "_warned", set())
    LEDGER.clear()
    yield LEDGER


def _one_pass(xp, name, body, dtype):
    function = cuda_on_cpu.elementwise(cuda.function(body, dtype), compilers_folder())

    def launch(scaled, value):
        LEDGER.launch(name, scaled.held, value.held)
        function(scaled.held, value.held)
        return value

    return launch


def _raw_kernel(xp, source, name):
    function = cuda_on_cpu.compiled(source, name, compilers_folder())

    def launch(grid, block, arguments):
        bare = [part.held if isinstance(part, CountedArray) else part for part in arguments]
        LEDGER.launch(name, *(part for part in bare if isinstance(part, np.ndarray)))
        function(grid, block, bare)

    return launch
