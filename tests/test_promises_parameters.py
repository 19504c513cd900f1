"""What we promise about parameters: parameters of a fitted model change nothing, and numbers of NumPy are numbers."""

import copy

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import promises_example
from promises_example import EVERY, outputs, targets, unfitted
from shallows import features, kernels, streams
from shallows.kernel_approximation import HiddenUnits, QuasiMonteCarloFeatures
from shallows.kernels import Matern
from shallows.statistics import two_sample_test
from shallows.svm import RandomKitchenSinksRegressor
from solved_by import CLASSIFIERS, REGRESSORS

X = np.random.default_rng(0).normal(size=(60, 3))
NUMBERS = X[:, 0] + 0.1 * X[:, 1]


#: Values that a parameter is set to after a fit.
LATER = [None, 7, "logistic", "precomputed"]
#: What decides how much time or memory a prediction takes.
OF_PREDICTIONS = {"device", "memory", "options", "verbose"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in promises_example.EVERY + CLASSIFIERS),
        ("DoublyStochasticKernelPCA", {"solver__method": "individual"}),
        ("DoublyStochasticKernelPCA", {"center": False}),
        ("DoublyStochasticClassifier", {"loss": "hinge"}),
        ("sdca: RegularizedRiskClassifier", {"loss": "logistic"}),
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
    names = [
        name
        for name in {*vars(model), *dir(type(model))}
        if name.endswith("_") and not name.startswith("_") and hasattr(model, name)
    ]
    columns = list(model.get_feature_names_out()) if hasattr(model, "get_feature_names_out") else None
    return {name: repr(getattr(model, name)) for name in names} | {"columns": columns}


# --------------------------------------------------------------------------------- whole numbers of NumPy

INTEGERS = [np.int8, np.uint16, np.int64, np.uint64]
WHOLE = {
    **{
        "batch_size": 100,
        "block_size": 100,
        "budget": 40,
        "centres": 60,
        "degree": 2,
        "fresh": 2,
        "max_core_points": 90,
    },
    **{"max_epochs": 2, "max_features": 100, "max_iterations": 100, "n_bins": 64, "n_components": 1, "n_features": 60},
    **{"n_grids": 10, "n_hyperplanes": 5, "n_iter": 9, "n_iter_no_change": 2, "n_subsample": 50, "n_units": 100},
    **{
        "max_core_points": 90,
        "prune_every": 100,
        "random_state": 100,
        "rank": 20,
        "reused": 2,
        "sample_size": 59,
        "verbose": 0,
    },
}
"""Whole-number parameters, each with a value that overflows int8 when it is doubled, where that is quick."""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", EVERY)
def test_whole_numbers_of_numpy_are_those_of_python(name):
    parameters = {key: value for key, value in WHOLE.items() if key in unfitted(name).get_params()}
    if {"n_iter", "max_epochs"} <= parameters.keys():
        del parameters["max_epochs"]
    y = targets(name, X)
    expected = outputs(unfitted(name, **parameters).fit(X, y), X)
    # All of them at once: each is converted by itself.
    small = unfitted(name, **{key: np.int8(value) for key, value in parameters.items()})
    assert all(type(small.get_params()[key]) is int for key in parameters)
    for mine, its in zip(outputs(small.fit(X, y), X), expected, strict=True):
        assert mine == pytest.approx(its, abs=1e-6)


@pytest.mark.parametrize("integer", INTEGERS)
def test_a_whole_number_of_numpy_is_converted_however_it_is_set(integer):
    model = QuasiMonteCarloFeatures(n_features=integer(20), kernel=Matern(nu=integer(2)))
    assert clone(model).fit_transform(X).shape == (60, 20)
    clone(model.set_params(n_features=integer(30))).fit(X)
    model.n_features = integer(40)
    assert type(clone(model).n_features) is int
    layers = HiddenUnits(n_units=(integer(20), integer(30)))
    assert clone(layers).n_units == (20, 30) and type(layers.n_units[0]) is int


def test_a_small_integer_type_allows_as_many_iterations_as_it_says():
    options = {"features": HiddenUnits("cosine", n_units=20), "random_state": 0, "tol": 0.0}
    few, many = (
        RandomKitchenSinksRegressor(max_iterations=most, **options).fit(X, NUMBERS)
        for most in (np.int16(20_000), 20_000)
    )
    assert few.n_iter_ == many.n_iter_ > 1


@pytest.mark.parametrize("integer", [np.int8, np.uint8])
def test_functions_and_classes_below_the_estimators_take_numpys_whole_numbers(integer):
    n, kernel = integer(100), kernels.Gaussian(integer(20))
    assert kernel == kernels.Gaussian(20)
    assert kernels.Polynomial(integer(3), offset=integer(1)) == kernels.Polynomial(3, 1)
    for name in ("fourier", "quasi_monte_carlo", "fastfood", "nystrom"):
        found, expected = (features.make(name, kernel, X, m, m) for m in (n, 100))
        assert np.array_equal(found.map(X), expected.map(X))
    assert np.array_equal(*[streams.normal(m, "test", m, (m, 2)) for m in (n, 100)])
    assert np.array_equal(*[streams.permutation(m, "test", m, m) for m in (n, 100)])
    results = [two_sample_test(X[:30], X[30:], n_features=m, n_draws=m, random_state=m) for m in (n, 100)]
    assert results[0].pvalue == results[1].pvalue


def numbers_of_numpy(value):
    """What is no plain Python value in the entries of ``report_``."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, (list, tuple)):
        return [found for one in value for found in numbers_of_numpy(one)]
    return [] if value is None or type(value) in (str, int, float, bool) else [value]


def intervals_of_width_zero(value):
    if isinstance(value, dict):
        return [found for one in value.values() for found in intervals_of_width_zero(one)]
    return [value] if isinstance(value, list) and len(value) == 2 and value[0] == value[1] else []


GIVEN = {name: np.float64(value) for name, value in (("bandwidth", 0.5), ("C", 0.5), ("damping", 0.5))}
GIVEN["regularisation"] = np.float64(1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("name", "given"),
    [
        (name, ({}, GIVEN)[number % 2])
        for number, name in enumerate([*promises_example.EVERY, *CLASSIFIERS, *REGRESSORS])
    ],
)
def test_what_a_fit_chose_is_told_in_plain_numbers_and_true_intervals(name, given):
    model = promises_example.unfitted(name, **given)
    model.fit(X, promises_example.targets(name, X))
    told = model.report_ if hasattr(model, "report_") else {}
    assert not numbers_of_numpy(told)
    assert not intervals_of_width_zero(told)
