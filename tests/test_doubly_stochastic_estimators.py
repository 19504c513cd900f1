"""The estimators of growing functions: losses, observers, checkpoints, defaults and refusals."""

import dataclasses
import itertools
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import OneClassSVM

from doubly_stochastic_example import moons, waves
from engine_example import sample
from shallows import DoublyStochasticClassifier, DoublyStochasticRegressor, losses, training
from shallows.errors import DivergenceError, ShallowsError
from shallows.fitting import expansion_plan
from shallows.fitting.targets import NoveltyTargets
from shallows.kernels import Gaussian
from shallows.solvers import DoublyStochastic, TheoryStep
from shallows.svm import DoublyStochasticNoveltyDetector

# ---------------------------------------------------------------------------------------- what is learnt


# Two classes have one function and three have one each; a loss of several functions has its own way for two.
@pytest.mark.parametrize(
    ("loss", "classes"),
    [
        ("auto", 3),
        ("softmax", 2),
        ("softmax", 3),
        ("logistic", 2),
        ("hinge", 3),
        ("multiclass_hinge", 3),
        ("square", 2),
    ],
)
def test_a_classifier_learns_with_each_loss(loss, classes):
    X, y = moons(classes=classes)
    model = DoublyStochasticClassifier(solver=DoublyStochastic(n_iter=30), loss=loss, random_state=0).fit(X, y)
    X_new, y_new = moons(seed=1, classes=classes)
    assert model.score(X_new, y_new) > (0.97 if classes == 2 else 0.9)
    scores = model.decision_function(X_new)
    assert scores.shape == ((600,) if classes == 2 else (600, 3))
    best = model.classes_[(scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)]
    assert np.array_equal(best, model.predict(X_new))
    if loss in ("logistic", "softmax"):
        P = model.predict_proba(X_new)
        assert P.shape == (600, classes)
        assert np.abs(P.sum(axis=1) - 1).max() < 1e-12
        assert np.array_equal(model.classes_[P.argmax(axis=1)], best)


@pytest.mark.parametrize(
    ("loss", "n_outputs"),
    [("auto", 2), ("square", None), (losses.EpsilonInsensitive(2.0), 2), (losses.Huber(30.0), 2), ("quantile", None)],
    ids=str,
)
def test_a_regressor_learns_with_each_loss(loss, n_outputs):
    X, y = waves()
    y = y if n_outputs is None else np.stack([y, 3 * X[:, 0]], axis=1)
    model = DoublyStochasticRegressor(solver=DoublyStochastic(n_iter=60), loss=loss, random_state=0).fit(X, y)
    X_new, y_new = waves(seed=1)
    predicted = model.predict(X_new)
    assert predicted.shape == ((800,) if n_outputs is None else (800, 2))
    first = predicted if n_outputs is None else predicted[:, 0]
    # With kinks the gradient does not grow with the error, so that the last steps find less. Outputs share one step, so
    # that the smaller one holds the larger back.
    assert 1 - np.var(first - y_new) / np.var(y_new) > (0.94 if n_outputs is None else 0.8)


@pytest.mark.parametrize("tau", [0.1, 0.9])
def test_a_quantile_is_exceeded_by_the_share_that_it_names(tau):
    (X, y), (X_new, y_new) = waves(2000), waves(2000, seed=2)
    noise = 30 * np.random.default_rng(1).normal(size=(2, 2000))
    solver = DoublyStochastic(n_iter=60)
    model = DoublyStochasticRegressor(solver=solver, loss=losses.Quantile(tau), random_state=0).fit(X, y + noise[0])
    assert abs(np.mean(y_new + noise[1] < model.predict(X_new)) - tau) < 0.06


