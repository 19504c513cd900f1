"""What is reported about a GPU that cannot be used, or is not what it seems; a fake replaces CuPy."""

import contextlib
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import shallows
from flat import flat
from forms import eigenpro_regressor, unfitted
from shallows import KernelRidgeRegressor, Options, arrays, training
from shallows.arrays import Device
from shallows.errors import DeviceError, DeviceMemoryError, ShallowsError
from shallows.gpu import gpu_checks


def fake(driver=13000, runtime=13000, count=1, free=80, total=80, own=0, compiler=None):
    """CuPy on a machine with a driver, a number of devices, and GB free of a total."""

    def ones(shape, **options):
        if compiler is not None:
            raise RuntimeError(compiler)
        return np.ones(shape)

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
            {"compiler": 'cannot open source file "vector_types.h"'},
            r"headers .*are missing.*shallows\[gpu\].*vector_types",
        ),
        ({"compiler": "CuPy failed to load libcublas.so.13"}, r"does not find a library .*shallows\[gpu\].*libcublas"),
    ],
    ids=str,
)
def test_a_gpu_that_cannot_be_used_is_refused_with_its_cause(facts, words, machine):
    machine(**{"count": 4, **facts})
    with pytest.raises(ShallowsError, match=words):
        gpu_checks.check_gpu("gpu:2")
    X, y = np.arange(60.0).reshape(30, 2), np.arange(30.0)
    for name in ("EigenProRegressor", "RegularizedRiskRegressor", "FourierFeatures", "DoublyStochasticKernelPCA"):
        with pytest.raises(ShallowsError, match=words):
            unfitted(name, device="gpu:2").fit(X, y)
    with pytest.raises(ShallowsError, match=words):
        flat(shallows.DoublyStochasticRegressor, device="gpu:2").partial_fit(X, y)


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_devices_that_the_environment_hides_are_named_as_the_cause(hidden, machine, monkeypatch):
    machine(count=RuntimeError("cudaErrorNoDevice"))
    monkeypatch.setenv(gpu_checks.VISIBLE, hidden)
    with pytest.raises(ShallowsError, match=f"CUDA_VISIBLE_DEVICES={hidden!r} hides every GPU"):
        gpu_checks.check_gpu("gpu")


@pytest.mark.parametrize(("free", "own", "warns"), [(4, 0, True), (4, 70, False), (60, 0, False)])
def test_memory_that_others_hold_is_told_of_and_ones_own_is_not(free, own, warns, machine):
    machine(free=free, own=own)
    expected = pytest.warns(RuntimeWarning, match="Other processes hold 76.0 of the 80.0 GB")
    with expected if warns else contextlib.nullcontext():
        gpu_checks.check_gpu("gpu")


@pytest.mark.parametrize("name", gpu_checks.TF32_VARIABLES)
def test_tf32_of_the_environment_is_told_before_a_fit_and_in_the_record(name, machine, monkeypatch):
    machine()
    monkeypatch.setenv(name, "1")
    for dtype in ("float32", "auto"):
        with pytest.warns(RuntimeWarning, match=f"{name}=1 .*three digits"):
            assert flat(shallows.RegularizedRiskClassifier, device="gpu", dtype=dtype)._fit_device() == Device("gpu")
    assert gpu_checks.precision_of_products(Device("gpu"), "float32") == {"products": f"tf32 ({name}=1)"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shallows.RegularizedRiskClassifier(options=Options(device="gpu", dtype="float64"))._fit_device()
        shallows.RegularizedRiskClassifier(options=Options(device="cpu"))._fit_device()
        assert gpu_checks.precision_of_products(Device("gpu"), "float64") == {"products": "float64"}
        monkeypatch.setenv(name, "0")
        shallows.RegularizedRiskClassifier(options=Options(device="gpu"))._fit_device()
        assert gpu_checks.precision_of_products(Device("gpu"), "float32") == {"products": "float32"}


# ------------------------------------------------------------------------------------------ a device that is lost

CUDARuntimeError = type("CUDARuntimeError", (RuntimeError,), {"__module__": "cupy_backends.cuda.api.runtime"})


class LosesTheDevice(training.Observer):
    """Fails like CUDA after some batches."""

    def __init__(self, n):
        self.left = n

    def on_batch(self, run):
        self.left -= 1
        if self.left == 0:
            raise CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")


@pytest.mark.parametrize("Estimator", [eigenpro_regressor, shallows.DoublyStochasticRegressor])
def test_a_device_that_is_lost_leaves_the_checkpoint_from_which_the_same_model_comes(Estimator, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 3))
    y, options = X[:, 0] + np.sin(X[:, 1]), {"random_state": 0, "batch_size": 50, "bandwidth": 2.0}
    undisturbed = flat(Estimator, **options).fit(X, y)
    with pytest.raises(DeviceError, match=r"GPU failed in epoch .*IllegalAddress.*continues from .*checkpoint.npz"):
        flat(Estimator, **options).fit(
            X, y, observers=[LosesTheDevice(5)], checkpoint=training.Checkpoint(tmp_path, "key", every_seconds=0)
        )
    checkpoint = training.Checkpoint(tmp_path, "key", every_seconds=0)
    resumed = flat(Estimator, **options).fit(X, y, checkpoint=checkpoint)
    assert checkpoint.n_resumes == 1
    assert np.array_equal(resumed.predict(X), undisturbed.predict(X))


OutOfMemoryError = type("OutOfMemoryError", (MemoryError,), {"__module__": "cupy.cuda.memory"})


class FillsTheDevice(training.Observer):
    """Fails like CuPy where there is no room for an array."""

    def on_batch(self, run):
        raise OutOfMemoryError("Out of memory allocating 4,294,967,296 bytes (allocated so far: 3,221,225,472 bytes).")


@pytest.mark.parametrize(
    "Estimator", [eigenpro_regressor, shallows.DoublyStochasticRegressor, shallows.RegularizedRiskRegressor]
)
def test_a_device_without_room_is_told_with_what_to_do(Estimator):
    X = np.random.default_rng(0).normal(size=(200, 3))
    with pytest.raises(DeviceMemoryError, match=r"no room for this fit: Out of memory .*device='cpu'") as told:
        flat(Estimator, random_state=0, batch_size=50).fit(X, X[:, 0], observers=[FillsTheDevice()])
    assert isinstance(told.value, MemoryError)


@pytest.mark.parametrize("error", [MemoryError("of the host"), ZeroDivisionError("mine")])
def test_an_error_of_something_else_stays_as_it_is(error):
    class Fails(training.Observer):
        def on_batch(self, run):
            raise error

    X = np.random.default_rng(0).normal(size=(100, 3))
    with pytest.raises(type(error), match=str(error)) as raised:
        KernelRidgeRegressor(solver="eigenpro", random_state=0).fit(X, X[:, 0], observers=[Fails()])
    assert not isinstance(raised.value, ShallowsError)
