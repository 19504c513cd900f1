"""Products with kernel matrices, whatever part of them is kept."""

from __future__ import annotations

import tracemalloc
from unittest import mock

import numpy as np
import pytest

from engine_example import EUCLIDEAN, PLENTY, naive_kernel, sample
from shallows import arrays, gram, kernels

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


@pytest.mark.parametrize("kernel", EUCLIDEAN)
@pytest.mark.parametrize("kept", [None, 0, 1, 7])
def test_the_product_is_the_same_whatever_part_of_the_matrix_is_kept(kernel, kept, n_workers):
    made, K = make(kept=kept, n_workers=n_workers, kernel=kernel)
    a = sample(77, 3, seed=1)
    # Values are right to 1e-14, and 77 of them times numbers below 4 are added.
    assert np.abs(made.dot(a) - K @ a).max() < 1e-12


@pytest.mark.parametrize("kept", [None, 0, 7])
@pytest.mark.parametrize(("start", "stop"), [(0, 77), (0, 16), (3, 9), (10, 50), (16, 48), (70, 77), (31, 33)])
@pytest.mark.parametrize("head", [0, 1, 16, 40, 77])
def test_rows_give_their_product_and_their_first_columns(kept, start, stop, head, n_workers):
    made, K = make(kept=kept, n_workers=n_workers)
    a = sample(77, 2, seed=1)
    product, columns = made.rows(start, stop).dot(a, head=head)
    assert np.abs(product - K[start:stop] @ a).max() < 1e-12
    if head:
        assert np.abs(columns.values() - K[start:stop, :head]).max() < 1e-14
    else:
        assert columns is None


@pytest.mark.parametrize("kept", [None, 0, 7])
@pytest.mark.parametrize(("start", "stop"), [(0, 77), (0, 16), (3, 9), (10, 50), (70, 77), (5, 5)])
@pytest.mark.parametrize("width", [1, 3])
def test_what_some_points_give_to_all_is_a_product_with_their_columns(kept, start, stop, width, n_workers):
    made, K = make(kept=kept, n_workers=n_workers)
    a = sample(stop - start, width, seed=1)
    assert np.abs(made.columns_dot(start, stop, a) - K[:, start:stop] @ a).max() < 1e-12


@pytest.mark.parametrize("n", [1, 15, 16, 17, 33])
def test_points_need_not_fill_the_tiles(n, n_workers):
    for kept in (None, 0):
        made, K = make(n, kept=kept, n_workers=n_workers)
        assert np.abs(made.dot(np.eye(n)) - K).max() < 1e-14


@pytest.mark.parametrize("kept", [None, 0, 7])
def test_the_diagonal_is_one_to_the_last_digit(kept):
    made, _ = make(kept=kept, kernel="laplace", dtype=np.float32)
    identity = np.eye(77, dtype=np.float32)
    assert np.array_equal(np.diagonal(made.dot(identity)), np.ones(77))
    assert np.array_equal(np.diagonal(made.rows(5, 60).dot(identity, head=77)[1].values(), offset=5), np.ones(55))


def test_no_row_is_no_product():
    made, _ = make()
    assert made.rows(5, 5).dot(np.ones((77, 2)))[0].shape == (0, 2)


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (5, 4), (0, 78)])
def test_rows_beyond_the_matrix_are_refused(start, stop):
    made, _ = make()
    with pytest.raises(IndexError, match="of a matrix of 77"):
        made.rows(start, stop)


@pytest.mark.parametrize("kept", [0, 1, 7, 14, 15, 40])
def test_as_many_tiles_are_kept_as_the_budget_takes_beside_the_scratch_space(kept, n_workers):
    made, _ = make(kept=kept, n_workers=n_workers)
    # 77 points make 5 x 5 tiles of 16; the upper triangle holds 15.
    assert made.kept_fraction == pytest.approx(min(kept, 15) / 15)


def test_a_budget_of_nothing_keeps_nothing():
    made = gram.Gram(kernels.Gaussian(1.0), kernels.augmented(sample(40)), budget=-5, tile=TILE)
    assert made.kept_fraction == 0.0


def test_a_matrix_of_one_tile_is_worked_on_by_one_worker(n_workers):
    # To hand a small product to threads costs more than the product.
    assert make(16)[0].n_workers == 1
    assert make(17)[0].n_workers == min(2, n_workers)


