"""Leave-one-out errors in closed form, and what estimators choose by them, against fits that leave rows out."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import make_friedman1, make_moons
from sklearn.metrics import log_loss

import solved_by
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
from shallows import KernelRidgeClassifier, KernelRidgeRegressor, Options, arrays, kernels
from shallows.errors import ShallowsError
from shallows.solvers import Cholesky, EigenPro
from shallows.spectrum.kernel_ridge_choice import choose_kernel_ridge, join_copies
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


@pytest.mark.parametrize(
    ("frequency", "threads"), [(0.05, 2), (2.0, 3), (20.0, 2)]
)  # The best bandwidth is wide, near the start, narrow.
def test_threads_evaluate_bandwidths_ahead_and_change_nothing(monkeypatch, frequency, threads):
    x = np.random.default_rng(0).uniform(-1, 1, (150, 1))
    y = np.sin(frequency * x) - np.sin(frequency * x).mean()
    at_once = []

    def chosen(n_threads):
        monkeypatch.setattr(arrays, "n_threads", lambda: n_threads)
        monkeypatch.setattr(arrays, "in_threads", lambda work, n: at_once.append(n) or [work(k) for k in range(n)])
        return choose_ridge(lambda width: matrix_of(x, width), y, median=1.0)

    alone, found = chosen(1), chosen(threads)
    assert found.summary() == alone.summary() and found.bandwidths == alone.bandwidths
    assert found.bandwidth == alone.bandwidth and found.regularization == alone.regularization
    of_one, of_several = at_once[: len(alone.bandwidths)], at_once[len(alone.bandwidths) :]
    assert set(of_one) == {1} and set(of_several) <= {threads, threads - 1}
    assert len(of_several) <= -(-len(alone.bandwidths) // threads) + 1  # Hardly any was evaluated in vain.


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
def test_features_with_a_regularisation_end_at_ridge_regression_on_them():
    X, y = make_friedman1(400, 5, noise=2.0, random_state=0)
    given = {"bandwidth": 1.0, "regularisation": 1.0, "random_state": 0, "n_features": 100}
    model = feature_eigenpro_regressor(max_epochs=400, tol=0, **given).fit(X, y)
    inputs = X - X.mean(axis=0)
    blocks = model._model.blocks
    phi = np.hstack([blocks.block(inputs, k) for k in range(len(blocks.spans))])
    centred = model._targets.encode(y)[:, 0]
    truth = np.linalg.solve(phi.T @ phi + np.eye(phi.shape[1]), phi.T @ centred)
    assert np.abs(model.coef_[0] - truth).max() < 1e-3 * np.abs(truth).max()


@pytest.mark.parametrize("solver", ["cholesky", "eigenpro"])
def test_a_given_alpha_stands_beside_the_sum_of_weighted_squares(solver):
    X, y = sample(40, 2), sample(40, 1, seed=1)[:, 0]
    w = np.random.default_rng(1).uniform(1.0, 6.0, 40)
    given = {"bandwidth": 1.5, "alpha": 0.7, "random_state": 0, "options": Options(dtype="float64")}
    settings = Cholesky() if solver == "cholesky" else EigenPro(max_epochs=300, tol=0)
    model = KernelRidgeRegressor(solver=settings, **given).fit(X, y, w)
    K, mean = matrix_of(X, 1.5), np.average(y, weights=w)
    truth = K @ np.linalg.solve(K + 0.7 * np.diag(1 / w), y - mean) + mean
    assert model.predict(X) == pytest.approx(truth, abs=1e-4)


@pytest.mark.filterwarnings("ignore:After max_epochs")
@pytest.mark.parametrize(("Estimator", "n"), list(zip(REGRESSORS, [1200, 1200, 100, 100], strict=True)))
def test_pure_noise_is_not_learnt(Estimator, n):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(n + 1000, 5)), rng.normal(size=n + 1000)
    assert Estimator(random_state=0).fit(X[:n], y[:n]).score(X[n:], y[n:]) > -0.03


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:After max_epochs")
@pytest.mark.parametrize(("Estimator", "noise"), list(zip(REGRESSORS, [5.0, 0.5, 5.0, 0.5], strict=True)))
def test_more_rows_make_no_default_worse_and_no_cliff_stands_at_a_thousand_rows(Estimator, noise):
    X, y = make_friedman1(3000, 8, noise=noise, random_state=1)
    numbers = (100, 400, 1000, 1001, 1500)
    scores = [Estimator(random_state=0).fit(X[:n], y[:n]).score(X[1500:], y[1500:]) for n in numbers]
    assert all(later > earlier - 0.03 for earlier, later in itertools.pairwise(scores))
    assert abs(scores[3] - scores[2]) < 0.04


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


@pytest.mark.parametrize("Estimator", [eigenpro_classifier, kernel_ridge_classifier])
def test_a_class_between_two_others_is_told(Estimator):
    # Shells: the output of the middle one is nowhere the largest in a wide kernel, and a map of all outputs finds it.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 6))
    y = np.digitize((X**2).sum(axis=1), [4.0, 7.0])
    given = {"bandwidth": 8.0, "random_state": 0}
    plain = Estimator(calibration=None, **given).fit(X[:700], y[:700]).score(X[700:], y[700:])
    model = Estimator(**given).fit(X[:700], y[:700])
    assert model.score(X[700:], y[700:]) > plain + 0.05
    assert np.array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)


def test_outputs_that_go_without_rows_change_nothing_in_the_model():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1400, 3)), rng.integers(0, 3, 1400)
    given = {"bandwidth": 1.0, "regularisation": 0.5, "random_state": 0}
    calibrated, plain = (eigenpro_classifier(calibration=c, **given).fit(X, y) for c in ("auto", None))
    # Products with more columns are rounded otherwise.
    assert np.abs(calibrated.dual_coef_ - plain.dual_coef_).max() < 1e-3 * np.abs(plain.dual_coef_).max()
    assert calibrated.report_["calibration"]["rows"] > 200


def test_a_regularisation_a_bandwidth_and_a_calibration_that_are_none_are_named():
    X, y = sample(20), np.arange(20) % 2
    for value in (-1.0, "some", float("nan")):
        with pytest.raises(ShallowsError, match="alpha"):
            KernelRidgeRegressor(solver="eigenpro", alpha=value).fit(X, y)
    for Estimator in CLASSIFIERS:
        for wrong in ({"bandwidth": "mean"}, {"calibration": "isotonic"}):
            with pytest.raises(ShallowsError, match=f"{next(iter(wrong))} must be"):
                Estimator(**wrong).fit(X, y)


def test_a_function_that_changes_over_a_small_part_of_the_median_distance_is_found():
    # The search from the median distance, 4, goes to wider ones, which are not better than a constant.
    def board(n, seed):
        x = np.random.default_rng(seed).uniform(0, 8, (n, 2))
        return x, np.floor(x).sum(axis=1) % 2 == 1

    model = KernelRidgeClassifier(random_state=0).fit(*board(400, 1))
    assert model.bandwidth_ < 1.0
    assert model.score(*board(500, 99)) > 0.75


def test_more_rows_are_looked_at_where_the_first_do_not_show_that_anything_can_be_learnt():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 20))
    signal = 0.35 * (X[:, 0] ** 2 - 1) + 0.3 * X[:, 1] * X[:, 2]
    y = (rng.random(6000) < 1 / (1 + np.exp(-2 * signal))).astype(int)
    model = KernelRidgeClassifier(solver="eigenpro", random_state=0).fit(X[:4000], y[:4000])
    assert model.report_["selection"]["rows"] == 1000
    # With the 400 rows that a clearer signal takes, λ came out as the largest there is: 52 and 58 % on two seeds.
    assert model.score(X[4000:], y[4000:]) > 0.6
    clear = KernelRidgeClassifier(solver="eigenpro", random_state=0).fit(X[:4000], signal[:4000] > 0)
    assert clear.report_["selection"]["rows"] == 400


# What kernel machines choose from their training data is what the leave-one-out errors of ridge regression say.

DUAL = [
    "KernelSVMClassifier",
    "decomposition: KernelSVMClassifier",
    "lasvm: KernelSVMClassifier",
    "CoreVectorMachineClassifier",
]
BUDGETED = ["BudgetedSVMClassifier", "LowRankLinearizedSVMClassifier"]
RISK = solved_by.CLASSIFIERS


def choose(X, y, bandwidth="auto", **options):
    kernel, searches = kernels.make("gaussian", bandwidth), bandwidth == "auto"
    points_of = lambda rows: kernels.augmented(X[rows])  # noqa: E731
    return choose_kernel_ridge(kernel, points_of, y[:, None], None, 0, searches_bandwidth=searches, **options)


def left_out_error(X, y, width, regularisation):
    """The mean squared error of ridge regression that is fitted again for each point without it."""
    K = kernels.matrix(kernels.make("gaussian", width), kernels.augmented(X))
    y, errors = y - y.mean(), []
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        alpha = np.linalg.solve(K[np.ix_(rest, rest)] + regularisation * np.eye(len(rest)), y[rest])
        errors.append((y[i] - K[i, rest] @ alpha) ** 2)
    return np.mean(errors) / y.var()


@pytest.fixture(scope="module")
def sine():
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, (60, 1))
    return x, np.sin(3 * x[:, 0]) + 0.1 * rng.normal(size=60)


def test_the_error_of_the_choice_is_that_of_fits_without_each_point(sine):
    X, y = sine
    choice = choose(X, y)
    assert choice.error == pytest.approx(left_out_error(X, y, choice.bandwidth, choice.regularization), rel=1e-6)
    for width in (choice.bandwidth / 2, 2 * choice.bandwidth):
        assert left_out_error(X, y, width, choice.regularization) > choice.error


def test_no_bandwidth_above_the_widest_is_chosen():
    X = np.random.default_rng(0).normal(size=(100, 5))
    y, median = X @ np.arange(1.0, 6.0), kernels.median_bandwidth(X, 0)
    assert choose(X, y).bandwidth > 2 * median
    narrow = choose(X, y, widest=1.0)
    assert narrow.bandwidth == pytest.approx(median)
    assert narrow.regularization == choose(X, y, median, regularizes=True).regularization


def test_a_given_bandwidth_is_not_told_as_chosen_and_equal_targets_choose_nothing(sine):
    choice = choose(*sine, 0.5, regularizes=True)
    assert choice.bandwidth is None
    assert "bandwidths_as_good" not in choice.summary()
    assert choose(*sine, 0.5) is None
    assert choose(sine[0], np.ones(60)) is choose(sine[0], np.zeros(60)) is None


@pytest.mark.parametrize("name", DUAL[::2] + BUDGETED + RISK[:2])
def test_classifiers_tell_what_they_chose(name):
    X, y = make_moons(200, noise=0.25, random_state=0)
    model = solved_by.constructor(name)(random_state=0).fit(X, y)
    told, median = model.report_, solved_by.constructor(name)(bandwidth="median", random_state=0).fit(X, y)
    assert told["selection"]["chosen_by"] == "leave-one-out"
    assert told["bandwidth"] < median.report_["bandwidth"]
    if name in RISK:
        assert told["regularization"] != 1 / 200


@pytest.mark.parametrize(
    "name", ["CoreVectorMachineRegressor", "norma: RegularizedRiskRegressor", "sag: RegularizedRiskRegressor"]
)
def test_regressors_follow_a_sine_of_one_input(name):
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, (300, 1))
    y = np.sin(3 * x[:, 0]) + 0.2 * rng.normal(size=300)
    kind = solved_by.constructor(name)
    assert kind(random_state=0).fit(x[:200], y[:200]).score(x[200:], y[200:]) > 0.6
    assert kind(bandwidth="median", random_state=0).fit(x[:200], y[:200]).score(x[200:], y[200:]) < 0.5


@pytest.mark.parametrize("name", ["KernelSVMClassifier", "BudgetedSVMClassifier", "RegularizedRiskClassifier"])
def test_other_words_for_the_bandwidth_are_refused(name):
    with pytest.raises(ShallowsError, match="bandwidth must be a positive number, 'auto'"):
        solved_by.constructor(name)(bandwidth="widest").fit([[0.0], [1.0]], [0, 1])
