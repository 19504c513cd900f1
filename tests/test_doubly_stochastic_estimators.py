"""The estimators of growing functions: contract, losses, streams, files, bad input."""

from __future__ import annotations

import itertools
import json
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

from engine_example import sample
from shallows import (
    DoublyStochasticClassifier,
    DoublyStochasticNoveltyDetector,
    DoublyStochasticRegressor,
    losses,
    streams,
    training,
)
from shallows.errors import DivergenceError, ShallowsError, TrainingInterrupted

ALL = [DoublyStochasticClassifier, DoublyStochasticRegressor, DoublyStochasticNoveltyDetector]


@parametrize_with_checks([Estimator() for Estimator in ALL])
def test_scikit_learns_contract_holds(estimator, check):
    check(estimator)


def moons(n=600, seed=0, classes=2):
    """Arcs that no line separates; labels are words."""
    rng = np.random.default_rng(seed)
    labels, angle = rng.integers(0, classes, n), rng.uniform(0, np.pi, n)
    x = np.stack([np.cos(angle) + labels, np.where(labels % 2, 1, -1) * (np.sin(angle) - 0.25)], axis=1)
    return x + 0.12 * rng.normal(size=x.shape), np.array(["low", "high", "other"])[labels]


def waves(n=800, seed=0):
    x = np.random.default_rng(seed).uniform(-3, 3, (n, 2))
    return x, 500 + 100 * np.sin(x[:, 0]) * np.cos(x[:, 1])


# ---------------------------------------------------------------------------------------- what is learnt


@pytest.mark.parametrize(
    "loss", ["auto", "logistic", "softmax", "hinge", "squared_hinge", "multiclass_hinge", "square"]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_learns_with_each_loss(loss, classes):
    X, y = moons(classes=classes)
    model = DoublyStochasticClassifier(loss=loss, random_state=0).fit(X, y)
    X_new, y_new = moons(seed=1, classes=classes)
    assert model.score(X_new, y_new) > (0.97 if classes == 2 else 0.9)
    scores = model.decision_function(X_new)
    assert scores.shape == ((600,) if classes == 2 else (600, 3))
    best = model.classes_[(scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)]
    assert np.array_equal(best, model.predict(X_new))


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_add_up_to_one_and_favour_what_is_predicted(loss, classes):
    X, y = moons(classes=classes)
    model = DoublyStochasticClassifier(loss=loss, random_state=0).fit(X, y)
    P = model.predict_proba(X)
    assert P.shape == (600, classes)
    assert np.abs(P.sum(axis=1) - 1).max() < 1e-12
    assert np.array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("method", ["dsg", "udsg", "cdsg"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"schedule": "decay"},
        {"schedule": "constant"},
        {"schedule": "theory", "regularisation": 1e-3, "n_iter": 60},
        {"preconditioning": None, "n_iter": 120, "bandwidth": 0.4},
        {"features": "cosine"},
        {"kernel": "matern", "kernel_params": {"nu": 2.5}},
        {"kernel": "laplace_product"},
    ],
    ids=str,
)
def test_every_method_learns_with_every_schedule_and_kernel(method, options):
    X, y = moons()
    model = DoublyStochasticClassifier(method=method, random_state=0, **options).fit(X, y)
    X_new, y_new = moons(seed=1)
    assert model.score(X_new, y_new) > 0.95
    assert model.n_blocks_ + model.n_reused_ == model.n_iter_
    assert (method == "dsg") == (model.n_reused_ == 0) or method == "cdsg"


@pytest.mark.parametrize(
    "loss",
    ["auto", "square", "epsilon_insensitive", losses.EpsilonInsensitive(2.0), losses.Huber(30.0), "quantile"],
    ids=str,
)
@pytest.mark.parametrize("n_outputs", [None, 2])
def test_a_regressor_learns_with_each_loss(loss, n_outputs):
    X, y = waves()
    y = y if n_outputs is None else np.stack([y, 3 * X[:, 0]], axis=1)
    model = DoublyStochasticRegressor(loss=loss, random_state=0).fit(X, y)
    X_new, y_new = waves(seed=1)
    predicted = model.predict(X_new)
    assert predicted.shape == ((800,) if n_outputs is None else (800, 2))
    first = predicted if n_outputs is None else predicted[:, 0]
    # Outputs share one step, so that with kinks the smaller one holds the larger back.
    assert 1 - np.var(first - y_new) / np.var(y_new) > (0.97 if n_outputs is None else 0.8)


