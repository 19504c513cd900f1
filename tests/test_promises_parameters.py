"""What we promise about parameters: a value of a wrong kind is refused by every estimator, in words that name it."""

from __future__ import annotations

import copy
import inspect
import math

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression

import promises_example
import shallows
from shallows.errors import ShallowsError
from solved_by import CLASSIFIERS

ESTIMATORS = [
    made
    for made in (getattr(shallows, name) for name in shallows.__all__)
    if isinstance(made, type) and hasattr(made, "fit")
]
X = np.random.default_rng(0).normal(size=(60, 3))
NUMBERS = X[:, 0] + 0.1 * X[:, 1]
#: Parameters without a default.
NEEDED = {"ImageVotes": {"estimator": LogisticRegression(), "image_shape": (1, 1, 3)}}

#: Values that hardly any parameter takes.
WRONG = {"a word": "abc", "a list": [1, 2], "a dictionary": {"a": 1}, "NaN": math.nan}
#: Those that a parameter may have, by the end of its name.
RIGHT = {"a list": ("n_units",), "a dictionary": ("_params",)}
#: Whether these switches are on is not to be read from another value, such as the word "False".
SWITCHES = {"a number": 1, "a word": "False", "nothing": None}


def refused(Estimator, name, value):
    model = Estimator(**(NEEDED.get(Estimator.__name__, {}) | {name: value}))
    with pytest.raises(ShallowsError) as raised:
        model.fit(X, (NUMBERS > 0).astype(int) if is_classifier(model) else NUMBERS)
    assert name in str(raised.value) or repr(value) in str(raised.value), (name, value, str(raised.value))


@pytest.mark.parametrize("Estimator", ESTIMATORS, ids=lambda Estimator: Estimator.__name__)
@pytest.mark.parametrize("kind", WRONG)
def test_a_value_of_a_wrong_kind_is_refused_by_its_name(Estimator, kind):
    names = [name for name in inspect.signature(Estimator).parameters if not name.endswith(RIGHT.get(kind, ()))]
    for name in names:
        refused(Estimator, name, WRONG[kind])


@pytest.mark.parametrize("Estimator", ESTIMATORS, ids=lambda Estimator: Estimator.__name__)
def test_a_switch_is_true_or_false(Estimator):
    for name, parameter in inspect.signature(Estimator).parameters.items():
        if isinstance(parameter.default, bool):
            for value in SWITCHES.values():
                refused(Estimator, name, value)


#: Values that a parameter is set to after a fit.
LATER = [None, 7, "hinge", "logistic", "precomputed", "one_vs_rest", "individual"]
#: What decides how much time or memory a prediction takes.
OF_PREDICTIONS = {"device", "memory", "verbose"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in promises_example.EVERY + CLASSIFIERS),
        ("DoublyStochasticKernelPCA", {"method": "individual"}),
        ("DoublyStochasticKernelPCA", {"center": False}),
        ("DoublyStochasticClassifier", {"loss": "hinge"}),
        ("sdca: RegularisedRiskClassifier", {"loss": "logistic"}),
    ],
)
def test_parameters_that_are_set_after_a_fit_change_no_prediction(name, options):
    model = promises_example.unfitted(name, **options)
    later = sorted(set(model.get_params(deep=False)) - OF_PREDICTIONS)
    model.fit(X, np.digitize(NUMBERS, (-0.5, 0.5)) if is_classifier(model) else NUMBERS)
    before, shown = promises_example.outputs(model, X[:9]), fitted_attributes(model)
    for value in LATER:
        changed = copy.deepcopy(model).set_params(**dict.fromkeys(later, value))
        after = promises_example.outputs(changed, X[:9])
        assert len(after) == len(before) and all(map(np.array_equal, after, before)), value
        assert fitted_attributes(changed) == shown, value


def fitted_attributes(model):
    """What the model shows of its fit, as text; of a transformer also the names of its columns."""
    names = [name for name in {*vars(model), *dir(type(model))} if name.endswith("_") and not name.startswith("_")]
    columns = list(model.get_feature_names_out()) if hasattr(model, "get_feature_names_out") else None
    return {name: repr(getattr(model, name)) for name in names} | {"columns": columns}


def test_parameters_of_votes_over_images_that_are_set_after_a_fit_change_no_prediction():
    images = np.random.default_rng(1).normal(size=(40, 36))
    model = shallows.ImageVotes(LogisticRegression(), (1, 6, 6), crop=4).fit(images, images[:, 7] > 0)
    before = model.decision_function(images)
    model.set_params(image_shape=(4, 3, 3), crop=2, mirror=False, estimator=None)
    assert np.array_equal(model.decision_function(images), before)
