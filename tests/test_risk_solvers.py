"""Pegasos, NORMA, dual coordinate ascent and variance-reduced gradients against exact solvers (SPEC 5)."""

from __future__ import annotations

import math

import array_api_strict
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC, SVR, LinearSVC

from engine_example import naive_kernel, sample
from risk_example import BANDWIDTH, N, batches_of, drawn_batches, exact_smooth, feature_risk, kernel_risk, run
from shallows import arrays, features, kernels, losses, training
from shallows.errors import ShallowsError, UnknownNameError
from shallows.features.design import Blocks, Design
from shallows.gram import LazyGram
from shallows.solvers.regularised.duals import DUALS, dual_of
from shallows.solvers.regularised.norma import NORMA
from shallows.solvers.regularised.pegasos import Pegasos
from shallows.solvers.regularised.risk import FeatureSpan, RiskProblem
from shallows.solvers.regularised.sag import SAG
from shallows.solvers.regularised.sdca import SDCA, dual_objective, duality_gap
from shallows.solvers.regularised.smoothness import batch_smoothness, sag_step, saga_step, svrg_step
from shallows.solvers.regularised.svrg import SVRG, full_gradient

DUAL_LOSSES = {
    "square": {},
    "hinge": {},
    "squared_hinge": {},
    "logistic": {},
    "huber": {"delta": 0.5},
    "quantile": {"quantile": 0.3},
    "epsilon_insensitive": {"epsilon": 0.2},
}


def whole(p):
    return slice(0, p.n)


# ----------------------------------------------------------------------------------------- the kernel matrix


@pytest.mark.parametrize("xp", [np, array_api_strict], ids=["numpy", "strict"])
@pytest.mark.parametrize("kernel", [kernels.Laplace(2.0), kernels.Polynomial(degree=2)], ids=["laplace", "polynomial"])
@pytest.mark.parametrize("n_kept", [0, 3, 100])
@pytest.mark.parametrize("n_workers", [1, 3])
def test_rows_of_the_lazy_matrix_times_coefficients_are_the_formula(kernel, n_kept, xp, n_workers, monkeypatch):
    monkeypatch.setattr(arrays, "workers_for", lambda x: n_workers)
    x, a = sample(61), sample(61, 2, seed=1)
    K = kernel(x, x)
    np.fill_diagonal(K, kernel.diagonal(x))
    matrix = LazyGram(kernel, kernels.augmented(xp.asarray(x)), budget=n_kept * 16 * 16 * 8 + 7, tile=16)
    for rows, reached in ((slice(0, 5), 3), (slice(10, 37), 20), (slice(40, 61), 50), (slice(30, 34), None)) * 2:
        b = a.copy()
        b[len(a) if reached is None else reached :] = 0
        made = matrix.rows_dot(rows, xp.asarray(b), reached)
        assert np.abs(np.asarray(made) - K[rows] @ b).max() < 1e-12
    assert np.abs(np.asarray(matrix.dot(xp.asarray(a))) - K @ a).max() < 1e-12
    assert matrix.kept_fraction == min(n_kept, 10) / 10


def test_tiles_that_fit_are_made_once(monkeypatch):
    x, a = sample(61), sample(61, 2, seed=1)
    matrix = LazyGram(kernels.Gaussian(1.0), kernels.augmented(x), budget=2**30, tile=16)
    made = []
    fill = kernels.fill
    monkeypatch.setattr(kernels, "fill", lambda k, left, z, out: made.append(out.shape) or fill(k, left, z, out))
    for _ in range(3):
        for rows in (slice(0, 20), slice(20, 61)):
            matrix.rows_dot(rows, a)
    assert len(made) == 10


