"""Ridge regression on explicit features and extreme learning machines, against the formulas and scikit-learn."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import Ridge

from engine_example import sample
from shallows import FeatureRidgeClassifier, FeatureRidgeRegressor, KernelRidgeRegressor, Options
from shallows.errors import ShallowsError
from shallows.estimators.feature_maps.specification import TRANSFORMERS
from shallows.features.hidden_units import ACTIVATIONS
from shallows.kernel_approximation import HiddenUnits
from shallows.solvers import NormalEquations
from shallows.solvers.least_squares import normal_equations


def on_units(activation, n_units, form="auto", bandwidth="auto", **options):
    """An extreme learning machine."""
    units = HiddenUnits(activation, n_units=n_units, bandwidth=bandwidth)
    return FeatureRidgeRegressor(units, solver=NormalEquations(form=form), random_state=0, **options)


def problem(n=150):
    X = sample(n, 3)
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("n_units", [60, 400])
def test_both_closed_forms_are_one_function(activation, n_units):
    X, y = problem()
    models = [on_units(activation, n_units, form, alpha=0.1).fit(X, y) for form in ("features", "rows")]
    assert np.abs(models[0].predict(X) - models[1].predict(X)).max() < 1e-8
    assert [model.report_["form"] for model in models] == ["features", "rows"]


def test_the_coefficients_are_those_of_the_formula():
    X, y = problem()
    model = on_units("tanh", 40, alpha=0.2).fit(X, y)
    H, T = model.transformer_.transform(X), y - y.mean()
    expected = np.linalg.inv(H.T @ H + 0.2 * np.eye(40)) @ H.T @ T
    assert np.abs(model.coef_[0] - expected).max() < 1e-8 * np.abs(expected).max()
    assert np.abs(model.coef_[0] - Ridge(0.2, fit_intercept=False).fit(H, T).coef_).max() < 1e-8
    assert on_units("tanh", 40, alpha=0.2).fit(X, 1e200 * y).coef_[0] == pytest.approx(1e200 * expected, rel=1e-6)


def test_cosine_units_tend_to_kernel_ridge_regression():
    X, y = problem()
    y = y - y.mean()
    L = 20_000
    # The units times √(2/L) are random Fourier features, so that their ridge is λ L/2.
    model = on_units("cosine", L, bandwidth=1.5, alpha=L * 0.1 / 2)
    exact = KernelRidgeRegressor(bandwidth=1.5, alpha=0.1, random_state=0).fit(X, y)
    new = sample(50, 3, seed=1)
    assert np.abs(model.fit(X, y).predict(new) - exact.predict(new)).mean() < 0.05


def test_sparse_features_are_solved_like_dense_ones(monkeypatch):
    rng = np.random.default_rng(0)
    H = scipy.sparse.random_array((80, 5000), density=0.004, rng=rng, format="csr")  # most columns are empty
    T = rng.normal(size=(80, 2))
    expected = normal_equations.solve_by_rows(H.toarray(), T, 0.1)
    found, iterations = normal_equations.solve_sparse(H, T, 0.1, 1e-10, 1000)
    assert np.abs(found - expected).max() < 1e-9
    assert iterations == 1
    monkeypatch.setattr(normal_equations, "DIRECT_ROWS", 10)
    found, iterations = normal_equations.solve_sparse(H, T, 0.1, 1e-10, 1000)
    assert np.abs(found - expected).max() < 1e-7
    assert iterations > 1
    stopped, _ = normal_equations.solve_sparse(H, T, 0.1, 1e-10, 2)
    assert np.abs(stopped - expected).max() > 1e-4


@pytest.mark.parametrize("form", ["features", "rows"])
def test_a_weight_is_a_repetition(form):
    X, y = problem(80)
    weights = np.random.default_rng(0).integers(1, 4, size=80)
    weighted = on_units("cosine", 100, form, bandwidth=1.0, alpha=0.3).fit(X, y, sample_weight=weights)
    twice = np.repeat(np.arange(80), weights)
    H = weighted.transformer_.transform(X)
    T = y[twice] - y[twice].mean()
    expected = normal_equations.solve_by_rows(H[twice], T[:, None], 0.3)
    assert np.abs(weighted.coef_ - expected.T).max() < 1e-8


@pytest.mark.parametrize("features", TRANSFORMERS)
def test_every_map_by_name_tells_classes_apart(features):
    X = sample(400, 2)
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    model = FeatureRidgeClassifier(features, alpha=0.1, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.85  # a half by chance


@pytest.mark.parametrize(
    "options", [{"early_stopping": True}, {"options": Options(max_seconds=60)}, {"warm_start": True}]
)
def test_the_automatic_solver_has_epochs_if_an_option_needs_them(options):
    X, y = problem(80)
    assert FeatureRidgeRegressor(random_state=0).fit(X, y).report_["solver"] == "normal_equations"
    model = FeatureRidgeRegressor(random_state=0, **options).fit(X, y)
    assert model.report_["solver"] == "feature_eigenpro"


def test_a_solver_without_steps_refuses_a_checkpoint():
    with pytest.raises(ShallowsError, match="checkpoint cannot be used with solver='normal_equations'"):
        FeatureRidgeRegressor().fit(*problem(30), checkpoint=object())


@pytest.mark.parametrize(("share", "single"), [(2.0, True), (0.2, True), (0.05, False), (0.0, False)])
def test_products_of_features_are_made_in_float32_in_blocks_that_round_less_than_the_ridge(share, single):
    H = np.random.default_rng(0).normal(size=(4000, 20)).astype(np.float32)
    T = np.ones((4000, 1))
    ridge = share * normal_equations.ROUNDINGS * np.finfo(np.float32).eps * float(np.vdot(H[:3000], H[:3000]))
    gram, moments = normal_equations.sums_of_features(iter([(H[:3000], T[:3000]), (H[3000:], T[3000:])]), ridge)
    exact = H.astype(np.float64).T @ H.astype(np.float64)
    off = np.abs(gram - exact).max()
    assert (off > 1e-9) == single
    assert off < (ridge if single else 1e-9)
    assert moments[:, 0] == pytest.approx(H.sum(axis=0, dtype=np.float64), abs=1e-2)
