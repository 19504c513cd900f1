"""Gaussian process regression on features, against the formulas of the exact process and against scikit-learn's."""

import numpy as np
import pytest
import scipy.stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from engine_example import sample
from shallows import kernels
from shallows.errors import ShallowsError, UnknownNameError
from shallows.gaussian_process import FeatureGaussianProcessRegressor
from shallows.kernel_approximation import FourierFeatures, HiddenUnits, NystroemFeatures, QuasiMonteCarloFeatures
from shallows.spectrum import marginal_likelihood

GIVEN = {"signal_variance": 2.0, "noise_variance": 0.03, "random_state": 0}
MAPS = {"nystrom": NystroemFeatures, "fourier": FourierFeatures, "quasi_monte_carlo": QuasiMonteCarloFeatures}


def problem(n=150, noise=0.1):
    X = sample(n, 3)
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + noise * sample(n, 4)[:, 3]


NEW = 2.0 * sample(40, 3)[::-1]


@pytest.mark.parametrize(("features", "weighted"), [("nystrom", True), ("fourier", False), ("quasi_monte_carlo", True)])
def test_the_posterior_is_the_exact_one_of_the_kernel_of_the_features(features, weighted):
    X, y = problem()
    weights = 0.5 + sample(150, 1)[:, 0] ** 2 if weighted else None
    map_ = MAPS[features](n_features=60, bandwidth=1.3)
    model = FeatureGaussianProcessRegressor(map_, **GIVEN).fit(X, y, sample_weight=weights)
    H, new = model.transformer_.transform(X), model.transformer_.transform(NEW)
    left, left_new = (1 - (one**2).sum(axis=1) for one in (H, new))
    if features != "nystrom":
        assert np.abs(left).max() < 1e-12
    noise, signal = GIVEN["noise_variance"], GIVEN["signal_variance"]
    C = signal * (H @ H.T + np.diag(left)) + np.diag(noise * np.ones(150) if weights is None else noise / weights)
    between = signal * new @ H.T
    centred = y - np.average(y, weights=weights)
    mean, covariance = model.predict(NEW, return_cov=True)
    expected = signal * new @ new.T + np.diag(signal * left_new + noise) - between @ np.linalg.solve(C, between.T)
    assert np.abs(mean - np.average(y, weights=weights) - between @ np.linalg.solve(C, centred)).max() < 1e-9
    assert np.abs(covariance - expected).max() < 1e-10
    assert np.abs(model.predict(NEW, return_std=True)[1] - np.sqrt(np.diag(expected))).max() < 1e-10
    likelihood = scipy.stats.multivariate_normal.logpdf(centred, cov=C)
    assert model.log_marginal_likelihood_value_ == pytest.approx(likelihood, rel=1e-9)


@pytest.mark.parametrize(
    ("features", "theirs"),
    [
        (NystroemFeatures(bandwidth=1.3), RBF(1.3)),
        (NystroemFeatures(kernels.Matern(nu=2.5), bandwidth=1.3), Matern(1.3, nu=2.5)),
        (NystroemFeatures("laplace", bandwidth=1.3), Matern(1.3, nu=0.5)),
        (NystroemFeatures(kernels.Gaussian(1.3)), RBF(1.3)),
    ],
)
def test_with_a_landmark_at_every_point_it_is_the_exact_process(features, theirs):
    X, y = problem()
    model = FeatureGaussianProcessRegressor(features, **GIVEN).fit(X, y)
    exact = GaussianProcessRegressor(ConstantKernel(2.0) * theirs + WhiteKernel(0.03), alpha=0, optimizer=None)
    exact.fit(X, y - y.mean())
    (mean, deviation), (their_mean, their_deviation) = (one.predict(NEW, return_std=True) for one in (model, exact))
    # Their distances are differences of coordinates, ours products: square roots of them agree to half the digits.
    assert np.abs(mean - y.mean() - their_mean).max() < 1e-6
    assert np.abs(deviation - their_deviation).max() < 1e-6
    assert model.log_marginal_likelihood_value_ == pytest.approx(exact.log_marginal_likelihood_value_, rel=1e-7)


def test_the_chosen_bandwidth_and_variances_are_those_of_the_largest_likelihood():
    X, y = problem()
    model = FeatureGaussianProcessRegressor(random_state=0).fit(X, y)
    theirs = GaussianProcessRegressor(ConstantKernel() * RBF() + WhiteKernel(0.1), alpha=0).fit(X, y - y.mean())
    assert model.log_marginal_likelihood_value_ > theirs.log_marginal_likelihood_value_ - 0.05
    fixed = {"signal_variance": 2.0, "noise_variance": 0.05, "features": NystroemFeatures(bandwidth=1.3)}
    for free, other_one in (("signal_variance", "noise_variance"), ("noise_variance", "signal_variance")):
        model = FeatureGaussianProcessRegressor(random_state=0, **{**fixed, free: "auto"}).fit(X, y)
        value = getattr(model, f"{free}_")[0]
        for factor in (0.9, 1.1):
            other = FeatureGaussianProcessRegressor(random_state=0, **{**fixed, free: factor * value}).fit(X, y)
            assert other.log_marginal_likelihood_value_ < model.log_marginal_likelihood_value_
        assert getattr(model, f"{other_one}_")[0] == pytest.approx(fixed[other_one], rel=1e-12)