@pytest.mark.parametrize("xp", [np, array_api_strict], ids=["numpy", "strict"])
@pytest.mark.parametrize("fits", [False, True])
def test_features_are_made_when_they_are_asked_for_and_once_if_they_fit(xp, fits, monkeypatch):
    f = features.FourierFeatures(kernels.Gaussian(1.0), 3, 5, seed=1)
    made, x = [], sample(30)
    block = Blocks.block
    monkeypatch.setattr(Blocks, "block", lambda self, z, k: made.append(z.shape[0]) or block(self, z, k))
    design = Design(Blocks(f, 20), xp.asarray(x), budget=0)
    span = FeatureSpan(design, budget=30 * 20 * 8 - (not fits))
    exact = features.FourierFeatures(kernels.Gaussian(1.0), 3, 5, seed=1, n_blocks=2).map(x)
    for rows in (slice(0, 10), slice(0, 10), slice(10, 30)) * 2:
        assert np.abs(np.asarray(span.rows(rows)) - exact[rows]).max() < 1e-13
    # Two blocks of columns: 30 rows twice, or 30 rows twice for each of the two rounds.
    assert sum(made) == 60 * (1 if fits else 2)


# ------------------------------------------------------------------------------------------------- Pegasos


@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize("m", [1, 8])
def test_kernel_pegasos_with_the_products_of_features_makes_the_iterates_of_linear_pegasos(m, projection):
    # SPEC 5 (1). The span of the kernel z·z' has w = Zᵀa.
    p = feature_risk("hinge", c=2)

    class Products:
        n = N

        def zero(self, targets):
            return np.zeros_like(targets)

        def scores(self, a, batch, n_visited=None):
            return p.z[batch] @ (p.z.T @ a)

        def products(self, batch):
            return p.z[batch] @ p.z[batch].T

        def add(self, a, batch, change):
            a[batch] += change

    dual = RiskProblem(Products(), p.y, p.loss, p.reg)
    solver, order = Pegasos(projection), batches_of(N, m, 3)
    one, other = solver.init(p.problem), solver.init(dual)
    for batch in order:
        one, other = solver.step(p.problem, one, batch), solver.step(dual, other, batch)
        assert np.abs(one.coefficients - p.z.T @ other.coefficients).max() < 1e-11 * max(
            1, np.abs(one.coefficients).max()
        )


@pytest.mark.slow
@pytest.mark.parametrize("make", [kernel_risk, feature_risk])
def test_the_average_of_pegasos_is_that_of_its_iterates_and_comes_nearer_to_the_optimum(make):
    last = of_mean = 0.0
    for seed in range(3):
        p = make("hinge", regularisation=0.003, n=200, seed=seed)
        averaged, plain = Pegasos(averaging=True), Pegasos()
        a, b, mean = averaged.init(p.problem), plain.init(p.problem), 0.0
        for t, batch in enumerate(batches_of(200, 4, 5), start=1):
            a, b = averaged.step(p.problem, a, batch), plain.step(p.problem, b, batch)
            mean = mean + 4 / (t + 3) * (b.coefficients - mean)
            assert np.abs(a.coefficients - mean).max() < 1e-10 * np.abs(b.coefficients).max()
            assert np.array_equal(a.iterate, b.coefficients)
        best = p.problem.objective(run(SDCA(), p.problem, batches_of(200, 10, 100)).coefficients)
        last += p.problem.objective(b.coefficients) - best
        of_mean += p.problem.objective(a.coefficients) - best
    assert of_mean < 0.5 * last


def test_kernel_pegasos_one_example_at_a_time_has_the_counters_of_the_lecture():
    p = kernel_risk("hinge", regularisation=0.02)
    y = p.y[:, 0]
    order = np.random.default_rng(0).integers(N, size=150)
    counters = np.zeros(N)
    for t, i in enumerate(order, start=1):
        score = 0.0 if t == 1 else (counters * y) @ p.K[:, i] / (p.reg * (t - 1))
        counters[i] += y[i] * score < 1
    state = run(Pegasos(), p.problem, [slice(i, i + 1) for i in order])
    assert state.coefficients[:, 0] * p.reg * len(order) == pytest.approx(counters * y, abs=1e-9)


