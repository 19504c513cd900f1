"""Partial Cholesky factors, and conjugate gradients for kernel ridge regression that are preconditioned by them."""

from collections import Counter

import array_api_strict
import numpy as np
import pytest
import scipy.stats

from engine_example import naive_kernel, sample
from forms import ridge
from resumed_example import StopAt
from shallows import KernelRidgeRegressor, features, gram, kernels
from shallows.errors import ShallowsError, TrainingInterrupted
from shallows.features.pivoted_cholesky import pivoted_cholesky
from shallows.solvers.least_squares.conjugate_gradients import (
    ConjugateGradients,
    ConjugateGradientsStepper,
    low_rank_of_pivots,
)
from shallows.solvers.least_squares.kernel_problem import KernelProblem
from shallows.training import Checkpoint

each = pytest.mark.parametrize("preconditioner", ["randomly_pivoted", "pivoted"])
SIGMA = 1.5


def problem(n=300, c=2, weights=False, xp=np, dtype=np.float64):
    x, y = sample(n, 3).astype(dtype), sample(n, c, seed=1).astype(dtype)
    w = np.random.default_rng(2).uniform(0.05, 1.0, size=(n, 1)).astype(dtype) if weights else None
    matrix = gram.Gram(kernels.Gaussian(SIGMA), kernels.augmented(xp.asarray(x)), budget=2**30, tile=64)
    K = naive_kernel("gaussian", SIGMA, x, x)
    return KernelProblem(matrix, xp.asarray(y), None if w is None else xp.asarray(w)), K


def steps_to(solver, held, share, most=600):
    """Products with the matrix until the residual is so small a share of the targets, and the state then."""
    state, whole = solver.init(held), held.targets if held.weights is None else held.weights * held.targets
    for count in range(1, most + 1):
        state = solver.step(held, state, slice(0, held.gram.n))
        if state.loss <= share**2 * np.sum(whole * held.targets):
            return count, state
    return most, state


@each
@pytest.mark.parametrize("weights", [False, True])
def test_the_direct_solution_is_reached_in_fewer_steps_than_without(preconditioner, weights):
    held, K = problem(weights=weights)
    ridge = 1e-2 / (held.weights[:, 0] if weights else np.ones(len(K)))
    count, state = steps_to(ConjugateGradientsStepper(1e-2, rank=60, preconditioner=preconditioner), held, 1e-9)
    plain, _ = steps_to(ConjugateGradientsStepper(1e-2), held, 1e-9)
    assert count < plain / 3
    np.testing.assert_allclose(state.coefficients, np.linalg.solve(K + np.diag(ridge), held.targets), rtol=1e-5)


@each
@pytest.mark.parametrize("weights", [False, True])
def test_at_full_rank_the_preconditioner_is_the_inverse(preconditioner, weights):
    held, K = problem(80, weights=weights)
    random = preconditioner == "randomly_pivoted"
    inverse = low_rank_of_pivots(held, 0.3, rank=80, random=random).solve(np.eye(80))
    exact = np.linalg.inv(K + np.diag(0.3 / (held.weights[:, 0] if weights else np.ones(80))))
    inverse *= exact[0, 0] / inverse[0, 0]  # It is left up to a factor.
    np.testing.assert_allclose(inverse, exact, atol=1e-9 * np.abs(exact).max())


@each
@pytest.mark.parametrize(("dtype", "ridge"), [(np.float64, 1e-2), (np.float64, 0.0), (np.float32, 0.0)])
def test_the_preconditioner_is_symmetric_and_positive_definite(preconditioner, dtype, ridge):
    held, _ = problem(weights=True, dtype=dtype)
    made = low_rank_of_pivots(held, ridge, rank=300, random=preconditioner == "randomly_pivoted")
    assert made.vectors.dtype == dtype
    inverse = made.solve(np.eye(300, dtype=dtype)).astype(np.float64)
    assert np.abs(inverse - inverse.T).max() < 20 * np.finfo(dtype).eps
    assert np.linalg.eigvalsh((inverse + inverse.T) / 2).min() > 0


# ---------------------------------------------------------------------------------- in the estimators


def regression(n=300):
    x = sample(n, 4, seed=3)
    return x, np.column_stack([np.sin(2 * x[:, 0]) + x[:, 1], x[:, 2] ** 2])


def options(preconditioner, **others):
    return {
        "bandwidth": SIGMA,
        "regularisation": 1e-3,
        "solver": "conjugate_gradients",
        "solver_params": {"preconditioner": preconditioner, "rank": 80},
        "tol": 1e-9,
        "random_state": 0,
        "device": "cpu",
    } | others