@pytest.mark.parametrize(
    ("given", "weighted"),
    [({}, True), ({"signal": 1.7}, False), ({"noise": 0.2}, True)],
)
def test_a_choice_has_the_likelihood_of_the_normal_law(given, weighted):
    x, y = sample(25), sample(25, 2, seed=1)
    w = np.random.default_rng(2).uniform(0.2, 3.0, 25) if weighted else np.ones(25)
    K = kernels.matrix(kernels.Laplace(1.5), kernels.augmented(x))
    found = marginal_likelihood.choose(lambda width: K, y, weights=w if weighted else None, **given)
    C = K + found.ratio * np.diag(1 / w)
    best = np.sum(y * np.linalg.solve(C, y), axis=0) / 25
    signals = np.full(2, given["signal"]) if "signal" in given else best
    signals = np.full(2, given["noise"] / found.ratio) if "noise" in given else signals
    laws = [scipy.stats.multivariate_normal(cov=s * C) for s in signals]
    assert found.log_likelihood == pytest.approx(sum(law.logpdf(y[:, k]) for k, law in enumerate(laws)), rel=1e-10)


def test_intervals_have_their_coverage_and_pure_noise_is_not_explained_by_a_narrow_kernel():
    X, y = problem(1500, noise=0.3)
    model = FeatureGaussianProcessRegressor(NystroemFeatures(n_features=100), random_state=0).fit(X[:1000], y[:1000])
    mean, deviation = model.predict(X[1000:], return_std=True)
    assert 0.87 < np.mean(np.abs(y[1000:] - mean) < 1.645 * deviation) < 0.93
    model = FeatureGaussianProcessRegressor(random_state=0).fit(sample(150, 8), sample(150, 9)[:, 8])
    mean, deviation = model.predict(sample(50, 8) + 0.1, return_std=True)
    assert np.abs(mean - model.intercept_).max() < 0.1 and np.abs(deviation - 1).max() < 0.15


def test_draws_have_the_mean_and_the_covariance_of_the_posterior():
    X, y = problem()
    model = FeatureGaussianProcessRegressor(NystroemFeatures(n_features=40, bandwidth=1.3), **GIVEN).fit(X, y)
    mean, covariance = model.predict(NEW[:10], return_cov=True)
    drawn = model.sample_y(NEW[:10], 20_000, random_state=1)
    # Standard errors are √(2 / 20,000) = 1 % of the variances.
    assert np.abs(drawn.mean(axis=1) - mean).max() < 0.04 * np.sqrt(covariance.max())
    assert np.abs(np.cov(drawn) - covariance).max() < 0.05 * covariance.max()
    assert np.array_equal(drawn, model.sample_y(NEW[:10], 20_000, random_state=1))


@pytest.mark.parametrize(
    ("features", "error", "says"),
    [
        (NystroemFeatures("polynomial"), ShallowsError, r"got 'polynomial'\. Such kernels are 'gaussian'"),
        (NystroemFeatures("precomputed"), ShallowsError, "a kernel matrix shows none"),
        (NystroemFeatures(lambda a, b: a @ b.T), ShallowsError, "function of the difference of two points, got"),
        ("binning", ShallowsError, "features must be 'nystrom', 'fourier' or .* got 'binning'"),
        ("nistrom", UnknownNameError, "nystrom"),
        (HiddenUnits(), ShallowsError, "features must be 'nystrom', 'fourier' or"),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_can(features, error, says):
    with pytest.raises(error, match=says):
        FeatureGaussianProcessRegressor(features).fit(*problem(30))


def test_predictions_and_targets_that_are_impossible_are_told_so():
    X, y = problem(30)
    with pytest.raises(ShallowsError, match=r"targets are too large.*Scale y"):
        FeatureGaussianProcessRegressor().fit(X, 1e200 * y)
    model = FeatureGaussianProcessRegressor(random_state=0).fit(X, y)
    with pytest.raises(ShallowsError, match="covariances of 300,000 points take"):
        model.predict(np.zeros((300_000, 3), dtype=np.float32), return_cov=True)
    with pytest.raises(ShallowsError, match="At most one"):
        model.predict(NEW, return_std=True, return_cov=True)
    with pytest.raises(ShallowsError, match="n_samples must be a whole number of at least 1, got 0"):
        model.sample_y(NEW, 0)
