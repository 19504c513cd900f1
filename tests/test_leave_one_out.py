"""Leave-one-out errors in closed form, and what estimators choose by them, against fits that leave rows out."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.metrics import log_loss

from engine_example import sample
from feature_forms import feature_eigenpro_classifier, feature_eigenpro_regressor
from forms import (
    centers_classifier,
    centers_regressor,
    eigenpro_classifier,
    eigenpro_regressor,
    kernel_ridge_classifier,
    kernel_ridge_regressor,
    ridge,
)
from shallows import KernelRidgeRegressor, kernels
from shallows.errors import ShallowsError
from shallows.spectrum.kernel_ridge_choice import join_copies
from shallows.spectrum.leave_one_out import FACTORS, REGULARIZATIONS, START, RidgePath, choose_ridge

REGRESSORS = [eigenpro_regressor, centers_regressor, feature_eigenpro_regressor, kernel_ridge_regressor]
CLASSIFIERS = [eigenpro_classifier, centers_classifier, feature_eigenpro_classifier, kernel_ridge_classifier]


def matrix_of(x, bandwidth):
    return kernels.matrix(kernels.make("gaussian", bandwidth), kernels.augmented(x))


@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_are_those_of_fits_without_the_point(weighted):
    x, y = sample(30), sample(30, 2, seed=1)
    w = np.random.default_rng(2).uniform(0.2, 3.0, 30) if weighted else None
    K, ridge = matrix_of(x, 1.5), 0.3
    found = RidgePath(K, y, w).residuals(ridge)
    diagonal = ridge / (np.ones(30) if w is None else w)
    for i in range(30):
        others = np.arange(30) != i
        fitted = np.linalg.solve(K[np.ix_(others, others)] + np.diag(diagonal[others]), y[others])
        assert found[i] == pytest.approx(y[i] - K[i, others] @ fitted, abs=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_copies_of_a_point_become_one_of_their_weight_and_mean_target(weighted):
    places = np.array([2, 0, 2, 1, 0, 2])
    points, y = np.array([[3.0, 0.0], [1.0, 1.0], [1.0, 0.0]])[places], sample(6, 2)
    w = np.arange(1.0, 7.0) if weighted else None
    joined = join_copies(points, y, w)
    each = np.ones(6) if w is None else w
    assert not joined.all_distinct
    assert len(joined.first) == 3
    for k, row in enumerate(joined.first):
        mine = np.flatnonzero((points == points[row]).all(axis=1))
        assert np.flatnonzero(joined.group == k).tolist() == mine.tolist()
        assert joined.weights[k] == each[mine].sum()
        assert joined.targets[k] == pytest.approx(np.average(y[mine], axis=0, weights=each[mine]))


def test_points_of_which_none_is_a_copy_stay_and_targets_of_zero_are_met_whatever_is_chosen():
    points, y = sample(5), sample(5, 1)
    joined = join_copies(points, y, None)
    assert joined.all_distinct and joined.weights is None
    assert joined.first.tolist() == joined.group.tolist() == [0, 1, 2, 3, 4]
    assert joined.targets is y
    found = choose_ridge(lambda width: matrix_of(points, width), np.zeros((5, 1)), median=1.5)
    assert (found.error, found.standard_error) == (0.0, 0.0)


def test_the_choice_has_the_least_error_of_its_neighbours_and_tells_how_sure_it_is():
    x = sample(120, 2)
    y = np.sin(3 * x[:, :1]) + 0.3 * np.random.default_rng(0).normal(size=(120, 1))
    y -= y.mean()
    median = kernels.median_bandwidth(x)
    found = choose_ridge(lambda width: matrix_of(x, width), y, median=median)
    errors = {
        width: min(RidgePath(matrix_of(x, width), y).squares(ridge).mean() for ridge in REGULARIZATIONS) / np.mean(y**2)
        for width in median * FACTORS
    }
    assert found.bandwidth in errors
    # The larger of two λ with nearly the same error is taken, which costs one percent at most.
    assert found.error <= 1.01 * min(errors.values()) + 1e-12
    told = found.summary()
    assert told["bandwidths_as_good"][0] <= found.bandwidth <= told["bandwidths_as_good"][-1]
    assert told["regularizations_as_good"][0] <= found.regularization <= told["regularizations_as_good"][-1]
    assert 0 < told["standard_error"] < told["error"] < 1


@pytest.mark.parametrize("unit", [1.0, 4.0])
def test_the_error_of_a_choice_is_the_weighted_one_and_the_unit_of_the_weights_changes_the_regularisation_alone(unit):
    x, y = sample(40), sample(40, 2, seed=1)
    w, K = np.random.default_rng(2).uniform(0.2, 3.0, 40), matrix_of(x, 1.5)
    found = choose_ridge(lambda width: K, y, weights=unit * w)
    squares = {
        ridge: np.sum(RidgePath(K, y, w).residuals(ridge) ** 2, axis=1) for ridge in REGULARIZATIONS * np.mean(w)
    }
    constant = np.average((y**2).sum(axis=1), weights=w)
    errors = {unit * ridge: np.average(s, weights=w) / constant for ridge, s in squares.items()}
    assert list(found.regularizations) == pytest.approx(list(errors), rel=1e-12)
    assert list(found.regularizations.values()) == pytest.approx(list(errors.values()), rel=1e-9)
    assert found.regularization == max(
        ridge for ridge, error in found.regularizations.items() if error <= 1.01 * min(found.regularizations.values())
    )
    chosen = w / w.mean() * squares[min(squares, key=lambda ridge: abs(unit * ridge - found.regularization))] / constant
    assert found.error == pytest.approx(chosen.mean(), rel=1e-9)
    assert found.standard_error == pytest.approx(chosen.std() / np.sqrt(40), rel=1e-9)
    good = [r for r, error in found.regularizations.items() if error <= found.error + found.standard_error]
    assert found.summary()["regularizations_as_good"] == [min(good), max(good)]
    assert len(good) > 1
    assert found.is_uninformative == (found.error + 2 * found.standard_error >= 1)


def test_a_path_is_that_of_the_chosen_bandwidth_where_rounding_alone_makes_its_neighbour_better():
    x, y = sample(20), sample(20, 1, seed=1)
    w, K = np.random.default_rng(2).uniform(0.2, 3.0, 20), matrix_of(x, 1.5)

    def nearly_the_same(width):
        return K + 1e-11 * np.sign(width - FACTORS[START]) * np.eye(20)

    found = choose_ridge(nearly_the_same, y, median=1.0, weights=w)
    assert found.bandwidth == FACTORS[START]
    assert found.error > min(found.bandwidths.values())
    assert np.array_equal(found.path.values, RidgePath(K, y, w).values)


@pytest.mark.filterwarnings("ignore:After max_epochs")
@pytest.mark.parametrize(("Estimator", "n"), [(REGRESSORS[0], 300), (REGRESSORS[0], 1300), (REGRESSORS[1], 1300)])
def test_eigenpro_with_a_regularisation_ends_at_ridge_regression(Estimator, n):
    X, y = make_friedman1(n + 100, 5, noise=2.0, random_state=0)
    w = np.random.default_rng(1).uniform(0.5, 2.0, n)
    given = {"bandwidth": 1.0, "regularisation": 1.0, "random_state": 0, "dtype": "float64"}
    exact = ridge(KernelRidgeRegressor, **given).fit(X[:n], y[:n], w)
    model = Estimator(max_epochs=150, tol=0, **given).fit(X[:n], y[:n], w)
    ours, truth = model.predict(X[n:]), exact.predict(X[n:])
    # Averaged steps over batches come near; steps over all rows arrive.
    assert np.abs(ours - truth).max() < (1e-2 if n > 1000 else 1e-4) * np.abs(truth - y.mean()).max()


@pytest.mark.filterwarnings("ignore:After max_epochs")
@pytest.mark.parametrize(("Estimator", "n"), list(zip(REGRESSORS, [1200, 1200, 100, 100], strict=True)))
def test_pure_noise_is_not_learnt(Estimator, n):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(n + 1000, 5)), rng.normal(size=n + 1000)
    assert Estimator(random_state=0).fit(X[:n], y[:n]).score(X[n:], y[n:]) > -0.03


@pytest.mark.slow
@pytest.mark.parametrize(("Estimator", "n"), list(zip(CLASSIFIERS, [1300, 300, 1300, 300], strict=True)))
def test_probabilities_of_noisy_labels_are_those_of_the_noise(Estimator, n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 2000, 4))
    p = np.where(X[:, 0] + X[:, 1] > 0, 0.8, 0.2)
    y = (rng.random(len(X)) < p).astype(int)
    model = Estimator(random_state=0).fit(X[:n], y[:n])
    found, least = log_loss(y[n:], model.predict_proba(X[n:])), log_loss(y[n:], p[n:])
    plain = Estimator(random_state=0, calibration=None).fit(X[:n], y[:n])
    assert least < found < 1.2 * least
    assert found <= log_loss(y[n:], plain.predict_proba(X[n:])) + 0.01
    assert np.array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    assert 0.85 < model.report_["calibration"]["log_loss"] / found < 1.15


def test_a_regularisation_a_bandwidth_and_a_calibration_that_are_none_are_named():
    X, y = sample(20), np.arange(20) % 2
    for value in (-1.0, "some", float("nan")):
        with pytest.raises(ShallowsError, match="alpha"):
            KernelRidgeRegressor(solver="eigenpro", alpha=value).fit(X, y)
    for Estimator in CLASSIFIERS:
        for wrong in ({"bandwidth": "mean"}, {"calibration": "isotonic"}):
            with pytest.raises(ShallowsError, match=f"{next(iter(wrong))} must be"):
                Estimator(**wrong).fit(X, y)
