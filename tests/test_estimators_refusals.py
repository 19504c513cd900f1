"""What an estimator refuses, and in which words."""

import dataclasses
import inspect
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

import shallows
from engine_example import sample
from estimators_example import brief, each, each_classifier, table
from feature_forms import feature_eigenpro_regressor
from forms import eigenpro_classifier
from shallows import arrays, estimators, kernels
from shallows.errors import DivergenceError, MissingExtraError, ShallowsError, UnknownNameError
from shallows.solvers import settings
from solved_by import constructor

pytestmark = brief


@each_classifier
def test_targets_that_are_no_classes_are_refused(Estimator):
    X, y, _ = table(Estimator)
    for wrong, message in (
        (["a"] * len(X), r"one class only \('a'\)"),
        (np.stack([y, 2 * y], axis=1), "several columns|not supported"),
        (X[:, 0], "Unknown label type"),
    ):
        with pytest.raises(ValueError, match=message):
            Estimator().fit(X, wrong)


WRONG = [True, "x", np.nan, -1.0, [1]]
NO_SWITCH = [1, "False", None, *WRONG[1:]]
SOLVERS = {cls for name in estimators.__all__ for cls in getattr(estimators, name)._named.get("solver", {}).values()}


@pytest.mark.parametrize("name", estimators.__all__)
def test_a_value_of_the_wrong_kind_is_refused_with_the_name_of_its_parameter(name):
    Estimator, X = getattr(estimators, name), sample(20, 3)
    y = X[:, 0] > 0 if is_classifier(Estimator()) else X[:, 0]
    for key, parameter in inspect.signature(Estimator).parameters.items():
        right = [True] if key == "orthogonal" else [[1]] if key == "n_units" else []
        values = NO_SWITCH if isinstance(parameter.default, bool) else WRONG
        for wrong in [] if key == "features" else [one for one in values if one not in right]:
            with pytest.raises(ShallowsError, match=re.escape(repr(wrong))) as raised:
                Estimator(**{key: wrong}).fit(X, y)
            assert key.removeprefix("second_") in str(raised.value)


@pytest.mark.parametrize("cls", sorted(SOLVERS, key=str))
def test_a_setting_of_the_wrong_kind_is_refused_with_its_name(cls):
    for item in dataclasses.fields(cls):
        is_flag = isinstance(item.default, bool) or item.name == "orthogonal"
        for wrong in WRONG:
            if item.init and item.name != "preconditioner" and not (is_flag and wrong is True):
                with pytest.raises(ShallowsError, match=rf"{item.name}\b.*{re.escape(repr(wrong))}"):
                    settings.resolve(cls(**{item.name: wrong}), {"solver": cls}, "Machine")


@pytest.mark.parametrize(
    ("name", "value"),
    [("bandwidth", 0), ("batch_size", 0), ("batch_size", 2.5), ("tol", None), ("damping", 0.0), ("damping", 1.5)],
)
def test_a_value_next_to_the_range_is_refused(name, value):
    X, y, _ = table(eigenpro_classifier)
    with pytest.raises(ShallowsError, match=f"{name}.*{value!r}"):
        eigenpro_classifier(**{name: value}).fit(X, y)


@each
@pytest.mark.parametrize("kernel", ["gausian", None, ["gaussian"]])
def test_an_unknown_kernel_is_told_the_known_ones(Estimator, kernel):
    X, y, _ = table(Estimator)
    with pytest.raises(UnknownNameError, match=r"cauchy, .*gaussian, .*laplace") as raised:
        Estimator(kernel).fit(X, y)
    assert kernel != "gausian" or "Did you mean 'gaussian'?" in str(raised.value)


@each
def test_a_gpu_without_cupy_names_the_extra(Estimator, monkeypatch):
    def missing():
        raise MissingExtraError("gpu", "device='gpu'")

    monkeypatch.setattr(arrays.devices, "_cupy", missing)
    X, y, _ = table(Estimator)
    with pytest.raises(MissingExtraError, match=r"device='gpu' needs .* extra 'gpu': pip install 'shallows\[gpu\]'"):
        Estimator(device="gpu").fit(X, y)


