"""Models with fewer centres than data: the projected iteration and its estimators, against exact least squares."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import textwrap
import tracemalloc

import numpy as np
import pytest
import scipy.linalg
from sklearn.base import clone, is_classifier
from sklearn.cluster import KMeans
from sklearn.utils.estimator_checks import parametrize_with_checks

from engine_example import naive_kernel, preconditioning_matrix, sample
from shallows import (
    EigenProCentresClassifier,
    EigenProCentresRegressor,
    EigenProRegressor,
    arrays,
    gram,
    kernels,
    projection,
    spectrum,
    training,
)
from shallows.errors import DivergenceError, ShallowsError, TrainingInterrupted
from shallows.estimators.centring import Centring, TrainingRows
from shallows.gram import rectangular
from shallows.solvers import EigenPro, ProjectedEigenPro
from shallows.solvers.least_squares.kernel_problem import KernelProblem
from shallows.solvers.least_squares.projected import CentresProblem, SpanCertificate, certificate, step_size

pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")

BOTH = [EigenProCentresClassifier, EigenProCentresRegressor]
each = pytest.mark.parametrize("Estimator", BOTH)
P, N, M, RANK = 40, 200, 25, 6


@pytest.fixture(params=[1, 2, 3], ids="{} workers".format)
def n_workers(request, monkeypatch):
    monkeypatch.setattr(arrays, "workers_for", lambda x: request.param)
    return request.param


def problem(*, weights=False, p=P, n=N, rank=RANK, n_subsample=M, damping=1.0, xp=np, kernel="laplace"):
    """A problem in float64 whose centres are its first p points, with the dense matrices of the same."""
    x, y = sample(n), sample(n, 2, seed=1000)
    w = np.random.default_rng(0).uniform(0.2, 1.0, size=n) if weights else None
    made, points = kernels.make(kernel, 2.0), kernels.augmented(xp.asarray(x))
    centres = points[:p, :]
    preconditioner = spectrum.make_preconditioner(
        made,
        points,
        rank=rank,
        n_subsample=n_subsample,
        damping=damping,
        weights=None if w is None else xp.asarray(w),
    )
    held = CentresProblem(
        made,
        centres,
        lambda batch: points[batch, :],
        xp.asarray(y),
        projection.make_projection(made, centres),
        preconditioner,
        None if w is None else xp.asarray(w[:, None]),
    )
    return held, naive_kernel(kernel, 2.0, x, x[:p]), y, np.ones(n) if w is None else w


def least_squares(K, y, w):
    root = np.sqrt(w)[:, None]
    return np.linalg.lstsq(root * K, root * y, rcond=None)[0]


# -------------------------------------------------------------------------------- products both ways


@pytest.mark.parametrize("budget", [1, 50_000, 2**30])
@pytest.mark.parametrize("kernel", [kernels.Gaussian(1.5), kernels.Polynomial(2, 1.0, 0.3)], ids=lambda k: k.name)
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
    budget = 2**21

    def run():
        return rectangular.forward_and_back(kernels.Gaussian(1.0), x, z, a, lambda v, rows: (v, 0.0), budget=budget)

    run()  # Threads and caches come into being.
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        run()
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    # Beside the strips: a product and a factor of the rows for each worker, and small pieces.
    assert peak < budget + n_workers * 2**17 + 2**17


# --------------------------------------------------------------------------------------- projection


@pytest.mark.parametrize("p", [1, 40, 700, 1100])
def test_a_projection_solves_with_the_matrix_of_the_centres(p, n_workers):
    z, h = sample(p, 4), sample(p, 3, seed=1)
    kernel = kernels.Laplace(1.0)
    made = projection.make_projection(kernel, kernels.augmented(z))
    K = kernels.matrix(kernel, kernels.augmented(z)) + made.jitter * np.eye(p)
    assert made.jitter < 1e-13 * p
    # Laplace's matrix at this bandwidth has a condition of a few thousand.
    assert np.abs(made.solve(h) - np.linalg.solve(K, h)).max() < 1e-10 * np.abs(h).max()
    coordinates = made.whiten(K)
    assert np.abs(coordinates @ coordinates.T - K).max() < 1e-10


def several_strips(xp=np, dtype=np.float64):
    """A projection onto more centres than two strips take, and no multiple of a tile of them."""
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


def test_a_projection_in_float32_is_as_near_as_scipys_factors():
    z, made = several_strips(dtype=np.float32)
    h = sample(made.p, 7, seed=1, dtype=np.float32)
    K = kernels.matrix(kernels.Laplace(1.0), z) + np.float32(made.jitter) * np.eye(made.p, dtype=np.float32)
    truth = scipy.linalg.cho_solve(scipy.linalg.cho_factor(K.astype(np.float64)), h.astype(np.float64))
    theirs = scipy.linalg.cho_solve(scipy.linalg.cho_factor(K), h)
    assert np.abs(made.solve(h) - truth).max() < 2 * np.abs(theirs - truth).max()


def test_a_projection_is_the_same_to_the_bit_however_many_workers_share_it(monkeypatch):
    _, made = several_strips(dtype=np.float32)
    h = sample(made.p, 7, seed=1, dtype=np.float32)
    solved = []
    for n_workers in (1, 2, 3, 4, 2):
        monkeypatch.setattr(arrays, "workers_for", lambda x, n=n_workers: n)
        solved.append(made.solve(h))
    assert all(np.array_equal(solved[0], other) for other in solved[1:])


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


def test_a_projection_leaves_its_arguments_as_they_were():
    z, h = sample(50), sample(50, 3, seed=1)
    made, before = projection.make_projection(kernels.Laplace(1.0), kernels.augmented(z)), h.copy()
    made.solve(h)
    made.whiten(h.T)
    assert np.array_equal(h, before)


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


# ------------------------------------------------------------------------------------------- the solver


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("damping", [1.0, 0.25])
@pytest.mark.parametrize("batch", [slice(0, 9), slice(100, 117)], ids=["centres", "others"])
def test_a_step_is_the_projection_of_the_preconditioned_gradient(batch, damping, weights):
    # By functions: P of the gradient, with the eigenfunctions as functions, then the nearest function of the span.
    held, K, y, w = problem(weights=weights, damping=damping)
    x, p = sample(N), held.preconditioner
    K_ZZ = naive_kernel("laplace", 2.0, x[:P], x[:P])
    solver = ProjectedEigenPro(0.3, average=False)
    state = solver.init(held)
    state.iterate[...] = before = sample(P, 2, seed=7)
    before = before.copy()
    after = solver.step(held, state, batch).coefficients
    g = w[batch, None] * (K[batch] @ before - y[batch])
    D = preconditioning_matrix(p, P)
    # P of Σ gᵢ k(xᵢ, ·) is that sum less Σ (D K_ZS g)ⱼ k(zⱼ, ·), and ⟨k(zⱼ, ·), f⟩ = f(zⱼ).
    at_centres = K[batch].T @ g - K_ZZ @ (D @ (K[batch].T @ g))
    # Where a point is a centre, its distance is the root of what rounding leaves of zero, 1e-8.
    assert np.abs(after - (before - 0.3 * np.linalg.solve(K_ZZ, at_centres))).max() < 1e-6


@pytest.mark.parametrize("weights", [False, True])
def test_full_batches_lead_to_the_least_squares_solution_of_the_span(weights):
    held, K, y, w = problem(weights=weights, rank=30, n_subsample=P)
    found = certificate(
        held.kernel,
        held.centres,
        held.projection,
        held.preconditioner,
        held.points(slice(0, N)),
        None if not weights else w,
    )
    solver = ProjectedEigenPro(step_size(found, N), average=False)
    state = solver.init(held)
    for _ in range(3000):
        state = solver.step(held, state, slice(0, N))
    truth = K @ least_squares(K, y, w)
    # As above, the naive matrix is right where points coincide, and ours to 1e-8.
    assert np.abs(K @ state.coefficients - truth).max() < 1e-6 * np.abs(truth).max()


@pytest.mark.parametrize("batches", [[slice(0, N)], [slice(30, 60), slice(0, 30), slice(150, 200)]])
def test_with_the_data_as_centres_it_is_eigenpro_iterate_by_iterate(batches):
    held, _, y, _ = problem(p=N)
    matrix = gram.Gram(held.kernel, held.centres, budget=2**30)
    plain = KernelProblem(matrix, y, None, held.preconditioner)
    ours, theirs = ProjectedEigenPro(0.2, average=False), EigenPro(0.2)
    a, b = ours.init(held), theirs.init(plain)
    for t in range(12):
        batch = batches[t % len(batches)]
        a, b = ours.step(held, a, batch), theirs.step(plain, b, batch)
        assert np.abs(a.coefficients - b.coefficients).max() < 1e-6
        assert a.loss == pytest.approx(b.loss, rel=1e-6)


def test_the_average_comes_nearer_to_the_minimum_than_the_iterate():
    held, K, y, w = problem(n=1200, p=60, n_subsample=60, rank=20)
    batches, stopping = training.Batches(1200, 80, seed=0), training.Stopping(max_epochs=20)
    found = certificate(held.kernel, held.centres, held.projection, held.preconditioner, held.points(slice(60, 1200)))
    run = training.train(ProjectedEigenPro(step_size(found, 80)), held, batches, stopping)
    assert run.n_rollbacks == 0
    best = ((K @ least_squares(K, y, w) - y) ** 2).sum()
    of_average, of_iterate = (((K @ a - y) ** 2).sum() / best - 1 for a in (run.state.coefficients, run.state.iterate))
    assert 0 <= of_average < 0.3 * of_iterate
    assert of_average < 5e-3


def test_the_certificate_is_that_of_the_operator_in_the_span():
    held, K, _, _ = problem(n_subsample=P, rank=10)
    fresh = slice(P, N)
    found = certificate(held.kernel, held.centres, held.projection, held.preconditioner, held.points(fresh))
    K_ZZ = kernels.matrix(held.kernel, held.centres)
    operator = np.linalg.inv(K_ZZ) - preconditioning_matrix(held.preconditioner, P)
    matrix = K[fresh] @ operator @ K[fresh].T
    assert found.largest_diagonal == pytest.approx(np.diagonal(matrix).max(), rel=1e-9)
    assert found.top == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=0.02)
    halves = [np.linalg.eigvalsh(matrix[:80, :80])[-1], np.linalg.eigvalsh(matrix[80:, 80:])[-1]]
    assert found.half == pytest.approx(np.mean(halves), rel=0.02)


def test_beyond_the_points_measured_the_eigenvalue_follows_the_line_through_both_measurements():
    found = SpanCertificate(largest_diagonal=0.5, n=100, top=3.0, half=2.0)
    assert found.eigenvalue(10) == found.eigenvalue(100) == 0.03
    assert found.eigenvalue(300) == pytest.approx((3.0 + 200 * 0.02) / 300)
    assert step_size(found, 1) == pytest.approx(2 / 0.5)
    assert step_size(found, 300) == pytest.approx(1 / 7.0)


def test_batches_amount_to_what_the_certificate_says():
    held, K, _, _ = problem(n=1000, p=60, n_subsample=60, rank=20)
    found = certificate(held.kernel, held.centres, held.projection, held.preconditioner, held.points(slice(60, 500)))
    operator = np.linalg.inv(kernels.matrix(held.kernel, held.centres))
    operator -= preconditioning_matrix(held.preconditioner, 60)
    matrix = K @ operator @ K.T
    rng = np.random.default_rng(0)
    for m in (10, 100, 900):
        tops = [np.linalg.eigvalsh(matrix[np.ix_(r, r)])[-1] for r in (rng.choice(1000, m, False) for _ in range(10))]
        assert np.mean(tops) < found.largest_diagonal + (m - 1) * found.eigenvalue(m)


def test_it_is_the_same_on_another_array_library():
    xp = pytest.importorskip("array_api_strict")
    results = []
    for library in (np, xp):
        held, _, _, _ = problem(xp=library, weights=True)
        found = certificate(
            held.kernel,
            held.centres,
            held.projection,
            held.preconditioner,
            held.points(slice(P, N)),
            held.weights[P:N, 0],
        )
        batches, stopping = training.Batches(N, 16, seed=0), training.Stopping(max_epochs=2)
        run = training.train(ProjectedEigenPro(step_size(found, 16)), held, batches, stopping)
        results.append((arrays.to_numpy(run.state.coefficients), found.top, found.largest_diagonal))
    assert results[1][1:] == pytest.approx(results[0][1:], rel=1e-8)
    assert np.abs(results[0][0] - results[1][0]).max() < 1e-7 * np.abs(results[0][0]).max()


# --------------------------------------------------------------------------------- rows of the data


@pytest.mark.parametrize("form", ["dense", "map"])
def test_rows_are_the_same_held_or_read_anew(form, tmp_path):
    x, order = sample(500, 4), np.random.default_rng(0).permutation(500)
    if form == "map":
        np.save(tmp_path / "x.npy", x)
        x = np.load(tmp_path / "x.npy", mmap_mode="r")
    coordinates = Centring.of(x)
    held, anew = (TrainingRows(x, order, coordinates, arrays.Device(), np.float32, held=h) for h in (True, False))
    assert held.held_bytes == 500 * 6 * 4
    assert anew.held_bytes == 0
    for batch in (slice(0, 500), slice(3, 77), slice(499, 500)):
        assert np.array_equal(held(batch), anew(batch))


# ---------------------------------------------------------------------------------------- estimators


def table(Estimator, n=1500, seed=0, d=3):
    x = sample(n + 100, d, seed)
    signal = np.sin(2 * x[:, 0]) + x[:, 1]
    y = np.digitize(signal, [-0.7, 0.7]) if is_classifier(Estimator()) else signal
    return x[:n], y[:n], x[n:]


def outputs(model, X):
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


@parametrize_with_checks([Estimator(random_state=0) for Estimator in BOTH])
def test_scikit_learns_contract_holds(estimator, check):
    check(estimator)


@each
@pytest.mark.parametrize("given", [False, True])
def test_predictions_are_the_expansion_in_the_centres(Estimator, given):
    X, y, new = table(Estimator)
    Z = sample(60, seed=5)
    model = Estimator("cauchy", bandwidth=2.0, centres=Z if given else 60, random_state=0, max_epochs=2).fit(X, y)
    assert model.dual_coef_.shape == (60, 3 if is_classifier(model) else 1)
    centres = Z[np.argsort(np.argsort(Z[:, 0]))] if given else X[model.support_]
    if given:
        assert model.support_ is None
        centres = model._points[:, :3].astype(float) + model._centring.mean
        assert np.abs(np.sort(centres, axis=0) - np.sort(Z, axis=0)).max() < 1e-5
    scores = naive_kernel("cauchy", 2.0, new, centres) @ model.dual_coef_
    if not is_classifier(model):
        scores = scores[:, 0] * model._target_scale + model.intercept_
    assert np.abs(outputs(model, new) - scores).max() < 1e-5 * np.abs(model.dual_coef_).sum()


@each
@pytest.mark.parametrize("weighted", [False, True])
def test_a_model_comes_near_the_least_squares_solution_of_its_span(Estimator, weighted):
    X, y, _ = table(Estimator)
    w = np.random.default_rng(0).uniform(0.2, 1.0, size=len(X)) if weighted else None
    model = Estimator("laplace", bandwidth=2.0, centres=100, random_state=0, max_epochs=20, tol=0).fit(X, y, w)
    K = naive_kernel("laplace", 2.0, X, X[model.support_])
    codes = model._codes(y)
    if not is_classifier(model):
        codes = (codes - model.intercept_) / model._target_scale
    w = np.ones(len(X)) if w is None else w
    loss, best = ((w[:, None] * (K @ a - codes) ** 2).sum() for a in (model.dual_coef_, least_squares(K, codes, w)))
    assert best * (1 - 1e-6) < loss < 1.01 * best


def test_centres_of_clusters_serve_as_well():
    X, y, new = table(EigenProCentresRegressor)
    Z = KMeans(80, n_init=1, random_state=0).fit(X).cluster_centers_
    model = EigenProCentresRegressor(bandwidth=1.5, centres=Z, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.98
    assert np.corrcoef(model.predict(new), np.sin(2 * new[:, 0]) + new[:, 1])[0, 1] > 0.98


def test_as_many_centres_as_data_give_what_eigenpro_gives():
    X, y, new = table(EigenProRegressor, 300)
    options = {"kernel": "laplace", "bandwidth": 2.0, "random_state": 0, "tol": 0, "dtype": "float64"}
    steps = {"batch_size": 300, "step_size": 0.5, "rank": 30, "n_subsample": 100, "max_epochs": 5}
    ours = EigenProCentresRegressor(centres=10_000, **options, **steps).fit(X, y)
    theirs = EigenProRegressor(**options, **steps).fit(X, y)
    assert ours.effective_params_["n_centres"] == 300
    assert np.abs(ours.predict(new) - theirs.predict(new)).max() < 1e-8


@each
def test_the_data_are_read_anew_where_they_do_not_fit(Estimator, monkeypatch, tmp_path):
    X, y, new = table(Estimator, 3000)
    np.save(tmp_path / "x.npy", X)
    options = {"centres": 80, "random_state": 0, "max_epochs": 2, "bandwidth": 1.5}
    whole = Estimator(**options).fit(X, y)
    seen = []
    original = TrainingRows.__init__

    def never(self, *args, held=True):
        seen.append(held)
        original(self, *args, held=False)

    monkeypatch.setattr(TrainingRows, "__init__", never)
    anew = Estimator(**options).fit(np.load(tmp_path / "x.npy", mmap_mode="r"), y)
    assert seen == [True]
    assert np.array_equal(whole.dual_coef_, anew.dual_coef_)
    assert np.array_equal(outputs(whole, new), outputs(anew, new))


@each
def test_the_same_seed_gives_the_same_model_to_the_bit(Estimator):
    X, y, _ = table(Estimator)
    first, again, other = (Estimator(centres=50, random_state=seed, max_epochs=2).fit(X, y) for seed in (0, 0, 1))
    assert np.array_equal(first.dual_coef_, again.dual_coef_)
    assert not np.array_equal(first.support_, other.support_)
    assert not hasattr(clone(first), "dual_coef_")


@each
def test_several_outputs_are_what_they_are_apart(Estimator):
    X, y, new = table(EigenProCentresRegressor)
    if Estimator is EigenProCentresClassifier:
        y = np.stack([y > 0, y > 1], axis=1).astype(int)
    else:
        y = np.stack([y, np.cos(y)], axis=1)
    together = Estimator(centres=60, random_state=0, max_epochs=3, bandwidth=1.5).fit(X, y)
    for j in range(2):
        apart = clone(together).fit(X, y[:, j])
        # Products of two columns are rounded otherwise than those of one.
        difference = outputs(together, new)[:, j] - outputs(apart, new)
        assert np.abs(difference).max() < 1e-3 * np.abs(outputs(apart, new)).max()


@each
def test_a_fit_that_is_stopped_goes_on_to_the_same_model_to_the_bit(Estimator, tmp_path):
    X, y, _ = table(Estimator)
    options = {"centres": 50, "random_state": 0, "max_epochs": 3, "tol": 0, "batch_size": 200}
    checkpoint = training.Checkpoint(tmp_path, "key")

    class Stop(training.Observer):
        def on_batch(self, run):
            if run.iteration == 11:
                checkpoint.request_stop()

    with pytest.raises(TrainingInterrupted):
        Estimator(**options).fit(X, y, checkpoint=checkpoint, observers=[Stop()])
    resumed = Estimator(**options).fit(X, y, checkpoint=training.Checkpoint(tmp_path, "key"))
    assert np.array_equal(resumed.dual_coef_, Estimator(**options).fit(X, y).dual_coef_)


def test_an_observer_sees_the_model_of_each_epoch():
    X, y, new = table(EigenProCentresRegressor)
    seen = []

    class Look(training.Observer):
        def on_epoch(self, run):
            snapshot = run.snapshot()
            seen.append((snapshot.predict(new), snapshot.predict_training()))

    model = EigenProCentresRegressor(centres=50, random_state=0, max_epochs=2, tol=0).fit(X, y, observers=[Look()])
    assert np.array_equal(seen[-1][0], model.predict(new))
    # Blocks of other sizes round otherwise: by some units in the last place of the terms Σ |αⱼ| k(zⱼ, x).
    rounding = 4 * np.finfo(np.float32).eps * np.abs(model.dual_coef_).sum()
    assert np.abs(seen[-1][1] - model.predict(X)).max() < rounding
    assert not np.array_equal(seen[0][0], seen[1][0])


def test_early_stopping_keeps_the_best_epoch():
    X, y, _ = table(EigenProCentresClassifier)
    model = EigenProCentresClassifier(centres=50, random_state=0, early_stopping=True, max_epochs=6).fit(X, y)
    assert model.best_validation_score_ == max(model.validation_scores_)
    assert model.effective_params_["n_validation"] == 150
    assert model.support_.max() < 1500


def test_a_step_of_the_users_that_is_too_large_is_an_error_that_names_it():
    X, y, _ = table(EigenProCentresRegressor)
    with pytest.raises(DivergenceError, match="step_size=50"):
        EigenProCentresRegressor(centres=50, step_size=50.0, random_state=0).fit(X, y)


@pytest.mark.parametrize("kernel", ["polynomial", "arc_cosine", "matern", "laplace_product", "linear"])
def test_other_kernels_have_centres_too(kernel):
    X, y, new = table(EigenProCentresRegressor)
    model = EigenProCentresRegressor(kernel, centres=60, random_state=0).fit(X, y)
    truth = np.sin(2 * new[:, 0]) + new[:, 1]
    assert np.corrcoef(model.predict(new), truth)[0, 1] > (0.9 if kernel in ("matern", "laplace_product") else 0.75)


@each
@pytest.mark.parametrize(
    ("centres", "says"),
    [
        (0, "at least 1"),
        (2.5, "whole number"),
        ("many", "whole number"),
        (None, "whole number"),
        (True, "whole number"),
        (np.zeros((5, 2)), "2 features and X has 3"),
        (np.full((5, 3), np.nan), "NaN or infinity"),
        (np.zeros(5), r"array of shape \(p, 3\)"),
        (np.array([["a", "b", "c"]]), r"array of shape \(p, 3\)"),
    ],
)
def test_centres_that_are_none_are_refused(Estimator, centres, says):
    X, y, _ = table(Estimator, 50)
    with pytest.raises(ShallowsError, match=says):
        Estimator(centres=centres).fit(X, y)


def test_more_centres_than_the_memory_takes_are_refused_before_anything_is_made():
    X, y, _ = table(EigenProCentresRegressor, 20_000)
    room = f"{arrays.resident_memory() // 10**6 + 400}MB"
    with pytest.raises(ShallowsError, match=r"20,000 centres take 2\.\d GB .* Use centres=\d\d+ at most"):
        EigenProCentresRegressor(centres=20_000, memory=room).fit(X, y)


@pytest.mark.parametrize("room", [0, 250])
def test_what_the_error_of_too_little_memory_advises_works(room):
    X, y, _ = table(EigenProCentresRegressor, 4000)
    options = {"centres": 500 if room == 0 else 4000, "max_epochs": 1, "random_state": 0, "dtype": "float64"}
    with pytest.raises(ShallowsError, match=r"centres take .* Use ") as raised:
        EigenProCentresRegressor(**options, memory=f"{arrays.resident_memory() // 10**6 + room}MB").fit(X, y)
    advised = str(raised.value)
    fewer, memory = re.search(r"centres=(\d+) at most", advised), re.search(r'memory="(\d+MB)"', advised)[1]
    # Without room for the points on which the step is measured, no number of centres helps.
    assert (fewer is None) == (room == 0)
    if fewer is None:
        EigenProCentresRegressor(**options, memory=memory).fit(X, y)
    else:
        fewer = {**options, "centres": int(fewer[1]) // 2}
        EigenProCentresRegressor(**fewer, memory=f"{arrays.resident_memory() // 10**6 + room}MB").fit(X, y)


@pytest.mark.slow
def test_a_fit_stays_within_its_memory(tmp_path):
    # The matrix of points and centres would be 800 MB. Pages of the file that were read, 40 MB, count too.
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(100_000, 100)).astype(np.float32))
    script = """
        import sys, numpy as np
        from shallows import EigenProCentresRegressor, arrays
        X = np.load(sys.argv[1], mmap_mode="r")
        y = np.sin(X[:, 0].astype(float))
        model = EigenProCentresRegressor(
            centres=2000, n_subsample=500, rank=50, max_epochs=1, memory="500MB", random_state=0, bandwidth=10.0
        ).fit(X, y)
        print(arrays.peak_memory())
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script), str(tmp_path / "x.npy")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 500e6
