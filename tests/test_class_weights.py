"""Weights of the classes are factors of the sample weights, for every classifier."""

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

import shallows
from engine_example import sample
from promises_example import unfitted
from shallows import DoublyStochasticClassifier, KernelRidgeClassifier
from shallows.errors import ShallowsError
from shallows.solvers import DoublyStochastic

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CLASSIFIERS = sorted(name for name in shallows.estimators.__all__ if name.endswith("Classifier"))
every = pytest.mark.parametrize("name", CLASSIFIERS)

X, NEW = sample(90, 3), sample(200, 3, seed=1)
WORDS = np.array(["low", "middle", "high"])


def labels(x):
    return WORDS[np.digitize(np.sin(2 * x[:, 0]) + x[:, 1], [0.4, 1.0])]


@every
@pytest.mark.parametrize("with_sample_weight", [False, True])
def test_a_dict_is_the_sample_weights_of_its_classes(name, with_sample_weight):
    y, of_rows = labels(X), np.linspace(0.0, 2.0, len(X)) if with_sample_weight else None
    weights = np.where(y == "high", 4.0, np.where(y == "low", 0.5, 1.0))
    by_class = unfitted(name, class_weight={"high": 4, "low": 0.5}).fit(X, y, of_rows)
    by_rows = unfitted(name).fit(X, y, weights if of_rows is None else weights * of_rows)
    assert np.array_equal(by_class.decision_function(NEW), by_rows.decision_function(NEW))
    plain = unfitted(name).fit(X, y, of_rows)
    assert not np.array_equal(by_class.decision_function(NEW), plain.decision_function(NEW))


@every
def test_balanced_weights_are_those_of_scikit_learn(name):
    y = labels(X)
    classes = np.unique(y)
    weights = dict(zip(classes, compute_class_weight("balanced", classes=classes, y=y), strict=True))
    balanced, by_dict = (unfitted(name, class_weight=given).fit(X, y) for given in ("balanced", weights))
    assert np.array_equal(balanced.decision_function(NEW), by_dict.decision_function(NEW))


@every
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hihg": 2.0}, "names 'hihg', which is no class of the training labels; these are 'high', 'low', 'middle'"),
        ({"high": 0.0}, "positive numbers, got 0.0 for 'high'"),
        ({"high": np.nan}, "positive numbers, got nan"),
        ("balance", "'balanced' or None, got 'balance'"),
    ],
)
def test_weights_that_mean_nothing_are_told(name, given, message):
    with pytest.raises(ShallowsError, match=message):
        unfitted(name, class_weight=given).fit(X, labels(X))


def test_rows_of_several_labels_have_no_class():
    with pytest.raises(ShallowsError, match="a row of several labels has several classes"):
        KernelRidgeClassifier(solver="eigenpro", class_weight="balanced").fit(X, (X > 0).astype(int))


def test_a_stream_has_weights_of_classes_that_a_batch_need_not_show():
    y = labels(X)
    given = {"high": 3.0, "low": 0.5}
    order = np.argsort(y, kind="stable")
    by_class, by_rows = (
        DoublyStochasticClassifier(solver=DoublyStochastic(block_size=8), random_state=0, class_weight=one)
        for one in (given, None)
    )
    weights = np.array([given.get(label, 1.0) for label in y])
    for rows in np.split(order, 6):
        by_class.partial_fit(X[rows], y[rows], classes=WORDS)
        by_rows.partial_fit(X[rows], y[rows], classes=WORDS, sample_weight=weights[rows])
    assert np.array_equal(by_class.decision_function(NEW), by_rows.decision_function(NEW))
    with pytest.raises(ShallowsError, match="names 'top'"):
        DoublyStochasticClassifier(class_weight={"top": 2.0}).partial_fit(X, y, classes=WORDS)
    with pytest.raises(ShallowsError, match="a stream shows them batch by batch"):
        DoublyStochasticClassifier(class_weight="balanced").partial_fit(X, y, classes=WORDS)