def test_a_regression_comes_close_to_exact_kernel_ridge():
    X, y = waves()
    given = {"solver": DoublyStochastic(n_iter=80), "bandwidth": 1.0, "regularization": 0.0}
    model = DoublyStochasticRegressor(random_state=0, **given).fit(X, y)
    X_new, y_new = waves(seed=1)
    exact = KernelRidge(kernel="rbf", gamma=0.5, alpha=1e-6).fit(X, y - y.mean())
    ours, theirs = (np.sqrt(np.mean((p - y_new) ** 2)) for p in (model.predict(X_new), exact.predict(X_new) + y.mean()))
    assert ours < theirs + 0.01 * y.std()


@pytest.mark.slow
def test_the_fraction_of_novel_points_is_what_was_asked_for_and_they_are_those_of_the_exact_machine():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    options = {"bandwidth": 1.0, "random_state": 0, "solver__block_size": 256, "options__dtype": "float32"}
    for fraction in (0.05, 0.1, 0.3):
        model = DoublyStochasticNoveltyDetector(fraction=fraction).set_params(solver__n_iter=10, **options).fit(X)
        assert np.mean(model.predict(X) < 0) == pytest.approx(fraction, abs=2.5e-3)
    model = DoublyStochasticNoveltyDetector().set_params(solver__n_iter=120, **options).fit(X)
    exact = OneClassSVM(gamma=0.5, nu=0.1).fit(X)
    assert np.mean(model.predict(X) == exact.predict(X)) > 0.965
    assert np.corrcoef(model.score_samples(X), exact.score_samples(X))[0, 1] > 0.998
    far = np.full((1, 2), 6.0)
    assert model.predict(far)[0] == -1
    assert model.decision_function(X) == pytest.approx(model.score_samples(X) - model.offset_)


def test_the_regularization_falls_with_the_root_of_the_rows_and_not_with_the_unit_of_the_weights():
    x, y = sample(80), sample(80, 1, seed=1)

    def chosen(n, weights=None):
        given = {"searches_bandwidth": False, "all_equal": False, "n": n, "seed": 0, "narrow": None}
        return expansion_plan.choose_kernel(x, y, weights, losses.make("square"), None, Gaussian(1.5), **given)[1]

    assert chosen(320) == pytest.approx(chosen(80) / 2)
    assert chosen(20) == chosen(80)
    assert chosen(320, np.full(80, 3.0)) == pytest.approx(chosen(320))


def test_a_point_at_the_offset_is_not_novel():
    targets = NoveltyTargets(losses.make("novelty"), 1.0)
    assert targets.decode(np.array([[1.0], [0.9]])).tolist() == [1, -1]


def test_weights_are_repetitions():
    X, y = waves(60)
    w = np.random.default_rng(0).integers(0, 4, 60)
    # Full batches of the same size rule, so that both take the same steps.
    options = {"random_state": 0, "bandwidth": 1.0, "regularization": 1e-4}
    options |= {"solver__block_size": 8, "solver__batch_size": 1000}
    one = DoublyStochasticRegressor().set_params(**options).fit(X, y, sample_weight=w)
    other = DoublyStochasticRegressor().set_params(**options).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert np.abs(one.predict(X) - other.predict(X)).max() < 1e-6 * y.std()


# --------------------------------------------------------------------------------------- observers, checkpoints


def test_a_snapshot_tells_what_the_finished_model_tells():
    X, y = moons()
    seen = {}

    class Look(training.Observer):
        def on_epoch(self, run):
            snapshot = run.snapshot()
            seen.update(new=snapshot.predict(X[:50]), old=snapshot.predict_training())
            seen.update(loss=snapshot.square_loss(X, y), old_loss=snapshot.training_square_loss(y))
            seen.update(objective=snapshot.objective(), norm=snapshot.coefficient_norm(), blocks=snapshot.n_blocks)

    model = DoublyStochasticClassifier(solver=DoublyStochastic(max_epochs=5), random_state=0)
    model.fit(X, y, observers=[Look()])
    assert np.array_equal(seen["new"], model.predict(X[:50]))
    assert np.array_equal(seen["old"], model.predict(X))
    assert seen["loss"] == pytest.approx(seen["old_loss"], rel=1e-9)
    margins = np.where(y == model.classes_[1], 1, -1) * model.decision_function(X)
    assert seen["objective"] == pytest.approx(np.log1p(np.exp(-margins)).mean(), rel=1e-9)
    assert seen["loss"] == pytest.approx(np.mean((margins - 1) ** 2), rel=1e-9)
    assert seen["norm"] == pytest.approx(np.linalg.norm(model.dual_coef_))
    assert seen["blocks"] == model.n_blocks_


