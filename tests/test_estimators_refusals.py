"""What an estimator refuses, and in which words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

import shallows
from estimators_example import brief, each, each_classifier, each_eigenpro, table
from feature_forms import feature_eigenpro_regressor
from flat import flat
from forms import centers_regressor, eigenpro_classifier, kernel_sgd_regressor, known
from shallows import KernelRidgeRegressor, Options, arrays, estimators, kernels
from shallows.decomposition import DoublyStochasticKernelPCA
from shallows.errors import DivergenceError, MissingExtraError, ShallowsError, UnknownNameError
from shallows.kernel_approximation import FourierFeatures
from shallows.solvers import KernelSGD
from shallows.svm import CoreVectorMachineRegressor, LowRankLinearizedSVMClassifier, RandomKitchenSinksClassifier
from solved_by import constructor

pytestmark = brief


@each
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["fit", "predict", "targets"])
def test_what_is_not_finite_is_refused(Estimator, bad, where):
    X, y, new = table(Estimator)
    spoilt = {"fit": X, "predict": new, "targets": (y := y.astype(float))}[where]
    spoilt[(3,) * spoilt.ndim] = bad
    if where != "predict":
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            Estimator().fit(X, y)
    else:
        y = y.astype(int) if is_classifier(Estimator()) else y
        model = Estimator(max_epochs=2).fit(X, y)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.predict(new)


@each
def test_shapes_that_disagree_are_refused(Estimator):
    X, y, new = table(Estimator)
    with pytest.raises(ValueError, match="inconsistent"):
        Estimator().fit(X, y[:-1])
    with pytest.raises(ValueError, match="Expected 2D"):
        Estimator().fit(X[:, 0], y)
    with pytest.raises(ValueError, match=r"3 features.*expecting 4"):
        Estimator(max_epochs=2).fit(X, y).predict(new[:, :3])


@each_classifier
def test_one_class_is_no_classification(Estimator):
    X, _, _ = table(Estimator)
    with pytest.raises(ValueError, match=r"one class only \('a'\)"):
        Estimator().fit(X, ["a"] * len(X))


@each_classifier
def test_several_columns_of_labels_are_refused(Estimator):
    X, y, _ = table(Estimator)
    with pytest.raises(ValueError, match=r"several columns|not supported"):
        Estimator().fit(X, np.stack([y, 2 * y], axis=1))


@each_classifier
def test_classes_are_no_numbers_with_a_fraction(Estimator):
    X, _, _ = table(Estimator)
    with pytest.raises(ValueError, match="Unknown label type"):
        Estimator().fit(X, X[:, 0])


PARAMETERS = [
    ("bandwidth", 0),
    ("bandwidth", -1.0),
    ("bandwidth", np.nan),
    ("bandwidth", "wide"),
    ("step", 0.0),
    ("step", np.inf),
    ("batch_size", 0),
    ("batch_size", 2.5),
    ("max_epochs", 0),
    ("max_epochs", None),
    ("tol", -1e-3),
    ("tol", None),
    ("dtype", "float16"),
    ("device", "cuda"),
    ("memory", "lots"),
    ("memory", -1),
]


@each
@pytest.mark.parametrize(("name", "value"), PARAMETERS)
def test_a_parameter_out_of_its_range_is_named_with_its_value(Estimator, name, value):
    X, y, _ = table(Estimator)
    with pytest.raises(ShallowsError) as raised:
        Estimator(**{name: value}).fit(X, y)
    assert repr(value) in str(raised.value)
    assert name in str(raised.value) or name == "memory"


@each_eigenpro
@pytest.mark.parametrize(
    ("name", "value"),
    [("rank", -1), ("rank", 2.5), ("n_subsample", 0), ("damping", 0.0), ("damping", 1.5), ("damping", "x")],
)
def test_a_parameter_of_eigenpro_out_of_its_range_is_named_with_its_value(Estimator, name, value):
    X, y, _ = table(Estimator)
    with pytest.raises(ShallowsError, match=name) as raised:
        Estimator(**{name: value}).fit(X, y)
    assert repr(value) in str(raised.value)


@each
@pytest.mark.parametrize("kernel", ["gausian", None, ["gaussian"]])
def test_an_unknown_kernel_is_told_the_known_ones(Estimator, kernel):
    X, y, _ = table(Estimator)
    with pytest.raises(UnknownNameError, match=r"cauchy, .*gaussian, .*laplace") as raised:
        Estimator(kernel).fit(X, y)
    assert kernel != "gausian" or "Did you mean 'gaussian'?" in str(raised.value)


@pytest.mark.parametrize(
    ("Estimator", "options"),
    [
        (eigenpro_classifier, {}),
        (shallows.RegularizedRiskClassifier, {}),
        (shallows.RegularizedRiskRegressor, {}),
        (shallows.RegularizedRiskRegressor, {"features": "nystrom"}),
        (feature_eigenpro_regressor, {"features": "rbf"}),
        (feature_eigenpro_regressor, {"features": "nystrom"}),
        (centers_regressor, {"centres": 10}),
    ],
)
@pytest.mark.parametrize("kernel", ["heat_circle", kernels.HeatCircle(0.5)], ids=["name", "object"])
def test_a_kernel_of_one_feature_is_refused_for_more(Estimator, options, kernel):
    X, y, _ = table(Estimator)
    with pytest.raises(ShallowsError, match="'heat_circle' takes one feature, an angle in radians, got 4"):
        flat(Estimator, kernel=kernel, max_epochs=1, **options).fit(X, y)


@each
def test_a_gpu_without_cupy_names_the_extra(Estimator, monkeypatch):
    def missing():
        raise MissingExtraError("gpu", "device='gpu'")

    monkeypatch.setattr(arrays.devices, "_cupy", missing)
    X, y, _ = table(Estimator)
    with pytest.raises(MissingExtraError, match=r"device='gpu' needs .* extra 'gpu': pip install 'shallows\[gpu\]'"):
        Estimator(device="gpu").fit(X, y)


@each
@pytest.mark.parametrize(("scale", "dtype"), [(1e25, "float32"), (1e-30, "float32"), (1e170, "float64")])
def test_features_whose_squares_overflow_are_refused(Estimator, scale, dtype):
    X, y, _ = table(Estimator)
    with pytest.raises(ShallowsError, match=rf"features are too (large|small) for {dtype}.*StandardScaler"):
        Estimator(dtype=dtype).fit(X * scale, y)


@each
def test_a_step_of_the_users_that_is_too_large_is_an_error_that_names_it(Estimator):
    X, y, _ = table(Estimator)
    with pytest.raises(DivergenceError, match=r"step_size=1e\+15.*smaller step"):
        Estimator(step_size=1e15).fit(X, y)


@each
def test_a_step_of_the_users_is_taken_as_it_is(Estimator):
    X, y, _ = table(Estimator)
    plain, numpy = (
        Estimator(step_size=kind(0.01), dtype="float32", random_state=0, max_epochs=3).fit(X, y)
        for kind in (float, np.float64)
    )
    assert plain.step_size_ == plain.report_["step_size"] == 0.01
    # NumPy's scalars would raise float32 to float64.
    assert np.array_equal(plain.dual_coef_, numpy.dual_coef_)


def test_training_that_got_nowhere_says_so():
    X, y, _ = table(kernel_sgd_regressor)
    with pytest.warns(ConvergenceWarning, match="After max_epochs=1 the training loss is still"):
        KernelRidgeRegressor(solver=KernelSGD(step=1e-5, max_epochs=1), bandwidth="median", n_components=None).fit(X, y)


NUMBERS = [
    "bandwidth",
    "C",
    "n_units",
    "step_size",
    "batch_size",
    "max_epochs",
    "tol",
    "damping",
    "rank",
    "n_subsample",
    "n_features",
    "regularisation",
    "regularization",
    "alpha",
    "bound",
    "noise_variance",
    "max_seconds",
    "period",
    "truncation",
    "block_size",
    "n_iter",
    "decrease",
    "feature_variance",
    "fraction",
    "centres",
    "max_iterations",
    "power",
    "fresh",
    "reused",
    "cap",
]
EVERY = [
    getattr(estimators, name) for name in estimators.__all__ if name.endswith(("Classifier", "Regressor", "Detector"))
]
EVERY_CLASSIFIER = [Estimator for Estimator in EVERY if is_classifier(Estimator())]


@pytest.mark.parametrize("Estimator", EVERY, ids=lambda Estimator: Estimator.__name__)
def test_true_is_no_number(Estimator):
    X, y, _ = table(Estimator)
    taken = [name for name in NUMBERS if name in known(Estimator)]
    assert taken
    for name in taken:
        with pytest.raises(ShallowsError, match=rf"^{name}\b.*got True"):
            Estimator(**{name: True}).fit(X, y)
    limit = {"options": Options(memory=True)} if "options" in Estimator().get_params() else {"memory": True}
    with pytest.raises(ShallowsError, match=r"size in bytes.*got True"):
        Estimator(**limit).fit(X, y)


@pytest.mark.parametrize("kernel", [kernels.Gaussian, kernels.Polynomial])
def test_true_is_no_parameter_of_a_kernel(kernel):
    with pytest.raises(ShallowsError, match="got True"):
        kernel(True)


@pytest.mark.parametrize("Classifier", EVERY_CLASSIFIER, ids=lambda Classifier: Classifier.__name__)
@pytest.mark.parametrize("missing", [np.nan, None])
@pytest.mark.parametrize("given_as", [list, pd.Series, lambda y: np.array(y, dtype=object)])
def test_a_missing_label_is_no_class(Classifier, missing, given_as):
    X, y, _ = table(Classifier)
    words = [missing if i == 5 else f"class {label}" for i, label in enumerate(y)]
    with pytest.raises(ValueError, match=r"y holds (nan|None), which is no class label"):
        Classifier().fit(X, given_as(words))


@pytest.mark.parametrize("classes", [[0.0, 1.0, np.nan], ["a", "b", None], np.array([0.0, 1.0, np.nan])])
def test_a_missing_label_is_not_among_the_classes_of_a_stream(classes):
    X, _, _ = table(shallows.DoublyStochasticClassifier)
    y = np.array(classes)[:2][np.arange(len(X)) % 2]
    with pytest.raises(ValueError, match=r"classes holds (nan|None)"):
        shallows.DoublyStochasticClassifier().partial_fit(X, y, classes=classes)


@pytest.mark.parametrize("Estimator", [feature_eigenpro_regressor, constructor("sag: RegularizedRiskRegressor")])
def test_a_kernel_without_frequencies_is_told_of_landmarks_where_the_estimator_has_them(Estimator):
    X, y, _ = table(Estimator)
    with pytest.raises(ShallowsError, match=r"Kernels that have them: 'gaussian'.*features='nystrom'"):
        Estimator(kernel=kernels.Polynomial(2), max_epochs=1).fit(X, y)
    Estimator(kernel=kernels.Polynomial(2), features="nystrom", max_epochs=1, n_features=30).fit(X, y)


def test_a_kernel_without_frequencies_is_told_of_other_kernels_where_there_are_no_landmarks():
    X, *_ = table(shallows.DoublyStochasticRegressor)
    with pytest.raises(ShallowsError, match=r"'polynomial' has no .*Kernels that have them: 'gaussian'") as raised:
        DoublyStochasticKernelPCA(2, kernel="polynomial").fit(X)
    assert "Nystr" not in str(raised.value)
    assert "nystrom" not in str(raised.value)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: shallows.KernelSVMClassifier(C=0), "^C must be a positive number, got 0"),
        (lambda: RandomKitchenSinksClassifier(bound=None), "^bound must be a positive number, got None"),
        (lambda: CoreVectorMachineRegressor(epsilon=0), "^epsilon must be a positive number, got 0"),
        (lambda: DoublyStochasticKernelPCA(2, bandwidth="auto"), "a positive number or 'median', the median distance"),
        (lambda: FourierFeatures(bandwidth=None), "a positive number, 'auto' or 'median', got None"),
        (lambda: shallows.DoublyStochasticClassifier(loss="huber"), "not for classes.*: hinge, logistic"),
        (lambda: shallows.DoublyStochasticRegressor(loss="hinge"), "not for numbers.*: epsilon_insensitive, huber"),
        (
            lambda: LowRankLinearizedSVMClassifier(kernel="precomputed"),
            "a number of centers, KernelSVM",
        ),
    ],
)
def test_a_refusal_names_what_would_be_taken(make, says):
    X, y, _ = table(eigenpro_classifier)
    numbers = np.arange(len(y), dtype=float)
    with pytest.raises(ShallowsError, match=says):
        model = make()
        model.fit(
            X @ X.T if getattr(model, "kernel", "") == "precomputed" else X, y if is_classifier(model) else numbers
        )


@pytest.mark.parametrize(
    ("Estimator", "given", "says"),
    [
        (shallows.KernelRidgeClassifier, {"C": 1}, r"use alpha \(which is 1/\(2 C\)\)"),
        (shallows.RegularizedRiskClassifier, {"C": 1}, r"use regularization \(which is 1/\(C n\) for n rows\)"),
        (shallows.FeatureRidgeRegressor, {"regularisation": 1}, r"use alpha \(the same number\)"),
        (shallows.KernelRidgeClassifier, {"loss": "hinge"}, "^KernelRidgeClassifier has no parameter"),
    ],
)
def test_an_unknown_parameter_is_answered_under_the_name_of_the_class(Estimator, given, says):
    with pytest.raises(TypeError, match=says):
        Estimator(**given)


def test_a_first_batch_of_one_class_is_told_where_to_name_the_others():
    X, _, _ = table(eigenpro_classifier)
    with pytest.raises(ValueError, match=r"first batch holds one class only .*classes=\["):
        shallows.KernelSVMClassifier(solver="lasvm").partial_fit(X[:5], np.zeros(5))


def test_none_is_no_bandwidth():
    X, _, _ = table(eigenpro_classifier)
    with pytest.raises(ShallowsError, match="'median', the median distance, got None"):
        DoublyStochasticKernelPCA(2, bandwidth=None).fit(X)


def in_frames(values):
    return pd.DataFrame({"size": np.arange(len(values), dtype=float), "colour": values})


WORDS = ["red", "blue"] * 10
TEXT = r"Column 'colour' of X holds text, such as 'red', and numbers are expected\. Encode it with .*OneHotEncoder"


@pytest.mark.parametrize(
    "name", sorted(name for name in estimators.__all__ if hasattr(getattr(estimators, name), "fit"))
)
def test_a_column_of_text_is_named_by_every_estimator(name):
    if name == "ImageVotes":
        pytest.skip("takes pixels")
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
        (
            in_frames(pd.to_datetime(["2020-01-01", "2021-01-01"])),
            "Column 'colour' of X holds dates or times.*days since",
        ),
    ],
)
def test_columns_without_numbers_are_named_in_every_kind_of_table(X, message):
    with pytest.raises(ValueError, match=message):
        shallows.KernelRidgeRegressor().fit(X, np.arange(len(X), dtype=float))


def test_a_column_of_text_is_named_in_a_prediction():
    model = shallows.KernelRidgeRegressor().fit(in_frames(np.arange(20.0)), np.arange(20.0))
    with pytest.raises(ValueError, match=TEXT):
        model.predict(in_frames(WORDS))


def test_numbers_of_any_type_in_a_table_are_taken():
    texts, objects = in_frames(["1", "2.5", "3"] * 5), in_frames(pd.Categorical([1, 2, 3] * 5))
    extension = in_frames(pd.array([1, 2, 3] * 5, dtype="Int64"))
    for X in (texts, objects, extension, texts.to_numpy(), in_frames([True, False, True] * 5)):
        shallows.KernelRidgeRegressor().fit(X, np.arange(15.0)).predict(X)