def test_a_quantile_is_exceeded_by_the_share_that_it_names():
    X, y = waves(2000)
    noisy = y + 30 * np.random.default_rng(1).normal(size=2000)
    for tau in (0.1, 0.5, 0.9):
        model = DoublyStochasticRegressor(loss=losses.Quantile(tau), random_state=0, n_iter=60).fit(X, noisy)
        X_new, y_new = waves(2000, seed=2)
        y_new = y_new + 30 * np.random.default_rng(3).normal(size=2000)
        assert abs(np.mean(y_new < model.predict(X_new)) - tau) < 0.06


def test_epsilon_is_in_the_units_of_the_targets():
    X, y = waves()
    model = DoublyStochasticRegressor(loss=losses.EpsilonInsensitive(5.0), random_state=0).fit(X, y)
    assert model._problem.loss.epsilon == pytest.approx(5.0 / y.std(), rel=1e-6)


def test_a_regression_comes_close_to_exact_kernel_ridge():
    X, y = waves()
    model = DoublyStochasticRegressor(bandwidth=1.0, random_state=0, n_iter=80, regularisation=0.0).fit(X, y)
    X_new, y_new = waves(seed=1)
    exact = KernelRidge(kernel="rbf", gamma=0.5, alpha=1e-6).fit(X, y - y.mean())
    ours, theirs = (np.sqrt(np.mean((p - y_new) ** 2)) for p in (model.predict(X_new), exact.predict(X_new) + y.mean()))
    assert ours < theirs + 0.01 * y.std()


def test_the_fraction_of_novel_points_is_what_was_asked_for_and_they_are_those_of_the_exact_machine():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    options = {"bandwidth": 1.0, "random_state": 0, "block_size": 256, "dtype": "float32"}
    for fraction in (0.05, 0.1, 0.3):
        model = DoublyStochasticNoveltyDetector(fraction=fraction, n_iter=10, **options).fit(X)
        assert np.mean(model.predict(X) < 0) == pytest.approx(fraction, abs=2.5e-3)
    model = DoublyStochasticNoveltyDetector(n_iter=120, **options).fit(X)
    exact = OneClassSVM(gamma=0.5, nu=0.1).fit(X)
    assert np.mean(model.predict(X) == exact.predict(X)) > 0.965
    assert np.corrcoef(model.score_samples(X), exact.score_samples(X))[0, 1] > 0.998
    far = np.full((1, 2), 6.0)
    assert model.predict(far)[0] == -1
    assert model.decision_function(X) == pytest.approx(model.score_samples(X) - model.offset_)


def test_weights_are_repetitions():
    X, y = waves(60)
    w = np.random.default_rng(0).integers(0, 4, 60)
    # Full batches of the same size rule, so that both take the same steps.
    options = {"random_state": 0, "block_size": 8, "batch_size": 1000}
    one = DoublyStochasticRegressor(**options).fit(X, y, sample_weight=w)
    other = DoublyStochasticRegressor(**options).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert np.abs(one.predict(X) - other.predict(X)).max() < 1e-6 * y.std()


def test_sparse_points_are_dense_points():
    X, y = moons()
    X[np.abs(X) < 0.3] = 0.0
    dense = DoublyStochasticClassifier(random_state=0).fit(X, y)
    sparse = DoublyStochasticClassifier(random_state=0).fit(scipy.sparse.csr_matrix(X), y)
    assert np.array_equal(dense.dual_coef_, sparse.dual_coef_)


def test_a_seed_gives_the_same_model_and_another_seed_another():
    X, y = moons()
    models = [DoublyStochasticClassifier(random_state=seed).fit(X, y).dual_coef_ for seed in (0, 0, 1)]
    assert np.array_equal(models[0], models[1])
    assert not np.array_equal(models[0], models[2])


def test_what_was_chosen_and_estimated_is_recorded():
    X, y = moons()
    model = DoublyStochasticClassifier(method="cdsg", schedule="theory", regularisation=0.01, random_state=0).fit(X, y)
    told = model.effective_params_
    assert told["theta"] == 100.0 and told["theta_nu"] == 1.0 and told["cap"] == 2.0
    assert 0 < told["feature_variance"] < 1 / model.block_size_
    assert 0 < told["gradient_rms"] <= 1
    assert told["n_random_features"] == model.n_blocks_ * model.block_size_
    json.dumps(told)


