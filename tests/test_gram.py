"""Products with kernel matrices, of which any part is kept."""

import math
import os
import platform
import re
import subprocess
import sys
import threading
import zlib
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from engine_example import EUCLIDEAN, PLENTY, naive_kernel, sample, traced_peak
from shallows import arrays, gram, kernels
from shallows.gram import fused, matrix, rectangular, whole
from shallows.gram.cross import tile_edge
from shallows.gram.row_slab import KernelRowSlab
from shallows.kernels import compiled, compiled_loops

TILE = 16
TILE_BYTES = TILE**2 * 8
SCRATCH = 3
"""Tiles of scratch space that a worker is allowed."""


@pytest.fixture(params=[1, 2, 3], ids="{} workers".format)
def n_workers(request, monkeypatch):
    monkeypatch.setattr(arrays, "workers_for", lambda x: request.param)
    return request.param


def make(n=77, *, kept=None, n_workers=1, kernel="gaussian", tile=TILE, dtype=np.float64):
    """A Gram of n points with room for `kept` tiles (all of them if None), and the matrix itself."""
    x = sample(n, dtype=dtype)
    budget = PLENTY if kept is None else (kept + SCRATCH * n_workers) * TILE_BYTES
    made = gram.Gram(kernels.make(kernel, 1.5), kernels.augmented(x), budget=budget, tile=tile)
    return made, naive_kernel(kernel, 1.5, x, x)


def assert_products(made, K, start, stop, head, off=1e-12):
    """Hold the products of a matrix, and of some of its rows and columns, against those of a dense one in float64."""
    dtype, rows = made.points.dtype, slice(start, stop)
    a, part = sample(len(K), 3, seed=1).astype(dtype), sample(stop - start, 3, seed=2).astype(dtype)
    product, columns = made.rows_dot(rows, a, head=head)
    assert np.abs(made.dot(a) - K @ a).max() < off
    assert product == pytest.approx(K[rows] @ a, abs=off)
    assert made.columns_dot(start, stop, part) == pytest.approx(K[:, rows] @ part, abs=off)
    energy = np.sum(part * (K[rows, rows] @ part), axis=0)[None, :]
    assert made.energy(rows, part) == pytest.approx(energy, abs=9 * off)
    if not head:
        assert columns is None
        return None
    values = columns.values()
    assert values.dtype == dtype and values == pytest.approx(K[rows, :head], abs=off / 50)
    products = [columns.product(part.T, span) for span in columns.spans]
    assert np.hstack(products) == pytest.approx(part.T @ K[rows, :head], abs=off)
    return values


def dot(X, Z):
    return X @ Z.T + 0.5


@pytest.mark.parametrize("kept", [None, 0])
@pytest.mark.parametrize(
    "kernel",
    [kernels.Polynomial(2, 1.0, 0.3), kernels.ArcCosine(1), kernels.LaplaceProduct(1.5), kernels.make(dot)],
    ids=lambda kernel: kernel.name,
)
def test_products_with_the_matrix_of_any_kernel(kernel, kept):
    x = sample(77)
    K = kernel(x, x)
    K[np.arange(77), np.arange(77)] = kernel.diagonal(x)
    made = gram.Gram(kernel, kernels.augmented(x), budget=PLENTY if kept is None else 0, tile=TILE)
    assert_products(made, K, 10, 50, 20, 1e-11 * np.abs(K).max())


@pytest.mark.parametrize(
    ("kernel", "start", "stop", "kept", "head", "n_workers"),
    [
        ("gaussian", 0, 77, None, 40, 1),
        ("laplace", 0, 16, 7, 0, 3),
        ("cauchy", 3, 9, 0, 16, 1),
        ("laplace", 10, 50, 0, 40, 3),
        ("gaussian", 16, 48, None, 0, 2),
        ("gaussian", 70, 77, 7, 1, 2),
        ("cauchy", 31, 33, None, 77, 3),
        ("gaussian", 5, 5, 1, 0, 1),
    ],
    indirect=["n_workers"],
)
def test_products_are_those_of_the_matrix_whatever_part_of_it_is_kept(kernel, start, stop, kept, head, n_workers):
    # Values are right to 1e-14, and 77 of them times numbers below 4 are added.
    assert_products(*make(kept=kept, n_workers=n_workers, kernel=kernel), start, stop, head)


