"""Values at the training points, kept from one epoch to the next: the same model at less cost."""

import numpy as np
import pytest

from doubly_stochastic_example import moons, waves
from resumed_example import StopAt
from shallows import DoublyStochasticClassifier, DoublyStochasticRegressor, training
from shallows.errors import TrainingInterrupted
from shallows.features import block_sums
from shallows.solvers import DoublyStochastic, UniformReuse
from shallows.svm import DoublyStochasticNoveltyDetector

WAYS = {
    "preconditioned": {},
    "line search": {"solver__schedule": "line_search", "regularization": 1e-5},
    "plain": {"solver__preconditioning": None, "solver__schedule": "theory_step", "regularization": 1e-3},
    "old blocks again": {"solver__reuse": UniformReuse(fresh=2, reused=3), "regularization": 1e-3},
    "checked": {"solver__reuse": "checked_reuse", "loss": "logistic"},
    "shrunk to nothing": {"solver__schedule": "constant", "solver__step_size": 1.0, "regularization": 1e3},
}


def unfitted(n_iter, **options):
    Estimator = DoublyStochasticClassifier if "loss" in options else DoublyStochasticRegressor
    solver = DoublyStochastic(block_size=16, batch_size=100, n_iter=n_iter)
    return Estimator(bandwidth=1.0, solver=solver, random_state=0).set_params(**options)


def fitted(keep_values, **options):
    X, y = moons() if "loss" in options else waves(700)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    model = unfitted(40, solver__keep_values=keep_values, **options).fit(X, y, sample_weight=weights)
    return model.decision_function(X) if "loss" in options else model.predict(X)


@pytest.mark.parametrize("way", WAYS)
def test_the_model_is_the_one_of_values_that_are_summed_anew(way):
    kept, anew = (fitted(keep, **WAYS[way]) for keep in (True, False))
    assert np.abs(kept - anew).max() < 1e-8 * max(1e-3, np.abs(anew).max())


def test_a_batch_that_comes_again_costs_the_blocks_that_are_new(monkeypatch):
    X, y = waves(400)
    summed, real = {}, block_sums.evaluate

    def counting(features, x, coefficients, **options):
        summed[keep] = summed.get(keep, 0) + len(x) * len(coefficients)
        return real(features, x, coefficients, **options)

    monkeypatch.setattr(block_sums, "evaluate", counting)
    for keep in (True, False):
        unfitted(40, solver__keep_values=keep).fit(X, y)
    # Of 40 steps with four batches the last needs 4 blocks instead of 39.
    assert summed[False] == 100 * sum(range(40))
    assert summed[True] < 100 * 40 * 4


def test_a_model_keeps_no_values_and_its_threshold_is_that_of_all_points():
    X, _ = waves(300)
    model = DoublyStochasticNoveltyDetector(random_state=0, bandwidth=1.0).fit(X)
    assert model._state.known is None
    assert np.mean(model.predict(X) < 0) == pytest.approx(model.fraction, abs=0.02)


@pytest.mark.parametrize("way", ["preconditioned", "line search", "old blocks again"])
def test_a_training_that_was_stopped_goes_on_to_the_same_model_to_the_bit(way, tmp_path):
    X, y = waves(300)
    through = unfitted(20, **WAYS[way]).fit(X, y)
    checkpoint = training.Checkpoint(tmp_path, "a run")
    with pytest.raises(TrainingInterrupted):
        unfitted(20, **WAYS[way]).fit(X, y, observers=[StopAt(checkpoint, 11)], checkpoint=checkpoint)
    resumed = unfitted(20, **WAYS[way]).fit(X, y, checkpoint=training.Checkpoint(tmp_path, "a run"))
    assert resumed.n_resumes_ == 1
    assert np.array_equal(resumed.predict(X), through.predict(X))