def test_far_points_are_learnt_in_single_precision():
    # Features are taken about the mean, since a phase of 1e5 would leave float32 two digits.
    X, y = moons()
    options = {"random_state": 0, "dtype": "float32"}
    near, far = (DoublyStochasticClassifier(**options).fit(X + shift, y) for shift in (0.0, 1e4))
    assert np.mean(near.predict(X) == far.predict(X + 1e4)) > 0.99


# --------------------------------------------------------------------------------------- observers, checkpoints


def test_a_curve_is_measured_at_epochs_iterations_or_seconds():
    X, y = moons()
    for unit, marks in (("epoch", [1, 3]), ("iteration", [2, 5]), ("seconds", [1e-9, 1e-8])):
        curve = training.Curve(marks, lambda snapshot: {"error": np.mean(snapshot.predict(X) != y)}, unit=unit)
        DoublyStochasticClassifier(random_state=0, max_epochs=3, batch_size=200).fit(X, y, observers=[curve])
        places = [row[unit] for row in curve.rows]
        assert places == marks if unit != "seconds" else len(places) == 1


def test_a_snapshot_tells_what_the_finished_model_tells():
    X, y = moons()
    seen = {}

    class Look(training.Observer):
        def on_epoch(self, run):
            snapshot = run.snapshot()
            seen.update(
                new=snapshot.predict(X[:50]),
                old=snapshot.predict_training(),
                loss=snapshot.square_loss(X, y),
                old_loss=snapshot.training_square_loss(y),
                objective=snapshot.objective(),
                norm=snapshot.coefficient_norm(),
                blocks=snapshot.n_blocks,
            )

    model = DoublyStochasticClassifier(random_state=0, max_epochs=5).fit(X, y, observers=[Look()])
    assert np.array_equal(seen["new"], model.predict(X[:50]))
    assert np.array_equal(seen["old"], model.predict(X))
    assert seen["loss"] == pytest.approx(seen["old_loss"], rel=1e-9)
    margins = np.where(y == model.classes_[1], 1, -1) * model.decision_function(X)
    assert seen["objective"] == pytest.approx(np.log1p(np.exp(-margins)).mean(), rel=1e-9)
    assert seen["loss"] == pytest.approx(np.mean((margins - 1) ** 2), rel=1e-9)
    assert seen["norm"] == pytest.approx(np.linalg.norm(model.dual_coef_))
    assert seen["blocks"] == model.n_blocks_


@pytest.mark.parametrize("options", [{}, {"method": "cdsg"}, {"schedule": "decay", "loss": "hinge"}], ids=str)
def test_a_fit_that_is_stopped_at_every_batch_gives_the_same_to_the_bit(options, tmp_path):
    X, y = moons(300)
    options = {"random_state": 0, "batch_size": 70, "max_epochs": 3, **options}

    class StopAlways(training.Observer):
        def on_batch(self, run):
            self.checkpoint.request_stop()

    n_runs = 0
    while True:
        n_runs += 1
        stop = StopAlways()
        stop.checkpoint = training.Checkpoint(tmp_path, "k")
        try:
            resumed = DoublyStochasticClassifier(**options).fit(X, y, observers=[stop], checkpoint=stop.checkpoint)
            break
        except TrainingInterrupted:
            pass
    assert n_runs > 10
    whole = DoublyStochasticClassifier(**options).fit(X, y)
    assert np.array_equal(resumed.dual_coef_, whole.dual_coef_)
    assert resumed.n_resumes_ == n_runs - 1


def test_a_step_that_diverges_is_told_and_one_of_the_programs_own_is_halved():
    X, y = waves()
    options = {"random_state": 0, "preconditioning": None}
    with pytest.raises(DivergenceError, match="step_size=1e"):
        DoublyStochasticRegressor(schedule="constant", step_size=1e6, **options).fit(X, y)

    class TooLong(DoublyStochasticRegressor):
        def _plan(self, *args):
            import dataclasses

            solver, told = super()._plan(*args)
            return dataclasses.replace(solver, step_size=100 * solver.step_size), told

    model = TooLong(schedule="constant", n_iter=60, **options).fit(X, y)
    assert model.n_rollbacks_ > 0
    assert model.score(X, y) > 0.1


