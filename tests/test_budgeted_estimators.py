"""Budgeted classifiers by their face: streams, weights, files, bad input."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_circles
from sklearn.svm import SVC, LinearSVC

from shallows.svm import AMMClassifier, BudgetedSVMClassifier, LowRankLinearizedSVMClassifier

ALL = [AMMClassifier(random_state=0), BudgetedSVMClassifier(random_state=0), LowRankLinearizedSVMClassifier()]
ROW_BY_ROW = ALL[:2]

each_of_rows = pytest.mark.parametrize("model", ROW_BY_ROW, ids=lambda one: type(one).__name__)


def test_the_first_rows_of_a_stream_do_not_bound_the_budget_of_all():
    X = np.random.default_rng(0).normal(size=(300, 4))
    y = (X[:, 0] > 0).astype(int)
    model = BudgetedSVMClassifier(bandwidth=2.5, random_state=0)
    for i in range(300):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
    assert model.report_["budget"] == 100
    assert len(model.support_vectors_) > 10 and model.score(X, y) > 0.9
    assert model.fit(X[:40], y[:40]).report_["budget"] == 40


def circles(n=600, noise=0.1):
    return make_circles(n, noise=noise, factor=0.4, random_state=0)


def test_a_large_budget_comes_near_to_the_exact_machine():
    X, y = circles(noise=0.2)
    n, C, sigma = 400, 10.0, 0.5
    exact = SVC(C=C, gamma=0.5 / sigma**2).fit(X[:n], y[:n])
    own = BudgetedSVMClassifier(n, bandwidth=sigma, regularization=1 / (C * n), max_epochs=100, random_state=0)
    own.fit(X[:n], y[:n])
    assert np.mean(own.predict(X[n:]) == exact.predict(X[n:])) > 0.97


def test_the_budget_is_kept_and_merging_does_with_less_than_removal():
    X, y = load_digits(return_X_y=True)
    scores = {}
    for way in ("removal", "projection", "merging"):
        made = BudgetedSVMClassifier(40, maintenance=way, bandwidth=25.0, random_state=0).fit(X[:1200], y[:1200])
        assert len(made.support_vectors_) == 40
        assert made.dual_coef_.shape == (1 if len(made.classes_) == 2 else len(made.classes_), 40)
        scores[way] = made.score(X[1200:], y[1200:])
    assert scores["merging"] > scores["removal"]
    assert scores["projection"] > scores["removal"]


def test_landmarks_at_all_points_give_the_exact_machine():
    X, y = circles(200, 0.2)
    low_rank = LowRankLinearizedSVMClassifier(200, landmarks="sample", bandwidth=0.5, C=1.0, tol=1e-8, random_state=0)
    scores = low_rank.fit(X, y).decision_function(X)
    # Rows of a root of the kernel matrix, on which the same linear machine is the exact one.
    values, U = np.linalg.eigh(np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 0.5))
    root = U * np.sqrt(np.maximum(values, 0))
    exact = LinearSVC(loss="hinge", tol=1e-8, max_iter=10**6, random_state=0).fit(root, y).decision_function(root)
    assert np.abs(scores - exact).max() < 1e-3 * np.abs(exact).max()


@each_of_rows
def test_parts_in_the_order_of_the_rows_are_one_pass(model):
    X, y = load_digits(n_class=3, return_X_y=True)
    X = X / 16
    whole, parts = clone(model), clone(model)
    options = {"bandwidth": 1.5} if "bandwidth" in model.get_params() else {"method": "online"}
    whole.set_params(**options).partial_fit(X, y, classes=[0, 1, 2])
    parts.set_params(**options)
    for rows in (slice(0, 200), slice(200, 201), slice(201, None)):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    assert parts.n_steps_ == whole.n_steps_ == len(y)
    assert np.abs(parts.decision_function(X) - whole.decision_function(X)).max() < 1e-6


def test_hyperplanes_are_made_where_they_are_needed_and_pruned_where_not():
    X, y = circles()
    made = AMMClassifier(random_state=0).fit(X, y)
    assert 2 < len(made.coef_) <= 40
    few = AMMClassifier(random_state=0, n_hyperplanes=1).fit(X, y)
    assert len(few.coef_) == 2
    assert few.score(X, y) < 0.8  # no line separates them
    pruned = AMMClassifier(random_state=0, prune_every=100, pruning=1e6).fit(X, y)
    assert len(pruned.coef_) < len(made.coef_)
    assert set(pruned.hyperplane_classes_) == {0, 1}
    assert pruned.report_["pruned"] > 0


def test_a_budget_above_the_rows_is_told_and_brought_down():
    with pytest.warns(UserWarning, match="budget of 80 is above the number of training rows, and brought down to 50"):
        made = BudgetedSVMClassifier(80, random_state=0).fit(*circles(50))
    assert made.report_["budget"] == 50