@pytest.mark.parametrize("head", [0, 10])
@pytest.mark.parametrize("kept", [None, 0])
def test_where_coefficients_are_zero_rows_make_and_read_no_values(kept, head, monkeypatch):
    made, K = make(kept=kept)
    a = np.zeros((77, 2))
    a[[5, 40, 76]] = 1.0
    with_tiles, _ = made.rows_dot(slice(10, 50), a, head=head)
    used = []
    monkeypatch.setattr(made, "_block", lambda rows, j, *rest: used.append(j) or K[rows, j * TILE : (j + 1) * TILE])
    product, _ = made.rows_dot(slice(10, 50), a, head=head)
    assert set(used) == {0, 2, 4}
    assert product == pytest.approx(K[10:50] @ a, abs=1e-12) and np.allclose(product, with_tiles)
    used.clear()
    made.rows_dot(slice(10, 50), np.zeros((77, 2)), head=head)
    assert set(used) == ({0} if head else set())


@pytest.mark.parametrize(("n", "kept"), [(1, None), (15, 0), (16, None), (16, 0), (17, 0), (33, None)])
def test_points_need_not_fill_the_tiles(n, kept):
    made, K = make(n, kept=kept)
    assert np.abs(made.dot(np.eye(n)) - K).max() < 1e-14


@pytest.mark.parametrize(("start", "stop"), [(0, 77), (10, 50), (70, 77)])
def test_a_matrix_in_one_array_gives_the_products_of_one_in_tiles(start, stop):
    x = sample(77)
    points, needed = kernels.augmented(x), (77**2 + 77**2) * 8  # the matrix, and a tile of scratch space
    made = whole.WholeGram(kernels.Laplace(1.5), points, budget=needed + 5, tile=TILE)
    assert_products(made, naive_kernel("laplace", 1.5, x, x), start, stop, 20)
    assert np.array_equal(np.diagonal(made.values), np.ones(77))
    assert whole.whole_bytes(points, PLENTY) == needed
    assert whole.WholeGram(kernels.Laplace(1.5), points, budget=needed + 5).spare_bytes == 5
    with pytest.raises(ValueError, match=f"needs {needed} bytes, the budget is {needed - 1}"):
        whole.WholeGram(kernels.Laplace(1.5), points, budget=needed - 1)


@pytest.mark.parametrize(
    ("kept", "n_workers", "start", "stop", "n_visited"),
    [(15, 1, 10, 50, 40), (0, 2, 10, 50, 40), (0, 1, 40, 77, None), (4, 3, 0, 77, 77), (4, 1, 16, 32, 17)],
    indirect=["n_workers"],
)
def test_a_matrix_made_as_it_is_needed_gives_the_same_products(kept, n_workers, start, stop, n_visited):
    x = sample(77)
    K = naive_kernel("laplace", 1.5, x, x)
    made = gram.LazyGram(kernels.Laplace(1.5), kernels.augmented(x), budget=kept * TILE_BYTES, tile=TILE)
    a = sample(77, 2, seed=1)
    a[n_visited or 77 :] = 0.0
    for _ in range(2):  # The second time from the tiles that the first kept.
        assert made.rows_dot(slice(start, stop), a, n_visited) == pytest.approx(K[start:stop] @ a, abs=1e-12)
    assert made.dot(a) == pytest.approx(K @ a, abs=1e-12)
    assert made.kept_fraction == kept / 15


