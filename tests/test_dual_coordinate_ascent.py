"""Stochastic dual coordinate ascent, Pegasos and NORMA against exact solvers."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from risk_example import (
    N,
    batches_of,
    dual_objective,
    dual_value,
    duality_gap,
    feature_risk,
    kernel_risk,
    run,
)
from shallows import kernels, losses
from shallows.errors import ShallowsError
from shallows.solvers.regularized import ascent
from shallows.solvers.regularized.norma import NORMAStepper, default_step
from shallows.solvers.regularized.pegasos import PegasosStepper
from shallows.solvers.regularized.risk import RiskProblem
from shallows.solvers.regularized.sdca import DUALS, SDCAStepper, dual_of

DUAL_LOSSES = {
    "square": {},
    "hinge": {},
    "squared_hinge": {},
    "logistic": {},
    "huber": {"delta": 0.5},
    "quantile": {"quantile": 0.3},
    "epsilon_insensitive": {"epsilon": 0.2},
}


@pytest.mark.parametrize("name", DUAL_LOSSES)
def test_the_best_dual_variable_is_the_slope_at_the_score_that_it_makes(name):
    loss = losses.make(name, **DUAL_LOSSES[name])
    rng = np.random.default_rng(0)
    dual = dual_of(loss)
    for v, q in zip(rng.normal(size=200) * 2, rng.uniform(0.05, 5, size=200), strict=True):
        y = float(np.sign(rng.normal())) if loss.coding == "signs" else float(rng.normal())
        a = ascent.best(*dual, float(v), float(q), y)
        # The proximal problem min ℓ(s) + (s − v)²/2q has its minimum at s = v + q a.
        made = minimize_scalar(
            lambda s, v=v, q=q, y=y: loss.value(np.array([[s]]), np.array([[y]]))[0] + (s - v) ** 2 / (2 * q),
            bounds=(v - 20 * q, v + 20 * q),
            method="bounded",
            options={"xatol": 1e-10},
        ).x
        assert v + q * a == pytest.approx(made, abs=3e-6)


@pytest.mark.parametrize("q", [1e-6, 1.0, 1e3, 1e6, 1e12])
@pytest.mark.parametrize("m", [-700.0, -30.0, 0.0, 30.0, 600.0])
def test_the_best_dual_variable_of_the_logistic_loss_solves_its_equation_however_weak_the_regularisation(m, q):
    p = ascent.best(*dual_of(losses.make("logistic")), m, q, 1.0)
    assert 0 < p < 1
    off = math.log(p) - math.log1p(-p) + m + q * p
    assert abs(off) / (1.0 / (p * (1.0 - p)) + q) < 1e-12 * p


@pytest.mark.parametrize("name", DUAL_LOSSES)
def test_the_dual_value_is_the_conjugate(name):
    # −ℓ*(−a) = min_u ℓ(u) + a u, at a within the bounds of −ℓ'.
    loss = losses.make(name, **DUAL_LOSSES[name])
    u = np.linspace(-30, 30, 600_001)[:, None]
    for y in (1.0, -1.0) if loss.coding == "signs" else (0.7, -0.2):
        slopes = -loss.derivative(np.linspace(-2, 2, 9)[:, None], np.full((9, 1), y))[:, 0]
        for a in slopes:
            lowest = (loss.value(u, np.full_like(u, y)) + a * u[:, 0]).min()
            assert dual_value(loss, np.array([[a]]), np.array([[y]])) == pytest.approx(lowest, abs=1e-6)


@pytest.mark.parametrize("name", DUAL_LOSSES)
@pytest.mark.parametrize(("make", "weights"), [(kernel_risk, False), (feature_risk, True)])
def test_the_dual_objective_never_falls_and_the_gap_closes(name, weights, make):
    # A gap of nothing is a proof that the minimizer is found.
    problem = make(name, weights=weights, regularisation=0.2, **DUAL_LOSSES[name]).problem
    problem = replace(problem, intercept=np.array([0.3])) if weights else problem
    state, last = SDCAStepper().init(problem), -math.inf
    for batch in batches_of(N, 9, 60):
        state = SDCAStepper().step(problem, state, batch)
        value = dual_objective(problem, state)
        assert value >= last - 1e-13
        last = value
    assert -1e-12 < duality_gap(problem, state) < 1e-5


@pytest.mark.parametrize("make", [kernel_risk, feature_risk])
@pytest.mark.parametrize("name", ["hinge", "square"])
def test_a_batch_is_its_examples_one_by_one(make, name):
    p = make(name, c=2)
    one_by_one = [slice(i, i + 1) for i in range(N)] * 2
    in_batches = [slice(i, min(i + 13, N)) for i in range(0, N, 13)] * 2
    a, b = (run(SDCAStepper(), p.problem, order) for order in (one_by_one, in_batches))
    assert np.abs(a.dual - b.dual).max() < 1e-12
    assert np.abs(a.coefficients - b.coefficients).max() < 1e-12


def test_a_step_is_the_update_rule_of_the_sources():
    # α ← y max(0, min(1, (1 − y f)/(‖x‖²/(λn)) + yα)) for the hinge; Δ = (y − f − α)/(1 + ‖x‖²/(λn)) for the square.
    for name in ("hinge", "square"):
        p = feature_risk(name)
        state = run(SDCAStepper(), p.problem, batches_of(N, 10, 1))
        for i in (3, 17, 40):
            q, a, y = p.z[i] @ p.z[i] / (p.reg * N), state.dual[i, 0], p.y[i, 0]
            f = p.z[i] @ state.coefficients[:, 0]
            expected = y * max(0, min(1, (1 - y * f) / q + y * a)) if name == "hinge" else a + (y - f - a) / (1 + q)
            state = SDCAStepper().step(p.problem, state, slice(i, i + 1))
            assert state.dual[i, 0] == pytest.approx(expected, abs=1e-13)


def test_losses_of_several_scores_have_no_dual_here():
    p = kernel_risk("hinge")
    with pytest.raises(ShallowsError, match="not 'softmax'"):
        SDCAStepper().init(RiskProblem(p.problem.span, p.y, losses.make("softmax"), 0.1))
    assert {loss.name for loss in DUALS} == set(DUAL_LOSSES)


# Pegasos and NORMA against exact solvers.


def whole_batch(p):
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


@pytest.mark.parametrize("make", [kernel_risk, feature_risk])
def test_the_average_of_pegasos_is_that_of_its_iterates_and_comes_nearer_to_the_optimum(make):
    p = make("hinge", regularisation=0.003, n=200)
    averaged, plain = PegasosStepper(averaging=True), PegasosStepper()
    a, b, mean = averaged.init(p.problem), plain.init(p.problem), 0.0
    for t, batch in enumerate(batches_of(200, 4, 5), start=1):
        a, b = averaged.step(p.problem, a, batch), plain.step(p.problem, b, batch)
        mean = mean + 4 / (t + 3) * (b.coefficients - mean)
        assert np.abs(a.coefficients - mean).max() < 1e-10 * np.abs(b.coefficients).max()
        assert np.array_equal(a.iterate, b.coefficients)
    best = p.problem.objective(run(SDCAStepper(), p.problem, batches_of(200, 10, 100)).coefficients)
    assert p.problem.objective(a.coefficients) - best < 0.7 * (p.problem.objective(b.coefficients) - best)


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
    p = feature_risk("hinge")
    w = np.zeros((6, 1))
    state = PegasosStepper().init(p.problem)
    for t in range(1, 30):
        violated = p.y * (p.z @ w) < 1
        w = w - (p.reg * w - p.z.T @ (p.y * violated) / N) / (p.reg * t)
        state = PegasosStepper().step(p.problem, state, whole_batch(p))
        assert np.abs(state.coefficients - w).max() < 1e-11


@pytest.mark.parametrize("make", [kernel_risk, feature_risk])
def test_projected_pegasos_stays_in_the_balls_that_the_optimum_lies_in(make):
    # λ‖f‖² ≤ 1, for each of two outputs.
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


@pytest.mark.parametrize(("loss", "ball"), [("logistic", np.log(2)), ("softmax", np.log(3)), ("multiclass_hinge", 1.0)])
def test_the_ball_of_another_loss_is_its_value_at_zero(loss, ball):
    p = kernel_risk(loss, regularisation=0.1, c=3)
    if p.loss.coding == "indicator":
        p.problem.targets[:] = np.eye(3)[p.problem.targets.argmax(axis=1)]
    assert PegasosStepper(projection=True).init(p.problem).largest == pytest.approx(ball / p.reg)


def test_norma_with_steps_of_one_over_lambda_t_is_pegasos():
    p = kernel_risk("hinge")
    order = batches_of(N, 6, 3)
    ours, theirs = (run(solver, p.problem, order) for solver in (NORMAStepper(1 / p.reg, "inverse"), PegasosStepper()))
    assert np.abs(ours.coefficients - theirs.coefficients).max() < 1e-10


def test_truncation_keeps_the_examples_seen_last():
    p = kernel_risk("square")
    order = batches_of(N, 6, 1)
    state = run(NORMAStepper(0.5, truncation=18), p.problem, order)
    kept = np.flatnonzero(state.coefficients[:, 0])
    assert kept.tolist() == sorted(i for batch in order[-3:] for i in range(batch.start, batch.stop))
    everything = run(NORMAStepper(0.5, truncation=N), p.problem, order)
    assert np.array_equal(everything.coefficients, run(NORMAStepper(0.5), p.problem, order).coefficients)


# --------------------------------------------------------------------------------------------------------- NORMA


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
