"""SAG, SAGA and SVRG against exact minimizers."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from risk_example import N, batches_of, drawn_batches, feature_risk, run
from shallows import losses, streams
from shallows.solvers.regularized.variance_reduced import SAGStepper, SVRGStepper, batch_smoothness, full_gradient


def whole_batch(p):
    return slice(0, p.n)


def variance_reduced(p, m):
    L = batch_smoothness(p.problem, m)
    return {
        "svrg": SVRGStepper(1 / (6 * L)),
        "sag": SAGStepper(1 / L),
        "saga": SAGStepper(1 / (3 * L), unbiased=True),
    }


@pytest.mark.parametrize("weights", [False, True])
def test_variance_reduced_gradients_find_ridge_regression(weights):
    p = feature_risk("square", regularisation=0.1, weights=weights)
    w = np.ones(N) if p.w is None else p.w[:, 0]
    exact = Ridge(alpha=N * p.reg, fit_intercept=False).fit(p.z, p.y[:, 0], sample_weight=w).coef_
    for solver in variance_reduced(p, 5).values():
        state = run(solver, p.problem, drawn_batches(N, 5, 200))
        assert np.abs(state.coefficients[:, 0] - exact).max() < 1e-9


@pytest.mark.parametrize("name", ["svrg", "sag", "saga"])
def test_on_all_examples_at_once_they_are_gradient_descent(name):
    p = feature_risk("logistic")
    solver = {"svrg": SVRGStepper(0.5), "sag": SAGStepper(0.5), "saga": SAGStepper(0.5, unbiased=True)}[name]
    w, state = np.zeros((6, 1)), solver.init(p.problem)
    for _ in range(20):
        w = w - 0.5 * (p.z.T @ p.loss.derivative(p.z @ w, p.y) / N + p.reg * w)
        state = solver.step(p.problem, state, whole_batch(p))
        assert np.abs(state.coefficients - w).max() < 1e-13


@pytest.mark.parametrize("name", ["svrg", "saga"])
def test_the_directions_of_svrg_and_saga_are_unbiased(name):
    p = feature_risk("logistic")
    solver = {"svrg": SVRGStepper(0.3, period=100.0), "saga": SAGStepper(0.3, unbiased=True)}[name]
    state = run(solver, p.problem, batches_of(N, 5, 2))
    before, kept = state.coefficients.copy(), state.remember()
    moves = []
    for batch in [slice(i, i + 5) for i in range(0, N, 5)]:
        state.recall(*kept)
        moves.append(solver.step(p.problem, state, batch).coefficients - before)
    gradient = p.z.T @ p.loss.derivative(p.z @ before, p.y) / N + p.reg * before
    assert np.abs(np.mean(moves, axis=0) + 0.3 * gradient).max() < 1e-13


@pytest.mark.parametrize("unbiased", [False, True])
def test_steps_go_along_the_batch_until_the_table_is_full_and_then_along_its_mean(unbiased):
    p, solver = feature_risk("logistic", c=2), SAGStepper(0.1, unbiased)
    state, w, slopes, seen = solver.init(p.problem), np.zeros((p.z.shape[1], 2)), np.zeros((N, 2)), 0
    for batch in batches_of(N, 7, 3):
        state, total, m = solver.step(p.problem, state, batch), p.z.T @ slopes, batch.stop - batch.start
        before = slopes[batch].copy()
        slopes[batch] = p.problem.loss.derivative(p.z[batch] @ w, p.y[batch])
        change = p.z[batch].T @ (slopes[batch] - before)
        direction = change / m + total / N if unbiased else (total + change) / N
        w = w - 0.1 * ((change / m if seen < N else direction) + p.reg * w)
        seen += m
        assert np.abs(state.coefficients - w).max() < 1e-13


def test_the_table_of_sag_holds_what_it_says():
    p = feature_risk("logistic", c=2)
    state = run(SAGStepper(0.1), p.problem, batches_of(N, 7, 3))
    assert np.abs(state.total - p.z.T @ state.slopes).max() < 1e-12
    assert (
        np.abs(
            full_gradient(p.problem, state.coefficients) * N - p.z.T @ p.loss.derivative(p.z @ state.coefficients, p.y)
        ).max()
        < 1e-12
    )


@pytest.mark.parametrize(
    ("loss", "weights", "m"), [("square", True, 1), ("logistic", False, 12), ("logistic", True, N)]
)
def test_the_smoothness_of_batches_is_the_largest_of_their_hessians(loss, weights, m):
    p = feature_risk(loss, weights=weights)
    w = np.ones((N, 1)) if p.w is None else p.w
    tops = [np.linalg.eigvalsh(p.z[a : a + m].T @ (w * p.z)[a : a + m])[-1] / m for a in range(0, N, m)]
    exact = losses.make(loss).smoothness * max(tops[:8]) + p.reg
    assert exact <= batch_smoothness(p.problem, m) < 1.06 * exact


@pytest.mark.parametrize("n_iterations", [1, 2])
def test_the_smoothness_is_that_of_as_many_power_iterations_as_asked_for(n_iterations):
    p = feature_risk("logistic")
    v = streams.normal(0, "power iteration", 0, (p.z.shape[1], 1), like=p.z, dtype=p.z.dtype)
    for _ in range(n_iterations):
        v = p.z.T @ (p.z @ (v / np.linalg.norm(v))) / N
    expected = 1.05 * p.loss.smoothness * np.linalg.norm(v) + p.reg
    assert batch_smoothness(p.problem, N, n_iterations=n_iterations) == pytest.approx(expected, rel=1e-12)
