"""What the estimators of growing functions refuse, and what they say then."""

import warnings

import numpy as np
import pytest

from doubly_stochastic_example import moons, waves
from shallows import DoublyStochasticClassifier, DoublyStochasticRegressor
from shallows.errors import DivergenceError
from shallows.solvers import DoublyStochastic, TheoryStep


def test_old_parameters_are_answered_with_the_present_call():
    with pytest.raises(TypeError, match=r"has no parameter '\w+': it belongs to the solver") as raised:
        DoublyStochasticClassifier(method="udsg", fresh=2, reused=3, regularisation=None, device="cpu")
    assert str(raised.value).endswith(
        " The call is now DoublyStochasticClassifier(solver=DoublyStochastic(reuse=UniformReuse(fresh=2, reused=3)), "
        "regularization='auto', options=Options(device='cpu'))."
    )


def test_a_product_of_theta_and_nu_outside_the_theory_warns():
    X, y = moons()
    with pytest.warns(UserWarning, match=r"theta_nu=0\.5 is neither in \(1, 2\)"):
        DoublyStochasticClassifier(
            solver=DoublyStochastic(schedule=TheoryStep(theta_nu=0.5)), regularization=0.01, random_state=0
        ).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for theta_nu in (1, 1.5, 3.0):
            model = DoublyStochasticClassifier(
                solver=DoublyStochastic(schedule=TheoryStep(theta_nu=theta_nu), n_iter=5), regularization=0.01
            )
            model.fit(X, y)


def test_margins_have_no_probabilities():
    model = DoublyStochasticClassifier(solver=DoublyStochastic(n_iter=2), loss="hinge")
    assert not hasattr(model, "predict_proba") and not hasattr(model.fit(*moons()), "predict_proba")
    with pytest.raises(AttributeError) as caught:
        model.predict_proba(moons()[0])
    assert "CalibratedClassifierCV" in str(caught.value.__cause__)
    for loss in ("auto", "logistic", "softmax"):
        assert hasattr(model.set_params(loss=loss).fit(*moons()), "predict_proba")


def test_a_fit_that_diverges_keeps_the_previous_model():
    X, y = waves()
    model = DoublyStochasticRegressor(solver=DoublyStochastic(n_iter=3), random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(DivergenceError):
        model.set_params(solver__schedule="constant", solver__step_size=1e9, solver__preconditioning=None).fit(X, y)
    assert np.array_equal(model.predict(X), before)