@pytest.mark.parametrize(
    ("m", "budget", "n_workers"), [(300, 1, 2), (130, PLENTY, 1), (64, 10**5, 3)], indirect=["n_workers"]
)
def test_a_product_forward_and_back_is_that_with_the_matrix_between(m, budget, n_workers, monkeypatch):
    monkeypatch.setattr(rectangular, "COLUMNS", 16)
    x, z, a = sample(m), sample(40, seed=1), sample(40, 2, seed=2)
    K, y = naive_kernel("laplace", 1.5, x, z), sample(m, 2, seed=3)
    points, respond = (kernels.augmented(x), kernels.augmented(z)), lambda values, rows: (values - y[rows], len(values))
    back, total = rectangular.forward_and_back(kernels.Laplace(1.5), *points, a, respond, budget=budget)
    assert total == m
    assert back == pytest.approx(K.T @ (K @ a - y), abs=1e-10)


def test_strips_are_kept_by_their_rows_in_the_whole_matrix_and_found_again(monkeypatch):
    monkeypatch.setattr(rectangular, "COLUMNS", 16)
    x, z, a = sample(300, dtype=np.float32), sample(40, seed=1, dtype=np.float32), sample(40, 2, seed=2)
    a, K = a.astype(np.float32), naive_kernel("laplace", 1.5, x, z)
    points, centres = kernels.augmented(x), kernels.augmented(z)
    kept = rectangular.KeptStrips(300, centres, PLENTY)

    def product(batch):
        options = {"budget": PLENTY, "kept": kept, "first": batch.start, "sums": np.float64}
        same = lambda values, rows: (values, 0.0)  # noqa: E731
        return rectangular.forward_and_back(kernels.Laplace(1.5), points[batch], centres, a, same, **options)[0]

    batches = slice(0, 150), slice(150, 300)
    made = [product(batch) for batch in batches]
    assert kept.kept_fraction == 1.0
    for batch, found in zip(batches, made, strict=True):
        assert found == pytest.approx(K[batch].T @ (K[batch] @ a), abs=1e-3)
        assert found.dtype == np.float64
    with mock.patch.object(kernels.Laplace, "fill", side_effect=AssertionError("computed again")):
        assert all(np.array_equal(product(batch), found) for batch, found in zip(batches, made, strict=True))


def test_a_strip_counts_as_kept_once_its_values_stand_there():
    centres, first = kernels.augmented(sample(40)), slice(0, 150)
    kept = rectangular.KeptStrips(300, centres, PLENTY)
    assert kept.blocks(first)[1] is False
    assert kept.kept_fraction == 0.0
    kept.finish(first)
    assert kept.blocks(first)[1] is True
    assert kept.kept_fraction == 0.5
    assert rectangular.KeptStrips(300, centres, 0).blocks(first) == (None, False)


@pytest.mark.parametrize("kept", [None, 0, 7])
def test_the_diagonal_is_one_to_the_last_digit(kept):
    made, _ = make(kept=kept, kernel="laplace", dtype=np.float32)
    budget = (15 if kept is None else kept) * TILE_BYTES
    lazy = gram.LazyGram(
        kernels.Laplace(1.5), kernels.augmented(sample(77, dtype=np.float32)), budget=budget, tile=TILE
    )
    identity, rows = np.eye(77, dtype=np.float32), slice(5, 60)
    assert np.array_equal(np.diagonal(made.dot(identity)), np.ones(77))
    for block in (made.rows_dot(rows, identity, head=77)[1].values(), lazy.rows_dot(rows, identity)):
        assert np.array_equal(np.diagonal(block, offset=5), np.ones(55))
    assert np.array_equal(made.energy(rows, identity[:55, :55]), np.ones((1, 55)))


@pytest.fixture
def compiled_loops_everywhere(monkeypatch):
    monkeypatch.setattr(compiled, "MANY_VALUES", 0)


