"""Core vector machines: the exact solution as ε goes to 0, few core points, and samples instead of all points."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from engine_example import naive_kernel, sample
from kernel_svm_example import two_classes
from resumed_example import stopped_at_every_batch
from shallows import kernels
from shallows.errors import ShallowsError
from shallows.solvers.support_vectors.core_vectors import CoreProblem, EnclosingBallStepper
from shallows.svm import CoreVectorMachineClassifier, CoreVectorMachineRegressor
from shallows.training import OwnRows, Stopping, train


def exact(K, y, C):
    """Coefficients and minimum of the squared hinge with a penalized intercept, on k + 1, by Newton's method."""
    inside = np.ones(len(y), dtype=bool)
    for _ in range(100):
        i = np.flatnonzero(inside)
        beta = np.zeros(len(y))
        beta[i] = np.linalg.solve((K + 1)[np.ix_(i, i)] + np.diag(1 / C[i]), y[i])
        before, inside = inside, y * ((K + 1) @ beta) < 1
        if (before == inside).all():
            return beta, primal(K, y, C, beta)
    raise AssertionError("Newton's method went round in a circle")


def primal(K, y, C, beta):
    f = (K + 1) @ beta
    return 0.5 * beta @ f + 0.5 * C @ np.maximum(0.0, 1 - y * f) ** 2


@pytest.mark.parametrize(("C", "sample_size"), [(0.1, None), (10.0, 59)])
def test_the_exact_solution_is_approached_as_epsilon_goes_to_zero(C, sample_size):
    x, y = two_classes()
    K, weights = naive_kernel("gaussian", 1.0, x, x), np.linspace(0.5, 2.0, 240)
    beta, optimum = exact(K, y, C * weights)
    misses = []
    for epsilon in (1e-3, 1e-5, 1e-9):
        given = {"bandwidth": 1.0, "C": C, "epsilon": epsilon, "sample_size": sample_size, "random_state": 0}
        model = CoreVectorMachineClassifier(**given).fit(x, y, sample_weight=weights)
        found = np.zeros(240)
        found[model.support_] = model.dual_coef_[0]
        misses.append(primal(K, y, C * weights, found) / optimum - 1)
        # The dual objective is below the minimum; weak duality holds at every ε.
        assert model.objectives_[0] <= optimum * (1 + 1e-9)
    assert misses[2] < 1e-5 and misses[2] <= misses[1] <= misses[0] < 1
    assert np.abs(found - beta).max() < 1e-3 * np.abs(beta).max()
    assert model.objectives_[0] == pytest.approx(optimum, rel=1e-5)


def test_no_point_is_outside_the_enlarged_ball_and_the_core_is_few_of_many():
    # Two clouds: a point at a distance from the boundary is never added.
    x = sample(4000, 2) + np.where(np.arange(4000) % 2, 1.5, -1.5)[:, None]
    y = np.where(np.arange(4000) % 2, 1.0, -1.0)
    epsilon, C = 1e-4, 1e3
    problem = core_problem(x, y, C)
    state = train(EnclosingBallStepper(epsilon), problem, OwnRows(50), Stopping(10**6)).state
    assert state.enclosed
    weights = np.zeros(4000)
    weights[state.core] = state.coefficients
    K = np.outer(y, y) * (naive_kernel("gaussian", 1.0, x, x) + 1) + np.eye(4000) / C
    squares = weights @ K @ weights - 2 * K @ weights + K.diagonal()
    radius_squared = K.diagonal() @ weights - weights @ K @ weights
    assert state.radius_squared == pytest.approx(radius_squared, rel=1e-6)
    assert squares.max() <= (1 + epsilon) ** 2 * radius_squared * (1 + 1e-6)
    assert len(state.core) < 400
    assert state.n_evaluations < 0.1 * 4000**2
    # Samples do not change what is enclosed, and spare most of the looking.
    full = train(EnclosingBallStepper(epsilon, None), problem, OwnRows(50), Stopping(10**6)).state
    assert full.radius_squared == pytest.approx(radius_squared, rel=3 * epsilon)
    assert state.n_evaluations < 0.5 * full.n_evaluations


def core_problem(x, y, C, budget=0):
    n, points = len(y), kernels.augmented(x)
    of_rows = np.arange(n), y, np.zeros(n), np.full(n, 1 / C)
    return CoreProblem(kernels.make("gaussian", 1.0), points, *of_rows, 0, n, budget=budget)


