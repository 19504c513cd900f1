"""Kernel matrices and trainings of which fused products are a part, and their sizes on a GPU."""

# ruff: noqa: F811 (a test that takes an imported fixture names it once more)
import numpy as np
import pytest

from engine_example import sample
from fused_example import case, error, folder, formula, gpu, needs_compiler, there  # noqa: F401
from shallows import gram, kernels, spectrum, training
from shallows.gram import LazyGram, rectangular
from shallows.solvers.least_squares.eigenpro import EigenProStepper
from shallows.solvers.least_squares.kernel_problem import KernelProblem

pytestmark = [pytest.mark.slow, needs_compiler]


# ------------------------------------------------------------- matrices, and a training with one of them


@pytest.mark.parametrize("kept", [0, 4])
def test_a_matrix_that_is_kept_in_part_multiplies_as_before(gpu, kept):
    points, a = kernels.augmented(sample(250)), sample(250, 2, 1)
    kernel, size = kernels.Laplace(1.5), 64 * 64 * 8
    K = kernels.matrix(kernel, points)
    workers = gram.Gram(kernel, there(points), budget=0, tile=64).n_workers
    matrix = gram.Gram(kernel, there(points), budget=(kept + 3 * workers) * size, tile=64)
    assert matrix.kept_fraction == pytest.approx(kept / 10)
    before = len(gpu)
    assert np.abs(matrix.dot(there(a)) - K @ a).max() < 1e-11
    assert len(gpu) > before
    for start, stop, head in [(10, 200, 0), (70, 120, 65), (249, 250, 1)]:
        found, columns = matrix.rows_dot(slice(start, stop), there(a), head=head)
        assert np.abs(found - K[start:stop] @ a).max() < 1e-11
        assert columns is None if head == 0 else np.abs(columns.values() - K[start:stop, :head]).max() < 1e-12
        given = matrix.columns_dot(start, stop, there(a[start:stop]))
        assert np.abs(given - K[:, start:stop] @ a[start:stop]).max() < 1e-11


def test_both_ways_through_a_rectangular_matrix(gpu, monkeypatch):
    monkeypatch.setattr(gram.cross, "FUSED_ROWS", 64)
    kernel, (x, z, a), seen = kernels.Gaussian(1.0), case(150, 40, 4, 2), []

    def respond(values, rows):
        seen.append(rows.stop)
        return values * 2.0, float(values.sum())

    centres = there(kernels.augmented(z))
    found, total = rectangular.forward_and_back(
        kernel, there(kernels.augmented(x)), centres, there(a), respond, budget=10**6
    )
    K = formula(kernel, x, z)
    assert seen == [64, 128, 150]
    assert np.abs(found - K.T @ (2.0 * K @ a)).max() < 1e-11
    assert total == pytest.approx((K @ a).sum(), rel=1e-9)


def test_rows_that_are_not_kept_are_not_made(gpu):
    points, a = kernels.augmented(sample(150)), sample(150, 2, 1)
    K = kernels.matrix(kernels.Laplace(1.5), points)
    matrix = LazyGram(kernels.Laplace(1.5), there(points), budget=64 * 64 * 8, tile=64)
    assert np.abs(matrix.rows_dot(slice(10, 140), there(a)) - K[10:140] @ a).max() < 1e-11
    a[100:] = 0.0
    assert np.abs(matrix.rows_dot(slice(10, 140), there(a), n_visited=100) - K[10:140] @ a).max() < 1e-11
    assert gpu


def test_training_gives_the_coefficients_of_the_plain_path(gpu):
    x, y = sample(300, 5), sample(300, 2, 1)
    kernel = kernels.Laplace(2.0)
    found = []
    for where in (np.asarray, there):
        points = where(kernels.augmented(x))
        p = spectrum.make_preconditioner(kernel, np.asarray(points), rank=10, n_subsample=100, seed=0)
        order = np.concatenate([p.indices, np.setdiff1d(np.arange(300), p.indices)])
        matrix = gram.Gram(kernel, where(points[order]), budget=0, tile=64)
        problem = KernelProblem(matrix, where(y[order]), None, p)
        stopping = training.Stopping(max_epochs=4)
        run = training.train(EigenProStepper(p.step_size(32)), problem, training.Batches(300, 32, seed=2), stopping)
        found.append(np.asarray(run.state.coefficients))
    assert gpu
    assert np.abs(found[1] - found[0]).max() < 1e-9 * np.abs(found[0]).max()


# ------------------------------------------------------------------------------------- sizes for a GPU


@pytest.mark.parametrize("n", [1, 63, 8193, 10**6])
@pytest.mark.parametrize("budget", [0, 4 * 10**9, 10**11])
def test_tiles_of_a_gpu_are_even_and_fit_the_budget(gpu, n, budget):
    points = there(np.broadcast_to(np.float32(0), (n, 5)))
    edge = gram.tile_edge(points, budget)
    assert 1 <= edge <= min(n, gram.GPU_TILE)
    assert edge == n or edge % 64 == 0
    assert 3 * edge**2 * 4 <= max(budget / 2, 3 * gram.SMALL_GPU_TILE**2 * 4)
    if budget == 10**11:
        assert -(-n // edge) == -(-n // gram.GPU_TILE)
    assert gram.tile_edge(np.asarray(points), budget) == min(gram.TILE, n)
