"""Machines with fewer centers: their loss at new rows, what they keep, and when nothing is compressed."""

import numpy as np
import pytest
import scipy.sparse

import shallows
from shallows import KernelRidgeClassifier, KernelRidgeRegressor
from shallows.errors import ShallowsError
from shallows.fitting import compression


def rows(n: int, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


def loss_at(model: object, fewer: object, X: np.ndarray) -> float:
    """The squared difference of the outputs as a share of their variance."""
    ours, others = (each._raw_predict(X).astype(np.float64) for each in (fewer, model))
    return float(((ours - others) ** 2).sum() / ((others - others.mean(axis=0)) ** 2).sum())


@pytest.mark.parametrize(
    ("estimator", "given"),
    [
        (KernelRidgeRegressor, {}),
        (KernelRidgeRegressor, {"kernel": "laplace", "alpha": 1.0, "solver": "eigenpro"}),
        (KernelRidgeRegressor, {"metric": "diagonal"}),
        (KernelRidgeRegressor, {"centers": 600}),
        (KernelRidgeClassifier, {"bandwidth": 3.0}),
    ],
)
def test_new_rows_have_the_stated_loss_with_fewer_centers(estimator, given):
    X, y = rows(1200)
    y = y if estimator is KernelRidgeRegressor else np.digitize(y, [-0.5, 0.5])
    model = estimator(random_state=0, **given).fit(X, y)
    for loss in (0.1, 0.02):
        fewer, n = model.compress(loss), len(model.dual_coef_)
        found = fewer.report_["compression"]
        assert found["loss"] <= loss
        assert found["centers"] == len(fewer.dual_coef_) == len(fewer.support_) <= n / 2
        assert found["before"] == len(model.dual_coef_) == n
        # A fifth of the centers measure the loss; a few rows far from the others are half of it.
        assert loss_at(model, fewer, rows(1000, seed=1)[0]) <= 2 * loss


def test_a_smaller_loss_takes_more_centers_and_the_first_model_stays():
    X, y = rows(1000)
    model = KernelRidgeRegressor(random_state=0).fit(X, y)
    before = model.predict(X)
    numbers = [len(model.compress(loss).dual_coef_) for loss in (0.1, 1e-4, 1e-6)]
    assert numbers == sorted(set(numbers))
    np.testing.assert_array_equal(model.predict(X), before)
    assert "compression" not in model.report_


def test_centers_where_the_difference_is_large_are_better_than_random_ones(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = np.where(np.linalg.norm(X - 1.5, axis=1) < 0.5, np.sin(20 * X[:, 0]), 0.0)  # All is in a small part.
    model = KernelRidgeRegressor(bandwidth=0.2, random_state=0).fit(X, y)
    ours = len(model.compress(0.05).dual_coef_)
    monkeypatch.setattr(compression, "FIRST", 2 * ours)  # The first centers are random.
    assert model.compress(0.05).report_["compression"]["centers"] > 2 * ours


def test_a_saved_one_predicts_the_same_and_points_are_rows_of_the_fit(tmp_path):
    X, y = rows(600)
    fewer = KernelRidgeRegressor(random_state=0).fit(X, y).compress(0.01)
    centers = fewer._model.centering.rows_of(fewer._model.points)
    np.testing.assert_allclose(centers, X[fewer.support_], atol=1e-12)
    shallows.save(fewer, tmp_path / "model")
    np.testing.assert_array_equal(shallows.load(tmp_path / "model").predict(X), fewer.predict(X))


def test_given_centers_are_chosen_from():
    X, y = rows(1200)
    model = KernelRidgeRegressor(centers=X[:500] + 0.01, random_state=0).fit(X, y)
    fewer = model.compress(0.05)
    assert fewer.support_ is None
    assert len(fewer.centers_) == len(fewer.dual_coef_)
    assert {tuple(row) for row in fewer.centers_} < {tuple(row) for row in X[:500] + 0.01}


def test_sparse_rows():
    X, y = rows(800, d=4)
    X = scipy.sparse.csr_matrix(np.where(np.abs(X) < 0.3, 0.0, X))
    X.resize(800, 20_000)  # So wide that they stay sparse
    model = KernelRidgeRegressor(bandwidth=2.0, random_state=0).fit(X, y)
    fewer = model.compress(0.01)
    assert loss_at(model, fewer, X[-100:]) < 0.03


def test_intervals_need_rows_again_and_a_fit_starts_from_all_rows():
    X, y = rows(600)
    model = KernelRidgeRegressor(calibration="auto", warm_start=True, solver="eigenpro", random_state=0).fit(X, y)
    fewer = model.compress(0.01)
    with pytest.raises(ShallowsError, match="conformalize"):
        fewer.predict_interval(X)
    width = np.ptp(fewer.conformalize(*rows(200, seed=1)).predict_interval(X[:3]), axis=1)
    np.testing.assert_allclose(width, np.ptp(model.predict_interval(X[:3]), axis=1), rtol=0.3)
    again = fewer.fit(X, y)
    assert len(again.dual_coef_) == 600
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-6, atol=1e-6)


def test_noise_is_not_compressed_and_a_constant_is():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10))
    model = KernelRidgeRegressor(bandwidth=0.3, alpha=1e-3).fit(X, rng.normal(size=300))
    with pytest.warns(UserWarning, match="all are kept. Allow a larger loss"):
        assert len(model.compress(0.01).dual_coef_) == 300
    constant = KernelRidgeRegressor(bandwidth=1.0).fit(X, np.ones(300)).compress()
    assert len(constant.dual_coef_) == compression.FIRST
    np.testing.assert_allclose(constant.predict(X), 1.0)


@pytest.mark.parametrize("loss", [0, 1, -0.1, "small", None, True, np.nan])
def test_a_loss_that_is_no_share_is_refused(loss):
    model = KernelRidgeRegressor().fit(*rows(60))
    with pytest.raises(ShallowsError, match="loss must be a number between 0 and 1"):
        model.compress(loss)


def test_a_precomputed_kernel_is_refused():
    X, y = rows(60)
    model = KernelRidgeRegressor(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ShallowsError, match="points"):
        model.compress()