# -------------------------------------------------------------------------------------------------- streams


def endless(n=None, size=100, seed=0, classes=2):
    """Batches of moons, each new; counts what was taken."""
    for i in itertools.count() if n is None else range(n):
        endless.taken = i + 1
        yield moons(size, seed=seed + i, classes=classes)


WORDS = ["high", "low"]


def test_a_stream_that_never_ends_is_learnt_from_until_the_batches_asked_for():
    model = DoublyStochasticClassifier(block_size=16, random_state=0)
    model.partial_fit(endless(), classes=WORDS, n_iter=40)
    assert (model.n_iter_, endless.taken) == (40, 40)
    assert model.score(*moons(seed=999)) > 0.95
    model.partial_fit(endless(seed=40), n_iter=10)
    assert model.n_iter_ == 50


def test_a_stream_can_be_stopped_after_a_time():
    model = DoublyStochasticClassifier(block_size=16, random_state=0)
    model.partial_fit(endless(), classes=WORDS, max_seconds=0.05)
    assert 0 < model.n_iter_ < 10_000


def test_a_stream_and_calls_with_its_batches_give_the_same_model():
    whole = DoublyStochasticClassifier(block_size=16, random_state=0).partial_fit(endless(8), classes=WORDS)
    parts = DoublyStochasticClassifier(block_size=16, random_state=0)
    for X, y in endless(8):
        parts.partial_fit(X, y, classes=WORDS)
    assert np.array_equal(whole.dual_coef_, parts.dual_coef_)


def test_a_memory_map_is_read_in_slices(tmp_path):
    X, y = moons(1000)
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    options = {"block_size": 16, "batch_size": 100, "random_state": 0}
    model = DoublyStochasticClassifier(**options).partial_fit(mapped, y, classes=WORDS)
    pairs = ((X[rows : rows + 100].astype(np.float32), y[rows : rows + 100]) for rows in range(0, 1000, 100))
    other = DoublyStochasticClassifier(**options).partial_fit(pairs, classes=WORDS)
    assert model.n_iter_ == 10
    assert np.array_equal(model.dual_coef_, other.dual_coef_)


@pytest.mark.parametrize("Estimator", ALL)
def test_a_fit_can_be_gone_on_with(Estimator):
    X, y = moons() if Estimator is DoublyStochasticClassifier else waves()
    model = Estimator(random_state=0, n_iter=10).fit(X, y)
    before = model.dual_coef_.copy()
    if Estimator is DoublyStochasticNoveltyDetector:
        model.partial_fit(X)
    else:
        model.partial_fit(X, y)
    assert model.n_iter_ > 10
    assert len(model.dual_coef_) > len(before)


def test_a_stream_with_checkpoints_goes_on_where_it_was(tmp_path):
    def model():
        return DoublyStochasticClassifier(block_size=16, random_state=0)

    checkpoint = training.Checkpoint(tmp_path, "k")

    class Stop(training.Observer):
        def on_batch(self, run):
            if run.iteration == 6:
                checkpoint.request_stop()

    with pytest.raises(TrainingInterrupted):
        model().partial_fit(endless(20), classes=WORDS, observers=[Stop()], checkpoint=checkpoint)
    resumed = model().partial_fit(endless(20), classes=WORDS, checkpoint=training.Checkpoint(tmp_path, "k"))
    whole = model().partial_fit(endless(20), classes=WORDS)
    assert (resumed.n_iter_, resumed.n_resumes_) == (20, 1)
    assert np.array_equal(resumed.dual_coef_, whole.dual_coef_)


# ------------------------------------------------------------------------------------------------ bad input


def test_a_stream_that_ends_early_is_told_and_its_model_stands():
    model = DoublyStochasticClassifier(block_size=16, random_state=0)
    with pytest.warns(ConvergenceWarning, match="ended after 5 of the 50 batches"):
        model.partial_fit(endless(5), classes=WORDS, n_iter=50)
    assert model.n_iter_ == 5
    model.predict(moons()[0])