def test_pegasos_on_all_examples_is_subgradient_descent():
    # SPEC 5 (2)
    p = feature_risk("hinge")
    w = np.zeros((6, 1))
    state = Pegasos().init(p.problem)
    for t in range(1, 30):
        violated = p.y * (p.z @ w) < 1
        w = w - (p.reg * w - p.z.T @ (p.y * violated) / N) / (p.reg * t)
        state = Pegasos().step(p.problem, state, whole(p))
        assert np.abs(state.coefficients - w).max() < 1e-11


@pytest.mark.parametrize("make", [kernel_risk, feature_risk])
def test_projected_pegasos_stays_in_the_ball_that_the_optimum_lies_in(make):
    # SPEC 5 (3)
    p = make("hinge", regularisation=0.02, c=2)
    solver = Pegasos(projection=True)
    state = solver.init(p.problem)
    touched = False
    for batch in batches_of(N, 5, 5):
        state = solver.step(p.problem, state, batch)
        norm = p.problem.span.norm_squared(state.coefficients)
        assert norm == pytest.approx(state.norm_squared, rel=1e-9)
        assert norm <= (1 + 1e-9) / p.reg
        touched |= norm > (1 - 1e-9) / p.reg
    assert touched
    # Two outputs with ‖f‖² ≤ 1/λ each; the ball here holds both together and may cut, so the optimum of one is asked.
    alone = make("hinge", regularisation=0.02)
    best = run(SDCA(), alone.problem, batches_of(N, 10, 60))
    assert alone.problem.span.norm_squared(best.coefficients) <= 1 / alone.reg


def test_pegasos_tends_to_the_exact_support_vector_machine_at_its_rate():
    # SPEC 5 (4, 5): the excess risk falls like log t / t, so over 16 times the steps by more than a factor of 6.
    p = kernel_risk("hinge", regularisation=0.05)
    exact = run(SDCA(), p.problem, batches_of(N, 10, 400))
    assert duality_gap(p.problem, exact) < 1e-7
    best = p.problem.objective(exact.coefficients)
    # The machine of LIBSVM has an intercept besides, and can only be better.
    libsvm = SVC(kernel="precomputed", C=1 / (p.reg * N), tol=1e-8).fit(p.K, p.y[:, 0])
    a = np.zeros(N)
    a[libsvm.support_] = libsvm.dual_coef_[0]
    hinges = np.maximum(0, 1 - p.y[:, 0] * libsvm.decision_function(p.K))
    assert best / 2 < p.reg / 2 * a @ p.K @ a + hinges.mean() <= best + 1e-6
    state, excess = Pegasos().init(p.problem), {}
    for t, batch in enumerate(batches_of(N, 4, 300), start=1):
        state = Pegasos().step(p.problem, state, batch)
        if t in (280, 4480):
            excess[t] = p.problem.objective(state.coefficients) - best
    assert 0 <= excess[4480] < excess[280] / 6
    assert excess[4480] < 0.005 * best


@pytest.mark.slow
def test_the_steps_that_pegasos_needs_do_not_grow_with_the_number_of_examples():
    # SPEC 5 (4): the bound on the excess risk after T steps of one example knows λ and T only.
    excess = []
    for n in (60, 600):
        p = kernel_risk("hinge", regularisation=0.05, n=n)
        best = p.problem.objective(run(SDCA(), p.problem, batches_of(n, 20, 60)).coefficients)
        drawn = np.random.default_rng(0).integers(n, size=1500)
        state = run(Pegasos(), p.problem, [slice(int(i), int(i) + 1) for i in drawn])
        excess.append(p.problem.objective(state.coefficients) - best)
    # ‖ℓ'k‖ ≤ 1 makes the bound (1 + ln T)/(2λT) of the mean iterate; the last one keeps within a few times it here.
    assert max(excess) < 4 * (1 + math.log(1500)) / (2 * 0.05 * 1500)
    assert excess[1] < 2 * excess[0]