@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "cauchy"])
@pytest.mark.parametrize(("tiles", "bits", "share"), [(15, 16, 1.0), (14, 32, 7 / 15), (0, 32, 0.0)])
def test_values_are_rounded_to_16_bits_where_all_are_kept_so(kernel, tiles, bits, share, compiled_loops_everywhere):
    x = sample(77, dtype=np.float32)
    budget = (4 * SCRATCH * arrays.n_threads() + 2 * tiles) * TILE**2
    made = gram.Gram(kernels.make(kernel, 1.5), kernels.augmented(x), budget=budget, tile=TILE, rounds=True)
    assert (made.kept_bits, made.kept_fraction) == (bits, pytest.approx(share))
    wide = x.astype(np.float64)
    values = assert_products(made, naive_kernel(kernel, 1.5, wide, wide), 10, 40, 20, off=6e-4)
    assert np.array_equal(np.diagonal(values[:, 10:20]), np.ones(10))
    if tiles == 15:
        # What is kept is a multiple of 1/65,535, the diagonal exactly one.
        steps = 65535 * values.astype(np.float64)
        assert np.abs(steps - np.rint(steps)).max() < 0.01


def test_values_of_float64_and_of_other_kernels_are_kept_as_they_are(compiled_loops_everywhere):
    single, double = (kernels.augmented(sample(40, dtype=dtype)) for dtype in (np.float32, np.float64))
    budget = PLENTY
    assert gram.Gram(kernels.Gaussian(1.5), double, budget=budget, tile=TILE, rounds=True).kept_bits == 64
    matern = kernels.make("matern", 1.5, nu=1.5)
    assert gram.Gram(matern, single, budget=budget, tile=TILE, rounds=True).kept_bits == 32
    assert gram.Gram(kernels.Gaussian(1.5), single, budget=budget, tile=TILE).kept_bits == 32


@pytest.mark.parametrize("c", [1, 4, 5, 16, 64])
@pytest.mark.parametrize(("n", "tile"), [(77, 16), (150, 48), (41, 10), (30, 30)])
def test_compiled_products_of_16_bit_values_are_those_of_the_plain_path(n, tile, c, n_workers, monkeypatch):
    monkeypatch.setattr(compiled, "MANY_VALUES", 0)
    points = kernels.augmented(sample(n, dtype=np.float32))
    made = gram.Gram(kernels.Gaussian(1.5), points, budget=PLENTY, tile=tile, rounds=True)
    a = sample(n, c, seed=1).astype(np.float32)
    a[:tile] = 0.0  # The product with columns of zeros is skipped.
    assert made.kept_bits == 16

    def products():
        rows = [made.rows_dot(slice(start, stop), a, head=head)[0] for start, stop, head in ROWS_AND_HEADS]
        return [*rows, made.dot(a), made.columns_dot(3, 25, a[3:25]), made.columns_dot(7, 8, a[7:8])]

    found = products()
    monkeypatch.setattr(matrix, "MOST_COLUMNS", 0)
    for one, plain in zip(found, products(), strict=True):
        # Both sum float32 numbers up to n in other orders.
        assert np.abs(one - plain).max() < 1e-6 * n


def large_matrix():
    """Kept in 5 MB of 16-bit values, of whole tiles; NumPy asks for huge pages from 4 MB on."""
    points = kernels.augmented(sample(2048, dtype=np.float32))
    return gram.Gram(kernels.Gaussian(1.5), points, budget=10**8, tile=512, rounds=True)


def huge_pages(array):
    """Whether the system was asked for huge pages for the memory of an array."""
    mapping = ""
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match("[0-9a-f]+-[0-9a-f]+ ", line):
            mapping = line.split()[0]
        elif line.startswith("VmFlags:"):
            start, stop = (int(end, 16) for end in mapping.split("-"))
            if start <= array.ctypes.data + array.nbytes // 2 < stop:
                return "hg" in line.split()
    return False


def checksum(made):
    return str(zlib.crc32(made._store))


HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
AGAIN_WITHOUT = """
import test_gram
test_gram.compiled.MANY_VALUES = 0
made = test_gram.large_matrix()
print(test_gram.huge_pages(made._store), test_gram.checksum(made))
"""


