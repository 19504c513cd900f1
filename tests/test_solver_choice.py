"""The table by which kernel ridge regression chooses its solver, line by line."""

import numpy as np
import pytest

from shallows import EarlyStopping, KernelRidgeClassifier, KernelRidgeRegressor, Options
from shallows.fitting import solver_choice
from shallows.fitting.solver_choice import MOST_CENTERS, MOST_DIRECT, choose_solver
from shallows.solvers import Cholesky, ConjugateGradients, EigenPro

ROOM = 10**12


@pytest.mark.parametrize(
    ("n", "d", "n_outputs", "budget", "limits", "expected"),
    [
        (MOST_DIRECT, 10, 1, ROOM, {}, Cholesky()),
        (MOST_DIRECT, 10, 1, ROOM, {"in_epochs": True}, EigenPro()),
        (MOST_DIRECT, 10, 1, 1e7, {}, ConjugateGradients()),
        (MOST_DIRECT + 1, 10, 1, ROOM, {}, EigenPro()),
        (MOST_CENTERS, 10, 1, ROOM, {}, EigenPro()),
        (MOST_CENTERS + 1, 10, 1, ROOM, {}, None),
        (60_000, 10, 1, 3.5e9, {}, None),  # the matrix alone takes 3.6e9 bytes
        (60_000, 10, 1, 3.7e9, {}, EigenPro()),
        (60_000, 10_000, 1, 3.7e9, {}, None),  # the points
        (60_000, 10, 100, 3.7e9, {}, None),  # the states
        (60_000, 10, 1, ROOM, {"max_seconds": 60}, EigenPro()),
        (60_000, 10, 1, ROOM, {"max_seconds": 5}, None),
        (60_000, 10, 100, ROOM, {"max_seconds": 60}, None),  # more outputs take longer
        (MOST_DIRECT, 10, 1, ROOM, {"max_seconds": 1e-3}, Cholesky()),
    ],
)
def test_each_line_of_the_table(n, d, n_outputs, budget, limits, expected):
    assert choose_solver(n, d, n_outputs, budget, **limits) == expected


def rows(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("parameters", "has_centers"),
    [({}, False), ({"centers": None}, False), ({"centers": 50}, True), ({"solver": "projected_eigenpro"}, True)],
)
def test_a_fit_takes_what_the_table_says(parameters, has_centers):
    X, y = rows(300)
    model = KernelRidgeRegressor(random_state=0, **parameters).fit(X, y)
    assert hasattr(model, "centers_") == has_centers
    assert model.score(X, y) > 0.9


def test_many_rows_have_centers_unless_all_points_are_asked_for(monkeypatch):
    monkeypatch.setattr(solver_choice, "MOST_DIRECT", 50)
    monkeypatch.setattr(solver_choice, "MOST_CENTERS", 100)
    X, y = rows(300)
    assert hasattr(KernelRidgeRegressor(random_state=0).fit(X, y), "centers_")
    assert not hasattr(KernelRidgeRegressor(centers=None, random_state=0).fit(X, y), "centers_")
    assert not hasattr(KernelRidgeRegressor("precomputed", random_state=0).fit(X @ X.T, y), "centers_")


def test_early_stopping_and_little_time_choose_solvers_with_steps():
    X, y = rows(300)
    stopped = KernelRidgeClassifier(early_stopping=EarlyStopping(0.2, 2), random_state=0).fit(X, y > 0)
    assert len(stopped.validation_scores_) >= 1
    assert KernelRidgeRegressor(random_state=0, options=Options(max_seconds=30.0)).fit(X, y).score(X, y) > 0.9
