"""The worked example of a new feature map: the kernel that it tends to, and its use by name."""

import numpy as np
import pytest

from engine_example import sample
from example_new_feature_map import RectifiedUnits, rectified_units
from feature_forms import feature_eigenpro_regressor
from shallows import RegularizedRiskRegressor, features, kernels


def test_its_inner_products_tend_to_the_arc_cosine_kernel():
    x = sample(30, 3) / 2
    Z = RectifiedUnits(3, 50_000).map(x)
    # Products of two units have a deviation of at most √6 ‖x‖ ‖z‖; five deviations of their mean.
    inputs = np.hstack([x, np.ones((30, 1))])
    scale = np.linalg.norm(inputs, axis=1).max() ** 2
    assert np.abs(Z @ Z.T - kernels.ArcCosine(1)(inputs, inputs)).max() < 5 * np.sqrt(6 / 50_000) * scale


def test_an_estimator_trains_on_it():
    X = sample(400, 2)
    y = np.maximum(X[:, 0], 0) + X[:, 1]
    model = RegularizedRiskRegressor(features=RectifiedUnits(2, 200), solver="svrg", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.coef_.shape == (1, 200)
    assert model.report_["features"] == "RectifiedUnits"


@pytest.mark.parametrize("Estimator", [feature_eigenpro_regressor])
def test_estimators_know_it_by_its_name(monkeypatch, Estimator):
    monkeypatch.setitem(features.FEATURE_MAPS, "rectified_units", rectified_units)
    X = sample(400, 2)
    y = np.maximum(X[:, 0], 0) + X[:, 1]
    model = Estimator(features="rectified_units", random_state=0, max_epochs=20).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.coef_.shape[1] in (512, 4000)
    assert model.report_["features"] == "rectified_units"
