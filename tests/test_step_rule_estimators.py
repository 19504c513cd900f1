"""Estimators that take step rules: every rule, a user's step, and what is reported about the choice."""

import numpy as np
import pytest

from estimators_example import published
from forms import eigenpro_regressor, kernel_sgd_regressor
from shallows import KernelRidgeRegressor
from shallows.errors import ShallowsError
from shallows.solvers import KernelSGD
from step_rules_example import each, small, table

pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")


@each
def test_a_step_of_the_users_is_taken_at_every_step(Estimator):
    X, y, *_ = table(Estimator)
    asked = {"rank": 20, "n_subsample": 100, "batch_size": 50, "max_epochs": 2, "tol": 0, "random_state": 0}
    asked |= {**small(Estimator), **published(Estimator)}
    by_number, by_rule = (
        Estimator(**asked, **step).fit(X, y) for step in ({"step_size": 0.05}, {"step_rule": lambda p, m, n: 0.05})
    )
    assert by_number.step_size_ == by_rule.step_size_ == 0.05
    assert by_number.losses_ == by_rule.losses_


def test_a_step_rule_that_kernel_sgd_has_not_is_named():
    X, y, *_ = table(kernel_sgd_regressor)
    with pytest.raises(ShallowsError, match="release2019"):
        KernelRidgeRegressor(solver=KernelSGD(step="release2019"), bandwidth="median", n_components=None).fit(X, y)


def test_the_rule_and_the_solver_that_were_taken_are_told():
    X, y, *_ = table(eigenpro_regressor)
    whole, few, many, given = (
        eigenpro_regressor(max_epochs=1, random_state=0, **options).fit(X, y).report_
        for options in ({}, {"batch_size": 40, "rank": 5}, {"batch_size": 2}, {"step_size": 1e-3, "batch_size": 40})
    )
    assert (whole["step_rule"], whole["stepper"]) == ("exact", "EigenPro")
    assert (few["step_rule"], few["stepper"]) == ("certified", "ConjugateResiduals")
    assert (many["step_rule"], many["stepper"]) == ("certified", "EigenPro")
    assert (given["step_rule"], given["stepper"]) == ("given", "EigenPro")


@pytest.mark.parametrize("alpha", [1.0, 100.0])
def test_steps_converge_where_the_ridge_and_no_eigenvalue_limits_them(alpha):
    draws = np.random.default_rng(0)
    X = draws.uniform(-1.0, 1.0, (3000, 2)).astype(np.float32)
    y = np.sin(2.0 * X).sum(axis=1) + 0.3 * draws.normal(size=len(X))
    stepped, exact = (
        KernelRidgeRegressor(solver=solver, bandwidth=0.5, alpha=alpha, random_state=0).fit(X, y)
        for solver in ("eigenpro", "cholesky")
    )
    assert (stepped.n_rollbacks_, stepped.report_["stopped_by"]) == (0, "tolerance")
    assert stepped.predict(X) == pytest.approx(exact.predict(X), abs=0.1)