def test_kept_kernel_values_change_nothing_but_how_many_are_made():
    x, y = two_classes(600)
    made, kept = (
        train(EnclosingBallStepper(1e-5), core_problem(x, y, 10.0, budget), OwnRows(50), Stopping(10**6)).state
        for budget in (0, 10**8)
    )
    assert kept._n_kept == len(kept.core) and made._kept is None
    assert made.enclosed and kept.enclosed
    assert kept.radius_squared == pytest.approx(made.radius_squared, rel=1e-7)
    # Fewer than each core point with all points once, where samples of 59 are computed again for every core point else.
    assert kept.n_evaluations < 1.2 * 600 * len(kept.core) < 0.2 * made.n_evaluations


def test_kernel_values_are_kept_where_they_pay_and_have_room_only():
    x, y = two_classes(600)
    problem = core_problem(x, y, 10.0, budget=8 * 64 * (600 + 2 * 64))
    assert not problem.keeps_rows(9, 59) and problem.keeps_rows(10, 59)
    assert problem.keeps_rows(1, None)
    assert problem.keeps_rows(64, 59) and not problem.keeps_rows(65, 59)


@pytest.mark.parametrize("budget", [0, 10**8])
def test_a_run_that_is_stopped_at_every_batch_ends_the_same_to_the_bit(tmp_path, budget):
    x, y = two_classes()

    def once(**options):
        problem = core_problem(x, y, 10.0, budget)
        return train(EnclosingBallStepper(1e-4), problem, OwnRows(10, n_batches=3), Stopping(99), **options)

    whole, (resumed, _) = once(), stopped_at_every_batch(once, tmp_path)
    assert np.array_equal(whole.state.core, resumed.state.core)
    assert np.array_equal(whole.state.coefficients, resumed.state.coefficients)
    assert resumed.n_resumes > 2


def test_a_state_that_takes_up_another_run_keeps_none_of_its_own_kernel_values():
    x, y = two_classes()
    problem, solver = core_problem(x, y, 10.0, 10**8), EnclosingBallStepper(1e-4)
    elsewhere = replace(problem, seed=1)
    state, other = (solver.step(one, solver.init(one), 30) for one in (problem, elsewhere))
    assert other._n_kept == 32 and not np.array_equal(other.core, state.core)
    other.recall(*state.remember())
    state, other = (solver.step(problem, one, 30) for one in (state, other))
    assert np.array_equal(other.core, state.core)
    assert np.array_equal(other.coefficients, state.coefficients)


def test_regression_finds_the_minimum_of_its_objective():
    x = sample(40, 2)
    y = np.sin(2 * x[:, 0]) + x[:, 1]
    C, mu, n = 20.0, 0.02, 40
    K = naive_kernel("gaussian", 1.0, x, x) + 1
    unit = (y - y.mean()) / y.std()

    def objective(v):
        beta, tube = v[:-1], v[-1] ** 2
        out = np.maximum(0.0, np.abs(unit - K @ beta) - tube)
        return 0.5 * beta @ K @ beta + C * (tube + 0.5 * (out**2).sum() / (mu * n))

    truth = minimize(objective, np.append(np.zeros(n), 0.5), options={"maxiter": 5000, "gtol": 1e-8})
    given = {"bandwidth": 1.0, "regularization": 1 / C, "mu": mu, "epsilon": 1e-10}
    model = CoreVectorMachineRegressor(**given, random_state=0).fit(x, y)
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0] / y.std()
    assert objective(np.append(beta, np.sqrt(model.tube_ / y.std()))) == pytest.approx(truth.fun, rel=1e-4)
    assert np.abs(model.predict(x) - (y.mean() + y.std() * K @ truth.x[:-1])).max() < 0.02
    # μ is the mean of what is left outside the tube.
    outside = np.maximum(0.0, np.abs(y - model.predict(x)) - model.tube_) / y.std()
    assert outside.mean() == pytest.approx(mu, rel=1e-2)


def test_a_core_that_may_not_grow_is_told():
    x, y = two_classes()
    with pytest.warns(ConvergenceWarning, match="With 10 core points"):
        model = CoreVectorMachineClassifier(max_core_points=10).fit(x, y)
    assert len(model.support_) <= 10
    assert not model.report_["converged"]
    for wrong in ({"C": 0.0}, {"sample_size": 1}, {"max_core_points": 1}, {"multiclass": "ovr"}):
        with pytest.raises(ShallowsError, match=next(iter(wrong))):
            CoreVectorMachineClassifier(**wrong).fit(x, y)
