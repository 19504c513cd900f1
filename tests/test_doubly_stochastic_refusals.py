"""What the estimators of growing functions refuse, and what they say then."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.ensemble import StackingClassifier
from sklearn.metrics import get_scorer, roc_auc_score

from doubly_stochastic_example import moons, waves
from shallows import DoublyStochasticClassifier, DoublyStochasticNoveltyDetector, DoublyStochasticRegressor
from shallows.errors import DivergenceError, ShallowsError


def test_one_class_in_all_is_an_error():
    X, y = moons()
    with pytest.raises(ValueError, match=r"one class only \('low'\)"):
        DoublyStochasticClassifier().fit(X[y == "low"], y[y == "low"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regularisation": -1.0}, "regularisation must be a number of at least 0 or None, got -1.0"),
        ({"regularisation": float("nan")}, "regularisation must be a number of at least 0"),
        ({"method": "sgd"}, "no value of method 'sgd'. Did you mean 'dsg'"),
        ({"schedule": "slow"}, "no value of schedule 'slow'"),
        ({"preconditioning": "full"}, "no value of preconditioning 'full'. Known: None, block, decoupled"),
        ({"features": "sine"}, "no value of features 'sine'. Did you mean 'cosine'"),
        ({"loss": "hinges"}, "no loss 'hinges'.*Did you mean 'hinge'"),
        ({"loss": "huber"}, "is not for classes"),
        ({"kernel": "gausian"}, "no kernel 'gausian'.*Did you mean 'gaussian'"),
        ({"kernel": "heat_circle"}, "'heat_circle' draws no random features"),
        ({"bandwidth": -2.0}, "bandwidth must be a positive number, 'auto', 'median' or None"),
        ({"step_size": 0.0}, "step_size must be a positive number or None"),
        ({"block_size": 0}, "block_size must be a whole number of at least 1 or None"),
        ({"batch_size": 2.5}, "batch_size must be a whole number of at least 1 or None"),
        ({"n_iter": 0}, "n_iter must be a whole number"),
        ({"schedule": "theory", "regularisation": 0.0}, "regularisation, which must be positive"),
        ({"schedule": "theory", "theta_nu": -1.0}, "theta_nu must be a positive number"),
        ({"method": "cdsg", "cap": 0.5}, "cap, the largest factor of a step, must be at least 1"),
        ({"method": "cdsg", "cap": "a"}, "cap, the largest factor of a step, must be at least 1, got 'a'"),
        ({"method": "udsg", "fresh": 0}, "fresh must be a whole number of at least 1, got 0"),
        ({"method": "udsg", "fresh": 1.5}, "fresh must be a whole number of at least 1, got 1.5"),
        ({"method": "udsg", "reused": -1}, "reused must be a whole number of at least 0, got -1"),
        ({"method": "udsg", "reused": "a"}, "reused must be a whole number of at least 0, got 'a'"),
        ({"dtype": "float16"}, "dtype must be .auto., .float32. or .float64."),
        ({"device": "tpu"}, "device must be"),
    ],
    ids=str,
)
def test_a_parameter_out_of_its_range_is_one_clear_error(options, message):
    with pytest.raises(ShallowsError, match=message):
        DoublyStochasticClassifier(**options).fit(*moons())


def test_a_loss_for_classes_is_refused_for_numbers():
    with pytest.raises(ShallowsError, match="'hinge' is not for numbers"):
        DoublyStochasticRegressor(loss="hinge").fit(*waves())
    with pytest.raises(ShallowsError, match=r"fraction .* must be a number in \(0, 1\]"):
        DoublyStochasticNoveltyDetector(fraction=0.0).fit(waves()[0])


def test_a_product_of_theta_and_nu_outside_the_theory_warns():
    X, y = moons()
    with pytest.warns(UserWarning, match=r"theta_nu=0\.5 is neither in \(1, 2\)"):
        DoublyStochasticClassifier(schedule="theory", theta_nu=0.5, regularisation=0.01, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for theta_nu in (1, 1.5, 3.0):
            model = DoublyStochasticClassifier(schedule="theory", theta_nu=theta_nu, regularisation=0.01, n_iter=5)
            model.fit(X, y)


def test_margins_have_no_probabilities():
    model = DoublyStochasticClassifier(loss="hinge", n_iter=2)
    assert not hasattr(model, "predict_proba") and not hasattr(model.fit(*moons()), "predict_proba")
    with pytest.raises(AttributeError) as caught:
        model.predict_proba(moons()[0])
    assert "CalibratedClassifierCV" in str(caught.value.__cause__)
    for loss in ("auto", "logistic", "softmax"):
        assert hasattr(model.set_params(loss=loss).fit(*moons()), "predict_proba")


def test_stacking_and_roc_curves_of_margins_use_the_decision_function():
    X, y = moons()
    margins = DoublyStochasticClassifier(loss="hinge", n_iter=20, random_state=0)
    stacked = StackingClassifier([("margins", margins)], cv=2).fit(X, y)
    assert stacked.stack_method_ == ["decision_function"]
    scores = get_scorer("roc_auc")(margins.fit(X, y), X, y)
    assert scores == roc_auc_score(y, margins.decision_function(X))


def test_a_fit_that_diverges_keeps_the_previous_model():
    X, y = waves()
    model = DoublyStochasticRegressor(random_state=0, n_iter=3).fit(X, y)
    before = model.predict(X)
    with pytest.raises(DivergenceError):
        model.set_params(schedule="constant", step_size=1e9, preconditioning=None).fit(X, y)
    assert np.array_equal(model.predict(X), before)
