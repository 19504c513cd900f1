"""Conjugate gradients for kernel ridge regression with a pivoted Cholesky preconditioner, against direct solutions."""

import numpy as np
import pytest

from engine_example import naive_kernel, sample
from forms import ridge
from resumed_example import StopAt
from shallows import KernelRidgeRegressor, gram, kernels
from shallows.errors import TrainingInterrupted
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
