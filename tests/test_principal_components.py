"""Principal components instead of the inputs: made, chosen, and a part of the model."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.decomposition import PCA

import forms
import shallows
from engine_example import sample
from shallows import arrays, training
from shallows.errors import ShallowsError
from shallows.kernel_approximation import FourierFeatures
from shallows.spectrum import leave_one_out
from shallows.spectrum.principal_components import (
    Components,
    components_are_surely_no_worse,
    components_for,
    principal_components,
)
from solved_by import constructor

NAMES = ["EigenPro", "EigenProCenters", "FeatureEigenPro", "KernelRidge", "FeatureRidge"]
each = pytest.mark.parametrize("name", NAMES)
each_fit = pytest.mark.parametrize("name", ["EigenPro", "FeatureRidge"])  # of kernels and of transformers


def components_of(model):
    """The components that a fitted model takes instead of the inputs."""
    return model._components if hasattr(model, "_components") else model._model.components


def table(n=500, d=100, *, tail=False, seed=0):
    """Ten strong directions among many weak ones, mixed; the target is a function of the strong ones, or of a weak."""
    rng = np.random.default_rng(seed)
    hidden = sample(n + 100, d, seed) * np.where(np.arange(d) < 10, 3.0, 1.0 if tail else 0.8)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    y = np.sign(hidden[:, -1]) * 2.0 if tail else np.abs(hidden[:, :2]).sum(axis=1)
    x = hidden @ turn
    return x[:n], y[:n], x[n:]


def make_model(name, **options):
    options = {"random_state": 0, **options}
    if name in ("EigenProCenters", "EigenPro", "FeatureEigenPro"):
        options.setdefault("max_epochs", 5)
    return constructor(f"{name}Regressor")(**options)


@pytest.mark.parametrize(("n", "d"), [(300, 20), (40, 120)])
def test_components_are_those_of_scikit_learn(n, d):
    x = sample(n, d) * np.linspace(3.0, 0.5, d) + 5.0
    ours, theirs = principal_components(x, 6, 0), PCA(6, svd_solver="full").fit(x)
    expected = theirs.transform(x)
    signs = np.sign(np.sum(ours(x) * expected, axis=0))
    assert np.abs(ours(x) * signs - expected).max() < 1e-8
    assert np.abs(ours.directions.T @ ours.directions - np.eye(6)).max() < 1e-10
    assert ours(x.astype(np.float32)).dtype == np.float32
    assert np.array_equal(ours.first(2)(x), ours(x)[:, :2]) or np.allclose(ours.first(2)(x), ours(x)[:, :2])
    assert np.allclose(ours(scipy.sparse.csr_array(x)), ours(x))


@each
def test_a_model_of_components_is_the_model_of_their_table_and_is_saved_with_them(name, tmp_path):
    X, y, new = table()
    whole = make_model(name, n_components=8).fit(X, y)
    assert whole.report_["n_components"] == 8
    apart = make_model(name, n_components=None).fit(components_of(whole)(X), y)
    assert np.abs(whole.predict(new) - apart.predict(components_of(whole)(new))).max() < 1e-6
    assert whole.n_features_in_ == 100
    shallows.save(whole, tmp_path / "model")
    assert np.array_equal(shallows.load(tmp_path / "model").predict(new), whole.predict(new))


@each
def test_they_are_chosen_where_the_tail_is_noise(name):
    X, y, _ = table()
    model = make_model(name).fit(X, y)
    assert model.report_["n_components"] == 50
    assert model.score(X, y) > make_model(name, n_components=None).fit(X, y).score(X, y) - 0.1


def test_choosing_among_components_takes_few_eigendecompositions(monkeypatch):
    made, path = [], leave_one_out.RidgePath
    monkeypatch.setattr(leave_one_out, "RidgePath", lambda matrix, *of: made.append(len(matrix)) or path(matrix, *of))
    monkeypatch.setattr(arrays, "n_threads", lambda: 1)
    X, y, _ = table(300, 150)
    model = shallows.KernelRidgeRegressor(solver="cholesky", random_state=0).fit(X, y)
    # Three bandwidths with the inputs, one with 100 and one with 50 components, and three with the chosen ones.
    assert model.report_["n_components"] == 50
    assert made == [300] * 8


@each_fit
def test_inputs_stay_where_the_target_is_in_the_tail(name):
    X, y, _ = table(tail=True)
    assert make_model(name).fit(X, y).report_["n_components"] is None


def test_components_are_taken_for_a_sure_gain_or_a_sure_equality_alone():
    rng = np.random.default_rng(0)
    losses, noise = 1.0 + rng.random(400), rng.normal(size=400)
    assert components_are_surely_no_worse(losses, losses - 0.1 + 0.3 * noise)
    assert components_are_surely_no_worse(losses, losses - 0.001 + 0.01 * noise)
    assert not components_are_surely_no_worse(losses, losses - 0.02 + 0.3 * noise)
    # A gain of 0.002 with an uncertainty of 0.0225, which is one and a half hundredths of the loss.
    assert not components_are_surely_no_worse(losses, losses - 0.002 + 0.15 * (noise - noise.mean()))
    assert not components_are_surely_no_worse(losses, losses + 0.1)
    assert not components_are_surely_no_worse(losses, losses[:-1])


def test_of_collinear_and_constant_inputs_there_are_few():
    X = np.hstack([sample(300, 4) @ sample(4, 90, seed=1), np.ones((300, 5))])
    found = principal_components(X, 50, 0)
    assert found.directions.shape == (95, 4)
    assert np.allclose(found(X) @ found.directions.T + found.mean, X)
    model = make_model("EigenPro").fit(X, X[:, 0])
    assert model.score(X, X[:, 0]) > 0.99
    assert principal_components(np.ones((20, 80)), 50, 0) is None
    assert principal_components(np.full((20, 80), 1e300) * sample(20, 80), 50, 0) is None


@pytest.mark.parametrize("name", NAMES[:3])
def test_observers_and_held_out_rows_see_the_models_own_outputs(name):
    X, y, new = table()
    seen = []

    class Look(training.Observer):
        def on_epoch(self, run):
            seen.append((run.snapshot().predict(new), run.snapshot().predict_training()))

    model = make_model(name, n_components=8, max_epochs=3, tol=0).fit(X, y, observers=[Look()])
    assert np.allclose(seen[-1][0], model.predict(new)) and np.allclose(seen[-1][1], model.predict(X), atol=1e-4)
    held = make_model(name, n_components=8, early_stopping=True).fit(X, y)
    assert held.best_validation_score_ > 0.2


@each_fit
def test_more_components_than_inputs_are_refused(name):
    X, y, _ = table(60)
    with pytest.raises(ShallowsError, match="n_components=101 is more than 60 rows of 100 inputs have"):
        make_model(name, n_components=101).fit(X, y)


def test_as_many_as_inputs_are_the_inputs():
    assert components_for(5, None, sample(30, 5), sample(30, 1), None, 0, 2**30) is None
    assert isinstance(components_for(4, None, sample(30, 5), sample(30, 1), None, 0, 2**30), Components)


@pytest.mark.parametrize(("n", "expected"), [(500, 1000), (5000, 1414)])
def test_random_features_grow_with_the_rows(n, expected):
    X = sample(n, 2)
    model = make_model("FeatureRidge", alpha=1.0).fit(X, np.sin(X[:, 0]))
    assert model.coef_.shape[1] == expected
    few = make_model("FeatureRidge", alpha=1.0, features=FourierFeatures(n_features=50)).fit(X, X[:, 0])
    assert few.coef_.shape[1] == 50


WIDE = sample(120, 80)


def warnings_of(model, X=WIDE):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, np.arange(X.shape[0], dtype=float))
    return [str(one.message) for one in caught if "n_components='auto'" in str(one.message)]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("KernelRidgeRegressor", {"bandwidth": 5.0}),
        ("KernelRidgeRegressor", {"kernel": "rbf", "bandwidth": 3.0}),
        ("EigenProCentersRegressor", {"kernel": "cauchy", "bandwidth": 5.0}),
        ("FeatureEigenProRegressor", {"bandwidth": 5.0}),
        ("FeatureRidgeRegressor", {"features": FourierFeatures(bandwidth=5.0)}),
    ],
)
def test_that_a_given_bandwidth_ends_the_choice_is_said_and_how_to_go_on(name, given):
    Estimator = constructor(name)
    [said] = warnings_of(Estimator(random_state=0, **given))
    assert "all 80 inputs" in said and "n_components=50" in said and "n_components=None" in said
    assert not warnings_of(Estimator(random_state=0, n_components=None, **given))
    assert not warnings_of(Estimator(random_state=0, n_components=50, **given))


@pytest.mark.parametrize(
    ("given", "X"),
    [
        ({}, WIDE),
        ({"bandwidth": 5.0}, WIDE[:, :60]),
        ({"bandwidth": 5.0}, WIDE[:40]),
        ({"bandwidth": 5.0}, scipy.sparse.csr_array(WIDE)),
        ({"kernel": "linear"}, WIDE),
        ({"kernel": "precomputed"}, WIDE @ WIDE.T),
    ],
)
def test_nothing_is_said_of_components_where_none_would_be_compared(given, X):
    assert not warnings_of(forms.kernel_ridge_regressor(random_state=0, **given), X)
