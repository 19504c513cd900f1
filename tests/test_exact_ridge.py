import itertools
from dataclasses import replace

import array_api_strict
import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from engine_example import naive_kernel, sample
from forms import ridge
from shallows import KernelRidgeClassifier, KernelRidgeRegressor, gram, kernels
from shallows.errors import ShallowsError
from shallows.fitting import machine
from shallows.kernels import Linear
from shallows.solvers import BlockDescent, ConjugateGradients
from shallows.solvers.least_squares.cholesky import CholeskyStepper
from shallows.solvers.least_squares.conjugate_gradients import ConjugateGradientsStepper, low_rank
from shallows.solvers.least_squares.kernel_problem import KernelProblem, RidgePlan

BOTH = ("cholesky", "conjugate_gradients")
N, SIGMA = 300, 1.5


@pytest.fixture(scope="module")
def regression():
    x = sample(N + 40, 4, seed=3)
    y = np.column_stack([np.sin(2 * x[:, 0]) + x[:, 1], x[:, 2] ** 2])
    return x[:N], y[:N] - y[:N].mean(axis=0), x[N:]


def problem(n=90, c=2, weights=False, budget=2**30, dtype=np.float64, name="laplace"):
    x, y = sample(n, 3).astype(dtype), sample(n, c, seed=1).astype(dtype)
    w = np.random.default_rng(2).uniform(0.2, 1.0, size=(n, 1)).astype(dtype) if weights else None
    made = kernels.make(name, 2.0)
    held = KernelProblem(gram.Gram(made, kernels.augmented(x), budget=budget, tile=32), y, w)
    return held, naive_kernel(name, 2.0, x, x)


def exact(held, K, alpha=0.3):
    """The coefficients of a direct solution."""
    ridge = np.full(len(K), alpha) if held.weights is None else alpha / held.weights[:, 0]
    return np.linalg.solve(K + np.diag(ridge), held.targets)


def solved(solver, held, steps=1):
    state = solver.init(held)
    for _ in range(steps):
        state = solver.step(held, state, slice(0, held.gram.n))
    return state


@pytest.mark.parametrize("solver", BOTH)
@pytest.mark.parametrize(("alpha", "weighted"), [(1.0, False), (0.01, False), (0.5, True)])
def test_predictions_are_those_of_scikit_learn_s_kernel_ridge(regression, solver, alpha, weighted):
    x, y, new = regression
    w = np.random.default_rng(0).uniform(0.1, 4.0, size=N) if weighted else None
    mean = np.average(y, axis=0, weights=w)
    options = {"bandwidth": SIGMA, "tol": 1e-11, "random_state": 0, "device": "cpu"}
    model = ridge(KernelRidgeRegressor, alpha=alpha, solver=solver, **options).fit(x, y, w)
    reference = KernelRidge(alpha=alpha, kernel="rbf", gamma=1 / (2 * SIGMA**2)).fit(x, y - mean, sample_weight=w)
    # float64; the residual is 1e-11 of the targets, and λ at its smallest lets it grow by its reciprocal.
    np.testing.assert_allclose(model.predict(new), reference.predict(new) + mean, atol=1e-8)


@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "cauchy"])
def test_without_regularisation_the_function_interpolates(regression, kernel):
    x, y, _ = regression
    model = KernelRidgeRegressor(kernel, bandwidth=SIGMA, alpha=0, random_state=0).fit(x, y)
    np.testing.assert_allclose(model.predict(x), y, atol=1e-7)
    assert model.report_["jitter"] == 0.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the equations contradict each other
@pytest.mark.parametrize(("solver", "tolerance"), [("cholesky", 1e-4), ("conjugate_gradients", 1e-2)])
def test_points_that_coincide_with_different_targets_get_their_mean_and_the_jitter_is_told(solver, tolerance):
    x = np.repeat(sample(40, 2), 2, axis=0)
    y = sample(80, 1)[:, 0]
    options = {"bandwidth": 2.0, "alpha": 0, "tol": 1e-5, "random_state": 0, "device": "cpu"}
    model = ridge(KernelRidgeRegressor, "laplace", solver=solver, **options).fit(x, y)
    # Conjugate gradients stop where nothing but the contradictions is left, with what they have smoothed so far.
    means = np.repeat(y.reshape(-1, 2).mean(axis=1), 2)
    np.testing.assert_allclose(model.predict(x), means, atol=tolerance)
    assert 0 < model.report_["jitter"] < 1e-8


@pytest.mark.parametrize("budget", [0, 5 * 32 * 32 * 8, 2**30])
@pytest.mark.parametrize("weights", [False, True])
def test_the_factorisation_solves_the_normal_equations_under_any_budget(weights, budget):
    held, K = problem(weights=weights, budget=budget)
    np.testing.assert_allclose(solved(CholeskyStepper(0.3), held).coefficients, exact(held, K), rtol=1e-9)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("rank", [0, 20])
def test_conjugate_gradients_end_after_as_many_steps_as_the_matrix_has_eigenvalues(weights, rank):
    held, K = problem(40, weights=weights)
    state = solved(ConjugateGradientsStepper(0.3, rank=rank, n_subsample=30), held, steps=45)
    np.testing.assert_allclose(state.coefficients, exact(held, K), rtol=1e-6)


