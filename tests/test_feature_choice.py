"""Ridge regression on features chooses bandwidth and λ by the errors of fits without each point."""

import numpy as np
import pytest

import shallows
from shallows.fitting.feature_choice import choose_on_features
from shallows.kernel_approximation import FourierFeatures, HiddenUnits

FIXED = {  # as they were before they chose
    "FeatureRidge": {"features": FourierFeatures(bandwidth="median"), "alpha": 1.0},
    "FeatureRidge in blocks": {"features": FourierFeatures(bandwidth="median"), "alpha": 1.0},
    "FeatureRidge on hidden units": {"features": HiddenUnits(bandwidth="median"), "alpha": 1.0},
}


def regressor(kind, **parameters):
    if kind.endswith("in blocks"):
        parameters["solver"] = "feature_block_descent"
    if kind.endswith("hidden units"):
        parameters = {"features": "hidden_units", **parameters}
    return getattr(shallows.estimators, f"{kind.split()[0]}Regressor")(random_state=0, **parameters)


def sine(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, (n, 1))
    return x, np.sin(3 * x[:, 0]) + 0.2 * rng.normal(size=n)


def features_of(width):
    return FourierFeatures(n_features=40, bandwidth=width, random_state=0)


def left_out_error(x, y, weights, width, ridge):
    """The mean weighted squared error of ridge regression that is fitted again for each point without it."""
    H, errors = features_of(width).fit(x).transform(x), []
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        A = H[rest]
        beta = np.linalg.solve(A.T @ (weights[rest, None] * A) + ridge * np.eye(40), A.T @ (weights[rest] * y[rest]))
        errors.append(weights[i] * (y[i] - H[i] @ beta) ** 2)
    return np.sum(errors) / np.sum(weights * y**2)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_error_of_the_choice_is_that_of_fits_without_each_point(weighted):
    x, y = sine(60)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 60) if weighted else None
    choice = choose_on_features(features_of("auto"), x, y[:, None], weights, 0, searches=True, ridge=None)
    weights = np.ones(60) if weights is None else weights
    found = left_out_error(x, y, weights, choice.bandwidth, choice.regularization)
    assert choice.error == pytest.approx(found, rel=1e-6)
    for width in (choice.bandwidth / 2, 2 * choice.bandwidth):
        assert left_out_error(x, y, weights, width, choice.regularization) > found
    for factor in (0.01, 100.0):
        assert left_out_error(x, y, weights, choice.bandwidth, factor * choice.regularization) > found


def test_what_is_given_stays():
    x, y = sine(200)
    of_ridge = shallows.FeatureRidgeRegressor(FourierFeatures(bandwidth=0.3), random_state=0).fit(x, y)
    assert of_ridge.transformer_.bandwidth_ == 0.3
    assert "bandwidths_as_good" not in of_ridge.report_["selection"]
    of_bandwidth = shallows.FeatureRidgeRegressor(alpha=0.5, random_state=0).fit(x, y)
    assert of_bandwidth.report_["alpha"] == 0.5
    assert of_bandwidth.transformer_.bandwidth_ < FourierFeatures(random_state=0).fit(x).bandwidth_
    assert "selection" not in regressor("FeatureRidge", **FIXED["FeatureRidge"]).fit(x, y).report_


@pytest.mark.parametrize(
    "features",
    ["fastfood", "quasi_monte_carlo", "binning", "nystrom", "rbf", "polynomial", "tensor_sketch", "semi_random"],
)
def test_every_map_lets_its_ridge_be_chosen(features):
    x, y = sine(150)
    X = np.hstack([x, x**2])
    model = shallows.FeatureRidgeRegressor(features, random_state=0).fit(X, y)
    told = model.report_["selection"]
    assert ("bandwidths_as_good" in told) == (features not in ("polynomial", "tensor_sketch"))
    assert told["error"] < 1.0


def test_rows_that_are_there_twice_choose_as_once_with_twice_the_weight():
    x, y = sine(80)
    options = {"random_state": 0, "features": FourierFeatures(n_features=100)}
    once = shallows.FeatureRidgeRegressor(**options).fit(x, y, sample_weight=np.full(80, 2.0))
    twice = shallows.FeatureRidgeRegressor(**options).fit(np.repeat(x, 2, axis=0), np.repeat(y, 2))
    told = [model.report_["selection"]["error"] for model in (once, twice)]
    assert told[0] == pytest.approx(told[1], rel=1e-6)


def test_points_that_are_all_equal_are_fitted_without_a_choice():
    model = shallows.FeatureRidgeRegressor(random_state=0).fit(np.ones((20, 3)), np.arange(20.0))
    assert "selection" not in model.report_
    assert model.predict(np.ones((1, 3))) == pytest.approx(9.5)
