"""The scikit-learn face: what the function is made of, and what is the same again."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from engine_example import EUCLIDEAN
from estimators_example import brief, each, one_by_hand, outputs, table, uncalibrated
from shallows import KernelRidgeClassifier
from shallows.solvers import KernelSGD

pytestmark = brief


# ------------------------------------------------------------------------------ what the function is made of


@each
@pytest.mark.parametrize("kernel", EUCLIDEAN)
def test_predictions_are_the_kernel_expansion_of_the_coefficients(Estimator, kernel):
    X, y, new = table(Estimator)
    model = Estimator(kernel, max_epochs=3, tol=0, random_state=0, **uncalibrated(Estimator)).fit(X, y)
    predicted = outputs(model, new).reshape(len(new), -1)
    expected = one_by_hand(model, X, new)
    assert np.abs(predicted - expected).max() < 1e-12 * np.abs(model.dual_coef_).sum()


def test_digits_are_told_apart():
    X, y = load_digits(return_X_y=True)
    # scikit-learn's SVC with its defaults reaches 0.959 on this split.
    sgd = KernelRidgeClassifier(solver=KernelSGD(max_epochs=5), random_state=0, bandwidth="median", n_components=None)
    for model, least in ((KernelRidgeClassifier(solver="eigenpro", random_state=0), 0.95), (sgd, 0.93)):
        assert model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > least


# ------------------------------------------------------------------------------------------- repetition


@each
@pytest.mark.parametrize("n", [120, 1100])
def test_the_same_seed_gives_the_same_model_to_the_bit(Estimator, n):
    X, y, new = table(Estimator, n)
    first, again = (Estimator(random_state=3, max_epochs=2, tol=0).fit(X, y) for _ in range(2))
    assert np.array_equal(first.dual_coef_, again.dual_coef_)
    assert np.array_equal(outputs(first, new), outputs(again, new))
    other = Estimator(random_state=4, max_epochs=2, tol=0).fit(X, y)
    assert not np.array_equal(first.support_, other.support_)
