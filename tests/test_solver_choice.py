"""The table by which kernel ridge regression chooses its solver, and what a plan says before a fit."""

import time

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from shallows import EarlyStopping, KernelRidgeClassifier, KernelRidgeRegressor, Options
from shallows.errors import ShallowsError
from shallows.estimators.least_squares import fit_plan
from shallows.fitting import solver_choice
from shallows.fitting.machine import Phases
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


# What a plan says before a fit, compared with the fit.


@pytest.fixture
def processor_seconds(monkeypatch):
    """Seconds that do not depend on what else runs."""

    def begin(phases):
        phases.seconds, phases.began = {}, time.process_time()

    monkeypatch.setattr(time, "perf_counter", time.process_time)
    monkeypatch.setattr(Phases, "__init__", begin)


def friedman(n):
    return make_friedman1(n, noise=1.0, random_state=0)


@pytest.mark.parametrize(
    ("given", "n", "solver"), [({}, 1500, "cholesky"), ({}, 8000, "eigenpro"), ({"centers": 1000}, 8000, "nystrom")]
)
def test_a_plan_is_near_the_fit(processor_seconds, given, n, solver):
    X, y = friedman(n + 2000)
    model = KernelRidgeRegressor(random_state=0, **given)
    plan = model.plan(X[:n], y[:n])
    assert not hasattr(model, "n_features_in_")
    began = time.process_time()
    model.fit(X[:n], y[:n])
    took = time.process_time() - began
    assert plan.solver.startswith(solver)
    assert plan.n_rows == n
    assert plan.n_centers == given.get("centers")
    assert plan.pilot_rows < n
    # The range has a factor of two; processor time of short fits varies by a fifth.
    assert plan.seconds_range[0] / 1.2 < took < 1.2 * plan.seconds_range[1]
    error = 1.0 - model.score(X[n:], y[n:])
    assert plan.error_range[0] <= error <= plan.error_range[1]
    assert plan.error_range[1] < 3 * error


def test_the_parts_of_a_plan_follow_from_the_sizes(monkeypatch):
    X, y = friedman(5000)
    plans = {n: KernelRidgeRegressor(random_state=0).plan(X[:n], y[:n]) for n in (2500, 5000)}
    matrix = 4 * 5000**2 // 2  # Half of the matrix in single precision
    assert matrix < plans[5000].memory < 3 * matrix
    assert plans[2500].memory < plans[5000].memory
    # A factorization keeps the matrix in double precision, and grows with the cube of the rows.

    def try_fit(_estimator, _solver, rows, *_):
        m = len(rows.rows)
        return fit_plan.Pilot(m, 10, None, 1, {"training": m**3 / 1e9}, 10.0, 0.1, 0.01)

    monkeypatch.setattr(fit_plan, "try_fit", try_fit)
    plan = KernelRidgeRegressor(solver=Cholesky(), bandwidth=1.0).plan(X[:4000], y[:4000])
    assert plan.seconds == pytest.approx(64.0)
    assert plan.memory > 8 * 4000**2
    little = KernelRidgeRegressor(options=Options(max_seconds=5.0), bandwidth=1.0, solver=Cholesky())
    assert little.plan(X[:4000], y[:4000]).seconds == 5.0


def test_an_error_falls_as_a_power_of_the_rows(monkeypatch):
    X, y = friedman(4000)
    errors = iter([(1000, 0.2), (2000, 0.1 * 2**0.5)])  # As the root of the rows

    def try_fit(*_):
        m, error = next(errors)
        return fit_plan.Pilot(m, 10, None, 1, {"training": 1.0}, 10.0, error, 0.01)

    monkeypatch.setattr(fit_plan, "try_fit", try_fit)
    plan = KernelRidgeRegressor(random_state=0).plan(X, y)
    assert plan.error == pytest.approx(0.1)
    assert plan.error_range == pytest.approx((0.05 * 2**0.5 - 0.02, 0.1 * 2**0.5 + 0.02))


def test_labels_weights_and_class_weights_are_those_of_the_fit(monkeypatch):
    X, y = friedman(600)
    labels = np.array(["rare", "low", "high"])[np.where(np.arange(600) % 100 == 0, 0, 1 + (y > 14))]
    seen, try_fit = [], fit_plan.try_fit

    def note(estimator, solver, rows, *others):
        seen.extend(zip(rows.weights.tolist(), rows.y.tolist(), strict=True))
        return try_fit(estimator, solver, rows, *others)

    monkeypatch.setattr(fit_plan, "try_fit", note)
    model = KernelRidgeClassifier(random_state=0, class_weight={"rare": 5.0})
    plan = model.plan(X, labels, np.r_[np.zeros(100), np.full(500, 2.0)])
    assert plan.n_rows == 500
    assert 0.0 < plan.error < 0.5
    assert str(plan).startswith("500 rows with cholesky: ")
    # The fits multiply by the class weights themselves.
    assert set(seen) == {(2.0, "rare"), (2.0, "low"), (2.0, "high")}


def test_what_cannot_be_planned_is_refused():
    X, y = friedman(100)
    with pytest.raises(ShallowsError, match="seconds must be a positive number"):
        KernelRidgeRegressor().plan(X, y, seconds=0)
    with pytest.raises(ShallowsError, match="at least 50 rows, got 40"):
        KernelRidgeRegressor().plan(X[:40], y[:40])
    with pytest.raises(ShallowsError, match="A plan fits to a part of the rows"):
        KernelRidgeRegressor(kernel="precomputed").plan(X @ X.T, y)
    with pytest.raises(ValueError, match="NaN"):
        KernelRidgeRegressor().plan(np.full((100, 2), np.nan), y)
