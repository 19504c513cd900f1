"""Numbers without sense as parameters are refused in a sentence, and memory that cannot be had before it is taken."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flat import known
from promises_example import EVERY, targets, unfitted
from shallows import estimators
from shallows.errors import ShallowsError

COUNTS = {
    "batch_size",
    "block_size",
    "budget",
    "centres",
    "degree",
    "fresh",
    "max_core_points",
    "max_epochs",
    "max_features",
    "max_iterations",
    "max_steps",
    "n_bins",
    "n_components",
    "n_features",
    "n_grids",
    "n_hyperplanes",
    "n_iter",
    "n_iter_no_change",
    "n_subsample",
    "n_units",
    "order",
    "patience",
    "prune_every",
    "rank",
    "reused",
    "sample_size",
    "truncation",
}
NUMBERS = {
    "C",
    "alpha",
    "bandwidth",
    "cap",
    "constant",
    "damping",
    "decrease",
    "epsilon",
    "feature_variance",
    "fraction",
    "gradient_bound",
    "max_seconds",
    "memory",
    "mu",
    "noise_variance",
    "offset",
    "period",
    "pruning",
    "regularisation",
    "regularization",
    "ridge",
    "scale",
    "second_bandwidth",
    "bound",
    "signal_variance",
    "step_size",
    "target_bandwidth",
    "theta_nu",
    "tol",
    "validation_fraction",
}
OTHERS = {
    "calibration",
    "class_weight",
    "features",
    "options",
    "orthogonal",
    "preconditioner",
    "random_state",
    "second_kernel",
    "verbose",
}

NO_COUNT = {
    "10^30": 10**30,
    "infinity": math.inf,
    "NaN": math.nan,
    "a fraction": 2.5,
    "negative": -1,
    "true": True,
    "a word": "many",
    "an empty list": [],
    "an array": np.array([1, 2]),
}
NO_NUMBER = {
    "-infinity": -math.inf,
    "NaN": math.nan,
    "negative": -1.0,
    "true": True,
    "a word": "much",
    "an empty list": [],
    "an array": np.array([0.1, 0.2]),
}
CHOICES = {"an empty list": [], "an array": np.array([1, 2]), "NaN": math.nan}

MUCH = 10**9
GROWING = {
    ("AMMClassifier", "n_hyperplanes"): "2,000,000,000 hyperplanes take 96 GB",
    ("BudgetedSVMClassifier", "budget"): "1,000,000,000 support vectors take",
    ("DoublyStochasticClassifier", "solver__block_size"): "A block of 1,000,000,000 frequencies takes",
    ("DoublyStochasticRegressor", "solver__n_iter"): "The features that 1,000,000,000 steps add take",
    ("DoublyStochasticKernelPCA", "solver__block_size"): "A block of 1,000,000,000 frequencies takes",
    ("DoublyStochasticKernelSVD", "solver__block_size"): "A block of 1,000,000,000 frequencies takes",
    ("feature_eigenpro: FeatureRidgeRegressor", "n_features"): "The coefficients of 1,000,000,000 features take",
    ("FeatureRidgeRegressor", "n_features"): "60 rows of 1,000,000,000 features take 480 GB",
    ("HiddenUnits", "n_units"): "60 rows of 1,000,000,000 features take 480 GB",
    ("pegasos: RegularizedRiskClassifier", "n_features"): "The coefficients of 1,000,000,000 features take",
    ("QuasiMonteCarloFeatures", "n_features"): "60 rows of 1,000,000,000 features take 480 GB",
    ("RandomKitchenSinksClassifier", "n_units"): "1,000,000,000 equations",
    ("sag: RegularizedRiskClassifier", "n_features"): "The coefficients of 1,000,000,000 features take",
    ("sdca: RegularizedRiskRegressor", "n_features"): "The coefficients of 1,000,000,000 features take",
    ("svrg: RegularizedRiskClassifier", "n_features"): "The coefficients of 1,000,000,000 features take",
    ("TensorSketch", "n_features"): "60 rows of 1,000,000,000 features take 480 GB",
}
"""By estimator and parameter what is said of a count that no memory holds."""

X = np.random.default_rng(0).normal(size=(60, 4))
each = pytest.mark.parametrize("name", EVERY)


def defaults(name):
    """The defaults of all parameters by their paths, also of those inside a solver, features or options."""
    return {path: value for path, value in known(getattr(estimators, name)).items() if not path.endswith("_params")}


def named(name, known_names):
    """The paths of the parameters with some names."""
    return [path for path in defaults(name) if path.rpartition("__")[2] in known_names]


def refuses(name, path, value):
    parameter = path.rpartition("__")[2]
    with pytest.raises((ShallowsError, ValueError)) as raised:
        unfitted(name, **{path: value}).fit(X, targets(name, X))
    said = str(raised.value)
    assert parameter in said or "A size in bytes" in said, (parameter, value, said)
    assert type(value) is bool or repr(value) in said, (parameter, value, said)


@each
def test_every_number_among_the_parameters_is_of_a_kind_that_is_tried_here(name):
    found = {path.rpartition("__")[2]: value for path, value in defaults(name).items()}
    numbers = {key for key, one in found.items() if one is None or type(one) in (int, float)}
    assert numbers <= COUNTS | NUMBERS | OTHERS


@each
def test_a_count_without_sense_is_refused_by_name(name):
    for parameter in named(name, COUNTS):
        for value in NO_COUNT.values():
            refuses(name, parameter, value)


@each
def test_a_number_without_sense_is_refused_by_name(name):
    for parameter in named(name, NUMBERS):
        for value in NO_NUMBER.values():
            refuses(name, parameter, value)


@each
def test_what_is_no_name_is_refused_where_a_name_is_expected(name):
    for parameter, default in defaults(name).items():
        # A device is looked at where it has an effect.
        if isinstance(default, str) and parameter.rpartition("__")[2] not in COUNTS | NUMBERS | {"device"}:
            for value in CHOICES.values():
                with pytest.raises((ShallowsError, ValueError), match=r".{20}") as raised:
                    unfitted(name, **{parameter: value}).fit(X, targets(name, X))
                assert "truth value" not in str(raised.value), parameter


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
