"""EigenPro as it was first released: eigenvectors of length n from rows of the kernel matrix, against dense algebra."""

import itertools

import numpy as np
import pytest

from forms import eigenpro_classifier, eigenpro_regressor, kernel_sgd_regressor
from shallows import KernelSVMClassifier, kernels, spectrum, streams
from shallows.errors import ShallowsError
from shallows.fitting.rsvd_preconditioner import fit_rsvd_preconditioner
from shallows.solvers import Release2017
from shallows.spectrum import randomized_rows

N, M, RANK, ETA = 60, 30, 5, 0.7
RELEASED = {
    "kernel": "gaussian",
    "bandwidth": 2.0,
    "rank": RANK,
    "n_subsample": M,
    "eigensystem": "rsvd",
    "power": 0.5,
    "step": Release2017(eta=ETA),
    "alpha": 0.0,
    "calibration": None,
    "tol": 0.0,
    "dtype": "float64",
    "random_state": 3,
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)), rng.normal(size=(N, 2))


def released(K, seed):
    """Singular values and right singular vectors of the first M rows by the sketch, and the step's factor."""
    G = streams.normal(seed, "sketch of rows", 0, (N, 2 * (RANK + 1)))
    Q = np.linalg.qr(K[:M] @ G)[0]
    s, Vt = np.linalg.svd(Q.T @ K[:M], full_matrices=False)[1:]
    s = s * np.sqrt(N / M)
    return s[:RANK], s[RANK], Vt[:RANK].T


def printed(model, data, batches):
    """The function at the points of a model after the steps of the printed algorithm on some batches."""
    X, Y = data
    x, y = X[model.support_], (Y - Y.mean(axis=0))[model.support_]
    K, a, step = kernels.make("gaussian", 2.0)(x, x), np.zeros_like(y), model.step_size_
    s, following, V = released(K, 3)
    D = np.diag((1 - np.sqrt(following / s)) / s)
    for batch in batches:
        g = K[batch] @ a - y[batch]
        a[batch] -= step * g
        a += step * V @ (D @ (V.T @ (K[batch].T @ g)))
    assert step == pytest.approx(ETA / len(g) * np.sqrt(s[0] / following), rel=1e-10) or len(batches) > 1
    return K @ a


@pytest.mark.parametrize("batch_size", [N, 25])
def test_the_steps_are_those_of_the_printed_algorithm(data, batch_size):
    model = eigenpro_regressor(**RELEASED, batch_size=batch_size, max_epochs=1).fit(*data)
    found = model.predict(data[0][model.support_]) - data[1].mean(axis=0)
    batches = [slice(i, min(i + batch_size, N)) for i in range(0, N, batch_size)]
    off = [np.abs(found - printed(model, data, order)).max() for order in itertools.permutations(batches)]
    assert min(off) < 1e-10 * np.abs(found).max()


def test_batches_that_are_drawn_anew_and_a_fit_that_goes_on_take_the_same_steps(data):
    made = RELEASED | {"batch_size": 25, "shuffle": True, "warm_start": True}
    once, twice = (eigenpro_regressor(**made, max_epochs=epochs).fit(*data) for epochs in (2, 1))
    twice.fit(*data)
    assert once.report_["stepper"] == "FullLengthEigenPro"
    orders = [streams.permutation(3, "rows", epoch, N) for epoch in range(2)]
    expected = printed(once, data, [order[i : i + 25] for order in orders for i in (0, 25, 50)])
    for model in (once, twice):
        found = model.predict(data[0][once.support_]) - data[1].mean(axis=0)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_a_sketch_of_all_columns_gives_the_exact_singular_vectors(data, monkeypatch):
    monkeypatch.setattr(randomized_rows, "BLOCK", 7)
    kernel, points = kernels.make("gaussian", 1.5), kernels.augmented(data[0])
    values, vectors = randomized_rows.rsvd_of_rows(kernel, points, M, M, 0)
    _, s, Vt = np.linalg.svd(kernel(data[0][:M], data[0]), full_matrices=False)
    np.testing.assert_allclose(values, np.sqrt(N / M) * s, rtol=1e-9, atol=1e-9 * s[0])
    np.testing.assert_allclose(np.abs(np.sum(vectors[:, :5] * Vt[:5].T, axis=0)), 1.0, rtol=1e-9)
    p = spectrum.make_rsvd_preconditioner(kernel, points, rank=4, n_rows=M)
    assert p.vectors.shape == (N, 4) and p.n_subsample == N


