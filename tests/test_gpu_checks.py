"""What is told of a GPU that cannot be used, or is not what it seems; a fake stands for CuPy."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import numpy as np
import pytest

from shallows import EigenProRegressor, arrays, gpu_checks
from shallows.arrays import Device
from shallows.errors import ShallowsError


def fake(driver=13000, runtime=13000, count=1, free=80, total=80, own=0, compiler=None):
    """CuPy on a machine with such a driver, so many devices, and so many GB free of the total."""

    def ones(*arguments, **options):
        if compiler is not None:
            raise RuntimeError(compiler)
        return np.ones(1)

    def number(value):
        if isinstance(value, Exception):
            raise value
        return value

    told = SimpleNamespace(
        driverGetVersion=lambda: number(driver),
        runtimeGetVersion=lambda: runtime,
        getDeviceCount=lambda: number(count),
        memGetInfo=lambda: (int(free * 1e9), int(total * 1e9)),
    )
    pool = SimpleNamespace(total_bytes=lambda: int(own * 1e9))
    return SimpleNamespace(
        cuda=SimpleNamespace(runtime=told, Device=lambda index: contextlib.nullcontext()),
        get_default_memory_pool=lambda: pool,
        ones=ones,
    )


@pytest.fixture
def machine(monkeypatch):
    """Make a fake stand for CuPy."""
    for name in (gpu_checks.VISIBLE, *gpu_checks.TF32_VARIABLES):
        monkeypatch.delenv(name, raising=False)

    def make(**facts):
        monkeypatch.setattr(arrays.devices, "_cupy", lambda: fake(**facts))
        monkeypatch.setattr(arrays.devices, "gpu_is_available", lambda: True)

    return make


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"driver": 12040}, "the driver knows CUDA 12.4 and CuPy was built for 13.0.*cupy-cuda12x"),
        ({"driver": 0}, "no NVIDIA driver is installed"),
        ({"driver": RuntimeError("cudaErrorInitializationError: 3")}, "does not start: cudaErrorInit"),
        ({"count": RuntimeError("cudaErrorNoDevice: no CUDA-capable device")}, "no GPU answers: cudaErrorNoDevice"),
        ({"count": 1}, "the GPUs that CuPy sees are: 'gpu:0'"),
        (
            {"count": 4, "compiler": 'catastrophic error: cannot open source file "vector_types.h"'},
            r"headers of the CUDA toolkit are missing.*shallows\[gpu\].*vector_types",
        ),
    ],
    ids=["old driver", "no driver", "no start", "no device", "no such number", "no headers"],
)
def test_a_gpu_that_cannot_be_used_is_refused_with_its_cause(facts, words, machine):
    machine(**facts)
    with pytest.raises(ShallowsError, match=words):
        gpu_checks.check_gpu("gpu:2")
    with pytest.raises(ShallowsError, match=words):
        EigenProRegressor(device="gpu:2").fit(np.eye(5), np.arange(5.0))


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_devices_that_the_environment_hides_are_named_as_the_cause(hidden, machine, monkeypatch):
    machine(count=RuntimeError("cudaErrorNoDevice"))
    monkeypatch.setenv(gpu_checks.VISIBLE, hidden)
    with pytest.raises(ShallowsError, match=f"CUDA_VISIBLE_DEVICES={hidden!r} hides every GPU"):
        gpu_checks.check_gpu("gpu")


def test_an_error_of_the_compiler_that_is_no_missing_header_stays_as_it_is(machine):
    machine(compiler="out of registers")
    with pytest.raises(RuntimeError, match="out of registers"):
        gpu_checks.check_gpu("gpu")


@pytest.mark.parametrize(("free", "own", "warns"), [(4, 0, True), (4, 70, False), (60, 0, False)])
def test_memory_that_others_hold_is_told_of_and_ones_own_is_not(free, own, warns, machine):
    machine(free=free, own=own)
    expected = pytest.warns(RuntimeWarning, match="Other processes hold 76.0 of the 80.0 GB")
    with expected if warns else contextlib.nullcontext():
        gpu_checks.check_gpu("gpu")


def test_nothing_is_asked_for_a_cpu(machine):
    machine(driver=0)
    gpu_checks.check_gpu("cpu")
    assert gpu_checks.precision_of_products(Device("cpu"), "float32") == {}


@pytest.mark.parametrize("name", gpu_checks.TF32_VARIABLES)
def test_tf32_of_the_environment_is_told_and_in_the_record(name, machine, monkeypatch):
    monkeypatch.setenv(name, "1")
    with pytest.warns(RuntimeWarning, match=f"{name}=1 .*three digits"):
        assert gpu_checks.precision_of_products(Device("gpu"), "float32") == {"products": f"tf32 ({name}=1)"}
    assert gpu_checks.precision_of_products(Device("gpu"), "float64") == {"products": "float64"}
    monkeypatch.setenv(name, "0")
    assert gpu_checks.precision_of_products(Device("gpu"), "float32") == {"products": "float32"}