def test_the_residual_that_is_told_is_the_true_one_and_never_grows():
    held, K = problem(name="gaussian")
    solver = ConjugateGradientsStepper(1e-4)
    state, losses = solver.init(held), []
    for _ in range(120):
        state = solver.step(held, state, slice(0, 90))
        losses.append(state.loss)
    true = np.sum((held.targets - (K + 1e-4 * np.eye(90)) @ state.coefficients) ** 2)
    assert losses[-1] == pytest.approx(true, rel=1e-3)
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in itertools.pairwise(losses))
    assert losses[-1] < 1e-3 * losses[0]


def test_smoothed_iterates_have_the_least_weighted_residual_on_their_way_to_the_plain_ones():
    held, _ = problem()
    held = replace(held, weights=10.0 ** np.random.default_rng(2).uniform(-2, 2, size=(90, 1)))
    solver = ConjugateGradientsStepper(0.3)
    state = solved(solver, held)
    for _ in range(5):
        before = state.smoothed_residual
        state = solver.step(held, state, slice(0, 90))
        way = held.weights * (state.residual - before)
        size = np.sqrt(np.sum(way**2, axis=0) * np.sum(state.smoothed_residual**2, axis=0))
        assert np.abs(np.sum(way * state.smoothed_residual, axis=0) / size).max() < 1e-12


def test_the_preconditioner_brings_the_top_directions_down_to_the_last():
    held, K = problem(60)
    values, vectors = (part[..., ::-1] for part in np.linalg.eigh(K))
    shares = 1 - (values[7] + 0.5) / (values[:7] + 0.5)
    made = low_rank(held.gram, 0.5, rank=8, n_subsample=60)
    expected = np.eye(60) - vectors[:, :7] * shares @ vectors[:, :7].T
    np.testing.assert_allclose(made.solve(np.eye(60)), expected, atol=1e-10)


def test_the_preconditioner_is_positive_definite_and_saves_steps():
    held, _ = problem(300, 1, name="gaussian")
    inverse = low_rank(held.gram, 1e-2, rank=40, n_subsample=120).solve(np.eye(300))
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-10)
    assert np.linalg.eigvalsh((inverse + inverse.T) / 2).min() > 0
    counts = []
    for rank in (40, 0):
        solver, goal = ConjugateGradientsStepper(1e-2, rank=rank, n_subsample=120), 1e-12 * np.sum(held.targets**2)
        state = solver.step(held, solver.init(held), slice(0, 300))
        counts.append(1)
        while state.loss >= goal and counts[-1] < 300:
            state, counts[-1] = solver.step(held, state, slice(0, 300)), counts[-1] + 1
    assert counts[0] < counts[1] / 2


def test_beyond_the_budget_auto_takes_conjugate_gradients_and_stays_right(regression, monkeypatch):
    x, y, new = regression
    x, y = np.tile(x, (4, 1)) + 0.05 * sample(4 * N, 4, seed=9), np.tile(y, (4, 1))
    given = {"bandwidth": SIGMA, "regularisation": 0.1, "random_state": 0, "device": "cpu"}
    whole = ridge(KernelRidgeRegressor, **given).fit(x, y)
    # Below the 14 MB of the matrix in float64.
    monkeypatch.setattr(machine.Options, "budget", lambda self, device, least=0: 8_000_000)
    model = ridge(KernelRidgeRegressor, **given).fit(x, y)
    assert [one.report_["solver"] for one in (whole, model)] == ["cholesky", "conjugate_gradients"]
    np.testing.assert_allclose(model.predict(new), whole.predict(new), atol=5e-3)
    with pytest.raises(ShallowsError, match="conjugate_gradients"):
        KernelRidgeRegressor(solver="cholesky").fit(x, y)