def test_a_stream_without_a_batch_is_an_error():
    with pytest.raises(ShallowsError, match="ended before its first batch"):
        DoublyStochasticClassifier().partial_fit(iter(()), classes=WORDS)
    model = DoublyStochasticClassifier(block_size=16, random_state=0).partial_fit(endless(2), classes=WORDS)
    with pytest.raises(ShallowsError, match="ended before its first batch"):
        model.partial_fit(iter(()))
    assert model.n_iter_ == 2


def test_a_batch_of_one_class_does_no_harm_where_the_classes_are_known():
    def source():
        for i, (X, y) in enumerate(endless(20)):
            yield (X[y == "low"], y[y == "low"]) if i in (0, 9) else (X, y)

    model = DoublyStochasticClassifier(block_size=8, random_state=0).partial_fit(source(), classes=WORDS)
    assert model.n_iter_ == 20
    assert model.score(*moons(seed=99)) > 0.95


def test_one_class_in_all_is_an_error():
    X, y = moons()
    with pytest.raises(ValueError, match=r"one class only \('low'\)"):
        DoublyStochasticClassifier().fit(X[y == "low"], y[y == "low"])


def test_the_first_call_must_be_given_the_classes():
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        DoublyStochasticClassifier().partial_fit(*moons())


def test_a_label_unseen_until_the_tenth_batch_is_told_and_the_model_is_that_of_nine():
    def source():
        yield from endless(9)
        X, y = moons()
        yield X, np.where(y == "low", "new", y)

    model = DoublyStochasticClassifier(block_size=16, random_state=0)
    with pytest.raises(ValueError, match=r"Batch 10 .*of the 9 before.*'new'.*given to the first partial_fit"):
        model.partial_fit(source(), classes=WORDS)
    whole = DoublyStochasticClassifier(block_size=16, random_state=0).partial_fit(endless(9), classes=WORDS)
    assert np.array_equal(model.dual_coef_, whole.dual_coef_)


def test_classes_that_change_are_refused():
    model = DoublyStochasticClassifier(block_size=16).partial_fit(endless(2), classes=WORDS)
    with pytest.raises(ValueError, match="differ from those of the first call"):
        model.partial_fit(endless(2), classes=["low", "middle"])


@pytest.mark.parametrize("broken", ["nan", "columns", "rows"])
def test_a_broken_batch_is_numbered_and_leaves_the_state_before_it(broken):
    def source():
        yield from endless(7)
        X, y = moons()
        if broken == "nan":
            X[3, 1] = np.nan
        yield (X[:, :1] if broken == "columns" else X), (y[:-1] if broken == "rows" else y)

    model = DoublyStochasticClassifier(block_size=16, random_state=0)
    with pytest.raises(ValueError, match="Batch 8 cannot be used, and the model is still that of the 7 before"):
        model.partial_fit(source(), classes=WORDS)
    whole = DoublyStochasticClassifier(block_size=16, random_state=0).partial_fit(endless(7), classes=WORDS)
    assert np.array_equal(model.dual_coef_, whole.dual_coef_)
    # And it goes on from there.
    model.partial_fit(*moons(100))
    assert model.n_iter_ == 8


def test_divergence_in_a_stream_names_the_batch():
    def source():
        for i in range(50):
            yield waves(50, seed=i)

    model = DoublyStochasticRegressor(
        schedule="constant", step_size=1e5, preconditioning=None, block_size=8, random_state=0
    )
    with pytest.raises(DivergenceError, match=r"batch \d+ of the stream with step_size=1e\+05"):
        model.partial_fit(source())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regularisation": -1.0}, "regularisation must be a number of at least 0, got -1.0"),
        ({"regularisation": float("nan")}, "regularisation must be a number of at least 0"),
        ({"method": "sgd"}, "method must be one of 'dsg', 'udsg', 'cdsg', got 'sgd'"),
        ({"schedule": "slow"}, "schedule must be one of"),
        ({"preconditioning": "full"}, "preconditioning must be one of None, 'block'"),
        ({"features": "sine"}, "features must be one of 'pair', 'cosine'"),
        ({"loss": "hinges"}, "no loss 'hinges'.*Did you mean 'hinge'"),
        ({"loss": "huber"}, "is none for classes"),
        ({"kernel": "gausian"}, "no kernel 'gausian'.*Did you mean 'gaussian'"),
        ({"kernel": "polynomial"}, "polynomial.*no"),
        ({"bandwidth": -2.0}, "bandwidth must be a positive number or None"),
        ({"step_size": 0.0}, "step_size must be a positive number or None"),
        ({"block_size": 0}, "block_size must be a whole number of at least 1 or None"),
        ({"batch_size": 2.5}, "batch_size must be a whole number of at least 1 or None"),
        ({"n_iter": 0}, "n_iter must be a whole number"),
        ({"schedule": "theory", "regularisation": 0.0}, "regularisation must be positive"),
        ({"schedule": "theory", "theta_nu": -1.0}, "theta_nu must be a positive number"),
        ({"method": "cdsg", "cap": 0.5}, "cap, the longest step over the plain one, must be at least 1"),
        ({"method": "udsg", "fresh": 0}, "at least 1 fresh step"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"device": "tpu"}, "device must be"),
    ],
    ids=str,
)
def test_a_parameter_out_of_its_range_is_one_clear_error(options, message):
    with pytest.raises(ShallowsError, match=message):
        DoublyStochasticClassifier(**options).fit(*moons())


