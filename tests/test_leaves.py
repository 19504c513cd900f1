"""Leaves: the tree and its weights, one function for each leaf, what a leaf may lack, and what they refuse."""

import numpy as np
import pytest
import scipy.sparse

import shallows
from shallows import KernelRidgeClassifier, KernelRidgeRegressor, Options
from shallows.errors import ShallowsError
from shallows.fitting import leaves
from shallows.fitting.leaves import grow_tree
from shallows.solvers import EigenPro


def planted(n: int, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A smooth function of the first two of d inputs, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


def test_the_weights_of_a_row_are_those_of_its_leaves_and_change_continuously():
    X = planted(2000)[0] * [1.0, 3.0, 1.0, 1.0]
    tree, members = grow_tree(X, 300, 0)
    weights = tree.weights(X)
    assert tree.n_leaves == len(members) > 4 and max(map(len, members)) <= 300
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    for leaf, own in enumerate(members):
        np.testing.assert_array_equal(own, np.flatnonzero(weights[:, leaf] > 0))
    # The first split is at the median of the column with the largest variance, with 5 % of the rows on either side.
    low, high = np.quantile(X[:, 1], [0.45, 0.55], method="lower")
    assert (tree.columns[0], *tree.borders[0]) == (1, low, high)
    line = np.linspace(-3, 3, 60_001)[:, None] * np.array([0.3, 1.0, -0.2, 0.1])
    assert np.abs(np.diff(tree.weights(line), axis=0)).max() < 0.02  # Steps of 1e-4 over borders 0.02 wide or wider


def test_columns_with_few_values_are_split_between_values_and_equal_rows_not_at_all():
    rng = np.random.default_rng(0)
    X = np.column_stack([5.0 * (rng.random(1000) < 0.7), 3.0 * rng.integers(0, 3, 1000), np.full(1000, 9.0)])
    _, members = grow_tree(X, 100, 0)
    kinds = [np.unique(X[own], axis=0) for own in members]
    assert sum(map(len, members)) == 1000  # Hard splits: no row is in two leaves.
    assert len(kinds) == 6 and all(len(kind) == 1 for kind in kinds)
    assert grow_tree(np.ones((500, 3)), 100, 0)[0].n_leaves == 1


@pytest.mark.parametrize("metric", [None, "diagonal", "full"])
def test_predictions_are_the_blended_functions_of_the_leaves(metric):
    X, y = planted(900)
    options = {"alpha": 0.1, "bandwidth": 1.0, "n_components": None, "solver": "cholesky", "random_state": 0}
    model = KernelRidgeRegressor(metric=metric, leaf_size=300, **options).fit(X, y)
    X_test = planted(200, seed=1)[0]
    z, z_test = X, X_test
    if metric is not None:
        root = model._model.components.root
        z, z_test = (x * root if metric == "diagonal" else x @ root for x in (X, X_test))
    tree, members = grow_tree(z, 300, 0)
    expected = 0.0
    for own, weight in zip(members, tree.weights(z_test).T, strict=True):
        expected += weight * KernelRidgeRegressor(**options).fit(z[own], y[own]).predict(z_test)
    np.testing.assert_allclose(model.predict(X_test), expected, rtol=1e-9)  # The metric is applied in blocks.
    assert model.report_["n_leaves"] == len(members) == len(model.report_["leaf_rows"])
    assert (model.metric_ is None) == (metric is None)
    np.testing.assert_array_equal(np.sort(model.support_), np.sort(np.concatenate(members)))
    assert model.dual_coef_.shape == (len(model.support_), 1)


def test_fewer_rows_than_a_leaf_are_fitted_as_without_leaves():
    X, y = planted(300)
    without = KernelRidgeRegressor(random_state=0).fit(X, y)
    np.testing.assert_array_equal(
        KernelRidgeRegressor(random_state=0, leaf_size=300).fit(X, y).predict(X), without.predict(X)
    )


def test_leaves_err_less_than_a_function_of_as_many_rows_and_nearly_as_little_as_one():
    (X, y), (X_test, y_test) = planted(4000), planted(1000, seed=1)
    options = {"metric": "diagonal", "random_state": 0}
    errors = [
        1 - model.score(X_test, y_test)
        for model in (
            KernelRidgeRegressor(**options).fit(X[:600], y[:600]),
            KernelRidgeRegressor(leaf_size=1400, **options).fit(X, y),
            KernelRidgeRegressor(**options).fit(X, y),
        )
    ]
    assert errors[1] < 0.8 * errors[0] and errors[1] < 1.3 * errors[2]


@pytest.mark.parametrize("calibration", ["auto", None])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_leaf_needs_no_row_of_every_class(n_classes, calibration):
    X = np.random.default_rng(0).normal(size=(1600, 2)) * [3.0, 1.0]
    y = np.array(list("abcd"))[np.clip(np.floor(X[:, 0] / 3.0 + n_classes / 2), 0, n_classes - 1).astype(int)]
    model = KernelRidgeClassifier(leaf_size=450, calibration=calibration, random_state=0).fit(X, y)
    of_leaves = [np.unique(y[rows]) for rows in np.split(model.support_, np.cumsum(model.report_["leaf_rows"])[:-1])]
    assert min(map(len, of_leaves)) == 1 and len(model.classes_) == n_classes
    shares = model.predict_proba(X)
    assert shares.shape == (1600, n_classes) and model.score(X, y) > 0.97
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-6)