# --------------------------------------------------------------------------------------------------- NORMA


@pytest.mark.parametrize("schedule", ["constant", "root", "inverse"])
@pytest.mark.parametrize("loss", ["hinge", "square", "logistic"])
@pytest.mark.parametrize("weights", [False, True])
def test_norma_is_gradient_descent_in_the_space_of_the_kernel(schedule, loss, weights):
    p = kernel_risk(loss, weights=weights, c=2)
    solver, alpha = NORMA(0.7, schedule), np.zeros((N, 2))
    w = np.ones((N, 1)) if p.w is None else p.w
    state = solver.init(p.problem)
    for t, batch in enumerate(batches_of(N, 7, 2), start=1):
        eta = 0.7 / {"constant": 1, "root": math.sqrt(t), "inverse": t}[schedule]
        slopes = w[batch] * p.loss.derivative(p.K[batch] @ alpha, p.y[batch])
        alpha *= 1 - eta * p.reg
        alpha[batch] -= eta / len(slopes) * slopes
        state = solver.step(p.problem, state, batch)
        assert np.abs(state.coefficients - alpha).max() < 1e-11


def test_norma_with_steps_of_one_over_lambda_t_is_pegasos():
    p = kernel_risk("hinge")
    order = batches_of(N, 6, 3)
    ours, theirs = (run(solver, p.problem, order) for solver in (NORMA(1 / p.reg, "inverse"), Pegasos()))
    assert np.abs(ours.coefficients - theirs.coefficients).max() < 1e-10


def test_truncation_keeps_the_examples_seen_last():
    p = kernel_risk("square")
    order = batches_of(N, 6, 1)
    state = run(NORMA(0.5, truncation=18), p.problem, order)
    kept = np.flatnonzero(state.coefficients[:, 0])
    assert kept.tolist() == sorted(i for batch in order[-3:] for i in range(batch.start, batch.stop))
    everything = run(NORMA(0.5, truncation=N), p.problem, order)
    assert np.array_equal(everything.coefficients, run(NORMA(0.5), p.problem, order).coefficients)


def test_norma_reaches_kernel_ridge_regression():
    p = kernel_risk("square", regularisation=0.1)
    state = run(NORMA(1.0, "constant"), p.problem, [whole(p)] * 3000)
    # ½ in the loss and the mean over examples: α = (K + nλ I)⁻¹ y.
    exact = KernelRidge(alpha=N * p.reg, kernel="precomputed").fit(p.K, p.y)
    assert np.abs(state.coefficients - exact.dual_coef_).max() < 1e-8


def test_columns_that_nobody_visited_are_not_made(monkeypatch):
    p = kernel_risk("hinge", budget=0)
    made = []
    fill = kernels.fill
    monkeypatch.setattr(kernels, "fill", lambda k, left, z, out: made.append(out.size) or fill(k, left, z, out))
    in_order = [slice(i, i + 10) for i in range(0, N, 10)]
    lazy = run(NORMA(0.5), p.problem, in_order)
    assert sum(made) == 10 * (10 + 20 + 30 + 40 + 50)
    assert (
        np.abs(lazy.coefficients - run(NORMA(0.5), kernel_risk("hinge").problem, in_order).coefficients).max() < 1e-12
    )


def test_wrong_parameters_of_norma_are_told():
    with pytest.raises(UnknownNameError, match="schedule 'sqrt'"):
        NORMA(1.0, "sqrt")
    with pytest.raises(ShallowsError, match="truncation must be"):
        NORMA(1.0, truncation=0)


# ------------------------------------------------------------------------------------ dual coordinate ascent


