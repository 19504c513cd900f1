"""Pegasos, NORMA, dual coordinate ascent and variance-reduced gradients as estimators."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC

from engine_example import sample
from estimators_example import outputs
from shallows import Options, features, kernels, training
from shallows.errors import DivergenceError
from shallows.estimators import (
    RegularizedRiskClassifier,
    RegularizedRiskRegressor,
)
from shallows.kernel_approximation import FourierFeatures, NystroemFeatures, RBFNetwork
from shallows.solvers import NORMA, SAG, SDCA
from shallows.training.steps import InOrderThenDrawn, InOrderThenShuffled
from solved_by import constructor

WAYS = [
    RegularizedRiskClassifier(solver="norma", random_state=0),
    RegularizedRiskClassifier(solver="pegasos", random_state=0, features=NystroemFeatures(n_features=60)),
    RegularizedRiskClassifier(random_state=0, features=FourierFeatures(orthogonal=True, n_features=128)),
    RegularizedRiskRegressor(random_state=0),
    RegularizedRiskClassifier(solver="svrg", features=FourierFeatures(n_features=128), random_state=0),
    RegularizedRiskRegressor(solver=SAG(unbiased=True), features=RBFNetwork(n_features=60), random_state=0),
]
every = pytest.mark.parametrize("model", WAYS, ids=lambda model: str(model).replace("random_state=0", ""))


def table(model, n=300, seed=0):
    """Points and targets fit for an estimator, and points to predict at."""
    x = sample(n + 60, 4, seed)
    y = (x[:, 0] > 0) + 2 * (x[:, 1] > 0) if is_classifier(model) else np.sin(2 * x[:, 0]) + x[:, 1]
    return x[:n], y[:n], x[n:]


# ---------------------------------------------------------------------------------------- the exact solvers


def digits(n=500):
    X, y = load_digits(return_X_y=True)
    return X[:n] / 16, y[:n], X[n : n + 500] / 16, y[n : n + 500]


def test_dual_ascent_agrees_with_the_exact_support_vector_machine_on_digits():
    X, y, new, truth = digits()
    ours = RegularizedRiskClassifier(
        solver=SDCA(max_epochs=100), bandwidth=1.5, random_state=0, options=Options(dtype="float64")
    ).fit(X, y)
    exact = SVC(C=1.0, gamma=1 / (2 * 1.5**2), decision_function_shape="ovr").fit(X, y)
    # One against the rest without an intercept and one against one with: the same answers nearly everywhere.
    assert (ours.predict(new) == exact.predict(new)).mean() > 0.95
    assert ours.score(new, truth) > exact.score(new, truth) - 0.02
    eight = (y == 8).astype(int)
    ours, exact = ours.fit(X, eight), SVC(C=1.0, gamma=1 / (2 * 1.5**2), tol=1e-6).fit(X, eight)
    assert (ours.predict(new) == exact.predict(new)).mean() > 0.98
    assert np.corrcoef(ours.decision_function(new), exact.decision_function(new))[0, 1] > 0.95


def on_fourier(name, **given):
    """An estimator on twenty frequencies, and their map."""
    f = features.FourierMap(kernels.Gaussian(1.5), 4, 20, seed=3)
    return constructor(name)(features=f, regularization=0.01, random_state=0, **given), f.map


@pytest.mark.parametrize("solver", ["svrg", "saga", "sdca"])
def test_on_features_it_agrees_with_ridge_regression(solver):
    X, y, new = table(RegularizedRiskRegressor())
    ours, phi = on_fourier(f"{solver}: RegularizedRiskRegressor", max_epochs=100)
    exact = Ridge(alpha=0.01 * len(X), fit_intercept=False).fit(phi(X), y - y.mean())
    assert np.abs(ours.fit(X, y).predict(new) - exact.predict(phi(new)) - y.mean()).max() < 1e-4
    assert ours.coef_.shape == (1, 40)


@pytest.mark.parametrize("solver", ["svrg", "sag", "sdca"])
def test_on_features_it_agrees_with_logistic_regression(solver):
    X, y, new = table(RegularizedRiskClassifier())
    name, options = f"{solver}: RegularizedRiskClassifier", {"loss": "logistic", "fit_intercept": False}
    ours, phi = on_fourier(name, max_epochs=100, **options)
    exact = LogisticRegression(C=1 / (0.01 * len(X)), fit_intercept=False, tol=1e-10, max_iter=1000)
    exact.fit(phi(X), y > 1)
    assert np.abs(ours.fit(X, y > 1).predict_proba(new) - exact.predict_proba(phi(new))).max() < 1e-4


@every
def test_it_learns_and_reports_what_was_chosen(model):
    X, y, _ = table(model)
    model = clone(model).fit(X, y)
    assert model.score(X, y) > (0.8 if is_classifier(model) else 0.7)
    assert model.losses_[-1] < min(1, model.losses_[0])
    report = model.report_
    if model.regularization is None:
        assert report["regularization"] * len(X) == pytest.approx(1)
    else:
        as_good = report["selection"]["regularizations_as_good"]
        lowest, highest = as_good[0] * (1 - 1e-9), max(1.0, as_good[-1]) * (1 + 1e-9)
        assert lowest <= report["regularization"] * len(X) <= highest
    assert report["batch_size"] >= 8 and report["stopped_by"] == "max_epochs"
    assert set(report["timings"]) == {"preparation", "eigensystem", "kernel_matrix", "training", "evaluation"}
    if model.features is None:
        assert report["n_support"] == len(model.support_) <= len(X)
    else:
        assert report["n_features"] == model.coef_.shape[1]


# ------------------------------------------------------------------------------------ what all of them do


@every
def test_observers_see_the_model_of_their_epoch(model):
    X, y, new = table(model)
    seen = {}

    class Look(training.Observer):
        def on_epoch(self, run):
            s = run.snapshot()
            fitted = s.training_decision_function()
            assert np.abs(fitted - s.decision_function(X)).max() < 1e-8 * max(1, np.abs(fitted).max())
            if is_classifier(model):
                assert (s.predict_training() == s.predict(X)).mean() > 0.99
            else:
                assert s.predict_training() == pytest.approx(s.predict(X), rel=1e-6, abs=1e-8)
            assert s.square_loss(X, y) == pytest.approx(s.training_square_loss(y), rel=1e-6)
            seen[s.epoch] = (s.decision_function(new).copy(), s.objective(), s.coefficient_norm())

    clone(model).set_params(solver__max_epochs=4).fit(X, y, observers=[Look()])
    assert sorted(seen) == [1, 2, 3, 4]
    two = clone(model).set_params(solver__max_epochs=2).fit(X, y)
    made = seen[2][0] if seen[2][0].shape[1] > 1 else seen[2][0][:, 0]
    assert np.abs(made - outputs(two, new)).max() < 1e-9 * max(1, np.abs(made).max())
    assert all(objective > 0 and norm > 0 for _, objective, norm in seen.values())


def test_one_pass_makes_half_of_the_matrix_and_two_passes_no_more(monkeypatch):
    X, y, _ = table(RegularizedRiskClassifier(solver="norma"))
    made = []
    fill = kernels.Gaussian.fill
    monkeypatch.setattr(
        kernels.Gaussian, "fill", lambda k, left, z, out: made.append(out.size) or fill(k, left, z, out)
    )
    model = RegularizedRiskClassifier(
        solver=NORMA(schedule="inverse", batch_size=30, max_epochs=1),
        bandwidth=2.0,
        regularization=0.01,
        random_state=0,
    ).fit(X, y)
    # 30 rows times 30, 60, … 270 columns: 0.45 of the matrix.
    assert sum(made) == 30 * 30 * sum(range(1, 10))
    made.clear()
    model.set_params(solver__max_epochs=5).fit(X, y)
    assert sum(made) == len(X) ** 2  # one tile here


def test_batches_come_in_order_first_and_then_in_the_order_that_was_asked_for():
    for kind in (InOrderThenShuffled, InOrderThenDrawn):
        batches = kind(100, 30, 0)
        assert [b.start for b in batches.of_epoch(0)] == [0, 30, 60, 90]
        assert batches.of_epoch(3) == kind(100, 30, 0).of_epoch(3)
    later = [[b.start for b in InOrderThenShuffled(100, 30, 0).of_epoch(e)] for e in range(1, 9)]
    assert all(sorted(order) == [0, 30, 60, 90] for order in later)
    assert len({tuple(order) for order in later}) > 3
    drawn = [b.start for e in range(1, 400) for b in InOrderThenDrawn(100, 30, 0).of_epoch(e)]
    counts = np.unique(drawn, return_counts=True)[1]
    assert np.abs(counts - len(drawn) / 4).max() < 5 * np.sqrt(len(drawn) * 3 / 16)


# ---------------------------------------------------------------------------------------------- bad input


def test_a_step_of_the_users_that_is_too_long_is_an_error_and_leaves_the_model_before_it():
    X, y, _ = table(RegularizedRiskRegressor(solver="svrg", features="fourier"))
    model = RegularizedRiskRegressor(solver="svrg", features="fourier", random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(DivergenceError, match="step_size=1e"):
        model.set_params(solver__step_size=1e6).fit(X, y)
    assert np.array_equal(model.predict(X), before)


def test_a_linear_kernel_has_the_coefficients_of_the_inputs():
    X, y, new = table(RegularizedRiskRegressor())
    for model, target in ((RegularizedRiskRegressor("linear"), 30 * y), (RegularizedRiskClassifier("linear"), y > 0)):
        scores = outputs(model.fit(X + 3.0, target), new) - outputs(model, np.zeros((1, 4)))
        assert np.abs(scores - new @ model.coef_[0]).max() < 1e-8 * np.abs(scores).max()
    assert not hasattr(model.set_params(kernel="gaussian").fit(X, target), "coef_")


@pytest.mark.parametrize("solver", ["norma", "sdca", "pegasos"])
@pytest.mark.parametrize("kernel", ["gaussian", kernels.Polynomial(degree=3), kernels.Matern(nu=1.5), "arc_cosine"])
def test_the_function_is_the_sum_of_kernels_over_the_support(kernel, solver):
    X, y, new = table(RegularizedRiskClassifier())
    model = RegularizedRiskClassifier(kernel, solver=solver, random_state=0).fit(X, y)
    by_hand = kernels.make(kernel, model.bandwidth_)(new, X[model.support_]) @ model.dual_coef_ + model.intercept_
    assert np.abs(model.decision_function(new) - by_hand).max() < 1e-8 * np.abs(by_hand).max()
    assert solver != "pegasos" or len(model.support_) < len(X)


# ------------------------------------------------------------------------------------ parameters of parts


def test_a_transformer_takes_the_kernel_of_the_estimator():
    X, y, new = table(RegularizedRiskClassifier())
    named = RegularizedRiskClassifier("laplace", bandwidth=2.0, features="fourier", random_state=0)
    own = RegularizedRiskClassifier(features=FourierFeatures("laplace", bandwidth=2.0, n_features=512), random_state=0)
    mixed = clone(named).set_params(features=FourierFeatures(n_features=512))
    expected = outputs(named.fit(X, y), new)
    assert np.array_equal(outputs(own.fit(X, y), new), expected)
    assert np.array_equal(outputs(mixed.fit(X, y), new), expected)
