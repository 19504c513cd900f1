"""Block coordinate descent on explicit features: its step, its end, its columns."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from engine_example import sample
from resumed_example import stopped_at_every_batch
from shallows import FeatureRidgeRegressor, Options, streams
from shallows.errors import ShallowsError, UnknownNameError
from shallows.fitting.feature_blocks import FeatureColumns
from shallows.kernel_approximation import FourierFeatures, NystroemFeatures, RandomBinning
from shallows.solvers import EigenPro, FeatureBlockDescent
from shallows.solvers.least_squares.feature_block_descent import FeatureBlockDescentStepper, FeatureBlockProblem
from shallows.training import OwnRows, Stopping, train

BLOCKS = {"solver": "feature_block_descent"}


class Given:
    """Blocks of a matrix that is there."""

    def __init__(self, Z, size):
        self.Z, self.spans = Z, [slice(start, min(start + size, Z.shape[1])) for start in range(0, Z.shape[1], size)]

    def strips(self, k):
        for start in range(0, len(self.Z), 40):
            yield slice(start, start + 40), self.Z[start : start + 40, self.spans[k]]


def table(n=150):
    x = sample(n, 3, seed=3)
    return x, np.column_stack([np.sin(2 * x[:, 0]) + x[:, 1], x[:, 2] ** 2]), np.linspace(0.5, 2.0, n)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_a_regularisation_below_rounding_and_points_that_are_all_the_same_are_solved():
    x, y, _ = table()
    model = FeatureRidgeRegressor(FourierFeatures(n_features=400), random_state=0, **BLOCKS)
    model.fit(x, y, sample_weight=np.full(150, 1e20))
    assert model.score(x, y) > 0.999
    model = FeatureRidgeRegressor(random_state=0, **BLOCKS).fit(np.ones((150, 3)), y)
    np.testing.assert_allclose(model.predict(np.ones((1, 3)))[0], y.mean(axis=0), atol=1e-9)


@pytest.mark.parametrize("most_factors", [0, 2])
def test_a_step_is_the_minimum_over_its_block_and_the_end_is_that_over_all(most_factors):
    Z, (_, y, _) = np.random.default_rng(0).normal(size=(150, 25)), table()
    problem = FeatureBlockProblem(Given(Z, 10), y, 2.0, most_factors)
    solver = FeatureBlockDescentStepper(1e-10)
    state, n_changed = solver.init(problem), 0
    while not state.exhausted:
        before = state.coefficients.copy()
        state = solver.step(problem, state, 1)
        changed = np.abs(state.coefficients - before).max(axis=1) > 0
        b = next(s for s in problem.columns.spans if changed[s].any()) if changed.any() else slice(0, 0)
        n_changed += changed.any()
        assert not changed[np.setdiff1d(np.arange(25), np.arange(25)[b])].any()
        others = y - Z @ before + Z[:, b] @ before[b]
        minimum = np.linalg.solve(Z[:, b].T @ Z[:, b] + 2.0 * np.eye(b.stop - b.start), Z[:, b].T @ others)
        np.testing.assert_allclose(state.coefficients[b], minimum, atol=1e-10)
        np.testing.assert_allclose(state.residual, y - Z @ state.coefficients, atol=1e-10)
    assert n_changed >= 6
    assert len(problem.factors) == most_factors
    np.testing.assert_allclose(state.coefficients, np.linalg.solve(Z.T @ Z + 2.0 * np.eye(25), Z.T @ y), atol=1e-8)
    solver = FeatureBlockDescentStepper(1e-2)
    sooner = solver.step(problem, solver.init(problem), 1000)
    assert sooner.exhausted and sooner.n_steps < state.n_steps and 1e-10 < sooner.gap <= 1e-2


def test_each_pass_takes_every_block_once_in_an_order_of_its_own():
    Z, (_, y, _), taken = np.random.default_rng(0).normal(size=(150, 25)), table(), []

    class Watched(Given):
        def strips(self, k):
            taken.append(k)
            return super().strips(k)

    problem, solver = FeatureBlockProblem(Watched(Z, 5), y, 2.0), FeatureBlockDescentStepper(1e-10, seed=4)
    solver.step(problem, solver.init(problem), 15)
    # Each block is gone through for its step, and for the residual after it.
    orders = [streams.permutation(4, "order of blocks", turn, 5).tolist() for turn in range(3)]
    assert taken[::2] == taken[1::2] == orders[0] + orders[1] + orders[2]


def test_the_gap_is_the_share_that_is_left_of_the_gradient_of_zero():
    Z, (_, y, _) = np.random.default_rng(0).normal(size=(150, 25)), table()
    problem, solver = FeatureBlockProblem(Given(Z, 25), y, 2.0, 1), FeatureBlockDescentStepper(1e-10)
    state = solver.step(problem, solver.init(problem), 1)  # one block: its pass began at zero
    assert state.gap == pytest.approx(1.0, rel=1e-12)
    assert solver.step(problem, state, 1).gap < 1e-10


def test_a_run_that_is_stopped_at_every_batch_ends_the_same_to_the_bit(tmp_path):
    Z, (_, y, _) = np.random.default_rng(0).normal(size=(150, 25)), table()

    def once(**options):
        problem = FeatureBlockProblem(Given(Z, 10), y, 2.0)
        return train(FeatureBlockDescentStepper(1e-6), problem, OwnRows(1, n_batches=3), Stopping(100), **options)

    whole, (resumed, _) = once(), stopped_at_every_batch(once, tmp_path)
    assert whole.state.exhausted
    assert np.array_equal(whole.state.coefficients, resumed.state.coefficients)


@pytest.mark.parametrize(
    "features", [FourierFeatures(n_features=60, bandwidth=1.5), NystroemFeatures(n_features=60, bandwidth=1.5)]
)
def test_the_model_is_that_of_one_system(features):
    x, y, w = table()
    given = {"alpha": 0.5, "random_state": 0}
    solver = FeatureBlockDescent(block_size=25, tol=1e-9, max_passes=3000)
    model = FeatureRidgeRegressor(features, solver=solver, **given).fit(x, y, w)
    exact = FeatureRidgeRegressor(features, **given).fit(x, y, w)
    assert model.report_["n_blocks"] == 3
    np.testing.assert_allclose(model.predict(x), exact.predict(x), atol=1e-5)
    with pytest.warns(ConvergenceWarning, match="block_size"):
        FeatureRidgeRegressor(features, solver=FeatureBlockDescent(block_size=25, max_passes=1), **given).fit(x, y, w)


def test_columns_that_are_made_anew_are_those_of_the_whole_matrix():
    x, _, w = table(30)
    made = FourierFeatures(n_features=7000, bandwidth=1.5, random_state=0, options=Options(device="cpu")).fit(x)
    for size, n_blocks in ((1, 4), (4500, 2)):  # a block of the map has 2,048 columns, and is not cut
        anew = FeatureColumns(made, x, w, size, budget=0)
        assert len(anew.spans) == n_blocks
        for k, span in enumerate(anew.spans):
            parts = list(anew.strips(k))
            np.testing.assert_allclose(np.vstack([Z for _, Z in parts]), w[:, None] * made.transform(x)[:, span])
    whole = NystroemFeatures(n_features=20, bandwidth=1.5, random_state=0, options=Options(device="cpu")).fit(x)
    with pytest.raises(ShallowsError, match="computed all at once"):
        FeatureColumns(whole, x, None, 5, budget=0)


@pytest.mark.parametrize(
    ("parameters", "error", "said"),
    [
        ({"features": RandomBinning()}, ShallowsError, "dense rows"),
        ({"alpha": 0.0}, ShallowsError, "alpha=0 cannot be used with solver='feature_block_descent'"),
        ({"early_stopping": True}, ShallowsError, "early_stopping cannot be used .* Use solver='feature_eigenpro'"),
        ({"warm_start": True}, ShallowsError, "warm_start=True cannot be used"),
        ({"options": Options(max_seconds=3.0)}, ShallowsError, "max_seconds cannot be used"),
        ({"solver": "blocks"}, UnknownNameError, "feature_block_descent"),
        ({"solver": EigenPro()}, ShallowsError, "FeatureRidgeRegressor cannot use the solver EigenPro"),
    ],
)
def test_parameters_out_of_range_are_told(parameters, error, said):
    x, y, _ = table(40)
    with pytest.raises(error, match=said):
        FeatureRidgeRegressor(**{**BLOCKS, **parameters}).fit(x, y)