@pytest.mark.parametrize("name", DUAL_LOSSES)
def test_the_best_dual_variable_is_the_slope_at_the_score_that_it_makes(name):
    loss = losses.make(name, **DUAL_LOSSES[name])
    rng = np.random.default_rng(0)
    dual = dual_of(loss)
    for v, q in zip(rng.normal(size=200) * 2, rng.uniform(0.05, 5, size=200), strict=True):
        y = float(np.sign(rng.normal())) if loss.coding == "signs" else float(rng.normal())
        a = dual.best(float(v), float(q), y)
        # The proximal problem min ℓ(s) + (s − v)²/2q has its minimum at s = v + q a.
        made = minimize_scalar(
            lambda s, v=v, q=q, y=y: loss.value(np.array([[s]]), np.array([[y]]))[0] + (s - v) ** 2 / (2 * q),
            bounds=(v - 20 * q, v + 20 * q),
            method="bounded",
            options={"xatol": 1e-10},
        ).x
        assert v + q * a == pytest.approx(made, abs=3e-6)


@pytest.mark.parametrize("name", DUAL_LOSSES)
def test_the_dual_value_is_the_conjugate(name):
    # −ℓ*(−a) = min_u ℓ(u) + a u, at a within the bounds of −ℓ'.
    loss = losses.make(name, **DUAL_LOSSES[name])
    u = np.linspace(-30, 30, 600_001)[:, None]
    for y in (1.0, -1.0) if loss.coding == "signs" else (0.7, -0.2):
        slopes = -loss.derivative(np.linspace(-2, 2, 9)[:, None], np.full((9, 1), y))[:, 0]
        for a in slopes:
            lowest = (loss.value(u, np.full_like(u, y)) + a * u[:, 0]).min()
            assert dual_of(loss).value(np.array([[a]]), np.array([[y]])) == pytest.approx(lowest, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", DUAL_LOSSES)
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("make", [kernel_risk, feature_risk])
def test_the_dual_objective_never_falls_and_the_gap_closes(name, weights, make):
    # SPEC 5 (6)
    p = make(name, weights=weights, regularisation=0.2, **DUAL_LOSSES[name])
    state, last = SDCA().init(p.problem), -math.inf
    for batch in batches_of(N, 9, 60):
        state = SDCA().step(p.problem, state, batch)
        value = dual_objective(p.problem, state)
        assert value >= last - 1e-13
        last = value
    assert -1e-12 < duality_gap(p.problem, state) < 1e-5


@pytest.mark.parametrize("make", [kernel_risk, feature_risk])
@pytest.mark.parametrize("name", ["hinge", "square"])
def test_a_batch_is_its_examples_one_by_one(make, name):
    p = make(name, c=2)
    one_by_one = [slice(i, i + 1) for i in range(N)] * 2
    in_batches = [slice(i, min(i + 13, N)) for i in range(0, N, 13)] * 2
    a, b = (run(SDCA(), p.problem, order) for order in (one_by_one, in_batches))
    assert np.abs(a.dual - b.dual).max() < 1e-12
    assert np.abs(a.coefficients - b.coefficients).max() < 1e-12


def test_a_step_is_the_update_rule_of_the_sources():
    # α ← y max(0, min(1, (1 − y f)/(‖x‖²/(λn)) + yα)) for the hinge; Δ = (y − f − α)/(1 + ‖x‖²/(λn)) for the square.
    for name in ("hinge", "square"):
        p = feature_risk(name)
        state = run(SDCA(), p.problem, batches_of(N, 10, 1))
        for i in (3, 17, 40):
            q, a, y = p.z[i] @ p.z[i] / (p.reg * N), state.dual[i, 0], p.y[i, 0]
            f = p.z[i] @ state.coefficients[:, 0]
            expected = y * max(0, min(1, (1 - y * f) / q + y * a)) if name == "hinge" else a + (y - f - a) / (1 + q)
            state = SDCA().step(p.problem, state, slice(i, i + 1))
            assert state.dual[i, 0] == pytest.approx(expected, abs=1e-13)


def test_dual_ascent_is_kernel_ridge_in_the_limit():
    p = kernel_risk("square", c=2, regularisation=0.05)
    state = run(SDCA(), p.problem, batches_of(N, 10, 300))
    exact = KernelRidge(alpha=N * p.reg, kernel="precomputed").fit(p.K, p.y)
    assert np.abs(state.coefficients - exact.dual_coef_).max() < 1e-9


def test_dual_ascent_is_the_exact_support_vector_machine_in_the_limit():
    # With a constant added to the kernel the machine's intercept is regularised; a symmetric set needs none. Points x
    # and −x with labels y and −y under an odd kernel: f is odd, so the exact machine's intercept is zero.
    x = sample(30, 3)
    x = np.vstack([x, -x])
    y = np.sign(np.sin(x @ [1.0, 2.0, -1.0]))
    K = naive_kernel("gaussian", BANDWIDTH, x, x) - naive_kernel("gaussian", BANDWIDTH, x, -x)
    reg = 0.05
    exact = SVC(kernel="precomputed", C=1 / (reg * N), tol=1e-9).fit(K, y)
    assert abs(exact.intercept_[0]) < 1e-6
    L = np.linalg.cholesky(K + 1e-12 * np.eye(N)) if np.linalg.eigvalsh(K)[0] > 0 else root(K)
    p = feature_risk("hinge", z=L, regularisation=reg)
    problem = RiskProblem(p.problem.span, y[:, None], p.loss, reg)
    state = run(SDCA(), problem, batches_of(N, 10, 500))
    assert np.abs(L @ state.coefficients[:, 0] - exact.decision_function(K)).max() < 1e-4


def root(K):
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))


