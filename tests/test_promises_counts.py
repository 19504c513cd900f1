"""Numbers without sense as parameters are refused in a sentence, and memory that is not available beforehand."""

import inspect
import math
import re

import numpy as np
import pytest

from promises_example import EVERY, targets, unfitted
from shallows import estimators
from shallows.errors import ShallowsError

#: Values without sense by the kind of number.
WITHOUT_SENSE = {
    "int": [10**30, math.inf, math.nan, 2.5, -1, True, "many", [], np.array([1, 2])],
    "float": [-math.inf, math.nan, -1.0, True, "much", [], np.array([0.1, 0.2])],
}
OTHERS = {"memory", "cache", "verbose"}

MUCH = 10**9
GROWING = {
    ("AMMClassifier", "n_hyperplanes"): "2,000,000,000 hyperplanes take 96 GB",
    ("BudgetedSVMClassifier", "budget"): "1,000,000,000 support vectors take",
    ("DoublyStochasticClassifier", "solver__block_size"): "A block of 1,000,000,000 frequencies takes",
    ("DoublyStochasticRegressor", "solver__n_iter"): "The features that 1,000,000,000 steps add take",
    ("DoublyStochasticKernelSVD", "solver__block_size"): "A block of 1,000,000,000 frequencies takes",
    ("feature_eigenpro: FeatureRidgeRegressor", "n_features"): "The coefficients of 1,000,000,000 features take",
    ("FeatureRidgeRegressor", "n_features"): "60 rows of 1,000,000,000 features take 480 GB",
    ("HiddenUnits", "n_units"): "60 rows of 1,000,000,000 features take 480 GB",
    ("pegasos: RegularizedRiskClassifier", "n_features"): "The coefficients of 1,000,000,000 features take",
    ("RandomKitchenSinksClassifier", "n_units"): "1,000,000,000 equations",
    ("svrg: RegularizedRiskClassifier", "n_features"): "The coefficients of 1,000,000,000 features take",
    ("TensorSketch", "n_features"): "60 rows of 1,000,000,000 features take 480 GB",
}
"""By estimator and parameter what is said of a count that no memory holds."""

X = np.random.default_rng(0).normal(size=(60, 4))


def numbers_of(part, kind):
    """The parameters whose annotation has numbers of a kind and no larger kind."""
    annotations = {name: str(one.annotation) for name, one in inspect.signature(type(part)).parameters.items()}
    words = {name: set(re.findall(r"\w+", annotation)) for name, annotation in annotations.items()}
    larger = {"Any", "bool", *({"float"} if kind == "int" else ())}
    return [name for name, kinds in words.items() if kind in kinds and not kinds & larger]


def numbers(name, kind):
    """The paths of the numbers of an estimator, also of those in its solver, features or options."""
    model = getattr(estimators, name)()
    found = numbers_of(model, kind)
    for parameter in inspect.signature(type(model)).parameters:
        try:
            part = model._object(parameter, "")
        except (TypeError, ValueError):  # not a part with parameters
            continue
        found += [f"{parameter}__{own}" for own in numbers_of(part, kind)]
    return [path for path in found if path.rpartition("__")[2] not in OTHERS]


@pytest.mark.parametrize("kind", WITHOUT_SENSE)
@pytest.mark.parametrize("name", EVERY)
def test_a_number_without_sense_is_refused_by_name(name, kind):
    for path in numbers(name, kind):
        for value in WITHOUT_SENSE[kind]:
            with pytest.raises((ShallowsError, ValueError), match=path.rpartition("__")[2]) as raised:
                unfitted(name, **{path: value}).fit(X, targets(name, X))
            assert type(value) is bool or repr(value) in str(raised.value)


def test_numbers_are_found_in_all_parts():
    found = {path for name in EVERY for kind in WITHOUT_SENSE for path in numbers(name, kind)}
    assert {"max_epochs", "n_features", "solver__n_iter", "features__n_features", "bandwidth", "solver__tol"} <= found


@pytest.mark.parametrize(("name", "parameter"), GROWING)
def test_memory_that_cannot_be_had_is_told_before_it_is_taken(name, parameter):
    options = {parameter: MUCH}
    if name.startswith(("pegasos", "sdca")):
        options["features"] = "fourier"
    model = unfitted(name, **options)
    learn = model.partial_fit if name == "BudgetedSVMClassifier" else getattr(model, "fit_transform", model.fit)
    more = {"classes": [0, 1]} if name == "BudgetedSVMClassifier" else {}
    with pytest.raises(ShallowsError, match=GROWING[name, parameter]):
        learn(X, targets(name, X), **more)