@pytest.mark.skipif(
    not HUGE_PAGES.exists() or "[never]" in HUGE_PAGES.read_text(), reason="the system offers no huge pages"
)
def test_a_kept_matrix_has_huge_pages_and_is_the_same_without_them(compiled_loops_everywhere):
    made = large_matrix()
    assert made.kept_bits == 16 and huge_pages(made._store)
    environment = {**os.environ, "NUMPY_MADVISE_HUGEPAGE": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, "-c", AGAIN_WITHOUT], env=environment, capture_output=True, text=True)
    assert found.stdout.split() == ["False", checksum(made)], found.stderr


def test_every_thread_is_the_first_to_touch_the_memory_of_its_own_tiles(compiled_loops_everywhere, monkeypatch):
    """The system gives memory to a process, and clears it, when it is first written: 0.2 to 2 s for each GB."""
    monkeypatch.setattr(arrays, "workers_for", lambda x: 2)
    writers, to_16_bits = {}, compiled_loops.to_16_bits
    together = threading.Barrier(2, timeout=60)

    def watched(block, n_rows, n_columns, out):
        if threading.get_ident() not in writers:
            together.wait()
        writers.setdefault(threading.get_ident(), []).append(out.ctypes.data)
        to_16_bits(block, n_rows, n_columns, out)

    monkeypatch.setattr(compiled_loops, "to_16_bits", watched)
    large_matrix()
    first, second = writers.values()
    assert abs(len(first) - len(second)) <= 1 and len({*first, *second}) == 10


ROWS_AND_HEADS = [(0, 30, 0), (5, 29, 0), (17, 19, 0), (3, 4, 0), (10, 30, 20)]


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the name of the processor is one of x86")
def test_compiled_products_need_no_avx(tmp_path):
    own = test_compiled_products_of_16_bit_values_are_those_of_the_plain_path.__name__
    of_old_processor = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", f"{own} and 77-16-5"]
    subprocess.run(command, env={**os.environ, **of_old_processor}, check=True)


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (5, 4), (0, 78)])
def test_rows_beyond_the_matrix_are_refused(start, stop):
    made, _ = make()
    with pytest.raises(IndexError, match="of a matrix of 77"):
        made.rows_dot(slice(start, stop), np.zeros((77, 1)))


@pytest.mark.parametrize(
    ("kept", "n_workers"), [(0, 2), (-9, 1), (1, 1), (14, 3), (15, 2), (40, 1)], indirect=["n_workers"]
)
def test_as_many_tiles_are_kept_as_the_budget_takes_beside_the_scratch_space(kept, n_workers):
    made, _ = make(kept=kept, n_workers=n_workers)
    # 77 points make 5 x 5 tiles of 16; the upper triangle holds 15.
    assert made.kept_fraction == pytest.approx(min(max(0, kept), 15) / 15)
    assert made.spare_bytes == max(0, kept - 15) * TILE_BYTES


def test_a_matrix_of_one_tile_is_worked_on_by_one_worker(n_workers):
    # To hand a small product to threads costs more than the product.
    assert make(16)[0].n_workers == 1
    assert make(17)[0].n_workers == min(2, n_workers)


@pytest.mark.parametrize("share", [0.0, 0.4, 2.0])
def test_building_and_multiplying_stay_within_the_budget(share, monkeypatch):
    monkeypatch.setattr(arrays, "workers_for", lambda x: 2)
    n, tile = 1000, 100
    points, a = kernels.augmented(sample(n)), sample(n, 1)
    budget = int(share * n**2 * 8 / 2) + SCRATCH * 2 * tile**2 * 8

    def work():
        made = gram.Gram(kernels.Gaussian(1.5), points, budget=budget, tile=tile)
        made.dot(a)
        made.rows_dot(slice(30, 90), a)

    # In addition to it: a few copies of the points' factors and of the product, and the objects that hold the tiles.
    assert traced_peak(work) < budget + 8 * n * 8 * 8


def test_products_are_the_same_to_the_bit_every_time_and_leave_their_factor_as_it_was(n_workers):
    made, _ = make(kept=7, n_workers=n_workers)
    a = sample(77, 2, seed=1)
    before = a.copy()
    first = made.dot(a), made.rows_dot(slice(10, 50), a, head=5)[0]
    for _ in range(5):
        assert np.array_equal(made.dot(a), first[0])
        assert np.array_equal(made.rows_dot(slice(10, 50), a, head=5)[0], first[1])
    assert np.array_equal(a, before)


