"""Rows of kernel matrices that are kept while they are in use, and a solver that chooses them."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
from sklearn.svm import SVC

from engine_example import naive_kernel, sample
from resumed_example import stopped_at_every_batch
from row_choosing_example import SMO, DualProblem
from shallows import arrays, kernels
from shallows.gram import KernelRowCache
from shallows.training import Curve, OwnRows, Stopping, train

N = 40


def cache(n_rows: int, n: int = N, dtype=np.float64) -> KernelRowCache:
    x = sample(n, dtype=dtype)
    size = n * np.dtype(dtype).itemsize
    return KernelRowCache(kernels.make("laplace", 1.5), kernels.augmented(x), budget=n_rows * size + size - 1)


K = naive_kernel("laplace", 1.5, sample(N), sample(N))


@pytest.mark.parametrize("capacity", [0, 1, 5, 100])
def test_rows_are_those_of_the_matrix_whatever_is_kept(capacity):
    made, rng = cache(capacity), np.random.default_rng(0)
    for _ in range(30):
        indices = rng.integers(N, size=rng.integers(1, 12))
        assert np.abs(made.rows(indices) - K[indices]).max() < 1e-7
        assert np.abs(made.row(indices[0]) - K[indices[0]]).max() < 1e-7
        assert made.n_kept <= capacity
    # The diagonal is exact, whatever rounding makes of a distance of nothing.
    assert (made.rows(range(N)).diagonal() == made.diagonal).all()


def test_a_diagonal_that_depends_on_the_points_is_theirs():
    x = sample(N)
    made = KernelRowCache(kernels.Linear(), kernels.augmented(x), budget=0)
    assert made.diagonal == pytest.approx(np.sum(x**2, axis=1), rel=1e-12)


def test_the_row_that_was_not_used_for_longest_goes_first():
    made = cache(3)
    made.rows([0, 1, 2])
    made.row(0)
    made.row(3)  # 1 goes.
    assert (made.n_hits, made.n_misses) == (1, 4)
    made.rows([0, 2, 3])
    assert (made.n_hits, made.n_misses) == (4, 4)
    made.row(1)
    assert (made.n_hits, made.n_misses) == (4, 5)


def test_a_row_is_the_same_to_the_bit_whatever_is_asked_for_with_it_and_whatever_is_kept():
    alone, together = cache(0), cache(100)
    rows = together.rows(range(N))
    assert all(np.array_equal(alone.row(i), rows[i]) for i in range(N))
    assert np.array_equal(together.rows([3, 3])[1], rows[3])
    assert (together.n_hits, together.n_misses) == (2, N)


def test_rows_come_from_any_array_library():
    x = array_api_strict.asarray(sample(N))
    made = KernelRowCache(kernels.make("laplace", 1.5), kernels.augmented(x), budget=3 * N * 8)
    assert np.abs(arrays.to_numpy(made.rows([5, 0, 5])) - K[[5, 0, 5]]).max() < 1e-7
    assert (made.n_hits, made.n_misses) == (1, 2)


def test_a_row_that_was_handed_out_outlives_its_place():
    made = cache(1)
    row = made.row(7)
    before = row.copy()
    made.rows(range(20))
    assert np.array_equal(row, before)


def test_the_budget_is_one_of_bytes_in_the_precision_of_the_points():
    assert cache(6, dtype=np.float32).capacity == 6
    assert cache(6, dtype=np.float32).row(0).dtype == np.float32
    x = kernels.augmented(sample(N).astype(np.float32))
    assert KernelRowCache(kernels.make("laplace", 1.5), x, budget=6 * N * 8).capacity == 12


# ------------------------------------------------------------------------------------ a solver that chooses rows


def problem(capacity: int, n: int = 120, C: float = 2.0) -> tuple[DualProblem, np.ndarray]:
    x = sample(n)
    y = np.where(x[:, 0] ** 2 + x[:, 1] + 0.3 * sample(n, 1, seed=1)[:, 0] > 0.5, 1.0, -1.0)
    rows = KernelRowCache(kernels.make("gaussian", 1.0), kernels.augmented(x), budget=capacity * n * 8)
    return DualProblem(rows, y, C), x


@pytest.mark.parametrize("capacity", [0, 30, 120])
def test_smo_on_the_loop_finds_the_support_vectors_that_scikit_learn_finds(capacity):
    task, x = problem(capacity)
    curve = Curve([1, 2], lambda state: {"gap": state.gap}, unit="iteration")
    run = train(SMO(), task, OwnRows(50, n_batches=10), Stopping(max_epochs=100), observers=[curve])
    exact = SVC(C=2.0, gamma=0.5, tol=1e-7).fit(x, task.labels)
    expected = np.zeros(len(x))
    expected[exact.support_] = exact.dual_coef_[0]
    assert np.abs(run.state.coefficients[:, 0] - expected).max() < 1e-4
    assert run.state.intercept == pytest.approx(exact.intercept_[0], abs=1e-5)
    # It ended within an epoch, when there was nothing left to do.
    assert run.stopped_by == "exhausted"
    assert run.position > 0
    assert run.state.n_steps > 50 * (run.iteration - 1)
    assert curve.rows[0]["gap"] > curve.rows[1]["gap"] > run.state.gap
    # With the rows of all points at hand each is made once; with few, those of the support vectors come again.
    asked = 2 * run.state.n_steps
    assert task.rows.n_hits + task.rows.n_misses == asked
    if capacity == 120:
        assert task.rows.n_misses <= 120
    elif capacity:
        assert task.rows.n_hits > asked / 4


def test_smo_that_is_stopped_at_every_batch_ends_the_same_to_the_bit(tmp_path):
    def once(**options):
        return train(SMO(1e-2), problem(30)[0], OwnRows(40, n_batches=3), Stopping(max_epochs=100), **options)

    whole, (resumed, _) = once(), stopped_at_every_batch(once, tmp_path)
    assert np.array_equal(whole.state.coefficients, resumed.state.coefficients)
    assert (whole.iteration, whole.losses, whole.stopped_by) == (resumed.iteration, resumed.losses, "exhausted")
    assert resumed.n_resumes > 2