@pytest.mark.parametrize("preconditioner", ["nystrom", "randomly_pivoted"])
def test_a_fit_that_was_stopped_goes_on_from_its_checkpoint_to_the_same_solution(preconditioner, tmp_path):
    x, y = regression()
    calm = ridge(KernelRidgeRegressor, **options(preconditioner)).fit(x, y)
    stopped = Checkpoint(tmp_path, "key", 0.0)
    observers = [StopAt(stopped, 12)]
    with pytest.raises(TrainingInterrupted):
        ridge(KernelRidgeRegressor, **options(preconditioner)).fit(x, y, observers=observers, checkpoint=stopped)
    resumed = ridge(KernelRidgeRegressor, **options(preconditioner)).fit(x, y, checkpoint=Checkpoint(tmp_path, "key"))
    assert resumed.n_resumes_ == 1
    np.testing.assert_allclose(resumed.predict(x), calm.predict(x), atol=1e-6)


@each
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # One point with many targets.
def test_constant_data_copies_and_a_rank_above_n_are_fitted(preconditioner):
    given = options(preconditioner, solver_params={"preconditioner": preconditioner, "rank": 10_000}, tol=1e-6)
    x, y = np.tile(sample(40, 2), (3, 1)), np.tile(sample(40, 1, seed=1)[:, 0], 3)
    model = ridge(KernelRidgeRegressor, **given | {"regularisation": 0.1}).fit(x, y)
    direct = ridge(KernelRidgeRegressor, **given | {"regularisation": 0.1, "solver": "cholesky", "solver_params": None})
    np.testing.assert_allclose(model.predict(x), direct.fit(x, y).predict(x), atol=1e-4)
    assert model.report_["rank"] == 120
    constant = ridge(KernelRidgeRegressor, **given).fit(np.ones((30, 2)), np.arange(30.0))
    np.testing.assert_allclose(constant.predict(np.ones((1, 2))), [14.5], atol=1e-3)


@pytest.mark.parametrize("preconditioner", ["nystrom", "randomly_pivoted"])
def test_a_rank_that_is_asked_for_is_taken_as_far_as_the_budget_has_room(preconditioner):
    def sizes(budget, rank):
        solver = ConjugateGradients(preconditioner=preconditioner, rank=rank)
        return solver.sizes(10_000, 8, budget, all_equal=False)[1:]

    assert sizes(2**40, 700) == (700, 2100 if preconditioner == "nystrom" else 0)
    assert sizes(2**40, 30_000)[0] == 10_000
    assert sizes(16 * 8 * 10_000 * 5, 700)[0] == 5
    # The same number of columns of the matrix, of which a sample's are brought down to a third.
    assert sizes(2**40, None)[0] == (400 if preconditioner == "nystrom" else 1200)


# Greedy and randomly pivoted partial Cholesky factors: against a transcription, known spectra, and bad input.

both = pytest.mark.parametrize("random", [False, True], ids=["greedy", "random"])


def greedy(K, rank):
    """The greedy rule as it is written down, on a matrix that is formed."""
    n, pivots = len(K), []
    F, d = np.zeros((n, rank)), np.diagonal(K).copy()
    for i in range(rank):
        s = int(np.argmax(d))
        g = K[:, s] - F[:, :i] @ F[s, :i]
        F[:, i] = g / np.sqrt(g[s])
        d -= F[:, i] ** 2
        pivots.append(s)
    return pivots, F


def circle(n, time):
    """Points at equal distances on a circle, the matrix of the heat kernel on them, and its eigenvalues."""
    angles = 2 * np.pi * np.arange(n) / n
    frequencies = np.arange(-8 * n, 8 * n)
    powers = np.bincount(frequencies % n, np.exp(-(frequencies.astype(float) ** 2) * time), n) * n / (2 * np.pi)
    kernel, points = kernels.HeatCircle(time), kernels.augmented(angles[:, None])
    return kernel, points, kernels.matrix(kernel, points), np.sort(powers)[::-1]


@pytest.mark.parametrize("weights", [False, True])
def test_greedy_pivots_and_factor_are_those_of_the_transcription(weights):
    x, w = sample(80, 3), np.random.default_rng(1).uniform(0.2, 1.0, size=(80, 1)) if weights else None
    # A polynomial kernel has a diagonal with a largest entry, and so a first pivot that is not by chance.
    kernel = kernels.make("polynomial", scale=0.5, offset=1.0, degree=4)
    K = kernel(x, x) * (1.0 if w is None else np.sqrt(w * w.T))
    found = pivoted_cholesky(kernel, kernels.augmented(x), 25, random=False, weights=w)
    pivots, F = greedy(K, 25)
    assert found.pivots.tolist() == pivots
    assert np.abs(found.factor - F).max() < 1e-10 * np.abs(F).max()
    assert found.remainder == pytest.approx(np.diagonal(K - F @ F.T), abs=1e-9 * K.max())


