"""What an estimator learns: labels and values, their units, weights and probabilities."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from engine_example import sample
from estimators_example import (
    brief,
    each,
    each_classifier,
    each_eigenpro,
    each_regressor,
    outputs,
    published,
    table,
)
from promises_example import EVERY, unfitted

pytestmark = brief


@each_classifier
def test_two_classes_share_one_output(Estimator):
    X, y, new = table(Estimator)
    model = Estimator(random_state=0, max_epochs=2).fit(X, np.where(y > 0, "yes", "no"))
    assert model.dual_coef_.shape == (len(X), 1)
    scores = model.decision_function(new)
    assert scores.shape == (len(new),)
    assert np.array_equal(model.predict(new), np.where(scores > 0, "yes", "no"))


@each_regressor
def test_a_constant_target_whose_mean_is_rounded_is_not_learnt(Estimator):
    X, y, new = table(Estimator, 120)
    third = np.full(len(X), 1.1)
    assert np.mean(third) != 1.1 or np.average(third, weights=np.arange(1.0, 121)) != 1.1  # rounding is there
    both = Estimator(random_state=0).fit(X, np.stack([third, y], axis=1), sample_weight=np.arange(1.0, 121))
    assert np.array_equal(both.predict(new)[:, 0], np.full(len(new), 1.1))
    assert np.array_equal(Estimator().fit(X, third).predict(new), np.full(len(new), 1.1))


# --------------------------------------------------------------------------------------------- weights


ROWS = sample(30)
# Targets as Python objects, one of which is spoilt, and what is said of it.
SPOILT_TARGETS = [
    (None, r"Input y contains NaN: y\[5\] is None"),
    (pd.NA, r"Input y contains NaN: y\[5\] is <NA>"),
    (float("nan"), r"Input y contains NaN"),
    (float("inf"), r"Input y contains infinity"),
    ("five", r"y\[5\] is 'five', which is no number"),
    (10**400, r"y\[5\] is 1000.*which is no number that float64"),
]


@pytest.mark.parametrize("name", [name for name in EVERY if name.endswith("Regressor")])
@pytest.mark.parametrize(("value", "says"), SPOILT_TARGETS, ids=[str(value)[:5] for value, _ in SPOILT_TARGETS])
def test_a_regression_names_the_target_that_is_no_number(name, value, says):
    y = ROWS[:, 0].tolist()
    y[5] = value
    several = np.array([y, y], dtype=object).T
    for given in (y, np.array(y, dtype=object), pd.Series(y, dtype=object), several):
        if given is several and name.startswith("CoreVector"):  # One output only.
            continue
        with pytest.raises(ValueError, match=says):
            unfitted(name).fit(ROWS, given)


@each_eigenpro
def test_a_weight_of_two_is_a_row_that_is_there_twice(Estimator):
    # Noise that cannot be fitted (repeated points with other targets), so that weights matter at the optimum. Laplace
    # sees repeated points √(rounding) = 1e-8 apart.
    X = np.repeat(sample(25), 2, axis=0)
    y = np.random.default_rng(0).integers(0, 2, size=50)
    w = np.random.default_rng(1).integers(1, 4, size=50)
    options = {"kernel": "laplace", "bandwidth": 1.0, "random_state": 0, "max_epochs": 10}
    model = Estimator(**options, **published(Estimator, "bandwidth"))
    weighted = outputs(model.fit(X, y, sample_weight=w), X)
    repeated = outputs(model.fit(np.repeat(X, w, axis=0), np.repeat(y, w)), X)
    assert np.abs(weighted - repeated).max() < 1e-5
    assert np.abs(weighted - outputs(model.fit(X, y), X)).max() > 0.05


@each
def test_a_weight_of_nothing_is_a_row_that_is_not_there(Estimator):
    X, y, new = table(Estimator)
    w = np.ones(len(X))
    w[::3] = 0
    weighted = Estimator(random_state=0, max_epochs=2).fit(X, y, sample_weight=w)
    without = Estimator(random_state=0, max_epochs=2).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    assert np.array_equal(outputs(weighted, new), outputs(without, new))


@each
def test_the_unit_of_the_weights_changes_nothing(Estimator):
    X, y, new = table(Estimator)
    w = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    options = {"kernel": "laplace", "random_state": 0, "max_epochs": 3}
    one, other = (Estimator(**options).fit(X, y, sample_weight=w * unit) for unit in (1.0, 2.0**40))
    assert np.abs(outputs(one, new) - outputs(other, new)).max() < 1e-9


# --------------------------------------------------------------------------------------- probabilities


@each_classifier
@pytest.mark.parametrize("n_classes", [2, 6])
def test_probabilities_sum_to_one_and_agree_with_the_prediction(Estimator, n_classes):
    X, y = make_blobs(150, centers=n_classes, n_features=3, cluster_std=3, random_state=0)
    model = Estimator(random_state=0, max_epochs=3).fit(X, y)
    new = np.vstack([X, 3 * sample(200)])
    shares = model.predict_proba(new)
    assert shares.shape == (350, n_classes)
    assert shares.min() >= 0
    assert np.abs(shares.sum(axis=1) - 1).max() < 1e-14
    assert np.array_equal(model.classes_[shares.argmax(axis=1)], model.predict(new))