def test_each_block_of_the_sketch_has_draws_of_its_own(data, monkeypatch):
    monkeypatch.setattr(randomized_rows, "BLOCK", 25)
    kernel = kernels.make("gaussian", 1.5)
    values, _ = randomized_rows.rsvd_of_rows(kernel, kernels.augmented(data[0]), M, RANK, 3)
    K = kernel(data[0][:M], data[0])
    G = np.vstack([streams.normal(3, "sketch of rows", i, (m, 2 * RANK)) for i, m in enumerate((25, 25, 10))])
    s = np.linalg.svd(np.linalg.qr(K @ G)[0].T @ K, compute_uv=False)
    np.testing.assert_allclose(values, np.sqrt(N / M) * s[:RANK], rtol=1e-10)


@pytest.mark.parametrize("bandwidth", [2.0, "median"])
def test_its_preconditioner_from_a_file_gives_the_same_model_to_the_bit(data, bandwidth, tmp_path):
    X, Y = data[0].astype(np.float32) + 3.0, data[1]
    made = RELEASED | {"bandwidth": bandwidth, "dtype": "auto", "max_epochs": 2}
    own = eigenpro_classifier(**made).fit(X, Y[:, 0] > 0)
    given = {name: made[name] for name in ("kernel", "bandwidth", "rank", "n_subsample", "power", "random_state")}
    fit_rsvd_preconditioner(X, **given).save(tmp_path / "p.npz")
    shared = eigenpro_classifier(**made, preconditioner=tmp_path / "p.npz").fit(X, Y[:, 0] > 0)
    assert np.array_equal(own.support_, shared.support_)
    assert np.array_equal(own.dual_coef_, shared.dual_coef_)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"eigensystem": "nsvd"}, "eigensystem must be .* got 'nsvd'"),
        ({"step": "certified"}, "has no certificate for step='certified'"),
        ({"step": Release2017(eta=0.0)}, "eta must be a positive number"),
        ({"sample_weight": np.arange(1.0, N + 1)}, "without sample weights|no sample weights"),
        ({"preconditioner": "subsample"}, "has the eigensystem 'subsample', and eigensystem='rsvd' was given"),
    ],
)
def test_what_does_not_go_with_it_is_refused(data, change, words):
    X, Y = data
    weight = change.pop("sample_weight", None)
    if "preconditioner" in change:
        change["preconditioner"] = spectrum.fit_preconditioner(X, bandwidth=2.0, rank=RANK, n_subsample=M)
    with pytest.raises(ShallowsError, match=words):
        eigenpro_classifier(**RELEASED | change).fit(X, Y[:, 0] > 0, sample_weight=weight)


def test_the_kernel_of_eigenpro_makes_gradient_descent_eigenpro_and_serves_other_estimators(data):
    X, Y = data
    p = spectrum.fit_preconditioner(X, "gaussian", 2.0, rank=RANK, n_subsample=M, dtype="float64")
    kernel = spectrum.EigenProKernel.of(p, X)
    steps = {"step": 0.2, "batch_size": N, "max_epochs": 3, "tol": 0.0, "calibration": None, "dtype": "float64"}
    one = eigenpro_regressor(preconditioner=p, alpha=0.0, bandwidth="median", **steps).fit(X, Y)
    other = kernel_sgd_regressor(kernel, **steps).fit(X, Y)
    np.testing.assert_allclose(other.predict(X + 0.1), one.predict(X + 0.1), rtol=1e-8, atol=1e-10)
    matrix, K = kernel(X, X), kernels.make("gaussian", 2.0)(X, X)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(matrix), rtol=1e-9)
    spread = np.linalg.eigvalsh(matrix)
    assert spread.min() > -1e-9 and spread.max() < 0.5 * np.linalg.eigvalsh(K)[-1]
    assert KernelSVMClassifier(kernel).fit(X, Y[:, 0] > 0).score(X, Y[:, 0] > 0) > 0.5
    with pytest.raises(ShallowsError, match=r"at least 60 points, X has 10"):
        spectrum.EigenProKernel.of(p, X[:10])
