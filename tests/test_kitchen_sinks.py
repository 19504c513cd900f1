"""Random kitchen sinks: the bound, the optimum of the convex problem, and what is refused."""

import numpy as np
import pytest
import scipy.optimize

from engine_example import sample
from shallows.kernel_approximation import HiddenUnits
from shallows.svm import RandomKitchenSinksClassifier, RandomKitchenSinksRegressor


def problem(n=120):
    X = sample(n, 3)
    return X, 5.0 + 3.0 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


def test_weights_keep_to_the_bound_and_are_the_optimum_of_a_direct_search():
    X, y = problem()
    model = RandomKitchenSinksRegressor(
        bound=4.0, tol=1e-10, random_state=0, features=HiddenUnits("cosine", n_units=20)
    ).fit(X, y)
    alpha = model.coef_[0] / y.std()
    assert np.abs(alpha).max() == pytest.approx(4.0 / 20, rel=1e-9)
    assert 0 < model.report_["at_bound"] < 1
    Z = model.transformer_.transform(X)
    exact = scipy.optimize.lsq_linear(Z, (y - y.mean()) / y.std(), bounds=(-0.2, 0.2), tol=1e-14)
    np.testing.assert_allclose(alpha, exact.x, atol=1e-5)
    np.testing.assert_allclose(model.predict(X), y.mean() + Z @ model.coef_[0], rtol=1e-12)


def test_a_bound_that_no_weight_reaches_leaves_least_squares():
    X, y = problem()
    units = HiddenUnits("tanh", n_units=6)
    model = RandomKitchenSinksRegressor(bound=1e6, tol=1e-12, max_iterations=5000, random_state=0, features=units)
    Z = model.fit(X, y).transformer_.transform(X)
    fitted = Z @ np.linalg.lstsq(Z, y - y.mean(), rcond=None)[0] + y.mean()
    np.testing.assert_allclose(model.predict(X), fitted, atol=1e-4)
    assert model.report_["at_bound"] == 0


def test_only_the_ratios_of_weights_matter():
    X, y = problem()
    model = RandomKitchenSinksRegressor(HiddenUnits("cosine", n_units=10), bound=3.0, tol=1e-10, random_state=0)
    weights = np.where(np.arange(len(X)) < 40, 2.0, 1.0)
    once, doubled, plain = (model.fit(X, y, sample_weight=w).coef_ for w in (weights, 2 * weights, None))
    np.testing.assert_allclose(doubled, once, atol=1e-6)
    assert np.abs(once - plain).max() > 1e-3


def test_classes_are_told_apart():
    X, y = problem(300)
    model = RandomKitchenSinksClassifier(random_state=0, features=HiddenUnits("cosine", n_units=200))
    assert model.fit(X[:200], y[:200] > 5).score(X[200:], y[200:] > 5) > 0.85
