"""Arrays that replace a GPU's, the CUDA text compiled for the CPU, and the formulas of its products."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import cuda_on_cpu
from engine_example import sample
from shallows import arrays, kernels
from shallows.arrays import Device
from shallows.gpu import cuda

needs_compiler = pytest.mark.skipif(cuda_on_cpu.COMPILER is None, reason="there is no g++")

RADIAL = [
    kernels.Gaussian(1.5),
    kernels.Laplace(1.5),
    kernels.Cauchy(1.5),
    kernels.Matern(1.5, 0.5),
    kernels.Matern(1.5, 1.5),
    kernels.Matern(1.5, 2.5),
    kernels.Matern(1.5, 0.8),
]
EPS = {name: float(np.finfo(name).eps) for name in ("float32", "float64")}


class There(np.ndarray):
    """What stands for an array on a GPU."""


def there(x) -> np.ndarray:
    return np.asarray(x).view(There)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cuda")


@pytest.fixture(params=[False, True], ids=["first to last", "last to first"])
def gpu(request, monkeypatch, folder):
    """`There` is on a GPU, and what CuPy would compile for it is compiled for the CPU; the number of launches."""
    launches = []

    def compiled(xp, source, name):
        function = cuda_on_cpu.compiled(source, name, folder, backwards=request.param)
        return lambda *arguments: launches.append(arguments[0]) or function(*arguments)

    device_of = arrays.device_of
    monkeypatch.setattr(arrays, "device_of", lambda x: Device("gpu") if isinstance(x, There) else device_of(x))
    monkeypatch.setattr(cuda, "compiled", compiled)
    monkeypatch.setattr(
        cuda, "elementwise", lambda xp, name, body, dtype: cuda_on_cpu.elementwise(cuda.function(body, dtype), folder)
    )
    monkeypatch.setattr(cuda, "_functions", {})
    monkeypatch.setattr(cuda, "_warned", set())
    monkeypatch.delenv(cuda.VARIABLE, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield launches


def case(m, n, d, c, dtype="float64"):
    x, z, a = sample(m, d), sample(n, d, 1), sample(n, c, 2)
    return [part.astype(dtype) for part in (x / np.sqrt(d), z / np.sqrt(d), a)]


def formula(kernel, x, z, extra=0.0):
    """Values by the kernel's plain expression, from squared distances that were summed difference by difference."""
    squared = ((x[:, None, :].astype(np.float64) - z[None, :, :].astype(np.float64)) ** 2).sum(axis=2)
    return kernel.apply_in_place(kernel.factor * (squared + np.reshape(extra, (-1, 1))))


def error(found, kernel, x, z, a, extra=0.0):
    """The largest error of a product, as a share of the sum of the absolute values of its terms."""
    values = formula(kernel, x, z, extra)
    return (np.abs(found - values @ a) / (values @ np.abs(a) + 1e-300)).max()