def test_dual_ascent_is_the_exact_linear_machine_of_the_squared_hinge():
    p = feature_risk("squared_hinge", regularisation=0.05)
    # LinearSVC has C Σ max(0, 1 − yu)², twice the loss here.
    exact = LinearSVC(C=0.5 / (p.reg * N), fit_intercept=False, tol=1e-12, max_iter=100_000).fit(p.z, p.y[:, 0])
    state = run(SDCA(), p.problem, batches_of(N, 10, 300))
    assert np.abs(state.coefficients[:, 0] - exact.coef_[0]).max() < 1e-6


def test_dual_ascent_is_exact_logistic_regression_in_the_limit():
    p = feature_risk("logistic", regularisation=0.05)
    exact = LogisticRegression(C=1 / (p.reg * N), fit_intercept=False, tol=1e-12, max_iter=1000).fit(p.z, p.y[:, 0])
    state = run(SDCA(), p.problem, batches_of(N, 10, 200))
    assert np.abs(state.coefficients[:, 0] - exact.coef_[0]).max() < 1e-6


def test_dual_ascent_bounds_exact_support_vector_regression():
    # The machine with an intercept is at least as good; the optimum without one lies within the gap of the dual.
    p = kernel_risk("epsilon_insensitive", epsilon=0.1, regularisation=0.05)
    state = run(SDCA(), p.problem, batches_of(N, 10, 800))
    assert duality_gap(p.problem, state) < 1e-6
    exact = SVR(kernel="precomputed", C=1 / (p.reg * N), epsilon=0.1, tol=1e-10).fit(p.K, p.y[:, 0])
    a = np.zeros(N)
    a[exact.support_] = exact.dual_coef_[0]
    with_intercept = p.reg / 2 * a @ p.K @ a + p.loss.value(exact.predict(p.K)[:, None], p.y).mean()
    assert with_intercept <= p.problem.objective(state.coefficients) + 1e-9


def test_losses_of_several_scores_have_no_dual_here():
    p = kernel_risk("hinge")
    with pytest.raises(ShallowsError, match="not 'softmax'"):
        SDCA().init(RiskProblem(p.problem.span, p.y, losses.make("softmax"), 0.1))
    assert {loss.name for loss in DUALS} == set(DUAL_LOSSES)


# ------------------------------------------------------------------------------------ variance-reduced gradients


def variance_reduced(p, m):
    L = batch_smoothness(p.problem, m)
    return {"svrg": SVRG(svrg_step(L)), "sag": SAG(sag_step(L)), "saga": SAG(saga_step(L), unbiased=True)}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["svrg", "sag", "saga"])
