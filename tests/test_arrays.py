"""Devices, sizes, threads, and that everything below the estimators runs on any array library."""

import importlib.util
import os
import subprocess
import sys

import array_api_strict
import numpy as np
import pytest

from engine_example import NEUTRAL, results, sample
from shallows import arrays
from shallows.arrays import Device, linear_systems
from shallows.errors import MissingExtraError, ShallowsError


@pytest.mark.parametrize("name", NEUTRAL)
def test_it_runs_on_any_library_of_the_standard_and_gives_what_numpy_gives(name):
    # NumPy has separate forms (in place, in strips, on threads); what CuPy runs is what this library runs.
    for ours, theirs in zip(results(NEUTRAL[name], np), results(NEUTRAL[name], array_api_strict), strict=True):
        assert ours.dtype == theirs.dtype
        # Sums in another order, carried through a decomposition, fifty steps, or thirty products of the certificate's
        # block, between which it is made orthogonal now and then only.
        np.testing.assert_allclose(theirs, ours, rtol=1e-8, atol=1e-11)


# ---------------------------------------------------------------------------------------------- devices


def test_a_device_is_the_one_that_was_named_or_the_gpu_where_one_works(monkeypatch):
    assert arrays.resolve_device("cpu") == arrays.resolve_device(Device("cpu")) == Device("cpu")
    assert (str(Device("cpu")), str(Device("gpu", 2))) == ("cpu", "gpu:2")
    for works, expected in ((True, Device("gpu", 0)), (False, Device("cpu"))):
        monkeypatch.setattr(arrays.devices, "gpu_is_available", lambda works=works: works)
        assert arrays.resolve_device("auto") == expected
    monkeypatch.setattr(arrays.devices, "_cupy", lambda: None)
    with pytest.raises(ShallowsError, match="no GPU that works"):
        arrays.resolve_device("gpu")


@pytest.mark.parametrize("word", ["cuda", "gpu:", "gpu:x", "CPU", "", None, "cpu:1"])
def test_an_unknown_device_is_told_the_known_ones(word):
    with pytest.raises(ShallowsError, match=r"device must be 'auto', 'cpu', 'gpu' or 'gpu:N'"):
        arrays.resolve_device(word)


@pytest.fixture
def without_cupy(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "cupy" else find_spec(name, *a))
    arrays.devices._cupy.cache_clear()
    arrays.gpu_is_available.cache_clear()
    yield
    arrays.devices._cupy.cache_clear()
    arrays.gpu_is_available.cache_clear()


def test_without_cupy_a_gpu_names_the_extra_and_automatic_is_the_cpu(without_cupy):
    assert not arrays.gpu_is_available()
    assert arrays.resolve_device("auto") == Device("cpu")
    for word in ("gpu", "gpu:1"):
        with pytest.raises(MissingExtraError, match=r"'gpu'.*pip install 'shallows\[gpu\]'") as raised:
            arrays.resolve_device(word)
        assert raised.value.extra == "gpu"


# ------------------------------------------------------------------------------------------- transfers


@pytest.mark.parametrize("x", [np.asfortranarray(sample(5)), sample(10)[::2], sample(5).tolist()])
def test_arrays_come_to_a_device_in_rows_and_in_its_precision(x):
    moved = arrays.to_device(x, Device("cpu"), np.float32)
    assert moved.flags.c_contiguous
    assert np.array_equal(moved, np.asarray(x, dtype=np.float32))


def test_values_beside_an_array_take_its_precision_unless_another_is_named():
    x = sample(3, dtype=np.float32)
    assert arrays.like([1, 2], x).dtype == np.float32
    assert arrays.like([1, 2], x, np.int64).dtype == np.int64
    with pytest.raises(TypeError, match="list is not an array"):
        arrays.namespace([1, 2])


# ----------------------------------------------------------------------------------------------- sizes


def test_sizes_are_read_as_people_write_them():
    plain = {1000: 1000, 2.5e3: 2500, "17": 17, "17 B": 17, "4GB": 4 * 10**9, "4g": 4 * 10**9}
    sizes = plain | {"1.5 kB": 1500, "512 MiB": 512 * 2**20, "2Ti": 2 * 2**40, " 1e3 mb ": 10**9}
    assert {size: arrays.parse_bytes(size) for size in sizes} == sizes


def test_the_budget_is_what_was_asked_for_else_a_share_of_what_is_free(monkeypatch):
    assert 2**26 <= arrays.available_memory() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    monkeypatch.setattr(arrays.memory, "available_memory", lambda device=None: 10**9)
    assert arrays.memory_budget("300 MB") == 3 * 10**8
    assert arrays.memory_budget(None) == 7 * 10**8


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no /proc to compare with")