@pytest.mark.parametrize(("n", "edge"), [(1, 1), (1023, 1023), (5000, 1024)])
def test_tiles_on_a_cpu_have_one_size_whatever_the_budget(n, edge):
    assert {tile_edge(np.zeros((n, 3)), budget) for budget in (0, PLENTY)} == {edge}
    assert n > 1023 or gram.Gram(kernels.Gaussian(1.0), kernels.augmented(sample(n)), budget=PLENTY).tile == n


# --------------------------------------------------------------------------------------- between two sets


@pytest.mark.parametrize(
    ("kernel", "m", "budget", "n_workers"),
    [*((kernel, 37, 5000, 2) for kernel in EUCLIDEAN), ("gaussian", 1, 1, 1), ("gaussian", 2, PLENTY, 3)],
    indirect=["n_workers"],
)
def test_a_cross_product_is_the_product_with_the_matrix_between(kernel, m, budget, n_workers):
    x, z, a = sample(m), sample(53, seed=1), sample(53, 2, seed=2)
    product = gram.cross_product(kernels.make(kernel, 1.5), x, kernels.augmented(z), a, budget=budget)
    assert np.abs(product - naive_kernel(kernel, 1.5, x, z) @ a).max() < 1e-12


def test_an_extra_distance_is_that_of_features_that_the_points_share():
    x, z, a = sample(37, 4), sample(53, 4, seed=1), sample(53, 2, seed=2)
    z[:, 3] = 0.5
    options = {"budget": 5000, "extra": (x[:, 3] - 0.5) ** 2}
    product = gram.cross_product(kernels.Laplace(1.5), x[:, :3], kernels.augmented(z[:, :3]), a, **options)
    assert np.abs(product - naive_kernel("laplace", 1.5, x, z) @ a).max() < 1e-12