@pytest.mark.parametrize("loss", ["square", "logistic", "softmax", "huber"])
@pytest.mark.parametrize("m", [1, 8, N])
def test_variance_reduced_gradients_converge_to_the_exact_minimiser(name, loss, m):
    p = feature_risk(loss, c=3, regularisation=0.2)
    if loss == "softmax":
        p.y = np.eye(3)[np.arange(N) % 3]
        p.problem = RiskProblem(p.problem.span, p.y, p.loss, p.reg)
    draw = drawn_batches if name == "sag" else batches_of
    state = run(variance_reduced(p, m)[name], p.problem, draw(N, m, 100 if m < N else 400))
    assert np.abs(state.coefficients - exact_smooth(p)).max() < 1e-5


@pytest.mark.parametrize("weights", [False, True])
def test_variance_reduced_gradients_find_ridge_regression(weights):
    p = feature_risk("square", regularisation=0.1, weights=weights)
    w = np.ones(N) if p.w is None else p.w[:, 0]
    exact = Ridge(alpha=N * p.reg, fit_intercept=False).fit(p.z, p.y[:, 0], sample_weight=w).coef_
    for solver in variance_reduced(p, 5).values():
        state = run(solver, p.problem, drawn_batches(N, 5, 300))
        assert np.abs(state.coefficients[:, 0] - exact).max() < 1e-9


@pytest.mark.parametrize("name", ["svrg", "sag", "saga"])
def test_started_at_the_optimum_they_stay_there(name):
    # SPEC 5 (7)
    p = feature_risk("logistic", regularisation=0.2)
    best = exact_smooth(p)
    solver = variance_reduced(p, 4)[name]
    state = solver.init(p.problem)
    state.coefficients[...] = best
    if name != "svrg":
        state.slopes[...] = p.loss.derivative(p.z @ best, p.y)
        state.total[...] = p.z.T @ state.slopes
        state.n_seen = N
    for batch in batches_of(N, 4, 5):
        state = solver.step(p.problem, state, batch)
        assert np.abs(state.coefficients - best).max() < 1e-7


@pytest.mark.parametrize("name", ["svrg", "sag", "saga"])
def test_on_all_examples_at_once_they_are_gradient_descent(name):
    p = feature_risk("logistic")
    solver = {"svrg": SVRG(0.5), "sag": SAG(0.5), "saga": SAG(0.5, unbiased=True)}[name]
    w, state = np.zeros((6, 1)), solver.init(p.problem)
    for _ in range(20):
        w = w - 0.5 * (p.z.T @ p.loss.derivative(p.z @ w, p.y) / N + p.reg * w)
        state = solver.step(p.problem, state, whole(p))
        assert np.abs(state.coefficients - w).max() < 1e-13


@pytest.mark.parametrize("name", ["svrg", "saga"])
def test_the_directions_of_svrg_and_saga_are_unbiased(name):
    p = feature_risk("logistic")
    solver = {"svrg": SVRG(0.3, period=100.0), "saga": SAG(0.3, unbiased=True)}[name]
    state = run(solver, p.problem, batches_of(N, 5, 2))
    before, kept = state.coefficients.copy(), state.remember()
    moves = []
    for batch in [slice(i, i + 5) for i in range(0, N, 5)]:
        state.recall(*kept)
        moves.append(solver.step(p.problem, state, batch).coefficients - before)
    gradient = p.z.T @ p.loss.derivative(p.z @ before, p.y) / N + p.reg * before
    assert np.abs(np.mean(moves, axis=0) + 0.3 * gradient).max() < 1e-13


