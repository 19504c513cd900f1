"""Early stopping of least-squares estimators: which rows are held out, and which epoch's model is kept."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier

from engine_example import sample
from estimators_example import published, uncalibrated
from feature_forms import feature_eigenpro_regressor
from forms import centers_regressor, changed, eigenpro_regressor, kernel_sgd_classifier
from shallows import (
    DoublyStochasticRegressor,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    LinearSVMClassifier,
    Options,
    RegularizedRiskClassifier,
    spectrum,
    svm,
    training,
)
from shallows.decomposition import DoublyStochasticKernelPCA
from shallows.errors import ShallowsError
from shallows.fitting.rows import EarlyStopping, HeldOut, TrainingSet, split_rows
from shallows.solvers import EigenPro
from step_rules_example import each, small, table

REGRESSORS = [eigenpro_regressor, centers_regressor, feature_eigenpro_regressor]


pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")


@each
def test_the_model_of_the_best_epoch_on_held_out_rows_is_kept(Estimator):
    X, y, *_ = table(Estimator, noise=0.8)
    asked = {"max_epochs": 30, "tol": 0, "random_state": 0, "batch_size": 40, "early_stopping": True}
    asked |= {"rank": 20, "n_subsample": 100, "bandwidth": 0.5, "n_iter_no_change": 3, **uncalibrated(Estimator)}
    model = Estimator(**small(Estimator), **asked).fit(X, y)
    scores = model.validation_scores_
    assert model.report_["stopped_by"] == "patience"
    assert len(scores) - 1 - int(np.argmax(scores)) == 3
    assert model.best_validation_score_ == max(scores)
    rows = held_out_rows(model, X)
    assert len(rows) == 40 == model.report_["n_validation"]
    assert model.score(X[rows], y[rows]) == pytest.approx(max(scores), abs=1e-9)
    assert model.set_params(early_stopping=False).fit(X, y).report_["n_validation"] == 0


def hold_out(X, y, fraction, seed, *, of_labels=True) -> HeldOut:
    return split_rows(TrainingSet(X, y, None, np.arange(len(X))), EarlyStopping(fraction), seed, of_labels=of_labels)[1]


def held_out_rows(model, X):
    """The rows that were held out, by the rule of the estimators."""
    if hasattr(model, "support_"):
        return np.setdiff1d(np.arange(len(X)), model.support_)
    y = table(type(model), noise=0.8)[1]
    return hold_out(X, y, 0.1, 0, of_labels=is_classifier(model)).rows


@each
def test_held_out_rows_are_not_trained_on(Estimator):
    # What the held-out rows are changes which epoch is the best, and nothing else.
    X, y, *_ = table(Estimator, noise=0.8)
    asked = {"max_epochs": 4, "tol": 0, "random_state": 0, "early_stopping": True, "n_iter_no_change": 50}
    asked |= {"rank": 20, "n_subsample": 100, "batch_size": 40}
    losses = Estimator(**small(Estimator), **asked).fit(X, y).losses_
    rows = held_out_rows(Estimator(**small(Estimator), **asked).fit(X, y), X)
    assert len(rows) == 40
    X, other = X.copy(), y.copy()
    X[rows] += 1  # With all rows trained on, losses change by 5 % and more.
    # The labels of classes stay, since they decide which rows are held out.
    other[rows] = y[rows] if is_classifier(Estimator()) else y[rows] + 100
    assert Estimator(**small(Estimator), **asked).fit(X, other).losses_ == pytest.approx(losses, rel=1e-9)


@pytest.mark.parametrize(("fraction", "seed"), [(0.1, 0), (0.25, 1), (0.5, 2)])
def test_classes_have_their_share_among_the_rows_that_are_held_out(fraction, seed):
    y = np.repeat(["a", "b", "c", "d"], [50, 30, 19, 1])
    held = hold_out(np.arange(100)[:, None], y, fraction, seed)
    counts = {label: int((held.y == label).sum()) for label in "abcd"}
    assert counts["d"] == 0, "a class keeps a row to be trained on"
    for label, n in zip("abc", (50, 30, 19), strict=True):
        assert abs(counts[label] - fraction * n) < 1
    assert len(held.rows) == pytest.approx(100 * fraction, abs=1)
    assert np.array_equal(np.sort([*held.rows, *held.training_rows]), np.arange(100))
    other = hold_out(np.arange(100)[:, None], y, fraction, seed + 1)
    assert not np.array_equal(held.rows, other.rows)


@each
def test_scores_are_weighted_and_observers_see_all_training_rows(Estimator):
    X, y, *_ = table(Estimator, noise=0.8)
    w, seen = np.random.default_rng(0).uniform(0.1, 3, len(X)), []
    curve = training.Curve([1, 2], lambda s: seen.append(s.predict_training()) or {"n": float(len(seen[-1]))})
    asked = {"max_epochs": 2, "tol": 0, "random_state": 0, "early_stopping": True, "n_iter_no_change": 50}
    asked |= {"rank": 10, "n_subsample": 100, **published(Estimator)}
    model = Estimator(**small(Estimator), **asked).fit(X, y, sample_weight=w, observers=[curve])
    rows = held_out_rows(model, X)
    assert model.score(X[rows], y[rows], sample_weight=w[rows]) == pytest.approx(model.best_validation_score_, abs=1e-9)
    assert [row["n"] for row in curve.rows] == [len(X)] * 2
    best = seen[int(np.argmax(model.validation_scores_))]  # The model of the best epoch is kept.
    assert np.abs(np.asarray(best, float) - np.asarray(model.predict(X), float)).max() < 1e-9


def test_kernel_gradient_descent_stops_early_too():
    X, y, *_ = table(kernel_sgd_classifier, noise=0.8)
    asked = {"bandwidth": 0.5, "max_epochs": 60, "tol": 0, "random_state": 0, **uncalibrated(kernel_sgd_classifier)}
    model = kernel_sgd_classifier(early_stopping=True, **asked).fit(X, y)
    rows = held_out_rows(model, X)
    assert model.n_epochs_ < 60
    assert model.score(X[rows], y[rows]) == pytest.approx(model.best_validation_score_, abs=1e-9)


@pytest.mark.parametrize(("name", "value"), [("fraction", 0.0), ("fraction", 1.0), ("patience", 0), ("patience", 1.5)])
def test_a_parameter_of_early_stopping_out_of_its_range_is_named(name, value):
    X, y, *_ = table(eigenpro_regressor)
    with pytest.raises(ShallowsError, match=f"{name} of early stopping .*{value}"):
        eigenpro_regressor(early_stopping=True, **{name: value}).fit(X, y)
    with pytest.raises(ShallowsError, match=r"fraction 0.1 gives no validation row of 3 rows"):
        KernelRidgeClassifier(solver="eigenpro", early_stopping=True).fit(sample(3), [0, 1, 1])


def test_a_preconditioner_of_all_rows_and_early_stopping_exclude_each_other():
    X, y, *_ = table(eigenpro_regressor)
    p = spectrum.fit_preconditioner(X, "gaussian", 1.0, rank=5, n_subsample=50, device="cpu")
    with pytest.raises(ShallowsError, match="Use only one of the two"):
        KernelRidgeRegressor(solver=EigenPro(preconditioner=p), bandwidth=1.0, early_stopping=True).fit(X, y)


@pytest.mark.parametrize("Estimator", REGRESSORS)
def test_a_time_that_the_choices_take_alone_leaves_a_model_and_a_warning(Estimator):
    X = sample(600, 5)
    y = np.sin(X[:, 0]) + X[:, 1]
    with pytest.warns(UserWarning, match=r"max_seconds=1e-06 were over before the first step, after .* seconds"):
        model = Estimator(max_seconds=1e-6, batch_size=200, random_state=0).fit(X, y)
    assert model.report_["stopped_by"] == "max_seconds" and model.n_epochs_ == 1
    assert model.score(X, y) > 0.02


@pytest.mark.parametrize(
    "model",
    [
        RegularizedRiskClassifier(),
        DoublyStochasticRegressor(),
        svm.BudgetedSVMClassifier(),
        LinearSVMClassifier(),
        DoublyStochasticKernelPCA(2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_limit_counts_the_preparation_in_every_family(model):
    X = sample(300, 5)
    y = (X[:, 0] > 0).astype(int) if is_classifier(model) else X[:, 0]
    with pytest.warns(UserWarning, match="were over before the first step"):
        model.set_params(options=Options(max_seconds=1e-6)).fit(X, y)
    assert model.report_["stopped_by"] == "max_seconds"


def test_conjugate_gradients_have_a_model_after_a_pass_whatever_the_time():
    X = sample(2500, 5)
    y = np.sin(X[:, 0]) + X[:, 1]
    with pytest.warns(UserWarning, match="were over before the first step"):
        model = KernelRidgeRegressor(
            solver="nystrom_conjugate_gradients", random_state=0, options=Options(dtype="float32", max_seconds=1e-6)
        ).fit(X, y)
    assert model.report_["solver"] == "nystrom_conjugate_gradients" and model.score(X, y) > 0.9


def test_training_ends_within_the_time_that_is_left():
    X = sample(1500, 5)
    y = np.sin(X[:, 0]) + X[:, 1]
    began = time.perf_counter()
    model = eigenpro_regressor(max_seconds=0.5, max_epochs=10**6, tol=0, batch_size=50, bandwidth=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(random_state=0).fit(X, y)
    assert model.report_["stopped_by"] == "max_seconds" and time.perf_counter() - began < 15
    with pytest.raises(ShallowsError, match="max_seconds must be a positive number or None"):
        changed(model, max_seconds=0).fit(X, y)