def test_a_step_that_diverges_is_told_and_one_of_the_programs_own_is_halved(monkeypatch):
    X, y = waves()
    constant = DoublyStochastic(schedule="constant", preconditioning=None)
    model = DoublyStochasticRegressor(random_state=0, solver=constant)
    with pytest.raises(DivergenceError, match="step_size=1e"):
        model.set_params(solver__step_size=1e6).fit(X, y)

    choose = expansion_plan.choose_stepper

    def too_long(*args):
        stepper, told = choose(*args)
        return dataclasses.replace(stepper, step_size=100 * stepper.step_size), told

    monkeypatch.setattr(expansion_plan, "choose_stepper", too_long)
    model.set_params(solver__step_size=None, solver__n_iter=60).fit(X, y)
    assert model.n_rollbacks_ > 0
    assert model.score(X, y) > 0.1


# Doubly stochastic machines as they come: more steps and rows make them no worse, streams may begin with one row.


def friedman(n, noise, seed=0):
    X, y = make_friedman1(n + 500, n_features=8, noise=noise, random_state=seed)
    return X[:n], y[:n], X[n:], y[n:]


def linear(n, d=20, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 500, d))
    y = X @ rng.normal(size=d) / np.sqrt(d) + noise * rng.normal(size=len(X))
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.1, 5.0])
def test_more_steps_make_it_no_worse(noise):
    X, y, X_test, y_test = friedman(800, noise)
    scores = [
        DoublyStochasticRegressor(solver=DoublyStochastic(n_iter=n), random_state=0).fit(X, y).score(X_test, y_test)
        for n in (25, 50, 100, 200)
    ]
    assert all(later > earlier - 0.02 for earlier, later in itertools.pairwise(scores)), scores


def test_nothing_is_learnt_from_noise():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 10)), rng.normal(size=1000)
    model = DoublyStochasticRegressor(random_state=0).fit(X[:700], y[:700])
    assert model.score(X[700:], y[700:]) > -0.03
    assert model.report_["choice"]["chosen_by"]


def test_bandwidth_and_regularisation_of_the_user_stay():
    X, y, _, _ = friedman(300, 1.0)
    fitted = DoublyStochasticRegressor(
        solver=DoublyStochastic(n_iter=5), bandwidth=2.5, regularization=1e-3, random_state=0
    ).fit(X, y)
    assert (fitted.report_["bandwidth"], fitted.report_["regularization"]) == (2.5, 1e-3)
    assert fitted.report_["choice"] == {}
    of_median = DoublyStochasticRegressor(solver=DoublyStochastic(n_iter=5), bandwidth="median", random_state=0)
    assert of_median.fit(X, y).bandwidth_ > 0
    with pytest.raises(ShallowsError, match="bandwidth must be a positive number, 'auto' or 'median', got None"):
        of_median.set_params(bandwidth=None).fit(X, y)


# Streams


def in_calls(model, X, y, sizes):
    start = 0
    for size in sizes:
        model.partial_fit(X[start : start + size], *(() if y is None else (y[start : start + size],)))
        start += size
    return model


@pytest.mark.slow
def test_small_batches_of_a_noisy_stream_are_learnt_from():
    X, y, X_test, y_test = linear(900)
    model = in_calls(DoublyStochasticRegressor(random_state=0), X, y, [30] * 30)
    assert model.score(X_test, y_test) > 0.65


