"""What we promise about parameters: a value of a wrong kind is refused by every estimator, in words that name it."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression

import shallows
from shallows.errors import ShallowsError

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