@needs_proc
def test_the_peak_is_the_process_own_and_not_that_of_the_one_that_started_it():
    script = "import numpy as np; from shallows import arrays; a = arrays.peak_memory(); x = np.ones(2**23); del x; "
    ballast, command = np.ones(2**26), [sys.executable, "-c", script + "print(a, arrays.peak_memory())"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    before, after = map(int, told.split())
    assert 2**23 < before < ballast.nbytes
    assert after - before == pytest.approx(2**26, rel=0.1)


# --------------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_threads_give_their_results_in_order_and_their_errors_to_the_caller(n_workers):
    assert arrays.in_threads(lambda worker: worker**2, n_workers) == [worker**2 for worker in range(n_workers)]

    def work(worker):
        if worker == n_workers - 1:
            raise KeyError("here")

    with pytest.raises(KeyError, match="here"):
        arrays.in_threads(work, n_workers)


# ---------------------------------------------------------------------------------------- small pieces


@pytest.mark.parametrize(("n", "size"), [(10, 3), (9, 3), (2, 5), (0, 4)])
def test_blocks_cover_the_range_once_and_in_order(n, size):
    spans = list(arrays.blocks(n, size))
    assert [i for span in spans for i in range(span.start, span.stop)] == list(range(n))
    assert all(0 < span.stop - span.start <= size for span in spans)


@pytest.mark.parametrize("xp", [np, array_api_strict], ids=["numpy", "strict"])
def test_operations_in_place_write_where_they_read_and_a_triangular_system_is_solved(xp):
    x = xp.asarray([[4.0, -1.0, 9.0]])
    assert arrays.clip_in_place(x, at_least=0.0, at_most=5.0) is x
    assert arrays.apply_in_place("sqrt", x) is x
    assert np.array_equal(np.asarray(x), [[2.0, 0.0, 5**0.5]])
    out = xp.empty((1, 1))
    assert arrays.matmul_into(x, x.T, out) is out
    assert float(out[0, 0]) == pytest.approx(9.0)
    factor, b = np.tril(sample(6, 6)) + 6 * np.eye(6), sample(6, 2)
    solved = arrays.solve_triangular(xp.asarray(factor), xp.asarray(b))
    assert np.abs(factor @ np.asarray(solved) - b).max() < 1e-14


@pytest.mark.parametrize(
    ("shape", "transposed", "dtype"),
    [
        ((5, 7, 3), False, np.float32),
        ((300, 1024, 10), True, np.float64),
        ((40, 20_000, 10), False, np.float64),
        ((40, 20_000, 10), True, np.float32),
        ((33, 4_000, 64), True, np.float64),
        ((70, 9_000, 2), False, np.float32),
    ],
)
def test_a_thin_product_is_the_product(shape, transposed, dtype):
    (m, k, c), draw = shape, np.random.default_rng(0)
    wide, a = draw.normal(size=(m, k + 5)).astype(dtype), draw.normal(size=(m if transposed else k, c)).astype(dtype)
    for block in (wide[:, 5:], wide[:, 5:].copy()):  # columns of a wider array, and its own array
        block = block.T if transposed else block
        truth = block.astype(np.float64) @ a.astype(np.float64)
        made = arrays.thin_product(block, a)
        assert made.dtype == dtype
        assert np.abs(made - truth).max() < 20 * np.finfo(dtype).eps * np.abs(truth).max()
    if k < 100:
        made = arrays.thin_product(array_api_strict.asarray(block), array_api_strict.asarray(a))
        assert np.asarray(made) == pytest.approx(truth, rel=1e-5)


@pytest.mark.parametrize(
    ("p", "n_threads", "dtype"),
    [(512, 1, np.float32), (512, 3, np.float64), (1300, 1, np.float64), (1300, 3, np.float32)],
)
def test_factors_are_the_same_by_any_number_of_threads(monkeypatch, n_threads, p, dtype):
    monkeypatch.setattr(linear_systems, "workers_for", lambda x: n_threads)
    L = np.tril(np.random.default_rng(0).normal(size=(p, p)) / np.sqrt(p)) + np.eye(p)
    matrix, b = (L @ L.T).astype(dtype), sample(p, 3)
    eps = np.finfo(dtype).eps
    factor = arrays.cholesky_in_place(matrix.copy())
    assert factor.dtype == dtype
    assert np.abs(np.tril(factor) - np.linalg.cholesky(L @ L.T)).max() < 100 * eps
    garbage = factor + np.triu(np.full((p, p), 7, dtype=dtype), 1)
    found, expected = arrays.triangular_gram(garbage), L.T @ L
    assert np.abs(np.tril(found - expected)).max() < 100 * eps
    solved = arrays.solve_positive_definite(matrix.copy(), b)
    assert np.abs(L @ L.T @ solved - b).max() < 1000 * eps


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("place", [0, 599])
def test_a_matrix_that_is_not_positive_definite_has_no_factor(monkeypatch, n_threads, place):
    monkeypatch.setattr(linear_systems, "workers_for", lambda x: n_threads)
    matrix = np.eye(600)
    matrix[place, place] = -1.0
    with pytest.raises(np.linalg.LinAlgError):
        arrays.cholesky_in_place(matrix)
