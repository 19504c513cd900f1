"""The bandwidth of many rows: narrower than with few rows if more rows show that this is better."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_gaussian_quantiles

from shallows import DoublyStochasticRegressor, FeatureRidgeRegressor, kernels
from shallows.fitting import narrower_bandwidth
from shallows.fitting.narrower_bandwidth import narrower, scores_of_centers
from shallows.kernel_approximation import FourierFeatures, NystroemFeatures
from shallows.solvers import DoublyStochastic
from shallows.spectrum.leave_one_out import choose_ridge

N, FEW, NOISE = 12_000, 150, 0.3
ONE_STEP = DoublyStochastic(n_iter=1)


def rough(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Waves of two inputs, each half as long as the one before, of which few noisy points show the longest alone."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, 2)).astype(np.float32)
    y = sum(np.sin(2.0**k * X + k).sum(axis=1) / 1.5**k for k in range(1, 8))
    return X, (y + NOISE * rng.normal(size=n)).astype(np.float32)


def smooth(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The slow wave alone."""
    X, _ = rough(n)
    return X, (np.sin(2.0 * X).sum(axis=1) + NOISE * np.random.default_rng(1).normal(size=n)).astype(np.float32)


def looked_at(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None, few=None, **changed):
    """The choice of the first rows, and that of more."""
    points, targets = kernels.augmented(X), y.reshape(len(y), -1).astype(np.float32)
    few = few or choose_ridge(
        lambda width: kernels.matrix(kernels.Gaussian(width), points[:FEW].astype(np.float64)),
        targets[:FEW].astype(np.float64),
        median=kernels.median_bandwidth(points[:FEW, :-2].astype(np.float64), 0),
    )
    first_rows = lambda m: (points[:m], targets[:m], None if weights is None else weights[:m])  # noqa: E731
    given = {"n": len(X), "d": X.shape[1], "budget": 2**33} | changed
    return few, narrower(few, functools.partial(scores_of_centers, kernels.Gaussian()), first_rows, **given)


def test_a_fine_structure_is_found_by_more_rows_and_the_trend_goes_on_to_all():
    few, more = looked_at(*rough(N))
    assert more.bandwidth < 0.6 * few.bandwidth
    tried = more.narrowing["errors"]
    assert more.bandwidth < min(tried, key=tried.get) < few.bandwidth
    assert more.regularization == few.regularization


def test_a_bandwidth_that_is_too_wide_by_less_than_a_halving_is_narrowed():
    few, more = looked_at(*rough(N))
    errors = more.narrowing["errors"]
    start = 1.45 * narrower_bandwidth._lowest(errors, min(errors, key=errors.get))
    _, other = looked_at(*rough(N), few=replace(few, bandwidth=start, bandwidths={start: 1.0}))
    tried = other.narrowing["errors"]
    assert tried[start / 2] > 0.98 * tried[start]  # So halving alone would not do.
    assert other.bandwidth < 0.9 * start


def test_more_rows_are_not_asked_where_half_of_the_bandwidth_doubles_the_error_of_few():
    X, y = rough(N)
    few, _ = looked_at(X, y)
    hopeless = replace(few, bandwidths={few.bandwidth / 2: 2.1 * few.error, few.bandwidth: few.error})
    assert narrower(hopeless, None, None, n=N, d=2, budget=2**33) is hopeless


def test_a_tenth_of_the_ridge_is_taken_if_it_is_surely_better_and_never_a_tenth_of_a_given_one():
    X, y = rough(N)
    few, more = looked_at(X, y)
    large = replace(few, regularization=100 * few.regularization, ridges={})
    assert looked_at(X, y, few=large)[1].regularization == pytest.approx(10 * few.regularization)
    given = replace(large, regularizations={large.regularization: 1.0})
    assert looked_at(X, y, few=given)[1].regularization == large.regularization
    assert more.regularization == few.regularization


def test_each_bandwidth_is_also_tried_with_the_ridge_that_few_rows_choose_for_it():
    few, more = looked_at(*rough(N))
    wide = 2 * few.bandwidth
    tiny = replace(few, bandwidth=wide, bandwidths={wide: 1.0}, regularization=1e-6 * few.regularization)
    own = {wide: tiny.regularization, few.bandwidth: few.regularization}
    _, alone = looked_at(*rough(N), few=replace(tiny, ridges={}))
    _, found = looked_at(*rough(N), few=replace(tiny, ridges=own))
    assert found.regularization == few.regularization
    assert min(found.narrowing["errors"].values()) < 0.99 * min(alone.narrowing["errors"].values())
    assert 0.6 * more.bandwidth < found.bandwidth < 1.5 * more.bandwidth


def test_a_step_that_no_label_needs_narrows_for_squares_and_not_for_classes():
    X, labels = make_gaussian_quantiles(n_samples=18_000, n_features=8, n_classes=3, random_state=0)
    X = X.astype(np.float32)
    codes = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    few, same = looked_at(*smooth(N))
    assert same is few  # A smooth function keeps its bandwidth.
    few = replace(few, bandwidth=3.8, regularization=0.3, bandwidths={3.8: 1.0}, ridges={})
    assert looked_at(X, codes, few=few)[1].bandwidth < 0.8 * few.bandwidth
    assert looked_at(X, codes, few=few, of_classes=True)[1] is few