@both
@pytest.mark.parametrize("weights", [False, True])
def test_at_full_rank_the_factor_is_exact(random, weights):
    x, w = sample(150, 3), np.random.default_rng(1).uniform(0.2, 1.0, size=(150, 1)) if weights else None
    found = pivoted_cholesky(kernels.Laplace(2.0), kernels.augmented(x), 150, random=random, weights=w)
    K = naive_kernel("laplace", 2.0, x, x) * (1.0 if w is None else np.sqrt(w * w.T))
    assert sorted(found.pivots) == list(range(150))
    # The kernel of Laplace has the root of the rounding of a squared distance where a point meets itself.
    assert np.abs(found.factor @ found.factor.T - K).max() < 1e-7
    assert found.remainder.tolist() == [0.0] * 150
    assert np.abs(np.triu(found.factor[found.pivots], 1)).max() < 1e-7


@both
def test_the_remainder_is_the_diagonal_of_the_error_which_is_positive_semi_definite(random):
    x = sample(200, 3)
    found = pivoted_cholesky(kernels.Gaussian(1.5), kernels.augmented(x), 40, random=random)
    error = naive_kernel("gaussian", 1.5, x, x) - found.factor @ found.factor.T
    assert found.remainder == pytest.approx(np.diagonal(error), abs=1e-12)
    assert np.linalg.eigvalsh(error).min() > -1e-12
    assert np.abs(error[found.pivots]).max() < 1e-12


def test_the_mean_error_of_random_pivots_keeps_the_bound_by_the_best_approximation():
    kernel, points, K, powers = circle(120, 0.05)
    assert np.linalg.eigvalsh(K)[::-1][:40] == pytest.approx(powers[:40], rel=1e-9, abs=1e-9)
    for r, excess in ((5, 1.0), (9, 0.5)):
        best = powers[r:].sum()
        # Theorem 2.3 of Chen and others: with k ≥ r/ε + r log(1/(εη)) the mean error is at most (1 + ε) times the best.
        k = int(np.ceil(r / excess + r * max(0.0, np.log(powers.sum() / (excess * best)))))
        errors = [pivoted_cholesky(kernel, points, k, seed=seed).remainder.sum() for seed in range(30)]
        assert np.mean(errors) <= (1 + excess) * best
        # No approximation of rank k is better than the best.
        assert min(errors) >= powers[k:].sum() * (1 - 1e-9)


def test_pivots_that_are_proposed_together_follow_the_law_of_pivots_one_by_one():
    x = np.array([[0.0], [0.3], [1.0], [1.2], [3.0]])
    K, points, n = naive_kernel("gaussian", 1.0, x, x), kernels.augmented(x), 1500
    expected = {}
    for a in range(5):
        left = 1.0 - K[:, a] ** 2
        expected |= {(a, b): 0.2 * left[b] / left.sum() for b in range(5) if b != a}
    drawn = Counter(tuple(pivoted_cholesky(kernels.Gaussian(1.0), points, 2, seed=s).pivots) for s in range(n))
    assert set(drawn) <= set(expected)
    pairs = sorted(expected)
    chance = scipy.stats.chisquare([drawn[pair] for pair in pairs], [n * expected[pair] for pair in pairs]).pvalue
    assert chance > 0.001


@both
def test_it_runs_on_other_array_libraries(random):
    x, w = sample(60, 3), np.random.default_rng(1).uniform(0.2, 1.0, size=(60, 1))
    ours, theirs = (
        pivoted_cholesky(kernels.Cauchy(2.0), kernels.augmented(a), 25, random=random, weights=b)
        for a, b in ((x, w), map(array_api_strict.asarray, (x, w)))
    )
    assert ours.pivots.tolist() == theirs.pivots.tolist()
    assert np.abs(ours.factor - np.asarray(theirs.factor)).max() < 1e-12


# ------------------------------------------------------------------------------------ bad input


@both
def test_a_matrix_of_zeros_has_no_pivot_and_no_features(random):
    kernel, x = kernels.make("linear", offset=0.0), np.zeros((20, 3))
    assert pivoted_cholesky(kernel, kernels.augmented(x), 5, random=random).factor.shape == (20, 0)
    name = "nystrom_randomly_pivoted" if random else "nystrom_pivoted"
    with pytest.raises(ShallowsError, match="is zero"):
        features.make(name, kernel, x, 5).map(x)


# ------------------------------------------------------------------------------------ landmarks
