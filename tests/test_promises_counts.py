"""Whole numbers without sense as parameters are refused in a sentence, and memory that is not available beforehand."""

from __future__ import annotations

import inspect
import math
import re

import numpy as np
import pytest

from promises_example import EVERY, targets, unfitted
from shallows import estimators
from shallows.errors import ShallowsError

#: Counts that no parameter takes, in addition to those of test_estimators_refusals.py.
NO_COUNT = [10**30, math.inf, 2.5, np.array([1, 2])]
SIZES_IN_BYTES = {"memory", "cache"}

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


def counts_of(part):
    """The parameters whose annotation has whole numbers and no others."""
    annotations = {name: str(one.annotation) for name, one in inspect.signature(type(part)).parameters.items()}
    words = {name: set(re.findall(r"\w+", annotation)) for name, annotation in annotations.items()}
    return [name for name, kinds in words.items() if "int" in kinds and not kinds & {"float", "Any", "bool"}]


def counts(name):
    """The paths of the counts of an estimator, also of those in its solver, features or options."""
    model = getattr(estimators, name)()
    found = counts_of(model)
    for parameter in inspect.signature(type(model)).parameters:
        try:
            part = model._object(parameter, "")
        except (TypeError, ValueError):  # not a part with parameters
            continue
        found += [f"{parameter}__{own}" for own in counts_of(part)]
    return [path for path in found if path.rpartition("__")[2] not in SIZES_IN_BYTES]


@pytest.mark.parametrize("name", EVERY)
def test_a_count_without_sense_is_refused_by_name(name):
    for path in counts(name):
        for value in NO_COUNT:
            with pytest.raises((ShallowsError, ValueError), match=path.rpartition("__")[2]) as raised:
                unfitted(name, **{path: value}).fit(X, targets(name, X))
            assert repr(value) in str(raised.value)


def test_counts_are_found_in_all_parts():
    found = {path for name in EVERY for path in counts(name)}
    assert {"max_epochs", "n_features", "solver__n_iter", "features__n_features", "options__verbose"} <= found


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