def test_a_loss_of_classes_is_none_for_numbers():
    with pytest.raises(ShallowsError, match="'hinge' is none for numbers"):
        DoublyStochasticRegressor(loss="hinge").fit(*waves())
    with pytest.raises(ShallowsError, match=r"fraction .* must be a number in \(0, 1\]"):
        DoublyStochasticNoveltyDetector(fraction=0.0).fit(waves()[0])


def test_a_product_of_theta_and_nu_outside_the_theory_is_allowed_and_said():
    X, y = moons()
    with pytest.warns(UserWarning, match=r"theta_nu=0\.5 lies outside \(1, 2\)"):
        DoublyStochasticClassifier(schedule="theory", theta_nu=0.5, regularisation=0.01, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for theta_nu in (1, 1.5, 3.0):
            model = DoublyStochasticClassifier(schedule="theory", theta_nu=theta_nu, regularisation=0.01, n_iter=5)
            model.fit(X, y)


def test_a_stream_of_something_else_is_one_clear_error():
    with pytest.raises(ShallowsError, match="iterable of batches"):
        DoublyStochasticRegressor().partial_fit(3.0)
    with pytest.raises(ShallowsError, match=r"tuple \(X, y\)"):
        DoublyStochasticRegressor().partial_fit(iter([waves()[0]]))
    with pytest.raises(ShallowsError, match="leave out y"):
        DoublyStochasticRegressor().partial_fit(iter([waves()]), waves()[1])


def test_margins_have_no_probabilities():
    with pytest.raises(ShallowsError, match="no link to probabilities"):
        DoublyStochasticClassifier(loss="hinge", n_iter=2).fit(*moons()).predict_proba(moons()[0])


# -------------------------------------------------------------------------------------------------- files

MODELS = {
    "words": lambda: DoublyStochasticClassifier(random_state=0).fit(*moons(classes=3)),
    "numbers": lambda: DoublyStochasticClassifier(random_state=0, loss="hinge", method="cdsg").fit(
        moons()[0], (moons()[1] == "low").astype(int)
    ),
    "several outputs": lambda: DoublyStochasticRegressor(random_state=0, loss=losses.Huber(20.0)).fit(
        waves()[0], waves()[0] * 7
    ),
    "matern": lambda: DoublyStochasticRegressor("matern", kernel_params={"nu": 1.5}, random_state=0).fit(*waves()),
    "novelty": lambda: DoublyStochasticNoveltyDetector(random_state=0, method="udsg").fit(moons()[0]),
    "stream": lambda: DoublyStochasticClassifier(random_state=0, block_size=8).partial_fit(endless(5), classes=WORDS),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_model_that_was_saved_predicts_and_goes_on_the_same(make, tmp_path):
    model = make()
    model.save(tmp_path / "model.npz")
    read = type(model).load(tmp_path / "model.npz", device="cpu")
    X, y = moons(seed=5, classes=3) if len(getattr(model, "classes_", ())) == 3 else moons(seed=5)
    assert np.array_equal(read.predict(X), model.predict(X))
    score = "score_samples" if hasattr(model, "score_samples") else "decision_function"
    if hasattr(model, score):
        assert np.array_equal(getattr(read, score)(X), getattr(model, score)(X))
    targets = None
    if isinstance(model, DoublyStochasticRegressor):
        targets = X * 3 if model.predict(X).ndim == 2 else X[:, 0]
    elif isinstance(model, DoublyStochasticClassifier):
        targets = y if model.classes_.dtype.kind in "UO" else (y == "low").astype(int)
    for one in (model, read):
        one.partial_fit(X, targets)
    assert np.array_equal(read.dual_coef_, model.dual_coef_)
    assert clone(read).get_params().keys() == model.get_params().keys()
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_a_pickled_model_predicts_the_same():
    model = MODELS["words"]()
    X, _ = moons(classes=3)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), model.decision_function(X))