def test_a_classifier_codes_its_classes_as_the_others_do():
    rng = np.random.default_rng(0)
    labels = np.array(["a", "b", "c"])[rng.integers(0, 3, size=200)]
    x = sample(200, 3) + 4.0 * np.stack([labels == "a", labels == "b", labels == "c"], axis=1)
    options = {"bandwidth": 2.0, "regularisation": 0.1, "calibration": None, "device": "cpu"}
    model = ridge(KernelRidgeClassifier, random_state=0, **options).fit(x, labels)
    codes = np.where(labels[:, None] == np.array(["a", "b", "c"]), 1.0, -1.0)
    K = naive_kernel("gaussian", 2.0, x, x)
    expected = K @ np.linalg.solve(K + 0.1 * np.eye(200), codes)
    np.testing.assert_allclose(model.decision_function(x), expected, atol=1e-10)
    assert model.score(x, labels) > 0.95


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": np.nan}, "alpha"),
        ({"solver": "lu"}, "solver"),
        ({"solver": BlockDescent(block_size=0)}, "block_size"),
        ({"solver": ConjugateGradients(max_iterations=0)}, "max_iterations"),
        ({"solver": ConjugateGradients(preconditioner="ilu")}, "preconditioner must be one of"),
        ({"solver": ConjugateGradients(rank=0)}, "rank must be a whole number"),
        ({"bandwidth": 0.0}, "bandwidth"),
    ],
)
def test_parameters_out_of_their_range_are_named(parameters, words):
    with pytest.raises(ShallowsError, match=words):
        KernelRidgeRegressor(**parameters).fit(sample(10), np.arange(10.0))


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize(
    "solver",
    [
        CholeskyStepper(0.3),
        ConjugateGradientsStepper(0.3),
        ConjugateGradientsStepper(0.3, rank=10, n_subsample=40),
        ConjugateGradientsStepper(0.3, rank=20, preconditioner="pivoted"),
        ConjugateGradientsStepper(0.3, rank=20, preconditioner="randomly_pivoted"),
    ],
)
def test_the_solvers_run_on_any_array_library(solver, weights):
    def run(xp):
        w = xp.asarray(np.random.default_rng(2).uniform(0.2, 1.0, size=(60, 1))) if weights else None
        points = kernels.augmented(xp.asarray(sample(60, 3)))
        matrix = gram.Gram(kernels.make("cauchy", 2.0), points, budget=2**20, tile=16)
        held = KernelProblem(matrix, xp.asarray(sample(60, 2, seed=1)), w)
        return np.asarray(solved(solver, held, steps=1 if isinstance(solver, CholeskyStepper) else 8).coefficients)

    np.testing.assert_allclose(run(array_api_strict), run(np), atol=1e-9)


@pytest.mark.parametrize(
    ("solver", "alpha"),
    [({"solver": "conjugate_gradients"}, 0.1), ({"solver": "block_descent", "block_size": 150}, 5.0)],
    ids=str,
)
def test_a_warm_start_saves_iterations_and_changes_no_answer(regression, solver, alpha):
    x, y, new = regression
    given = {"bandwidth": SIGMA, "tol": 1e-8, "random_state": 0, "device": "cpu", **solver}
    cold = ridge(KernelRidgeRegressor, alpha=0.9 * alpha, **given).fit(x, y)
    warm = ridge(KernelRidgeRegressor, alpha=alpha, warm_start=True, **given).fit(x, y)
    warm.set_params(alpha=0.9 * alpha).fit(x, y)
    assert warm.n_iter_ < cold.n_iter_ < 1000
    np.testing.assert_allclose(warm.predict(new), cold.predict(new), atol=1e-5)
    # From other points it begins again.
    fewer = ridge(KernelRidgeRegressor, alpha=alpha, **given).fit(x[:200], y[:200])
    np.testing.assert_array_equal(warm.set_params(alpha=alpha).fit(x[:200], y[:200]).predict(new), fewer.predict(new))


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("n_left_out", [0, 1, 7, 90])
def test_the_diagonal_of_the_inverse_is_that_of_the_last_rows(n_left_out, weights):
    held, K = problem(weights=weights)
    found = solved(CholeskyStepper(0.3, n_left_out), held).inverse_diagonal
    if not n_left_out:
        assert found is None
        return
    extra = 0.3 / (held.weights[:, 0] if weights else np.ones(90))
    assert found == pytest.approx(np.diagonal(np.linalg.inv(K + np.diag(extra)))[-n_left_out:], rel=1e-9)


def test_conjugate_gradients_plan_a_rank_that_the_budget_takes_and_count_their_bytes():
    n, size, budget = 10_000, 8, 2**30
    solver = ConjugateGradients()
    plan = RidgePlan(None, *solver.sizes(n, size, budget, all_equal=False))
    rank = min(1200 // 3, budget // (16 * size * n))  # of a subsample of 12 √n
    assert (plan.n_subsample, plan.rank) == (1200, rank)
    vectors, matrices, iterates = 2 * n * rank, 2 * 1200**2, 12 * n * 3
    assert solver.step_bytes(plan, 3, size) == size * (vectors + matrices + iterates)
    assert solver.sizes(n, size, 16 * size * n * 5, all_equal=False)[1] == 5


def test_coefficients_of_a_linear_kernel_are_those_of_ridge_regression():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 4)), rng.normal(size=(60, 2))
    model = KernelRidgeRegressor("linear", alpha=0.7).fit(X, Y)
    # Only the targets are centered, so the formula is ridge regression without an intercept around their mean.
    exact = Ridge(alpha=0.7, fit_intercept=False).fit(X, Y - Y.mean(axis=0))
    assert np.allclose(model.coef_, exact.coef_, rtol=1e-9)
    assert np.allclose(X @ model.coef_.T + model.intercept_, model.predict(X), rtol=1e-9)
    labels = Y[:, 0] > 0
    classifier = KernelRidgeClassifier("linear", alpha=0.7, calibration=None).fit(X, labels)
    assert np.allclose(X @ classifier.coef_[0], classifier.decision_function(X), rtol=1e-9)
    assert not hasattr(KernelRidgeRegressor(alpha=0.7).fit(X, Y), "coef_")
    with pytest.raises(AttributeError, match="linear kernel without an offset"):
        KernelRidgeRegressor(Linear(offset=1.0), alpha=0.7).fit(X, Y).coef_  # noqa: B018
