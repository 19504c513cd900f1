"""A learned metric: its gradients, what it learns, when it stays off, and what it refuses."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse

import shallows
from shallows import (
    FeatureRidgeClassifier,
    FeatureRidgeRegressor,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    Metric,
    kernels,
)
from shallows.errors import ShallowsError
from shallows.fitting import choices, narrower_bandwidth
from shallows.fitting import metric as learning
from shallows.kernels.gradients import gradients
from shallows.models.learned_metric import LearnedMetric
from shallows.solvers import EigenPro

KERNELS = [
    kernels.Gaussian(1.3),
    kernels.Laplace(1.1),
    kernels.Cauchy(0.9),
    *(kernels.Matern(1.2, nu) for nu in (0.5, 0.8, 1.5, 2.5, 3.3)),
    *(kernels.ExponentialPower(1.2, exponent) for exponent in (0.7, 1.0, 1.4, 2.0)),
]


def planted(n: int, d: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A smooth function of the first two of d inputs, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gradients_are_the_finite_differences(kernel):
    rng = np.random.default_rng(0)
    z, a, x = rng.normal(size=(40, 3)), rng.normal(size=(40, 2)), rng.normal(size=(5, 3))
    ours, step = gradients(kernel, kernels.augmented(x), kernels.augmented(z), a), 1e-5
    sides = [[kernel(x + sign * step * axis, z) @ a for sign in (1, -1)] for axis in np.eye(3)]
    expected = np.stack([(above - below) / (2 * step) for above, below in sides], axis=-1)
    np.testing.assert_allclose(ours, expected, atol=1e-8)  # step² times third derivatives, and rounding over the step


@pytest.mark.parametrize("nu", [0.5, 0.8])
def test_the_gradient_at_a_center_leaves_out_the_kink(nu):
    kernel, z = kernels.Matern(1.0, nu), np.array([[0.0, 0.0], [1.0, 0.0]])
    own = gradients(kernel, kernels.augmented(z[:1]), kernels.augmented(z), np.ones((2, 1)))
    other = gradients(kernel, kernels.augmented(z[:1]), kernels.augmented(z[1:]), np.ones((1, 1)))
    np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("estimator", [KernelRidgeRegressor, KernelRidgeClassifier])
@pytest.mark.parametrize("options", [{}, {"centers": 200}, {"solver": "cholesky", "kernel": "laplace"}])
def test_irrelevant_columns_get_little_weight_and_the_error_falls(estimator, options):
    X, y = planted(1000)
    X_test, y_test = planted(800, seed=1)
    if estimator is KernelRidgeClassifier:
        y, y_test = (np.digitize(values, [0.0, 0.7]) for values in (y, y_test))
    without = estimator(random_state=0, **options).fit(X, y)
    model = estimator(metric="diagonal", random_state=0, **options).fit(X, y)
    assert model.metric_.max() == 1.0
    assert model.metric_[2:].max() < 0.01 * model.metric_[:2].min()
    assert 1 - model.score(X_test, y_test) < 0.75 * (1 - without.score(X_test, y_test))
    assert without.metric_ is None
    assert model.report_["metric"]["form"] == "diagonal"


@pytest.mark.parametrize("solver", ["normal_equations", "feature_block_descent", "feature_eigenpro"])
@pytest.mark.parametrize("features", ["fourier", "nystrom"])
def test_features_in_a_metric_are_those_of_weighted_columns(features, solver, tmp_path):
    X, y = planted(400)
    options = {"solver": solver, "n_components": None, "random_state": 0}
    model = FeatureRidgeRegressor(features, metric="diagonal", **options).fit(X, y)
    assert model.metric_[2:].max() < 0.05 * model.metric_[:2].min()
    by_hand = FeatureRidgeRegressor(features, **options).fit(X * np.sqrt(model.metric_), y)
    np.testing.assert_allclose(model.predict(X), by_hand.predict(X * np.sqrt(model.metric_)), rtol=0.02, atol=0.02)
    assert by_hand.metric_ is None
    shallows.save(model, tmp_path / "model")
    read = shallows.load(tmp_path / "model")
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    np.testing.assert_array_equal(read.metric_, model.metric_)
    classes = FeatureRidgeClassifier(features, metric="auto", **options).fit(X, y > 0.5)
    assert classes.metric_[2:].max() < 0.2 * classes.metric_[:2].min()


@pytest.mark.parametrize(
    ("features", "given", "message"),
    [
        ("hidden_units", {}, "needs features of a kernel"),
        ("linear", {"solver": "feature_eigenpro"}, "needs features of a kernel"),
        ("binning", {}, "needs features of a kernel"),
        ("fourier", {"n_components": 2}, "n_components=2 replaces"),
    ],
)
def test_features_without_a_kernel_of_the_distance_are_refused(features, given, message):
    X, y = planted(60)
    with pytest.raises(ShallowsError, match=message):
        FeatureRidgeRegressor(features, metric="diagonal", **given).fit(X, y)


def test_a_full_metric_finds_a_direction():
    X, _ = planted(1500, d=8)
    direction = np.linspace(-1.0, 1.0, 8) / np.linalg.norm(np.linspace(-1.0, 1.0, 8))
    model = KernelRidgeRegressor(metric="full", random_state=0).fit(X, np.sin(2.0 * X @ direction))
    values, vectors = np.linalg.eigh(model.metric_)
    assert abs(vectors[:, -1] @ direction) > 0.999
    assert values[-2] < 0.01 * values[-1]


def test_predictions_are_those_of_a_fit_to_weighted_columns(tmp_path):
    X, y = planted(400)
    model = KernelRidgeRegressor(metric="diagonal", random_state=0).fit(X, y)
    by_hand = KernelRidgeRegressor(n_components=None, random_state=0).fit(X * np.sqrt(model.metric_), y)
    np.testing.assert_allclose(model.predict(X), by_hand.predict(X * np.sqrt(model.metric_)), rtol=1e-9)
    shallows.save(model, tmp_path / "model")
    read = shallows.load(tmp_path / "model")
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    np.testing.assert_array_equal(read.metric_, model.metric_)


def test_auto_learns_a_metric_that_helps_and_none_that_does_not():
    X, y = planted(1000)
    assert KernelRidgeRegressor(metric="auto", random_state=0).fit(X, y).metric_ is not None
    rng = np.random.default_rng(2)
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(600, 4))
        even = np.sin(X).sum(axis=1) + 0.3 * rng.normal(size=600)  # All columns count the same.
        assert KernelRidgeRegressor(metric="auto", random_state=0).fit(X, even).metric_ is None


def test_noise_leaves_all_columns_the_same_with_a_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 6)), rng.normal(size=500)
    with pytest.warns(UserWarning, match="No metric was learned: the leave-one-out error"):
        model = KernelRidgeRegressor(metric="diagonal", random_state=0).fit(X, y)
    assert model.metric_ is None


def test_a_constant_and_a_repeated_column():
    X, y = planted(800, d=4)
    X = np.column_stack([X, X[:, 0], np.full(len(X), 3.0)])
    found = KernelRidgeRegressor(metric="diagonal", random_state=0).fit(X, y).metric_
    assert found[5] == 0.0
    np.testing.assert_allclose(found[4], found[0], rtol=1e-6)
    assert np.isfinite(KernelRidgeRegressor(metric="full", random_state=0).fit(X, y).metric_).all()


def test_one_column_and_few_rows_have_no_metric():
    X, y = planted(300)
    assert KernelRidgeRegressor(metric="diagonal").fit(X[:, :1], y).metric_ is None
    with pytest.warns(UserWarning, match="fewer than 50"):
        assert KernelRidgeRegressor(metric="diagonal").fit(X[:49], y[:49]).metric_ is None
    assert KernelRidgeRegressor(metric="auto").fit(X[:49], y[:49]).metric_ is None


def test_a_class_of_two_rows_and_several_outputs():
    X, y = planted(300)
    labels = np.digitize(y, [0.3])
    labels[:2] = 5
    model = KernelRidgeClassifier(metric="diagonal", random_state=0).fit(X, labels)
    assert model.metric_[2:].max() < 0.1 * model.metric_.max()
    several = KernelRidgeRegressor(metric="diagonal", random_state=0).fit(X, np.column_stack([X[:, 0], X[:, 3] ** 2]))
    assert set(np.argsort(several.metric_)[-2:]) == {0, 3}


def test_a_weight_is_a_repetition():
    X, y = planted(200)
    X, y = np.vstack([X, X[:50]]), np.concatenate([y, y[:50]])
    wanted, kernel = Metric(n_refits=1), kernels.Gaussian()
    first = LearnedMetric(np.ones(X.shape[1]))
    centered = y[:, None] - y.mean()
    repeated = learning.refit(first, kernel, X, centered, None, wanted, 0)
    weights = np.where(np.arange(200) < 50, 2.0, 1.0)
    weighted = learning.refit(first, kernel, X[:200], centered[:200], weights, wanted, 0)
    np.testing.assert_allclose(weighted.matrix, repeated.matrix, atol=1e-3)


def test_columns_in_other_units_are_standardized_first():
    X, y = planted(1500)
    X_test, y_test = planted(500, seed=1)
    units = np.ones(X.shape[1])
    units[5] = 1e4  # An irrelevant column, next to which the others hardly count
    with pytest.warns(UserWarning, match="metric='diagonal', which learns their weights"):
        plain = KernelRidgeRegressor(random_state=0).fit(X * units, y)
    model = KernelRidgeRegressor(metric="diagonal", random_state=0).fit(X * units, y)
    assert plain.score(X_test * units, y_test) < 0.5 < 0.95 < model.score(X_test * units, y_test)


@pytest.mark.parametrize(
    ("given", "X", "message"),
    [
        ({"metric": "round"}, None, "'auto', 'diagonal', 'full', None"),
        ({"metric": Metric(n_refits=0)}, None, "n_refits of the metric"),
        ({"metric": "diagonal", "kernel": "precomputed"}, np.eye(60), "metric is learned from columns"),
        ({"metric": "diagonal", "kernel": "laplace_product"}, None, "needs a kernel of the distance"),
        ({"metric": "diagonal", "n_components": 2}, None, "n_components=2 replaces"),
        ({"metric": "diagonal"}, scipy.sparse.eye(60, format="csr"), "needs dense rows"),
    ],
)
def test_what_is_refused(given, X, message):
    X = np.random.default_rng(0).normal(size=(60, 5)) if X is None else X
    with pytest.raises(ShallowsError, match=message):
        KernelRidgeRegressor(**given).fit(X, np.arange(60.0))


@pytest.mark.parametrize("given", [{"metric": "auto"}, {"metric": "full"}, {"kernel": "auto"}])
def test_numbers_whose_squares_overflow_are_refused(given):
    X, y = planted(60)
    with pytest.raises(ShallowsError, match="squared distances overflow"):
        KernelRidgeRegressor(**given).fit(1e160 * X, y)


def test_points_of_another_width_are_refused():
    X, y = planted(200)
    model = KernelRidgeRegressor(metric="diagonal", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :5])


def test_sparse_rows_are_predicted_like_dense_rows():
    X, y = planted(200)
    for form in ("diagonal", "full"):
        model = KernelRidgeRegressor(metric=form, random_state=0).fit(X, y)
        for sparse in (scipy.sparse.csr_matrix(X), scipy.sparse.csr_array(X)):
            np.testing.assert_allclose(model.predict(sparse), model.predict(X), rtol=1e-9)


def test_the_rows_are_never_copied_as_a_whole():
    X, y = planted(300, d=40)
    model = KernelRidgeRegressor(metric="diagonal", centers=20, random_state=0).fit(X, y)
    rows = np.broadcast_to(X[0], (800_000, 40))  # 256 MB, which take no memory; a block takes 32 MB
    tracemalloc.start()
    try:
        model.predict(rows)
        assert tracemalloc.get_traced_memory()[1] < rows.nbytes
    finally:
        tracemalloc.stop()


def test_halves_that_learn_and_judge_are_apart(monkeypatch):
    seen = {"refit": [], "choose_in": []}

    def note(name, function):
        def noted(metric, kernel, x, *rest):
            seen[name].append({tuple(row) for row in x})
            return function(metric, kernel, x, *rest)

        monkeypatch.setattr(learning, name, noted)

    note("refit", learning.refit)
    note("choose_in", learning.choose_in)
    X, y = planted(300)
    first = LearnedMetric(np.ones(X.shape[1]))
    assert learning.lowers_error(first, kernels.Gaussian(), X, y[:, None], None, Metric("auto"), 0)
    first_half, second_half = seen["refit"]
    assert len(first_half) == len(second_half) == 150 and not first_half & second_half
    # Without a metric on both halves, then each metric on the half that did not learn it.
    assert seen["choose_in"] == [first_half, second_half, second_half, first_half]


def test_a_gain_that_may_be_chance_is_not_enough(monkeypatch):
    X, y = planted(300)
    first = LearnedMetric(np.ones(X.shape[1]))
    given = first, kernels.Gaussian(), X, y[:, None], None, Metric("auto"), 0
    assert learning.lowers_error(*given)
    monkeypatch.setattr(learning, "CHANCE", 30.0)
    assert not learning.lowers_error(*given)


def test_in_a_learned_metric_a_smaller_ridge_needs_no_two_standard_errors(monkeypatch):
    gain = np.array([1.0, -0.9] * 100)  # Its mean is 0.05, and its standard error 0.067.
    assert not narrower_bandwidth._is_surely_less(1.0 - gain, np.ones(200), 0.0)
    assert narrower_bandwidth._is_surely_less(1.0 - gain, np.ones(200), 0.0, chance=0.0)
    seen = []

    def note(found, *rest, in_metric, **given):
        seen.append(in_metric)
        return found

    monkeypatch.setattr(choices, "narrower", note)
    X, y = planted(2000, d=4)
    for metric in (None, Metric(n_refits=1, n_rows=200)):
        for given in ({"centers": 50}, {"solver": EigenPro(max_epochs=1)}):
            KernelRidgeRegressor(metric=metric, random_state=0, **given).fit(X, y)
    assert seen == [False, False, True, True]
