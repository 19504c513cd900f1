"""Pegasos and NORMA against exact solvers (SPEC 5)."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from engine_example import sample
from risk_example import N, batches_of, duality_gap, feature_risk, kernel_risk, run
from shallows import kernels, losses
from shallows.gram import LazyGram
from shallows.solvers.regularized.norma import NORMAStepper, default_step
from shallows.solvers.regularized.pegasos import PegasosStepper
from shallows.solvers.regularized.risk import KernelSpan, RiskProblem
from shallows.solvers.regularized.sdca import SDCAStepper


def whole(p):
    return slice(0, p.n)


@pytest.mark.parametrize("schedule", ["root", "constant"])
@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive", "square", "huber"])
def test_the_first_step_of_norma_is_that_of_its_rule(loss, schedule):
    p = kernel_risk(loss)
    n_steps = 5 * math.ceil(N / 8)
    top = np.linalg.eigvalsh(p.K[:8, :8])[-1] / 8
    if loss == "hinge":  # whose slopes are at most one, as the kernel's values are
        expected = 1 / math.sqrt(p.reg) / (1 if schedule == "root" else math.sqrt(n_steps))
    elif loss == "epsilon_insensitive":
        distance = p.loss.value(np.zeros((N, 1)), p.y).sum() / N
        expected = distance / (top + p.reg * distance) / (1 if schedule == "root" else math.sqrt(n_steps))
    else:
        expected = 1 / (p.loss.smoothness * top + p.reg)
    assert default_step(p.problem, 8, schedule, 5) == pytest.approx(expected, rel=1e-9)
    assert default_step(p.problem, 8, "inverse", 5) == 1 / p.reg


# ------------------------------------------------------------------------------------------------------- Pegasos


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
    solver, order = PegasosStepper(projection), batches_of(N, m, 3)
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
        averaged, plain = PegasosStepper(averaging=True), PegasosStepper()
        a, b, mean = averaged.init(p.problem), plain.init(p.problem), 0.0
        for t, batch in enumerate(batches_of(200, 4, 5), start=1):
            a, b = averaged.step(p.problem, a, batch), plain.step(p.problem, b, batch)
            mean = mean + 4 / (t + 3) * (b.coefficients - mean)
            assert np.abs(a.coefficients - mean).max() < 1e-10 * np.abs(b.coefficients).max()
            assert np.array_equal(a.iterate, b.coefficients)
        best = p.problem.objective(run(SDCAStepper(), p.problem, batches_of(200, 10, 100)).coefficients)
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
    state = run(PegasosStepper(), p.problem, [slice(i, i + 1) for i in order])
    assert state.coefficients[:, 0] * p.reg * len(order) == pytest.approx(counters * y, abs=1e-9)


def test_pegasos_on_all_examples_is_subgradient_descent():
    # SPEC 5 (2)
    p = feature_risk("hinge")
    w = np.zeros((6, 1))
    state = PegasosStepper().init(p.problem)
    for t in range(1, 30):
        violated = p.y * (p.z @ w) < 1
        w = w - (p.reg * w - p.z.T @ (p.y * violated) / N) / (p.reg * t)
        state = PegasosStepper().step(p.problem, state, whole(p))
        assert np.abs(state.coefficients - w).max() < 1e-11


@pytest.mark.parametrize("make", [kernel_risk, feature_risk])
def test_projected_pegasos_stays_in_the_balls_that_the_optimum_lies_in(make):
    # SPEC 5 (3), for each of two outputs.
    p = make("hinge", regularisation=0.02, c=2)
    solver = PegasosStepper(projection=True)
    state = solver.init(p.problem)
    touched = np.zeros(2, dtype=bool)
    for batch in batches_of(N, 5, 5):
        state = solver.step(p.problem, state, batch)
        norms = [p.problem.span.norm_squared(state.coefficients[:, [k]]) for k in range(2)]
        np.testing.assert_allclose(norms, state.norms_squared, rtol=1e-9)
        assert max(norms) <= (1 + 1e-9) / p.reg
        touched |= np.array(norms) > (1 - 1e-9) / p.reg
    assert touched.all()
    best = run(SDCAStepper(), p.problem, batches_of(N, 10, 60)).coefficients
    assert max(p.problem.span.norm_squared(best[:, [k]]) for k in range(2)) <= 1 / p.reg


def test_projection_cuts_no_optimum_of_several_outputs():
    # Sixteen outputs whose optimum has λ‖f‖² above 1 together, and below it each.
    p = kernel_risk("hinge", regularisation=0.02, c=16)
    exact = run(SDCAStepper(), p.problem, batches_of(N, 10, 100))
    assert p.reg * p.problem.span.norm_squared(exact.coefficients) > 1
    value = p.problem.objective(exact.coefficients)
    state = run(PegasosStepper(projection=True, averaging=True), p.problem, batches_of(N, 10, 200))
    assert p.problem.objective(state.coefficients) < 1.001 * value


def test_projected_pegasos_goes_on_from_what_was_kept_to_the_bit():
    p, solver = kernel_risk("hinge", regularisation=0.02, c=2), PegasosStepper(projection=True)
    order = batches_of(N, 5, 4)
    whole, half, other = run(solver, p.problem, order), run(solver, p.problem, order[:20]), solver.init(p.problem)
    held, numbers = half.remember()
    other.recall(held, json.loads(json.dumps(numbers)))
    for batch in order[20:]:
        other = solver.step(p.problem, other, batch)
    assert (other.coefficients == whole.coefficients).all()


@pytest.mark.parametrize(("loss", "ball"), [("logistic", np.log(2)), ("softmax", np.log(3)), ("multiclass_hinge", 1.0)])
def test_the_ball_of_another_loss_is_its_value_at_zero(loss, ball):
    p = kernel_risk(loss, regularisation=0.1, c=3)
    if p.loss.coding == "indicator":
        p.problem.targets[:] = np.eye(3)[p.problem.targets.argmax(axis=1)]
    assert PegasosStepper(projection=True).init(p.problem).largest == pytest.approx(ball / p.reg)


def test_pegasos_tends_to_the_exact_support_vector_machine_at_its_rate():
    # SPEC 5 (4, 5): the excess risk falls like log t / t, so over 16 times the steps by more than a factor of 6.
    p = kernel_risk("hinge", regularisation=0.05)
    exact = run(SDCAStepper(), p.problem, batches_of(N, 10, 200))
    assert duality_gap(p.problem, exact) < 1e-7
    best = p.problem.objective(exact.coefficients)
    # The machine of LIBSVM has an intercept besides, and can only be better.
    libsvm = SVC(kernel="precomputed", C=1 / (p.reg * N), tol=1e-8).fit(p.K, p.y[:, 0])
    a = np.zeros(N)
    a[libsvm.support_] = libsvm.dual_coef_[0]
    hinges = np.maximum(0, 1 - p.y[:, 0] * libsvm.decision_function(p.K))
    assert best / 2 < p.reg / 2 * a @ p.K @ a + hinges.mean() <= best + 1e-6
    state, excess = PegasosStepper().init(p.problem), {}
    for t, batch in enumerate(batches_of(N, 4, 300), start=1):
        state = PegasosStepper().step(p.problem, state, batch)
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
        best = p.problem.objective(run(SDCAStepper(), p.problem, batches_of(n, 20, 60)).coefficients)
        drawn = np.random.default_rng(0).integers(n, size=1500)
        state = run(PegasosStepper(), p.problem, [slice(int(i), int(i) + 1) for i in drawn])
        excess.append(p.problem.objective(state.coefficients) - best)
    # ‖ℓ'k‖ ≤ 1 makes the bound (1 + ln T)/(2λT) of the mean iterate; the last one keeps within a few times it here.
    assert max(excess) < 4 * (1 + math.log(1500)) / (2 * 0.05 * 1500)
    assert excess[1] < 2 * excess[0]


# --------------------------------------------------------------------------------------------------------- NORMA


@pytest.mark.parametrize("schedule", ["constant", "root", "inverse"])
@pytest.mark.parametrize("loss", ["hinge", "square", "logistic"])
@pytest.mark.parametrize("weights", [False, True])
def test_norma_is_gradient_descent_in_the_space_of_the_kernel(schedule, loss, weights):
    p = kernel_risk(loss, weights=weights, c=2)
    solver, alpha = NORMAStepper(0.7, schedule), np.zeros((N, 2))
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
    ours, theirs = (run(solver, p.problem, order) for solver in (NORMAStepper(1 / p.reg, "inverse"), PegasosStepper()))
    assert np.abs(ours.coefficients - theirs.coefficients).max() < 1e-10


def test_pegasos_for_regression_is_the_lectures_rule_on_plain_inputs():
    x = sample(N, 3)
    y, lam, epsilon = x @ [[1.0], [-2.0], [0.5]] + 0.3 * sample(N, 1, seed=1), 0.05, 0.1
    span = KernelSpan(LazyGram(kernels.Linear(), kernels.augmented(x), budget=2**30, tile=16))
    problem = RiskProblem(span, y, losses.EpsilonInsensitive(epsilon), lam)
    order = [int(i) for i in np.random.default_rng(0).integers(0, N, 300)]
    state, w = run(NORMAStepper(1 / lam, "inverse"), problem, [slice(i, i + 1) for i in order]), np.zeros(3)
    for t, i in enumerate(order, start=1):
        v = x[i] * (float(w @ x[i] - y[i, 0] > epsilon) - float(y[i, 0] - w @ x[i] > epsilon))
        w = (1 - 1 / t) * w - v / (lam * t)
    np.testing.assert_allclose(x.T @ state.coefficients[:, 0], w, atol=1e-10)


def test_truncation_keeps_the_examples_seen_last():
    p = kernel_risk("square")
    order = batches_of(N, 6, 1)
    state = run(NORMAStepper(0.5, truncation=18), p.problem, order)
    kept = np.flatnonzero(state.coefficients[:, 0])
    assert kept.tolist() == sorted(i for batch in order[-3:] for i in range(batch.start, batch.stop))
    everything = run(NORMAStepper(0.5, truncation=N), p.problem, order)
    assert np.array_equal(everything.coefficients, run(NORMAStepper(0.5), p.problem, order).coefficients)


def test_norma_reaches_kernel_ridge_regression():
    p = kernel_risk("square", regularisation=0.1)
    state = run(NORMAStepper(1.0, "constant"), p.problem, [whole(p)] * 3000)
    # ½ in the loss and the mean over examples: α = (K + nλ I)⁻¹ y.
    exact = KernelRidge(alpha=N * p.reg, kernel="precomputed").fit(p.K, p.y)
    assert np.abs(state.coefficients - exact.dual_coef_).max() < 1e-8


def test_columns_that_nobody_visited_are_not_made(monkeypatch):
    p = kernel_risk("hinge", budget=0)
    made = []
    fill = kernels.Gaussian.fill
    monkeypatch.setattr(
        kernels.Gaussian, "fill", lambda k, left, z, out: made.append(out.size) or fill(k, left, z, out)
    )
    in_order = [slice(i, i + 10) for i in range(0, N, 10)]
    lazy = run(NORMAStepper(0.5), p.problem, in_order)
    assert sum(made) == 10 * (10 + 20 + 30 + 40 + 50)
    assert (
        np.abs(lazy.coefficients - run(NORMAStepper(0.5), kernel_risk("hinge").problem, in_order).coefficients).max()
        < 1e-12
    )
