"""Doubly stochastic machines as they come: more steps and rows make them no worse, streams may begin with one row."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from shallows import DoublyStochasticRegressor
from shallows.errors import ShallowsError
from shallows.solvers import DoublyStochastic
from shallows.svm import DoublyStochasticNoveltyDetector


def friedman(n, noise, seed=0):
    X, y = make_friedman1(n + 500, n_features=8, noise=noise, random_state=seed)
    return X[:n], y[:n], X[n:], y[n:]


def linear(n, d=20, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 500, d))
    y = X @ rng.normal(size=d) / np.sqrt(d) + noise * rng.normal(size=len(X))
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.1, 5.0])
def test_more_steps_make_it_no_worse(noise):
    X, y, X_test, y_test = friedman(800, noise)
    scores = [
        DoublyStochasticRegressor(solver=DoublyStochastic(n_iter=n), random_state=0).fit(X, y).score(X_test, y_test)
        for n in (25, 50, 100, 200)
    ]
    assert all(later > earlier - 0.02 for earlier, later in itertools.pairwise(scores)), scores


def test_nothing_is_learnt_from_noise():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 10)), rng.normal(size=1000)
    model = DoublyStochasticRegressor(random_state=0).fit(X[:700], y[:700])
    assert model.score(X[700:], y[700:]) > -0.03
    assert model.report_["choice"]["chosen_by"]


def test_bandwidth_and_regularisation_of_the_user_stay():
    X, y, _, _ = friedman(300, 1.0)
    fitted = DoublyStochasticRegressor(
        solver=DoublyStochastic(n_iter=5), bandwidth=2.5, regularization=1e-3, random_state=0
    ).fit(X, y)
    assert (fitted.report_["bandwidth"], fitted.report_["regularization"]) == (2.5, 1e-3)
    assert fitted.report_["choice"] == {}
    of_median = DoublyStochasticRegressor(solver=DoublyStochastic(n_iter=5), bandwidth="median", random_state=0)
    assert of_median.fit(X, y).bandwidth_ > 0
    with pytest.raises(ShallowsError, match="bandwidth must be a positive number, 'auto' or 'median', got None"):
        of_median.set_params(bandwidth=None).fit(X, y)


# Streams


def in_calls(model, X, y, sizes):
    start = 0
    for size in sizes:
        model.partial_fit(X[start : start + size], *(() if y is None else (y[start : start + size],)))
        start += size
    return model


@pytest.mark.slow
def test_small_batches_of_a_noisy_stream_are_learnt_from():
    X, y, X_test, y_test = linear(900)
    model = in_calls(DoublyStochasticRegressor(random_state=0), X, y, [30] * 30)
    assert model.score(X_test, y_test) > 0.65


def test_a_step_on_a_few_rows_of_a_stream_is_shorter(monkeypatch):
    monkeypatch.setattr("shallows.estimators.doubly_stochastic.random_feature_expansion.FIRST_ROWS", 800)
    X, y, _, _ = friedman(1200, 2.0)
    steps = []
    for n in (320, 80):  # A batch of the fit, and a quarter of it.
        model = DoublyStochasticRegressor(random_state=0).partial_fit(iter([(X[:800], y[:800]), (X[-n:], y[-n:])]))
        steps.append(model.report_["last_step"])
    assert steps[1] == pytest.approx(steps[0] / 2)


def test_a_bad_batch_among_the_first_rows_leaves_the_model_of_the_ones_before():
    X, y, X_test, _ = linear(200)
    model = in_calls(DoublyStochasticRegressor(random_state=0), X, y, [50, 50])
    before = model.predict(X_test)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((50, X.shape[1]), np.nan), y[:50])
    assert np.array_equal(model.predict(X_test), before)
    whole = in_calls(DoublyStochasticRegressor(random_state=0), X, y, [50, 50, 50])
    model.partial_fit(X[100:150], y[100:150])
    assert np.array_equal(model.predict(X_test), whole.predict(X_test))


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[1500], [30] * 50], ids=["one call", "of 30"])
def test_the_fraction_of_novelty_is_kept_in_a_stream(sizes):
    X = np.random.default_rng(0).normal(size=(1500, 4))
    model = in_calls(DoublyStochasticNoveltyDetector(fraction=0.05, random_state=0), X, None, sizes)
    assert np.mean(model.predict(X) < 0) == pytest.approx(0.05, abs=0.012)