@each
def test_a_step_of_the_users_that_is_too_large_is_an_error_that_names_it(Estimator):
    X, y, _ = table(Estimator)
    with pytest.raises(DivergenceError, match=r"step_size=1e\+15.*smaller step"):
        Estimator(step_size=1e15).fit(X, y)


EVERY_CLASSIFIER = [getattr(estimators, name) for name in estimators.__all__ if name.endswith("Classifier")]


@pytest.mark.parametrize("Classifier", EVERY_CLASSIFIER, ids=lambda Classifier: Classifier.__name__)
@pytest.mark.parametrize("missing", [np.nan, None])
@pytest.mark.parametrize("given_as", [list, pd.Series, lambda y: np.array(y, dtype=object)])
def test_a_missing_label_is_no_class(Classifier, missing, given_as):
    X, y, _ = table(Classifier)
    words = [missing if i == 5 else f"class {label}" for i, label in enumerate(y)]
    with pytest.raises(ValueError, match=r"y holds (nan|None), which is no class label"):
        Classifier().fit(X, given_as(words))


@pytest.mark.parametrize("Estimator", [feature_eigenpro_regressor, constructor("sag: RegularizedRiskRegressor")])
def test_a_kernel_without_frequencies_is_told_of_landmarks_where_the_estimator_has_them(Estimator):
    X, y, _ = table(Estimator)
    with pytest.raises(ShallowsError, match=r"Kernels that have them: 'gaussian'.*features='nystrom'"):
        Estimator(kernel=kernels.Polynomial(2), max_epochs=1).fit(X, y)
    Estimator(kernel=kernels.Polynomial(2), features="nystrom", max_epochs=1, n_features=30).fit(X, y)


def test_a_first_batch_of_one_class_is_told_where_to_name_the_others():
    X, _, _ = table(eigenpro_classifier)
    with pytest.raises(ValueError, match=r"first batch holds one class only .*classes=\["):
        shallows.KernelSVMClassifier(solver="lasvm").partial_fit(X[:5], np.zeros(5))


def in_frames(values):
    return pd.DataFrame({"size": np.arange(len(values), dtype=float), "colour": values})


WORDS = ["red", "blue"] * 10
TEXT = r"Column 'colour' of X holds text, such as 'red', and numbers are expected\. Encode it with .*OneHotEncoder"


@pytest.mark.parametrize("name", estimators.__all__)
def test_a_column_of_text_is_named_by_every_estimator(name):
    Estimator = getattr(estimators, name)
    y = [0, 1] * 10 if is_classifier(Estimator()) else np.arange(20.0)
    with pytest.raises(ValueError, match=TEXT):
        Estimator().fit(in_frames(WORDS), y)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (in_frames(pd.Categorical(WORDS)), TEXT),
        (in_frames(pd.array(WORDS, dtype="string")), TEXT),
        (in_frames(["red", None, 1, 2.0]), TEXT),
        (in_frames(["red", "blue"]).assign(town="Ulm"), "Columns 'colour', 'town' of X hold text, such as 'red'"),
        (in_frames(["red", "blue"]).to_numpy(), "Column 1 of X holds text, such as 'red'"),
        (np.array([["1.5", "x"], ["2", "y"]]), "Column 1 of X holds text, such as 'x'"),
        (in_frames(pd.to_datetime(["2020-01-01", "2021-01-01"])), "Column 'colour' of X holds dates or times.*days"),
    ],
)
def test_columns_without_numbers_are_named_in_every_kind_of_table(X, message):
    with pytest.raises(ValueError, match=message):
        shallows.KernelRidgeRegressor().fit(X, np.arange(len(X), dtype=float))


def test_numbers_of_any_type_in_a_table_are_taken():
    texts, objects = in_frames(["1", "2.5", "3"] * 5), in_frames(pd.Categorical([1, 2, 3] * 5))
    extension = in_frames(pd.array([1, 2, 3] * 5, dtype="Int64"))
    for X in (texts, objects, extension, texts.to_numpy(), in_frames([True, False, True] * 5)):
        shallows.KernelRidgeRegressor().fit(X, np.arange(15.0)).predict(X)