@pytest.mark.parametrize(
    ("budget", "dtype", "n_workers"),
    [(1, np.float32, 1), (5000, np.float64, 3), (PLENTY, np.float32, 2)],
    indirect=["n_workers"],
)
def test_a_cross_product_with_blocks_that_were_kept_makes_none_and_is_the_same_to_the_bit(budget, dtype, n_workers):
    x, z, a, b = (sample(m, d, seed=m).astype(dtype) for m, d in ((37, 4), (53, 3), (53, 2), (53, 2)))
    points, kernel, extra, kept = kernels.augmented(z), kernels.Laplace(1.5), x[:, 3] ** 2, {}
    held = {"budget": budget, "extra": extra}
    first = gram.cross_product(kernel, x[:, :3], points, a, kept=kept, **held)
    assert np.array_equal(first, gram.cross_product(kernel, x[:, :3], points, a, **held))
    assert sum(block.size for block in kept.values()) == 37 * 53
    # Two blocks a worker fill the budget, but their edges are 16 at least.
    edge = min(53, max(16, math.isqrt(budget // (2 * n_workers * x.itemsize))))
    assert max(block.shape[1] for block in kept.values()) == edge
    expected = gram.cross_product(kernel, x[:, :3], points, b, **held)
    with mock.patch.object(kernels.Laplace, "fill", side_effect=AssertionError("computed again")):
        assert np.array_equal(gram.cross_product(kernel, x[:, :3], points, b, kept=kept, **held), expected)


@pytest.mark.parametrize(("budget", "n_workers"), [(2**16, 1), (2**20, 3)], indirect=["n_workers"])
def test_the_blocks_of_a_cross_product_stay_within_the_budget(budget, n_workers):
    x, points, a = sample(2000), kernels.augmented(sample(1500, seed=1)), sample(1500, 1)
    kernel = kernels.Gaussian(1.0)
    gram.cross_product(kernel, x, points, a, budget=budget)  # Threads and caches come into being.
    peak = traced_peak(lambda: gram.cross_product(kernel, x, points, a, budget=budget))
    # In addition to the blocks: the result, the factors of the present rows, and the objects of the threads.
    assert peak < budget + 2000 * 8 + 2**16


def test_a_slab_keeps_the_rows_that_were_used_last():
    x, ridge = sample(12), np.linspace(0.1, 1.2, 12)
    K = naive_kernel("laplace", 1.5, x, x) + np.diag(ridge)
    slab = KernelRowSlab(kernels.Laplace(1.5), kernels.augmented(x), budget=3 * 12 * 8, ridge=ridge)
    made = []
    for i in (0, 1, 2, 0, 3, 0, 1, 4):  # 3 takes the place of 1, 1 that of 2, and 4 that of 3.
        before = slab.n_made
        assert slab.fetch(i) == pytest.approx(K[i], abs=1e-14)
        made += [i] * (slab.n_made - before)
    assert made == [0, 1, 2, 3, 1, 4]
    assert np.flatnonzero(slab.slot_of >= 0).tolist() == [0, 1, 4]


def test_a_missing_row_is_made_by_one_thread_of_blas_and_its_digits_do_not_depend_on_threads(monkeypatch):
    """Threads that wait for each other made a fit on a busy machine ten times as long."""
    points, seen = kernels.augmented(sample(300, d=40)), []
    values = kernels.values

    def watched(*given):
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return values(*given)

    monkeypatch.setattr(kernels, "values", watched)
    made = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            made.append(KernelRowSlab(kernels.Gaussian(1.5), points, budget=10**6).fetch(7).copy())
    assert set(seen) == {1}
    assert np.array_equal(*made)


def test_a_slabs_product_of_nothing_is_zero_and_for_no_rows_empty():
    slab = KernelRowSlab(kernels.Laplace(1.5), kernels.augmented(sample(12)), budget=0)
    assert np.array_equal(slab.product(np.zeros(12)), np.zeros(12))
    assert slab.product(np.ones(12), np.array([], dtype=int)).shape == (0,)


# ------------------------------------------------------------------------------------- rows in one array


def test_a_slabs_product_has_the_exact_diagonal():
    x, ridge = sample(12, dtype=np.float32), np.linspace(0.5, 1.6, 12)
    slab = KernelRowSlab(kernels.Laplace(1.5), kernels.augmented(x), budget=0, ridge=ridge)
    coefficients = np.zeros(12)
    coefficients[[2, 7]] = 1.0, -2.0
    off = naive_kernel("laplace", 1.5, x, x)[2, 7]
    expected = np.array([1.0 + ridge[2] - 2.0 * off, off - 2.0 * (1.0 + ridge[7])])
    # A value of the kernel off the diagonal has the rounding of float32, the diagonal none.
    assert slab.product(coefficients, np.array([2, 7])) == pytest.approx(expected, abs=1e-6)
    only = np.eye(12)[2]
    assert slab.product(only)[2] == 1.0 + ridge[2]


def test_fused_products_are_for_one_to_32_features_and_columns(monkeypatch):
    monkeypatch.setattr(fused.cuda, "is_enabled", lambda points: True)
    monkeypatch.setattr(fused, "_function", lambda *given: "a function")
    for d, c, expected in ((1, 1, True), (32, 32, True), (0, 1, False), (33, 1, False), (1, 0, False), (1, 33, False)):
        assert fused.is_applicable(kernels.Laplace(1.0), np.ones((4, d + 2)), np.ones((4, c))) == expected


@pytest.mark.parametrize(
    ("columns", "dtype", "of_a_pass", "rows"),
    [(4, "float32", 4, 2), (5, "float32", 5, 1), (4, "float64", 4, 1), (17, "float32", 9, 1), (17, "float64", 6, 1)],
)
def test_a_thread_has_two_rows_of_few_columns_in_single_precision(columns, dtype, of_a_pass, rows):
    shape = fused.Shape.of(18, columns, dtype)
    assert (shape.columns, shape.rows) == (of_a_pass, rows)


# ------------------------------------------------------------------------------ the choice of fused products
