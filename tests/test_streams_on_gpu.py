"""The random numbers of a GPU: the CUDA text run on the CPU, against NumPy's generator."""

import warnings

import numpy as np
import pytest

import cuda_on_cpu
from counted_arrays import counted
from pretended_gpu import pretended_gpu
from shallows import arrays, kernels, streams
from shallows.features import FourierMap

pytestmark = pytest.mark.skipif(cuda_on_cpu.COMPILER is None, reason="there is no g++")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("draws")


@pytest.fixture
def ledger(monkeypatch, folder):
    """The pretended GPU, on which nothing is given up."""
    with pretended_gpu(monkeypatch, folder) as ledger, warnings.catch_warnings():
        warnings.simplefilter("error")
        yield ledger


LIKE = counted(np.ones(1, dtype=np.float32))


@pytest.mark.parametrize("counter", [0, 7, 2**64 + 5])
@pytest.mark.parametrize("n", [1, 5, 1024, 2051])
def test_the_words_are_those_of_numpy_to_the_bit_in_one_launch(n, counter, ledger):
    streams.integers(3, "x", counter, 1, like=LIKE)
    ledger.clear()
    found = streams.integers(3, "x", counter, n, like=LIKE)
    assert ledger.n_launches == 1
    assert np.array_equal(arrays.to_numpy(found), streams.integers(3, "x", counter, n))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1,), (3, 5), (257, 16)])
def test_normal_numbers_are_those_of_the_cpu_to_rounding_in_one_launch(shape, dtype, ledger):
    streams.normal(3, "x", 1, (2,), like=LIKE, dtype=np.dtype(dtype))
    ledger.clear()
    found = streams.normal(3, "x", 1, shape, like=LIKE, dtype=np.dtype(dtype))
    assert ledger.n_launches == 1
    expected = streams.normal(3, "x", 1, shape, dtype=np.dtype(dtype))
    assert found.dtype == dtype and found.shape == shape
    assert np.abs(arrays.to_numpy(found) - expected).max() < 64 * np.finfo(dtype).eps


@pytest.mark.parametrize("name", ["gaussian", "laplace", "matern"])
def test_the_frequencies_of_a_block_take_few_launches(name, ledger):
    features = FourierMap(kernels.make(name, 2.0), 10, 32, seed=1)
    features.frequencies(0, LIKE)
    ledger.clear()
    found = features.frequencies(1, LIKE)
    assert ledger.n_launches <= 6
    expected = features.frequencies(1, np.ones(1, dtype=np.float32))
    # A quotient of two normal numbers, for Laplace, is as exact as the smaller of them.
    np.testing.assert_allclose(arrays.to_numpy(found), expected, rtol=1e-3 if name == "laplace" else 1e-5, atol=1e-5)