@pytest.mark.parametrize("share", [0.0, 0.4, 2.0])
def test_building_and_multiplying_stay_within_the_budget(share, monkeypatch):
    monkeypatch.setattr(arrays, "workers_for", lambda x: 2)
    n, tile = 1000, 100
    points, a = kernels.augmented(sample(n)), sample(n, 1)
    scratch = SCRATCH * 2 * tile**2 * 8
    budget = int(share * n**2 * 8 / 2) + scratch
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        made = gram.Gram(kernels.Gaussian(1.5), points, budget=budget, tile=tile)
        made.dot(a)
        made.rows(30, 90).dot(a)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    # Beside it: a few copies of the points' factors and of the product, and the objects that hold the tiles.
    assert peak < budget + 8 * n * 8 * 8


def test_products_are_the_same_to_the_bit_every_time(n_workers):
    made, _ = make(kept=7, n_workers=n_workers)
    a = sample(77, 2, seed=1)
    first = made.dot(a), made.rows(10, 50).dot(a)[0]
    for _ in range(5):
        assert np.array_equal(made.dot(a), first[0])
        assert np.array_equal(made.rows(10, 50).dot(a)[0], first[1])


def test_products_leave_their_factor_as_it_was(n_workers):
    made, _ = make(kept=3, n_workers=n_workers)
    a = sample(77, 2, seed=1)
    before = a.copy()
    made.dot(a)
    made.rows(3, 70).dot(a, head=5)
    assert np.array_equal(a, before)


def test_an_unknown_tile_size_is_the_default_within_the_points():
    assert gram.Gram(kernels.Gaussian(1.0), kernels.augmented(sample(40)), budget=PLENTY).tile == 40


# --------------------------------------------------------------------------------------- between two sets


@pytest.mark.parametrize("budget", [1, 5000, PLENTY])
@pytest.mark.parametrize("m", [1, 2, 37])
@pytest.mark.parametrize("kernel", EUCLIDEAN)
def test_a_cross_product_is_the_product_with_the_matrix_between(kernel, m, budget, n_workers):
    x, z, a = sample(m), sample(53, seed=1), sample(53, 2, seed=2)
    product = gram.cross_product(kernels.make(kernel, 1.5), x, kernels.augmented(z), a, budget=budget)
    assert np.abs(product - naive_kernel(kernel, 1.5, x, z) @ a).max() < 1e-12


def test_an_extra_distance_is_that_of_features_that_the_points_share():
    x, z, a = sample(37, 4), sample(53, 4, seed=1), sample(53, 2, seed=2)
    z[:, 3] = 0.5
    extra = (x[:, 3] - 0.5) ** 2
    kernel = kernels.Laplace(1.5)
    product = gram.cross_product(kernel, x[:, :3], kernels.augmented(z[:, :3]), a, budget=5000, extra=extra)
    assert np.abs(product - naive_kernel("laplace", 1.5, x, z) @ a).max() < 1e-12


def test_a_cross_product_reports_its_rows():
    seen = []
    points, a = kernels.augmented(sample(53)), sample(53, 1)
    gram.cross_product(kernels.Gaussian(1.0), sample(100), points, a, budget=1, observe=seen.append)
    assert seen == sorted(set(seen))
    assert seen[-1] == 100
    assert len(seen) > 1


@pytest.mark.parametrize("budget", [1, 5000, PLENTY])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_cross_product_with_blocks_that_were_kept_makes_none_and_is_the_same_to_the_bit(budget, dtype, n_workers):
    x, z, a, b = (sample(m, d, seed=m).astype(dtype) for m, d in ((37, 4), (53, 3), (53, 2), (53, 2)))
    points, kernel, extra, kept = kernels.augmented(z), kernels.Laplace(1.5), x[:, 3] ** 2, {}
    held = {"budget": budget, "extra": extra}
    first = gram.cross_product(kernel, x[:, :3], points, a, kept=kept, **held)
    assert np.array_equal(first, gram.cross_product(kernel, x[:, :3], points, a, **held))
    assert sum(block.size for block in kept.values()) == 37 * 53
    expected = gram.cross_product(kernel, x[:, :3], points, b, **held)
    with mock.patch.object(kernels, "fill", side_effect=AssertionError("made anew")):
        assert np.array_equal(gram.cross_product(kernel, x[:, :3], points, b, kept=kept, **held), expected)


@pytest.mark.parametrize("budget", [2**16, 2**20])
def test_the_blocks_of_a_cross_product_stay_within_the_budget(budget, n_workers):
    x, points, a = sample(2000), kernels.augmented(sample(1500, seed=1)), sample(1500, 1)
    kernel = kernels.Gaussian(1.0)
    gram.cross_product(kernel, x, points, a, budget=budget)  # Threads and caches come into being.
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        gram.cross_product(kernel, x, points, a, budget=budget)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    # Beside the blocks: the result, the factors of the rows at hand, and the objects of the threads.
    assert peak < budget + 2000 * 8 + 2**16
