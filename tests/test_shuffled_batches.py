"""Batches of rows that are drawn again in every epoch: their order, rows of the kernel matrix, whole trainings."""

from types import SimpleNamespace

import numpy as np
import pytest

from forms import eigenpro_regressor, kernel_sgd_classifier, kernel_sgd_regressor
from shallows import gram, kernels, streams, training
from shallows.errors import ShallowsError
from shallows.training.steps import Monitor

N, SIZE, SEED = 53, 16, 5


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)), rng.normal(size=(N, 2))


def batches_of(epoch):
    order = streams.permutation(SEED, "rows", epoch, N)
    return [np.sort(order[start : start + SIZE]) for start in range(0, N, SIZE)]


def test_every_epoch_has_each_row_once_in_batches_of_its_own():
    made = training.Batches(N, SIZE, SEED, shuffle=True)
    first, second = made.of_epoch(0), made.of_epoch(1)
    for batches in (first, second, made.of_epoch(0)):
        assert [len(batch) for batch in batches] == [16, 16, 16, 5]
        assert sorted(np.concatenate(batches)) == list(range(N))
        assert all((np.diff(batch) > 0).all() for batch in batches)
    assert not any(np.array_equal(*pair) for pair in zip(first, second, strict=True))
    assert all(np.array_equal(*pair) for pair in zip(first, made.of_epoch(0), strict=True))


LAPLACE, POLYNOMIAL = kernels.make("laplace", 2.0), kernels.make("polynomial", degree=2)


@pytest.mark.parametrize(
    ("n_kept", "kernel", "dtype"),
    [(0, POLYNOMIAL, "float64"), (20, LAPLACE, "float64"), (20, POLYNOMIAL, "float32"), (N, LAPLACE, "float32")],
)
def test_products_with_scattered_rows_under_any_budget(data, monkeypatch, n_kept, kernel, dtype):
    monkeypatch.setattr("shallows.gram.shuffled.tile_edge", lambda *_: 11)
    points = kernels.augmented(data[0].astype(dtype))
    size = np.dtype(dtype).itemsize
    matrix = gram.ShuffledGram(kernel, points, budget=(n_kept + SIZE) * N * size + 7, batch_size=SIZE)
    assert (matrix.kept_fraction, matrix.spare_bytes) == (n_kept / N, 7)
    K, a = kernel(data[0], data[0]), np.random.default_rng(1).normal(size=(N, 4)).astype(dtype)
    np.fill_diagonal(K, kernel.diagonal(data[0]))
    close = {"rtol": 1e-4 if dtype == "float32" else 1e-10, "atol": (1e-5 if dtype == "float32" else 1e-11) * K.max()}
    np.testing.assert_allclose(matrix.dot(a), K @ a, **close)
    for batch in batches_of(0):
        product, columns = matrix.rows_dot(batch, a, head=9)
        np.testing.assert_allclose(product, K[batch] @ a, **close)
        np.testing.assert_allclose(columns.values(), K[batch, :9], **close)
        part = a[: len(batch)]
        np.testing.assert_allclose(
            matrix.energy(batch, part)[0], np.sum(part * (K[np.ix_(batch, batch)] @ part), axis=0), **close
        )
        if kernel.of_distance:
            _, columns = matrix.rows_dot(batch, a, head=N)
            assert (columns.values()[np.arange(len(batch)), batch] == 1.0).all()


def test_a_batch_that_the_budget_cannot_hold_is_refused(data):
    kernel, points = kernels.make("laplace", 2.0), kernels.augmented(data[0])
    with pytest.raises(ShallowsError, match=r"16 rows of 53 kernel values take .* smaller batch_size or shuffle=False"):
        gram.ShuffledGram(kernel, points, budget=SIZE * N * 8 - 1, batch_size=SIZE)


@pytest.mark.parametrize("Estimator", [kernel_sgd_regressor, eigenpro_regressor])
def test_two_epochs_are_the_printed_steps_on_these_batches(data, Estimator):
    X, Y = data
    flattens = Estimator is eigenpro_regressor
    own = {"rank": 5, "n_subsample": 30, "regularisation": 0.0} if flattens else {}
    model = Estimator(
        "gaussian", bandwidth=2.0, batch_size=SIZE, shuffle=True, step_size=0.05, max_epochs=2, tol=0.0,
        calibration=None, dtype="float64", random_state=SEED, **own,
    ).fit(X, Y)  # fmt: skip
    x, y = X[model.support_], (Y - Y.mean(axis=0))[model.support_]
    K, a = kernels.make("gaussian", 2.0)(x, x), np.zeros_like(y)
    values, V = np.linalg.eigh(K[:30, :30])
    values, V = values[::-1][:6], V[:, ::-1][:, :5]
    for batch in batches_of(0) + batches_of(1):
        g = K[batch] @ a - y[batch]
        a[batch] -= 0.05 * g
        if flattens:
            D = np.diag((1 - values[5] / values[:5]) / values[:5])
            a[:30] += 0.05 * V @ (D @ (V.T @ (K[batch][:, :30].T @ g)))
    np.testing.assert_allclose(model.predict(x) - Y.mean(axis=0), K @ a, rtol=1e-8, atol=1e-10)
    assert model.report_["kept_fraction"] == 1.0


def test_weighted_rows_and_averaged_steps_learn_and_a_warm_start_has_the_batches_that_follow():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] * X[:, 1] > 0
    weights = np.where(y, 1.0, 0.5)
    made = {"shuffle": True, "batch_size": 64, "tol": 0.0, "random_state": 0}
    averaged = kernel_sgd_classifier(**made, max_epochs=12)
    assert averaged.fit(X, y, sample_weight=weights).score(X, y) > 0.9
    once = kernel_sgd_classifier(**made, max_epochs=12, step="constant").fit(X, y, sample_weight=weights)
    again = kernel_sgd_classifier(**made, max_epochs=5, step="constant", warm_start=True)
    again.fit(X, y, sample_weight=weights).set_params(solver__max_epochs=7).fit(X, y, sample_weight=weights)
    assert np.array_equal(again.dual_coef_, once.dual_coef_)


def test_a_batch_is_held_against_its_own_targets_and_its_share_of_all():
    targets, weights = np.zeros((10, 1)), np.ones((10, 1))
    targets[5:], weights[9] = 2.0, 3.0  # losses of the zero function: 0 five times, 4 four times, 12
    problem = SimpleNamespace(targets=targets, weights=weights)
    for batch, usual in ((slice(0, 2), 5.6), (np.array([3, 9]), 17.6)):  # its own, and 2 of 10 rows of 28
        for loss, diverged in ((9.9 * usual, False), (10.1 * usual, True)):
            state = SimpleNamespace(loss=loss)
            monitor = Monitor(problem, state)
            assert monitor.diverged(state, batch) == diverged
            assert monitor.end_epoch()[1] == (not diverged and loss > 56)
