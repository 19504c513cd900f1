"""What an estimator is given: the form, the memory and the points that must not change a prediction."""

from unittest import mock

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import is_classifier

from engine_example import sample
from estimators_example import (
    CLASSIFIERS,
    EIGENPRO,
    EPS32,
    brief,
    each,
    each_eigenpro,
    one_by_hand,
    outputs,
    published,
    table,
)
from shallows import arrays, kernels
from shallows.kernels import compiled
from shallows.models.centering import Centering

pytestmark = brief


@each
def test_the_layout_of_more_data_than_one_batch_changes_nothing(Estimator, tmp_path):
    def mapped(x):
        np.save(tmp_path / "x.npy", x)
        return np.load(tmp_path / "x.npy", mmap_mode="r")

    X, y, new = table(Estimator, 1100)
    plain = Estimator(random_state=0, max_epochs=2).fit(np.ascontiguousarray(X), y)
    expected = outputs(plain, new)
    apart = lambda x: np.repeat(x, 2, axis=1)[::-1, ::2][::-1]  # noqa: E731
    for form in (np.asfortranarray, apart, lambda x: x.astype(">f8"), mapped):
        laid_out = Estimator(random_state=0, max_epochs=2).fit(form(X), y)
        assert np.array_equal(expected, outputs(laid_out, form(new)))
    alone = np.concatenate([outputs(plain, row[None]) for row in new])
    assert np.abs(alone - expected).max() < EPS32 * np.abs(plain.dual_coef_).sum()


@each
def test_sparse_data_give_what_dense_data_give(Estimator):
    X, y, new = table(Estimator)
    X, new = X * (X > 0.3), new * (new > 0.3)
    X[:, 2], new[:, 2] = 0, 1  # A column that is constant in training and not after.
    dense, sparse = (Estimator(random_state=0, max_epochs=2).fit(f(X), y) for f in (np.asarray, scipy.sparse.coo_array))
    assert np.array_equal(outputs(dense, new), outputs(sparse, scipy.sparse.csr_matrix(new)))


@each
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_precision_that_was_asked_for_is_the_one_that_is_used(Estimator, dtype):
    X, y, new = table(Estimator)
    rule = {} if Estimator in EIGENPRO else {"step_rule": "constant"}
    given = {"random_state": 0, "max_epochs": 2, **published(Estimator)}
    model = Estimator(dtype=dtype, **rule, **given).fit(X, y)
    assert model.dual_coef_.dtype == model.report_["precision"] == dtype
    if Estimator in CLASSIFIERS:
        assert model.decision_function(new).dtype == dtype
    # Kernel SGD takes few dozen steps; EigenPro solves the problem, and amplifies what a kernel value lacks.
    if Estimator not in EIGENPRO:
        exact = Estimator(dtype="float64", step_size=model.step_size_, **given).fit(X, y)
        assert np.abs(outputs(model, new) - outputs(exact, new)).max() < 1e4 * EPS32


@each
def test_a_shift_of_all_points_changes_nothing_even_in_float32(Estimator):
    X, y, new = table(Estimator, 300)
    # Multiples of 1/128 below 2^7 + 8 are float32 numbers, so that the shift itself costs nothing.
    X, new = np.round(X * 128) / 128, np.round(new * 128) / 128
    options = {"random_state": 0, "max_epochs": 2, "dtype": "float32", "kernel": "laplace", "bandwidth": 2.0}
    near = Estimator(**options).fit(X.astype(np.float32), y)
    far = Estimator(**options).fit((X + 100).astype(np.float32), y)
    a, b = outputs(near, new.astype(np.float32)), outputs(far, (new + 100).astype(np.float32))
    # The means differ by half a unit in the last place of 100, 4e-6, and slopes are below 2 a bandwidth.
    assert np.abs(a - b).max() < 1e-3


# -------------------------------------------------------------------------------------- memory and blocks