def test_features_are_looked_at_themselves_and_their_bandwidth_falls_no_further():
    X, y = rough(N)
    model = FeatureRidgeRegressor(random_state=0, features=FourierFeatures(n_features=1500)).fit(X, y)
    tried = model.report_["selection"]["narrowing"]["errors"]
    assert model.report_["bandwidth"] == pytest.approx(min(tried, key=tried.get), rel=1e-2)


def test_landmarks_are_looked_at_as_the_centres_that_they_are():
    # Ridge regression on n/2 landmarks fits noise, and a useless bandwidth errs less.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3)).astype(np.float32)
    y = np.sin(9 * X[:, 0]) + 0.1 * rng.normal(size=6000)
    model = FeatureRidgeRegressor(NystroemFeatures(n_features=600), random_state=0)
    assert model.fit(X[:3000], y[:3000]).score(X[3000:], y[3000:]) > 0.2


@pytest.mark.parametrize("changed", [{"n": 1_900}, {"budget": 10**7}, {"n_units": 500}])
def test_few_rows_little_memory_or_few_centres_keep_it(changed):
    few, more = looked_at(*rough(N), **changed)
    assert more is few
    without = replace(few, bandwidth=None)  # a kernel without a bandwidth
    assert looked_at(*rough(2000), few=without)[1] is without


def test_rows_that_know_no_more_than_those_that_chose_keep_it():
    X, y = rough(3000)
    few, more = looked_at(X, y)
    assert more.bandwidth < few.bandwidth
    many = replace(few, n_rows=2000)  # As many as the look would fit to
    assert looked_at(X, y, few=many)[1] is many


def test_too_few_rows_to_calibrate_many_classes_keep_it():
    X, y = rough(3000)
    labels = np.digitize(y, np.quantile(y, np.arange(1, 20) / 20))
    codes = np.where(labels[:, None] == np.arange(20), 1.0, -1.0)
    few, more = looked_at(X, codes, of_classes=True)
    assert more is few
    assert looked_at(X, codes)[1].bandwidth < few.bandwidth


@pytest.mark.parametrize("of_classes", [False, True])
def test_a_row_of_six_times_the_weight_is_a_row_that_is_there_six_times(of_classes):
    X, y = rough(4000)
    y = np.where(y > y.mean(), 1.0, -1.0).astype(np.float32) - 0.2 if of_classes else y
    points, targets, weights = kernels.augmented(X), y[:, None], np.ones(4000, np.float32)
    weights[::4], copied = 6.0, np.r_[0:4000, np.tile(np.r_[0:4000:4], 5)]

    def error(*rows) -> float:
        *distinct, own = narrower_bandwidth._distinct(*rows)
        codes = own if of_classes else None
        points, *of_rows = distinct
        n = len(points) - len(points) // narrower_bandwidth.ASIDE
        fitted = (None if one is None else one[:n] for one in of_rows)
        scores = scores_of_centers(kernels.Gaussian(), 0.13, points, *fitted, 1000, 1.0)
        return narrower_bandwidth._losses(scores, *distinct[1:], codes).mean()

    weighted = error(points, targets, weights)
    assert error(points[copied], targets[copied], None) == pytest.approx(weighted, rel=1e-3)
    assert error(points, targets, None) != pytest.approx(weighted, rel=1e-2)


def test_copies_of_several_classes_tell_the_first_ones_and_are_fitted_to_their_mean():
    X, codes = rough(4000)[0], np.where(np.arange(4000)[:, None] % 3 == np.arange(3), 1.0, -1.0).astype(np.float32)
    points, copied = kernels.augmented(X), np.r_[0:4000, 1:4000]  # Each but the first twice, with two classes
    _, means, weights, own = narrower_bandwidth._distinct(points[copied], np.r_[codes, codes[:-1]], None)
    assert np.array_equal(own, codes)
    assert weights[1:].max() == weights[1:].min() == 2.0 * weights[0]
    np.testing.assert_allclose(means[1:], 0.5 * (codes[1:] + codes[:-1]))


def test_losses_are_weighted_and_shares_of_those_of_a_constant():
    # A third of the six rows measures: squares of 1 and 1, of which zero has 1 and 4.
    targets, scores = np.array([[9.0], [9], [9], [9], [1], [2]]), np.array([[0.0], [1]])
    w = np.array([[9.0], [9], [9], [9], [1], [3]])
    assert narrower_bandwidth._losses(scores, targets, None) == pytest.approx([1 / 2.5, 1 / 2.5])
    assert narrower_bandwidth._losses(scores, targets, w) == pytest.approx([1 / 6.5, 3 / 6.5])


def test_doubly_stochastic_gradients_have_the_bandwidth_of_many_rows():
    X, y = rough(N)
    fitted = [DoublyStochasticRegressor(random_state=0, solver=ONE_STEP).fit(X[:n], y[:n]) for n in (1500, N)]
    assert fitted[1].bandwidth_ < 0.5 * fitted[0].bandwidth_
    given = DoublyStochasticRegressor(bandwidth=1.5, random_state=0, solver=ONE_STEP).fit(X, y)
    assert given.bandwidth_ == 1.5