def test_a_step_on_a_few_rows_of_a_stream_is_shorter(monkeypatch):
    monkeypatch.setattr("shallows.estimators.doubly_stochastic.random_feature_expansion.FIRST_ROWS", 800)
    X, y, _, _ = friedman(1200, 2.0)
    steps = []
    for n in (320, 80):  # A batch of the fit, and a quarter of it.
        model = DoublyStochasticRegressor(random_state=0).partial_fit(iter([(X[:800], y[:800]), (X[-n:], y[-n:])]))
        steps.append(model.report_["last_step"])
    assert steps[1] == pytest.approx(steps[0] / 2)


def test_a_bad_batch_among_the_first_rows_leaves_the_model_of_the_ones_before():
    X, y, X_test, _ = linear(60)
    model = in_calls(DoublyStochasticRegressor(random_state=0), X, y, [20, 20])
    before = model.predict(X_test)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((20, X.shape[1]), np.nan), y[:20])
    assert np.array_equal(model.predict(X_test), before)
    whole = in_calls(DoublyStochasticRegressor(random_state=0), X, y, [20, 20, 20])
    model.partial_fit(X[40:60], y[40:60])
    assert np.array_equal(model.predict(X_test), whole.predict(X_test))


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[1500], [30] * 50], ids=["one call", "of 30"])
def test_the_fraction_of_novelty_is_kept_in_a_stream(sizes):
    X = np.random.default_rng(0).normal(size=(1500, 4))
    model = in_calls(DoublyStochasticNoveltyDetector(fraction=0.05, random_state=0), X, None, sizes)
    assert np.mean(model.predict(X) < 0) == pytest.approx(0.05, abs=0.012)


# What the estimators of growing functions refuse, and what they say then.


def test_old_parameters_are_answered_with_the_present_call():
    with pytest.raises(TypeError, match=r"has no parameter '\w+': it belongs to the solver") as raised:
        DoublyStochasticClassifier(method="udsg", fresh=2, reused=3, regularisation=None, device="cpu")
    assert str(raised.value).endswith(
        " The call is now DoublyStochasticClassifier(solver=DoublyStochastic(reuse=UniformReuse(fresh=2, reused=3)), "
        "regularization='auto', options=Options(device='cpu'))."
    )


def test_a_product_of_theta_and_nu_outside_the_theory_warns():
    X, y = moons(100)

    def fit(theta_nu):
        solver = DoublyStochastic(schedule=TheoryStep(theta_nu=theta_nu), n_iter=5)
        DoublyStochasticClassifier(solver=solver, regularization=0.01, random_state=0).fit(X, y)

    with pytest.warns(UserWarning, match=r"theta_nu=0\.5 is neither in \(1, 2\)"):
        fit(0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for theta_nu in (1, 1.5, 3.0):
            fit(theta_nu)


def test_margins_have_no_probabilities():
    X, y = moons(100)
    model = DoublyStochasticClassifier(solver=DoublyStochastic(n_iter=2), loss="hinge")
    assert not hasattr(model, "predict_proba") and not hasattr(model.fit(X, y), "predict_proba")
    with pytest.raises(AttributeError) as caught:
        model.predict_proba(X)
    assert "CalibratedClassifierCV" in str(caught.value.__cause__)
    for loss in ("auto", "logistic", "softmax"):
        assert hasattr(model.set_params(loss=loss).fit(X, y), "predict_proba")


def test_a_fit_that_diverges_keeps_the_previous_model():
    X, y = waves()
    model = DoublyStochasticRegressor(solver=DoublyStochastic(n_iter=3), random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(DivergenceError):
        model.set_params(solver__schedule="constant", solver__step_size=1e9, solver__preconditioning=None).fit(X, y)
    assert np.array_equal(model.predict(X), before)
