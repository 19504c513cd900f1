"""The worked example of a new kernel: its values, its frequencies, and its use by name."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RationalQuadratic as Reference

import shallows
from engine_example import sample
from example_new_kernel import RationalQuadratic
from shallows import DoublyStochasticRegressor, KernelRidgeRegressor, features, kernels
from shallows.errors import ShallowsError


@pytest.fixture
def listed(monkeypatch):
    monkeypatch.setitem(kernels.KERNELS, "rational_quadratic", RationalQuadratic)


@pytest.mark.parametrize("order", [1, 2, 7])
def test_its_values_are_those_of_the_formula(order):
    x, z = sample(40, 3), sample(30, 3, seed=1)
    reference = Reference(length_scale=1.3, alpha=order)(x, z)
    assert np.abs(RationalQuadratic(1.3, order)(x, z) - reference).max() < 1e-12


@pytest.mark.parametrize("order", [1, 3])
def test_its_fourier_features_tend_to_it(order):
    x, kernel = sample(40, 3), RationalQuadratic(1.5, order)
    Z = features.FourierMap(kernel, 3, 50_000, seed=0).map(x)
    # The error of a mean over 50,000 frequencies, five deviations of at most 1/√2.
    assert np.abs(Z @ Z.T - kernel(x, x)).max() < 5 * np.sqrt(0.5 / 50_000)


@pytest.mark.parametrize(
    "model",
    [
        KernelRidgeRegressor(RationalQuadratic(order=2), solver="eigenpro", random_state=0),
        DoublyStochasticRegressor(RationalQuadratic(order=2), random_state=0),
    ],
    ids=["EigenPro", "DoublyStochastic"],
)
def test_estimators_and_files_know_it_by_its_name(listed, model, tmp_path):
    X = sample(300, 2)
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    model.fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.report_["kernel"] == "rational_quadratic"
    kernel = RationalQuadratic(1.0, 2)
    assert kernels.from_description(kernels.describe(kernel)) == kernel
    shallows.save(model, tmp_path / "model.skops")
    assert np.array_equal(shallows.load(tmp_path / "model.skops").predict(X), model.predict(X))


@pytest.mark.parametrize("order", [0, 1.5])
def test_a_wrong_order_is_refused(order):
    with pytest.raises(ShallowsError, match="order"):
        RationalQuadratic(1.0, order)