@each
def test_a_small_memory_gives_the_predictions_of_a_large_one(Estimator):
    X, y, new = table(Estimator, 1500)
    options = {"random_state": 0, "max_epochs": 2, "tol": 0, "bandwidth": 1.0, "batch_size": 100}
    # Less than the process holds already is refused, see test_memory_budget.py.
    with mock.patch("shallows.fitting.kernel_ridge.check_memory"):
        small, large = (Estimator(memory=memory, **options).fit(X, y) for memory in ("100MB", "8GB"))
    assert small.report_["kept_fraction"] < 1.0 == large.report_["kept_fraction"]
    for name in ("rank", "n_subsample", "batch_size", "step_size"):
        assert small.report_[name] == large.report_[name]
    # Sums of 1,500 float32 products in the same order but for blocks, over thirty steps.
    scale = np.abs(outputs(large, new)).max()
    assert np.abs(outputs(small, new) - outputs(large, new)).max() < 1e-3 * scale


@each_eigenpro
def test_with_a_ridge_kept_values_take_16_bits_and_the_model_stays(Estimator, monkeypatch):
    X, y, new = table(Estimator, 1500)
    options = {"random_state": 0, "max_epochs": 2, "tol": 0, "bandwidth": 1.0, "memory": "8GB"}
    exact = Estimator(regularisation=0.1, **options).fit(X, y)
    monkeypatch.setattr(compiled, "MANY_VALUES", 0)
    rounded = Estimator(regularisation=0.1, **options).fit(X, y)
    # Rounding errors of a matrix with norm ‖E‖ change the function as much as the ridge if λ is not above ‖E‖.
    plain, small = (Estimator(regularisation=ridge, **options).fit(X, y) for ridge in (0.0, 1e-4))
    assert [model.report_["kept_bits"] for model in (exact, rounded, plain, small)] == [32, 16, 32, 32]
    a, b = outputs(exact, new), outputs(rounded, new)
    assert 0 < np.abs(a - b).max() < 2e-3 * np.abs(a).max()


def test_coordinates_are_centred_and_without_constants_whatever_the_blocks(monkeypatch):
    monkeypatch.setattr("shallows.models.centering._BLOCK_BYTES", 7 * 8 * 5)
    x = np.hstack([sample(50, 3), np.full((50, 1), 0.1), np.full((50, 1), -7.0)])
    coordinates = Centering.of(x)
    assert coordinates.varies.tolist() == [True, True, True, False, False]
    assert coordinates.mean == pytest.approx(x.mean(axis=0), rel=1e-12)
    order = np.random.default_rng(0).permutation(50)
    points = coordinates.training_points(x, order, arrays.Device(), np.float64)
    centred = (x - x.mean(axis=0))[order, :3]
    assert np.abs(points - kernels.augmented(centred)).max() < 1e-13


# ------------------------------------------------------------------------------------------- odd problems


@each
def test_a_feature_that_is_constant_in_training_still_counts_in_a_new_point(Estimator):
    X, y, new = table(Estimator)
    X, new = np.hstack([X, np.full((len(X), 1), 3.0)]), np.hstack([new, sample(len(new), 1)])
    model = Estimator("laplace", random_state=0, max_epochs=2, **published(Estimator)).fit(X, y)
    assert model.report_["n_features_used"] == 4
    expected = one_by_hand(model, X, new)
    assert np.abs(outputs(model, new).reshape(len(new), -1) - expected).max() < 1e-11


@each
@pytest.mark.parametrize(("n", "weights"), [(30, True), (1200, False)])
def test_where_all_features_are_constant_the_mean_is_learnt(Estimator, n, weights):
    X, y = np.full((n, 3), 7.0), (np.arange(n) % 3 == 0).astype(int)
    w = 1.0 + 3 * y if weights else np.ones(n)  # With weights, the rarer label is the heavier one.
    model = Estimator(random_state=0).fit(X, y, sample_weight=w)
    mean = np.average(2.0 * y - 1 if is_classifier(model) else y, weights=w)
    assert outputs(model, X[:2]) == pytest.approx([mean] * 2, abs=1e-4)
    if is_classifier(model):
        assert model.predict(X[:1]) == [int(weights)]


@each_eigenpro
def test_rank_subsample_and_batch_beyond_the_points_are_brought_down_to_them(Estimator):
    X, y, new = table(Estimator, 30)
    model = Estimator("laplace", rank=500, n_subsample=1000, batch_size=10**6, random_state=0).fit(X, y)
    used = model.report_
    assert (used["rank"], used["n_subsample"], used["batch_size"]) == (29, 30, 30)
    plain = Estimator("laplace", rank=29, random_state=0).fit(X, y)
    assert np.abs(outputs(model, new) - outputs(plain, new)).max() < 1e-6
