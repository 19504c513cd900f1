"""The estimator of linear support vector machines, by each of its solvers."""

import copy
import dataclasses

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import shallows
from linear_svm_example import points
from shallows import LinearSVMClassifier, training
from shallows.errors import ShallowsError
from shallows.solvers import (
    LBFGS,
    LinearPegasos,
)
from shallows.solvers.linear_svm import SOLVERS

each = pytest.mark.parametrize("solver", SOLVERS)
ONLINE = [name for name, choice in SOLVERS.items() if choice.is_online]
STOCHASTIC = [*ONLINE, "sarah"]


def with_known(solver, **parameters):
    """A solver with those of some parameters that it has."""
    known = {item.name for item in dataclasses.fields(SOLVERS[solver])}
    return SOLVERS[solver](**{name: value for name, value in parameters.items() if name in known})


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def objective(model, X, y, lam, weights=None):
    """P of a fitted model of two classes, with the intercept as one of the coefficients."""
    missed = np.maximum(0, 1 - y * model.decision_function(X))
    each = missed if model._loss(model._settings()) == "hinge" else 0.5 * missed**2
    w = np.append(model.coef_[0], model.intercept_)
    return lam / 2 * w @ w + np.average(each, weights=weights)


def exact(model, X, y, lam, weights=None):
    C = 1 / (lam * len(y)) * (1.0 if model._loss(model._settings()) == "hinge" else 0.5)
    weights = None if weights is None else weights / weights.mean()
    machine = LinearSVC(C=C, loss=model._loss(model._settings()), tol=1e-10, max_iter=10**7, intercept_scaling=1.0)
    return machine.fit(X, y, weights)


@each
@pytest.mark.parametrize(("sparse", "weighted"), [(False, True), (True, False)])
def test_each_solver_comes_to_the_optimum_of_liblinear(solver, sparse, weighted):
    X, y = points(sparse=sparse)
    X, weights = X + 0.2, np.linspace(0.1, 2.0, len(y)) if weighted else None
    lam = 0.02
    chosen = with_known(solver, max_epochs=100) if solver in STOCHASTIC else with_known(solver, tol=1e-4)
    model = LinearSVMClassifier(chosen, regularization=lam, random_state=0)
    model.fit(scipy.sparse.csr_array(X) if sparse else X, y, weights)
    machine = exact(model, X, y, lam, weights)
    best = lam / 2 * (machine.coef_ @ machine.coef_.T).item() + lam / 2 * machine.intercept_.item() ** 2
    missed = np.maximum(0, 1 - y * machine.decision_function(X))
    best += np.average(missed if model._loss(model._settings()) == "hinge" else 0.5 * missed**2, weights=weights)
    assert 1 - 1e-9 <= objective(model, X, y, lam, weights) / best <= 1 + (2e-3 if solver in ONLINE else 2e-4)


def test_logistic_regression_is_that_of_scikit_learn():
    X, y = points()
    model = LinearSVMClassifier(solver=LBFGS(tol=1e-9), loss="logistic", regularization=0.01, fit_intercept=False).fit(
        X, y
    )
    theirs = LogisticRegression(C=1 / (0.01 * len(y)), fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-5)


@each
def test_several_classes_are_each_against_the_rest(solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.array(["red", "green", "blue"])[np.argmax(X[:, :3], axis=1)]
    model = LinearSVMClassifier(solver, random_state=0).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.decision_function(X).shape == (300, 3)
    assert model.score(X, y) > 0.9
    alone = LinearSVMClassifier(solver, random_state=0).fit(X, y == "green")
    if solver not in STOCHASTIC:
        # Both are within the tolerance of the one solution of a strictly convex problem.
        np.testing.assert_allclose(model.coef_[1], alone.coef_[0], atol=0.05 * np.abs(alone.coef_).max())


def test_the_mean_of_machines_of_parts_is_a_machine_that_decides_by_the_mean_of_their_scores():
    X, y = points()
    X += 300.0  # Far columns, which each machine centers by the rows that it has.
    parts = np.array_split(np.random.default_rng(0).permutation(len(y)), 4)
    machines = [
        LinearSVMClassifier(solver="linear_pegasos", regularization=0.01, random_state=0).fit(X[p], y[p]) for p in parts
    ]
    mean = copy.deepcopy(machines[0])
    mean.coef_ = np.mean([machine.coef_ for machine in machines], axis=0)
    mean.intercept_ = np.mean([machine.intercept_ for machine in machines], axis=0)
    scores = np.mean([machine.decision_function(X) for machine in machines], axis=0)
    np.testing.assert_allclose(mean.decision_function(X), scores, atol=1e-9)
    assert mean.score(X, y) > 0.85


@pytest.mark.parametrize("solver", ONLINE)
def test_further_examples_go_on_where_the_last_ended(solver):
    X, y = points(n=900)
    in_order = SOLVERS[solver](sampling="in_order", max_epochs=1)
    parts = LinearSVMClassifier(in_order, regularization=0.01)
    for rows in (slice(0, 250), slice(250, 750), slice(750, 900)):  # the order holds in calls of any size
        parts.partial_fit(X[rows], y[rows], classes=[-1.0, 1.0])
    if solver != "svm_sgd":  # which looks for its first step among the examples of the first call
        whole = LinearSVMClassifier(in_order, regularization=0.01).fit(X, y)
        np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    assert parts.score(X, y) > 0.8
    assert parts.n_iter_ == 3


def test_partial_fit_goes_on_from_a_fit_and_from_a_file(tmp_path):
    X, y = points()
    model = LinearSVMClassifier(solver=LinearPegasos(max_epochs=2), random_state=0).fit(X, y)
    shallows.save(model, tmp_path / "model.skops")
    again = shallows.load(tmp_path / "model.skops")
    for one in (model, again):
        one.partial_fit(X, y)
    assert np.array_equal(model.coef_, again.coef_)


def test_partial_fit_refuses_what_it_cannot_take():
    X, y = points(n=50)
    assert not hasattr(LinearSVMClassifier(), "partial_fit")
    with pytest.raises(AttributeError) as refused:
        LinearSVMClassifier().partial_fit  # noqa: B018
    assert "'linear_pegasos', 'svm_sgd', 'folos'" in str(refused.value.__cause__)
    model = LinearSVMClassifier(solver="linear_pegasos")
    with pytest.raises(ValueError, match="needs classes"):
        model.partial_fit(X, y)
    model.partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ValueError, match=r"classes are .* and the model has"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="not one of the classes"):
        model.partial_fit(X, y + 5)
    with pytest.raises(ShallowsError, match="balanced"):
        model.set_params(class_weight="balanced").partial_fit(X, y)


def test_observers_see_the_model_on_the_way():
    X, y = points()
    errors, norms = [], []

    class Look(training.Observer):
        def on_epoch(self, run):
            snapshot = run.snapshot()
            errors.append((np.mean(snapshot.predict(X) != y), np.mean(snapshot.predict_training() != y)))
            norms.append(snapshot.coefficient_norm())

    model = LinearSVMClassifier(solver=LinearPegasos(max_epochs=3), random_state=0).fit(X, y, observers=[Look()])
    assert len(errors) == 3
    assert errors[-1] == pytest.approx((1 - model.score(X, y),) * 2)
    assert norms[-1] == pytest.approx(np.linalg.norm([*model.coef_.ravel(), *model.intercept_]))