def test_the_table_of_sag_holds_what_it_says():
    p = feature_risk("logistic", c=2)
    state = run(SAG(0.1), p.problem, batches_of(N, 7, 3))
    assert np.abs(state.total - p.z.T @ state.slopes).max() < 1e-12
    assert (
        np.abs(
            full_gradient(p.problem, state.coefficients) * N - p.z.T @ p.loss.derivative(p.z @ state.coefficients, p.y)
        ).max()
        < 1e-12
    )


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("m", [1, 12, N])
def test_the_smoothness_of_batches_is_the_largest_of_their_hessians(loss, weights, m):
    p = feature_risk(loss, weights=weights)
    w = np.ones((N, 1)) if p.w is None else p.w
    tops = [np.linalg.eigvalsh(p.z[a : a + m].T @ (w * p.z)[a : a + m])[-1] / m for a in range(0, N, m)]
    exact = losses.make(loss).smoothness * max(tops[:8]) + p.reg
    assert exact <= batch_smoothness(p.problem, m) < 1.06 * exact


def test_losses_with_kinks_are_refused_where_gradients_are_asked_for():
    with pytest.raises(ShallowsError, match="need a smooth loss"):
        batch_smoothness(feature_risk("hinge").problem, 10)


# ------------------------------------------------------------------------------------------ what all of them do

SOLVERS = {
    "pegasos": (kernel_risk, "hinge", Pegasos(projection=True)),
    "averaged pegasos": (kernel_risk, "hinge", Pegasos(averaging=True)),
    "pegasos on features": (feature_risk, "hinge", Pegasos(projection=True)),
    "norma": (kernel_risk, "logistic", NORMA(1.0)),
    "truncated norma": (kernel_risk, "logistic", NORMA(1.0, truncation=30)),
    "sdca": (kernel_risk, "hinge", SDCA()),
    "sdca on features": (feature_risk, "logistic", SDCA()),
    "svrg": (feature_risk, "logistic", SVRG(0.5)),
    "sag": (feature_risk, "square", SAG(0.3)),
    "saga": (feature_risk, "squared_hinge", SAG(0.3, unbiased=True)),
}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("weights", [False, True])
def test_other_array_libraries_give_the_same(name, weights):
    make, loss, solver = SOLVERS[name]
    ours, theirs = (
        run(solver, make(loss, c=2, weights=weights, xp=xp).problem, batches_of(N, 16, 2))
        for xp in (np, array_api_strict)
    )
    assert np.abs(np.asarray(theirs.coefficients) - ours.coefficients).max() < 1e-11


@pytest.mark.parametrize("name", SOLVERS)
def test_a_state_that_was_put_away_goes_on_to_the_bit(name):
    make, loss, solver = SOLVERS[name]
    p, order = make(loss, weights=True), batches_of(N, 16, 3)
    straight = run(solver, p.problem, order)
    halfway = run(solver, p.problem, order[:5])
    kept = halfway.remember()
    solver.step(p.problem, halfway, order[5])
    again = solver.init(p.problem)
    again.recall(*kept)
    for batch in order[5:]:
        again = solver.step(p.problem, again, batch)
    assert np.array_equal(again.coefficients, straight.coefficients)


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "truncated norma"])
def test_the_loop_drives_it(name):
    make, loss, solver = SOLVERS[name]
    p = make(loss)
    ran = training.train(solver, p.problem, training.Batches(N, 16, 0), training.Stopping(max_epochs=20))
    assert ran.n_rollbacks == 0
    zero = p.problem.objective(p.problem.span.zero(p.problem.targets))
    best = p.problem.objective(run(SDCA(), p.problem, batches_of(N, 10, 100)).coefficients)
    assert p.problem.objective(ran.state.coefficients) - best < 0.4 * (zero - best)


def test_the_loop_halves_a_step_of_svrg_that_diverges():
    p = feature_risk("square")
    problem = RiskProblem(p.problem.span, p.y, p.loss, p.reg, growth=10.0)
    ran = training.train(SVRG(50.0), problem, training.Batches(N, 16, 0), training.Stopping(max_epochs=30))
    assert ran.n_rollbacks > 0
    assert problem.objective(ran.state.coefficients) < problem.objective(exact_smooth(p)) * 1.01
