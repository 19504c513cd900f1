"""Products with a rectangular kernel matrix both ways, and the projection onto the span of centers."""

import functools
import tracemalloc

import numpy as np
import pytest
import scipy.linalg

from engine_example import sample, traced_peak
from shallows import arrays, kernels
from shallows.gram import rectangular
from shallows.solvers.least_squares import projection

pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(params=[1, 2, 3], ids="{} workers".format)
def n_workers(request, monkeypatch):
    monkeypatch.setattr(arrays, "workers_for", lambda x: request.param)
    return request.param


# -------------------------------------------------------------------------------- products both ways


@pytest.mark.parametrize(
    ("kernel", "budget"),
    [(kernels.Gaussian(1.5), 50_000), (kernels.Polynomial(2, 1.0, 0.3), 1)],
)
def test_both_products_are_made_in_one_pass_whatever_the_budget(kernel, budget, n_workers):
    x, z, a, y = sample(333), sample(57, seed=1), sample(57, 2, seed=2), sample(333, 2, seed=3)
    K = kernel(x, z)

    def respond(values, rows):
        difference = values - y[rows]
        return difference, float((difference**2).sum())

    points, centres = kernels.augmented(x), kernels.augmented(z)
    product, total = rectangular.forward_and_back(kernel, points, centres, a, respond, budget=budget)
    truth = K @ a - y
    assert np.abs(product - K.T @ truth).max() < 1e-11 * np.abs(K).max() ** 2
    assert total == pytest.approx((truth**2).sum(), rel=1e-12)


def test_products_in_one_pass_stay_within_their_budget(n_workers):
    x, z, a = kernels.augmented(sample(4000)), kernels.augmented(sample(1500, seed=1)), sample(1500, 1)
    kernel, budget = kernels.Gaussian(1.0), 2**21
    run = lambda: rectangular.forward_and_back(kernel, x, z, a, lambda v, rows: (v, 0.0), budget=budget)  # noqa: E731
    run()  # Threads and caches come into being.
    # Beside the strips: a product and a factor of the rows for each worker, and small pieces.
    assert traced_peak(run) < budget + n_workers * 2**17 + 2**17


# --------------------------------------------------------------------------------------- projection


@pytest.mark.parametrize("p", [1, 700])
def test_a_projection_solves_with_the_matrix_of_the_centres(p, n_workers):
    z, h = sample(p, 4), sample(p, 3, seed=1)
    kernel = kernels.Laplace(1.0)
    made, before = projection.make_projection(kernel, kernels.augmented(z)), h.copy()
    K = kernels.matrix(kernel, kernels.augmented(z)) + made.jitter * np.eye(p)
    assert made.jitter < 1e-13 * p
    # Laplace's matrix at this bandwidth has a condition of a few thousand.
    assert np.abs(made.solve(h) - np.linalg.solve(K, h)).max() < 1e-10 * np.abs(h).max()
    coordinates = made.whiten(K)
    assert np.abs(coordinates @ coordinates.T - K).max() < 1e-10
    assert np.array_equal(h, before)


def several_strips(xp=np, dtype=np.float64):
    """A projection onto more centers than two strips take, and no multiple of a tile of them."""
    z = kernels.augmented(xp.asarray(sample(2 * projection.EDGE + 300, 4, dtype=dtype)))
    return z, projection.make_projection(kernels.Laplace(1.0), z)


@functools.cache
def factor_of_several_strips(jitter):
    """The Cholesky factor of their matrix by SciPy, which does not depend on who shares the work."""
    z = kernels.augmented(sample(2 * projection.EDGE + 300, 4))
    return np.linalg.cholesky(kernels.matrix(kernels.Laplace(1.0), z) + jitter * np.eye(len(z)))


@pytest.mark.parametrize("library", ["numpy", pytest.param("array_api_strict", marks=pytest.mark.slow)])
def test_a_projection_of_several_strips_solves_as_scipy_does(library, n_workers):
    z, made = several_strips(pytest.importorskip(library))
    factor = factor_of_several_strips(made.jitter)
    for c in (1, 7, 80):
        h = sample(made.p, c, seed=1)
        truth = scipy.linalg.cho_solve((factor, True), h)
        solved = arrays.to_numpy(made.solve(arrays.like(h, z)))
        assert solved.shape == truth.shape
        # Both are off by rounding times the condition, some thousands.
        assert np.abs(solved - truth).max() < 1e-11 * np.abs(truth).max()
        whitened = arrays.to_numpy(made.whiten(arrays.like(h.T, z)))
        assert np.abs(whitened - scipy.linalg.solve_triangular(factor, h, lower=True).T).max() < 1e-10


