"""Estimators that take step rules: every rule, a user's step, and what is reported about the choice."""

from __future__ import annotations

import numpy as np
import pytest

from estimators_example import published
from forms import eigenpro_regressor, kernel_sgd_regressor
from shallows import KernelRidgeRegressor
from shallows.errors import ShallowsError
from shallows.solvers import KernelSGD
from shallows.solvers.least_squares import step_rules
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


@pytest.mark.parametrize(("batch_size", "few"), [(8, None), (40, 0), (200, 0)])
def test_kernel_sgd_takes_the_steps_of_eigenpro_with_nothing_flattened(batch_size, few, monkeypatch):
    if few is not None:  # of few batches it stays a method of gradients, and EigenPro does not
        monkeypatch.setattr(step_rules, "FEW", few)
    X, y, new, _ = table(kernel_sgd_regressor)
    asked = {"batch_size": batch_size, "max_epochs": 4, "tol": 0, "random_state": 0, "bandwidth": 1.0}
    plain = kernel_sgd_regressor(**asked).fit(X, y)
    bare = eigenpro_regressor(rank=0, n_subsample=1, alpha=0.0, **asked).fit(X, y)
    assert np.abs(plain.predict(new) - bare.predict(new)).max() < 1e-10
    constant = kernel_sgd_regressor(step="constant", **asked).fit(X, y)
    assert constant.step_size_ == pytest.approx(0.75 * plain.step_size_)
    given = kernel_sgd_regressor(step=constant.step_size_, **asked).fit(X, y)
    assert np.array_equal(constant.predict(new), given.predict(new))
    told = [model.report_["step_rule"] for model in (plain, constant, given)]
    assert told == ["certified", "constant", "given"]
    assert plain.losses_[-1] < constant.losses_[-1]


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
