"""Pegasos and NORMA against exact solvers (SPEC 5)."""

import math

import numpy as np
import pytest

from risk_example import N, batches_of, feature_risk, kernel_risk, run
from shallows import kernels
from shallows.solvers.regularized.norma import NORMAStepper, default_step
from shallows.solvers.regularized.pegasos import PegasosStepper
from shallows.solvers.regularized.sdca import SDCAStepper


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
    # SPEC 5 (2)
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
