"""What kernel machines choose from their training data is what the leave-one-out errors of ridge regression say."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

import solved_by
from shallows import kernels
from shallows.errors import ShallowsError
from shallows.spectrum.kernel_ridge_choice import choose_kernel_ridge

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