def test_a_file_has_kilobytes_for_a_thousand_frequencies_whatever_the_number_of_inputs(tmp_path):
    sizes = {}
    for d in (2, 800):
        for n_iter in (10, 135):
            model = DoublyStochasticRegressor(random_state=0, block_size=8, n_iter=n_iter, dtype="float32")
            model.fit(sample(100, d), sample(100, 1)[:, 0])
            model.save(tmp_path / "model.npz")
            sizes[d, n_iter] = (tmp_path / "model.npz").stat().st_size
    for d in (2, 800):
        assert abs(sizes[d, 135] - sizes[d, 10] - (1000 * 2 + 125) * 4) < 300  # 125 blocks of 8 and their traces.
    assert sizes[800, 10] - sizes[2, 10] < 798 * 8 + 200  # The mean.


def rewritten(path, change):
    with np.load(path) as file:
        held = dict(file)
    header = json.loads(str(held["header"]))
    change(header, held)
    held["header"] = np.array(json.dumps(header))
    np.savez(path, **held)


CHANGES = {
    "another kernel": (
        lambda header, held: header.update(kernel=json.dumps({"name": "sinc", "bandwidth": 1.0})),
        "kernel that this version does not know.*sinc",
    ),
    "a kernel with other draws": (
        lambda header, held: header.update(kernel=json.dumps({"name": "laplace", "bandwidth": 1.0})),
        "draws other features for the kernel 'laplace'",
    ),
    "a newer version": (
        lambda header, held: header.update(format=99, version="9.0"),
        "written by shallows 9.0, which is newer",
    ),
    "other draws": (lambda header, held: held["probes"].__imul__(1.01), "draws other features"),
    "another estimator": (
        lambda header, held: header.update(estimator="DoublyStochasticRegressor"),
        "holds a DoublyStochasticRegressor, not a DoublyStochasticClassifier",
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_means_something_else_is_refused(change, tmp_path):
    MODELS["words"]().save(tmp_path / "model.npz")
    rewritten(tmp_path / "model.npz", change[0])
    with pytest.raises(ShallowsError, match=change[1]):
        DoublyStochasticClassifier.load(tmp_path / "model.npz")


def test_a_file_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(ShallowsError, match="There is no file"):
        DoublyStochasticClassifier.load(tmp_path / "model.npz")
    (tmp_path / "model.npz").write_bytes(b"words")
    with pytest.raises(ShallowsError, match="holds no model, or is damaged"):
        DoublyStochasticClassifier.load(tmp_path / "model.npz")
    np.savez(tmp_path / "model.npz", a=np.ones(3))
    with pytest.raises(ShallowsError, match="holds no model, or is damaged"):
        DoublyStochasticClassifier.load(tmp_path / "model.npz")
    MODELS["words"]().save(tmp_path / "model.npz")
    content = (tmp_path / "model.npz").read_bytes()
    (tmp_path / "model.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(ShallowsError, match="holds no model, or is damaged"):
        DoublyStochasticClassifier.load(tmp_path / "model.npz")


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        DoublyStochasticClassifier().save(tmp_path / "model.npz")


def test_a_fit_that_fails_leaves_no_old_model():
    X, y = waves()
    model = DoublyStochasticRegressor(random_state=0, n_iter=3).fit(X, y)
    with pytest.raises(DivergenceError):
        model.set_params(schedule="constant", step_size=1e9, preconditioning=None).fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_draws_of_batches_and_features_have_streams_of_their_own():
    # The seed is one, the purposes are not: the first frequencies are not those of the order of the rows.
    assert streams.integers(0, "order", 0, 1)[0] != streams.integers(0, "frequencies", 0, 1)[0]