def test_a_projection_in_float32_is_as_near_as_scipys_factors_and_the_same_for_any_number_of_workers(monkeypatch):
    z, made = several_strips(dtype=np.float32)
    h = sample(made.p, 7, seed=1, dtype=np.float32)
    K = kernels.matrix(kernels.Laplace(1.0), z) + np.float32(made.jitter) * np.eye(made.p, dtype=np.float32)
    truth = scipy.linalg.cho_solve(scipy.linalg.cho_factor(K.astype(np.float64)), h.astype(np.float64))
    theirs, solved = scipy.linalg.cho_solve(scipy.linalg.cho_factor(K), h), made.solve(h)
    assert np.abs(solved - truth).max() < 2 * np.abs(theirs - truth).max()
    for n_workers in (1, 2, 3):
        monkeypatch.setattr(arrays, "workers_for", lambda x, n=n_workers: n)
        assert np.array_equal(solved, made.solve(h))


def test_a_projection_holds_half_of_the_matrix_and_little_more_while_it_is_made(monkeypatch):
    monkeypatch.setattr(projection, "EDGE", 256)
    monkeypatch.setattr(projection, "TILE", 64)
    p, edge = 4096, 256
    z = kernels.augmented(sample(p, 4))
    projection.make_projection(kernels.Laplace(1.0), z[:600])  # What is imported then is not counted.
    tracemalloc.start()
    try:
        made = projection.make_projection(kernels.Laplace(1.0), z)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    half, strip = p * (p + edge) // 2 * z.itemsize, edge * p * z.itemsize
    assert half == sum(strip.nbytes for strip in made.strips) <= held < half + 2**18
    # The last strip is held twice while it is put into tiles.
    assert peak < half + 1.1 * strip < 0.65 * p**2 * z.itemsize


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_that_coincide_can_be_projected_onto(dtype):
    z = np.repeat(sample(30, dtype=dtype), 3, axis=0)
    made = projection.make_projection(kernels.Gaussian(3.0), kernels.augmented(z))
    assert 0 < made.jitter < 1e-2
    assert np.isfinite(made.solve(sample(90, 2, seed=1, dtype=dtype))).all()


def test_the_projection_of_a_function_is_the_nearest_of_the_span():
    # ‖Σ gᵢ k(xᵢ, ·) − Σ θⱼ k(zⱼ, ·)‖² = gᵀK_XX g − 2 θᵀK_ZX g + θᵀK_ZZ θ grows for every other θ.
    x, z, g = sample(20), sample(8, seed=1), sample(20, 1, seed=2)
    kernel = kernels.Gaussian(1.5)
    theta = projection.make_projection(kernel, kernels.augmented(z)).solve(kernel(z, x) @ g)

    def distance(t):
        return (g.T @ kernel(x, x) @ g - 2 * t.T @ kernel(z, x) @ g + t.T @ kernel(z, z) @ t)[0, 0]

    for seed in range(5):
        assert distance(theta + 0.01 * sample(8, 1, seed=seed)) > distance(theta)


@pytest.mark.parametrize("n_failures", [1, 3])
def test_a_factorization_that_fails_is_tried_again_with_ten_times_the_jitter(n_failures, monkeypatch):
    kernel, z, tried, factor = kernels.Gaussian(1.5), kernels.augmented(sample(8)), [], projection._strips

    def fails_at_first(kernel, centers, jitter):
        tried.append(jitter)
        if len(tried) <= n_failures:
            raise np.linalg.LinAlgError
        return factor(kernel, centers, jitter)

    usual = projection.make_projection(kernel, z).jitter
    monkeypatch.setattr(projection, "_strips", fails_at_first)
    made = projection.make_projection(kernel, z)
    assert tried == pytest.approx(usual * 10.0 ** np.arange(n_failures + 1))
    assert made.jitter == tried[-1]