def test_several_outputs_and_labels_are_those_of_single_ones():
    X, y = planted(900)
    options = {"leaf_size": 400, "alpha": 0.1, "bandwidth": 1.0, "solver": "cholesky", "random_state": 0}
    both = KernelRidgeRegressor(**options).fit(X, np.column_stack([y, X[:, 2]])).predict(X)
    for column, values in enumerate([y, X[:, 2]]):
        np.testing.assert_allclose(both[:, column], KernelRidgeRegressor(**options).fit(X, values).predict(X))
    labels = (np.column_stack([y, X[:, 2]]) > 0.3).astype(int)
    model = KernelRidgeClassifier(leaf_size=400, random_state=0).fit(X, labels)
    assert model.predict_proba(X).shape == (900, 2) and (model.predict(X) == labels).mean() > 0.95


def test_weights_reach_the_leaves_and_rows_without_weight_are_left_out():
    X, y = planted(1000)
    w = np.random.default_rng(1).integers(0, 3, 1000).astype(float)
    options = {"leaf_size": 300, "alpha": 0.1, "bandwidth": 1.0, "solver": "cholesky", "random_state": 0}
    model = KernelRidgeRegressor(**options).fit(X, y, w)
    some = w > 0
    same = KernelRidgeRegressor(**options).fit(X[some], y[some], w[some])
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    assert some[model.support_].all()
    # A weight of all rows divides the ridge term.
    twice = KernelRidgeRegressor(**{**options, "alpha": 0.2}).fit(X[some], y[some], 2.0 * w[some])
    np.testing.assert_allclose(twice.predict(X), same.predict(X), rtol=1e-9)
    assert np.abs(model.predict(X) - KernelRidgeRegressor(**options).fit(X[some], y[some]).predict(X)).max() > 1e-3


def test_intervals_and_sets_cover_new_rows():
    (X, y), (X_test, y_test) = planted(3000), planted(3000, seed=1)
    model = KernelRidgeRegressor(leaf_size=1000, calibration="auto", random_state=0).fit(X, y)
    low, high = model.predict_interval(X_test, 0.9).T
    # Two standard errors of 3,000 rows are 1.1 points; the left-out rows and the leaves add as many.
    assert abs(((low <= y_test) & (y_test <= high)).mean() - 0.9) < 0.025
    label, label_test = (np.digitize(values, [0.0, 0.7]) for values in (y, y_test))
    classifier = KernelRidgeClassifier(leaf_size=1000, random_state=0).fit(X, label)
    assert abs(classifier.predict_set(X_test, 0.9)[np.arange(3000), label_test].mean() - 0.9) < 0.025


def test_saved_models_memory_maps_and_seeds_predict_the_same(tmp_path):
    X, y = planted(1200)
    label = np.digitize(y, [0.0, 0.7])
    model = KernelRidgeClassifier(kernel="auto", metric="auto", leaf_size=500, random_state=3).fit(X, label)
    shallows.save(model, tmp_path / "model")
    read = shallows.load(tmp_path / "model")
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(read.bandwidth_, model.bandwidth_)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    again = KernelRidgeClassifier(kernel="auto", metric="auto", leaf_size=500, random_state=3).fit(mapped, label)
    np.testing.assert_array_equal(again.predict_proba(mapped), model.predict_proba(X))
    # A model of dense rows predicts sparse ones.
    np.testing.assert_allclose(model.predict_proba(scipy.sparse.csr_matrix(X)), model.predict_proba(X), rtol=1e-6)


def test_a_time_limit_is_divided_among_the_leaves(monkeypatch):
    X, y = planted(1000)
    shares, fit = [], leaves.fit_kernel_ridge

    def record(*rows, call, **others):
        shares.append(call.options.max_seconds)
        return fit(*rows, call=call, **others)

    monkeypatch.setattr(leaves, "fit_kernel_ridge", record)
    KernelRidgeRegressor(leaf_size=600, options=Options(max_seconds=100), random_state=0).fit(X, y)
    assert len(shares) == 2 and 40 < shares[0] <= 50 < shares[1] < 100


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"leaf_size": 50}, "leaf_size must be a whole number of at least 100"),
        ({"leaf_size": "auto"}, "leaf_size must be a whole number"),
        ({"leaf_size": 300, "centers": 100}, "which centers=100 does not"),
        ({"leaf_size": 300, "solver": "projected_eigenpro"}, "which solver='projected_eigenpro' does not"),
        ({"leaf_size": 300, "early_stopping": True}, "which early_stopping=True does not"),
        ({"leaf_size": 300, "warm_start": True}, "which warm_start=True does not"),
        ({"leaf_size": 300, "solver": EigenPro(preconditioner="file")}, "leaf_size=None, and name the kernel"),
        ({"leaf_size": 300, "kernel": "precomputed"}, "Leaves are split along columns"),
    ],
)
def test_what_leaves_do_not_support_is_refused(parameters, message):
    X, y = planted(400)
    with pytest.raises(ShallowsError, match=message):
        KernelRidgeRegressor(**parameters).fit(X, y)


def test_sparse_rows_observers_plans_and_coefficients_of_inputs_are_refused():
    X, y = planted(400)
    model = KernelRidgeRegressor(kernel="linear", leaf_size=300, random_state=0)
    with pytest.raises(ShallowsError, match="leaf_size needs dense rows"):
        model.fit(scipy.sparse.csr_matrix(X), y)
    with pytest.raises(ShallowsError, match="observers, checkpoint and ranks"):
        model.fit(X, y, observers=[print])
    with pytest.raises(ShallowsError, match="A plan is for one function"):
        model.plan(X, y)
    with pytest.raises(AttributeError, match="no coef_"):
        _ = model.fit(X, y).coef_
    with pytest.raises(ShallowsError, match="compress needs one function"):
        model.compress()
