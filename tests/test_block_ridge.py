"""Block coordinate descent for kernel ridge regression: its step, its end, its contract."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge

from engine_example import naive_kernel, sample
from forms import ridge
from shallows import KernelRidgeClassifier, KernelRidgeRegressor, Options, gram, kernels
from shallows.errors import ShallowsError
from shallows.solvers.least_squares.block_coordinate_descent import BlockDescentStepper
from shallows.solvers.least_squares.kernel_problem import KernelProblem

N = 90
BLOCKS = {"solver": "block_descent"}


def table():
    x = sample(N, 3, seed=3)
    y = np.column_stack([np.sin(2 * x[:, 0]) + x[:, 1], x[:, 2] ** 2])
    return x, y, np.linspace(0.5, 2.0, N)[:, None]


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n", [60, 1200])
def test_points_that_are_all_the_same_have_the_mean_or_the_most_frequent_class_as_prediction(n):
    X, y = np.ones((n, 3)), np.random.default_rng(0).normal(size=n)
    values = ridge(KernelRidgeRegressor, **BLOCKS, random_state=0).fit(X, y)
    np.testing.assert_allclose(values.predict(X[:1]), y.mean(), atol=1e-4)  # float32 of many points
    labels = np.where(np.arange(n) % 12 < 5, "few", "many")
    classes = ridge(KernelRidgeClassifier, **BLOCKS, random_state=0).fit(X, labels)
    assert classes.predict(X[:1]) == ["many"]
    assert classes.report_["alpha"] > 0


def test_a_step_is_the_formula_and_no_step_goes_away_from_the_solution():
    x, y, w = table()
    K, lam = naive_kernel("gaussian", 1.5, x, x), 0.05
    whole = K + lam * np.diag(1 / w[:, 0])
    exact = np.linalg.solve(whole, y)
    points = kernels.augmented(x)
    problem = KernelProblem(gram.Gram(kernels.make("gaussian", 1.5), points, budget=2**24), y, w)
    solver = BlockDescentStepper(lam)
    state, a, before = solver.init(problem), np.zeros_like(y), np.inf
    for turn in range(9):
        S = slice(30 * (turn % 3), 30 * (turn % 3) + 30)
        residual = y - whole @ a
        a[S] += np.linalg.solve(whole[S, S], residual[S])
        state = solver.step(problem, state, S)
        np.testing.assert_allclose(state.coefficients, a, rtol=1e-6, atol=1e-8)
        assert state.loss == pytest.approx(np.sum(w[S] * residual[S] ** 2), rel=1e-6)
        left = a - exact
        distance = np.sum(left * (whole @ left))
        assert distance < before
        before = distance


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_end_is_the_solution_of_kernel_ridge_regression(dtype):
    x, y, w = table()
    options = {"block_size": 30, "bandwidth": 1.5, "alpha": 1.0, "tol": 1e-6, "dtype": dtype, "random_state": 0}
    model = ridge(KernelRidgeRegressor, **options, **BLOCKS).fit(x, y, w[:, 0])
    mean = np.average(y, axis=0, weights=w[:, 0])
    exact = KernelRidge(alpha=1.0, kernel="rbf", gamma=1 / (2 * 1.5**2)).fit(x, y - mean, w[:, 0])
    new = sample(50, 3, seed=5)
    assert np.abs(model.predict(new) - exact.predict(new) - mean).max() < 1e-4


def test_one_block_is_the_solution_at_once_and_few_epochs_are_told():
    x, y, _ = table()
    model = ridge(KernelRidgeRegressor, bandwidth=1.5, alpha=0.01, random_state=0, **BLOCKS).fit(x, y)
    assert model.n_iter_ == 2  # the second finds nothing left
    assert model.report_["relative_residual"] < 1e-8
    few = ridge(KernelRidgeRegressor, block_size=10, bandwidth=1.5, alpha=1e-6, max_iterations=2, **BLOCKS)
    with pytest.warns(ConvergenceWarning, match="the relative residual is .*block_size"):
        few.fit(x, y)


def test_a_matrix_that_is_not_positive_definite_is_told():
    kernel = kernels.make(lambda X, Z: X @ Z.T + np.where(np.abs(X[:, None] - Z).sum(axis=2) == 0, -1.0, 3.0))
    problem = KernelProblem(gram.Gram(kernel, kernels.augmented(sample(5, 2)), budget=2**20), np.ones((5, 1)))
    solver = BlockDescentStepper(0.1)
    with pytest.raises(ShallowsError, match="block of points is not positive definite"):
        solver.step(problem, solver.init(problem), slice(0, 5))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("solver", ["block_descent", "nystrom_conjugate_gradients"])
def test_a_matrix_of_low_rank_without_ridge_has_the_least_squares_solution(solver, dtype):
    X = np.random.default_rng(1).normal(size=(120, 3))
    y = X @ [1.0, 2.0, -1.0] + 0.3 * np.random.default_rng(2).normal(size=120)
    options = Options(dtype=dtype)
    model = KernelRidgeRegressor(kernel="linear", alpha=0, solver=solver, random_state=0, options=options).fit(X, y)
    best = KernelRidgeRegressor(kernel="linear", alpha=0, solver="cholesky", random_state=0).fit(X, y)
    assert model.score(X, y) > best.score(X, y) - 0.01
