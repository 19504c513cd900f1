"""The warning of a training that ended at max_epochs: given where something is known to help, and with that."""

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from engine_example import sample
from feature_forms import feature_eigenpro_regressor
from forms import centers_regressor, eigenpro_regressor, kernel_sgd_regressor
from shallows import KernelRidgeClassifier, KernelRidgeRegressor
from shallows.fitting.least_squares import warn_if_unconverged
from shallows.solvers import EigenPro, KernelSGD

each = pytest.mark.parametrize(
    "Estimator", [eigenpro_regressor, centers_regressor, feature_eigenpro_regressor, kernel_sgd_regressor]
)


def fitted(model, X, y):
    """A fitted model, and what it warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, y)
    return model, [str(warning.message) for warning in told if warning.category is ConvergenceWarning]


@each
def test_pure_noise_is_never_answered_with_more_epochs_and_a_smooth_target_with_nothing(Estimator):
    told = fitted(Estimator(random_state=0), sample(600, 5), sample(600, 1, seed=1)[:, 0])[1]
    assert all("larger max_epochs" not in one and "early_stopping=True" in one for one in told)
    X = sample(300, 3)
    assert fitted(Estimator(random_state=0), X, np.sin(X[:, 0]) + X[:, 1])[1] == []


@pytest.mark.slow
@each
@pytest.mark.parametrize(("constant", "max_epochs"), [("column of y", 1), ("features", 5)])
def test_constant_columns_give_no_warning(Estimator, max_epochs, constant):
    X, y = sample(300, 3), np.full(300, 0.1)
    assert np.mean(y) != 0.1  # So the targets that are learnt are not zero, but what the mean was rounded by.
    if constant == "features":
        X, y = np.ones((300, 3)), sample(300, 1)[:, 0]
    model, told = fitted(Estimator(random_state=0, max_epochs=max_epochs), X, y)
    assert told == []
    assert np.abs(model.predict(X) - y.mean()).max() < 1e-6


def test_a_training_that_is_cut_short_is_told_so_and_more_epochs_help():
    X, scores = sample(600, 2), {}
    y = np.sin(2 * X[:, 0])
    for max_epochs in (3, 12):
        solver = KernelSGD(batch_size=50, step=2e-3, max_epochs=max_epochs)
        model = KernelRidgeRegressor(solver=solver, random_state=0, bandwidth="median", n_components=None)
        model, told = fitted(model, X[:400], y[:400])
        scores[max_epochs] = model.score(X[400:], y[400:])
        if max_epochs == 3:
            assert len(told) == 1
            assert "After max_epochs=3 the training loss is still 0." in told[0]
            assert "above tol=0.005. It still falls, by" in told[0]
            assert "a larger max_epochs" in told[0]
    assert scores[12] > scores[3] + 0.1


RUNS = {
    "fast": ([1.0, 0.9, 0.8, 0.7], [], None, "still falls, by 1[0-9]% an epoch: a larger max_epochs"),
    "slow": ([1.0, 0.9, 0.88, 0.87, 0.85, 0.84], [], None, "falls slowly, by .*early_stopping=True"),
    "at rest": ([1.0, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9], [], None, None),
    "at rest, the step given": ([0.99] * 8, [], 1e-9, r"hardly falls with step=1e-09.*step='certified'"),
    "growing": ([0.8, 0.9, 1.0, 1.1], [], None, None),
    "one epoch": ([1.0], [], None, "One epoch does not show"),
    "near": ([1.0, 0.4], [], None, None),
    "validated, the last the best": ([1.0, 0.9, 0.8], [0.9, 0.8, 0.7], None, "held-out rows was still rising"),
    "validated, an earlier the best": ([1.0, 0.9, 0.8], [0.9, 0.7, 0.8], None, None),
}


@pytest.mark.parametrize(("losses", "validation_errors", "step_size", "says"), RUNS.values(), ids=RUNS)
def test_the_warning_says_what_was_seen_and_what_is_known_to_help(losses, validation_errors, step_size, says):
    run = SimpleNamespace(losses=losses, validation_errors=validation_errors, stopped_by="max_epochs", n_rollbacks=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn_if_unconverged(run, SimpleNamespace(max_epochs=len(losses), tol=5e-3, step=step_size, damping=1.0))
    if says is None:
        assert told == []
    else:
        message = str(told[0].message)
        assert f"After max_epochs={len(losses)} the training loss is still {losses[-1]:.2f}" in message
        assert re.search(says, message)


@pytest.mark.parametrize(
    ("n_rollbacks", "stopped_by", "warns"), [(3, "max_epochs", 0), (4, "max_epochs", 1), (4, "tolerance", 0)]
)
def test_many_halvings_are_told_if_the_epochs_ran_out(n_rollbacks, stopped_by, warns):
    run = SimpleNamespace(losses=[0.2], validation_errors=[], stopped_by=stopped_by, n_rollbacks=n_rollbacks)
    solver = SimpleNamespace(max_epochs=20, tol=5e-3, step="certified", damping=1.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn_if_unconverged(run, solver, regularization=0.1)
    assert len(told) == warns
    assert all("halved its step 4 times" in str(one.message) for one in told)


def test_no_warning_where_no_tolerance_was_asked_for_and_a_damping_is_named():
    X = sample(300, 3)
    quiet = KernelRidgeClassifier(solver=EigenPro(max_epochs=1, tol=0), random_state=0)
    assert fitted(quiet, X, X[:, 0] > 0)[1] == []
    damped = KernelRidgeRegressor(solver=EigenPro(damping=1e-5), random_state=0)
    _, told = fitted(damped, X, np.sin(X[:, 0]) + X[:, 1])
    assert len(told) == 1 and "damping=1e-05" in told[0] and "set damping=1." in told[0]
