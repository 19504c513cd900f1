"""Sparse rows with very many columns, such as tf-idf of texts: kernels stay sparse, and random features are refused."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import forms
import shallows
from feature_forms import feature_eigenpro_classifier
from shallows import arrays, kernels
from shallows.errors import ShallowsError
from shallows.kernel_approximation import NystroemFeatures
from shallows.models import centering
from shallows.models.centering import Centering, TrainingRows
from shallows.solvers import LASVM, SMO

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

CPU = arrays.Device("cpu")


def texts(n, d, seed=0, words=60):
    """tf-idf rows of two topics; words follow Zipf's law."""
    rng = np.random.default_rng(seed)
    chances = 1.0 / (np.arange(d) + 2.7)
    ranks = rng.choice(d, size=(n, words), p=chances / chances.sum())
    y = rng.integers(2, size=n)
    topical = rng.random((n, words)) < 0.4
    ranks = np.where(topical & (y[:, None] == 1), d - 1 - ranks, ranks)
    counts = sp.csr_array((np.ones(n * words), ranks.ravel(), words * np.arange(n + 1)), shape=(n, d))
    counts.sum_duplicates()
    rare = np.log((1 + n) / (1 + np.bincount(counts.indices, minlength=d))) + 1
    rows = sp.csr_array(counts.multiply(rare))
    return sp.csr_array(rows.multiply(1 / np.sqrt(rows.multiply(rows).sum(axis=1))[:, None])), y


def with_columns(rows):
    """The rows with a constant column, a filled one with a large offset, and one with values in some rows."""
    n = rows.shape[0]
    rng = np.random.default_rng(1)
    columns = [np.full(n, 3.0), 2000.0 + rng.normal(size=n), rng.normal(size=n) * (rng.random(n) < 0.3)]
    return sp.csr_array(sp.hstack([rows, np.stack(columns, axis=1)]))


OF_KERNELS = {
    "EigenProClassifier": {},
    "EigenProCentersClassifier": {"centres": 60},
    "BudgetedSVMClassifier": {"budget": 10},
    "KernelRidgeClassifier": {},
    "KernelSGDClassifier": {"max_epochs": 5},
    "KernelSVMClassifier": {"solver": SMO(tol=1e-8)},
    "lasvm: KernelSVMClassifier": {"solver": LASVM(tol=1e-8)},
    "CoreVectorMachineClassifier": {},
    "RegularizedRiskClassifier": {},
    "LowRankLinearizedSVMClassifier": {"budget": 50},
    "FeatureRidgeClassifier": {"features": "nystrom"},
    "feature_eigenpro: FeatureRidgeClassifier": {
        "features": NystroemFeatures(n_features=50),
        "solver": "feature_eigenpro",
    },
    "NystroemFeatures": {"n_features": 50},
    "RBFNetwork": {"n_features": 50, "landmarks": "kmeans"},
}


def fitted(name, X, y):
    model = forms.unfitted(name.rpartition(": ")[2], random_state=0, **OF_KERNELS[name])
    return model.fit(X, y.astype(float) if name.endswith("Regressor") else y)


def outputs(model, X):
    for method in ("decision_function", "predict", "transform"):
        if hasattr(model, method):
            return getattr(model, method)(X)
    raise AssertionError


@pytest.mark.parametrize("name", [name for name in OF_KERNELS if name != "RBFNetwork"])  # K-means draws other rows
def test_wide_sparse_rows_give_what_dense_rows_give(name):
    X, y = texts(160, 1500)
    X = with_columns(X)[:, np.r_[:1501, 1502]]
    new = X[120:]
    sparse, dense = (fitted(name, rows, y[:120]) for rows in (X[:120], X[:120].toarray()))
    expected = outputs(dense, new.toarray())
    found = outputs(sparse, new)
    if name == "NystroemFeatures":  # Eigenvectors have no sign.
        found, expected = found @ found.T, expected @ expected.T
    # Core vector machines end anywhere within their epsilon.
    tolerance = 1e-3 if name.startswith("CoreVector") else 1e-6
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()
    assert np.array_equal(outputs(sparse, new.toarray()), outputs(sparse, new))


@pytest.mark.parametrize("name", ["NystroemFeatures", "RBFNetwork", "CoreVectorMachineClassifier"])  # without solvers
def test_no_fit_and_no_prediction_makes_rows_dense(name):
    X, y = texts(330, 100_000)
    fitted(name, X[:40], y[:40])  # What is imported and compiled once counts for no model.
    tracemalloc.start()
    try:
        model = fitted(name, X[:300], y[:300])
        outputs(model, X[300:])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # 300 dense rows take 240 MB in float64, and 50 centers of K-means 40 MB.
    assert peak < 100e6


KERNELS = [
    kernels.Gaussian(1.3),
    kernels.Laplace(1.3),
    kernels.Matern(1.3, nu=1.5),
    kernels.Polynomial(3, scale=0.5),
    kernels.Exponential(2.0),
    kernels.ArcCosine(1),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_of_sparse_points_are_those_of_dense_points(kernel, dtype):
    X, _ = texts(50, 2000)
    X = sp.csr_array(sp.diags_array(np.where(np.arange(50) == 25, 0.0, 1.0)) @ X)  # a text without words
    X.eliminate_zeros()
    x = arrays.SparsePoints(X[:30].astype(dtype)), arrays.SparsePoints(X[20:].astype(dtype))
    exact = kernel(*(part.toarray().astype(np.float64) for part in x))
    points, dense = [kernels.augmented(part) for part in x], [kernels.augmented(part.toarray()) for part in x]
    tolerance = {np.float64: 1e-7, np.float32: 2e-3}[dtype]  # Roots of distances near zero have half of the digits.
    for left, right in ((points[0], points[1]), (points[0], dense[1]), (dense[0], points[1])):
        assert np.abs(kernels.values(kernel, left, right) - exact).max() <= tolerance * np.abs(exact).max()
    own = kernels.matrix(kernel, points[0])
    assert np.allclose(np.diag(own), kernels.matrix(kernel, dense[0]).diagonal(), rtol=1e-5)


def test_a_filled_column_far_from_zero_keeps_its_digits_in_float32():
    X = with_columns(texts(80, 1500)[0])
    made = Centering.of(X, may_stay_sparse=True)
    points = made.training_points(X, np.arange(80), CPU, np.float32)
    assert arrays.is_sparse(points)
    dense = X.toarray()[:, made.varies]
    exact = kernels.Gaussian(2.0)(dense, dense)
    assert np.abs(kernels.matrix(kernels.Gaussian(2.0), points) - exact).max() < 1e-5


def test_sparse_rows_that_are_read_batch_by_batch_are_those_that_are_kept():
    X = with_columns(texts(80, 1500)[0])
    made, order = Centering.of(X, may_stay_sparse=True), np.random.default_rng(0).permutation(80)
    kept, read = (TrainingRows(X, order, made, CPU, np.float32, held=held) for held in (True, False))
    for batch in (slice(10, 30), np.array([70, 3, 15])):
        assert np.array_equal(kept(batch).toarray(), read(batch).toarray())
    assert kept.held_bytes <= 80 * kept.row_bytes + 80 * 4


def test_points_that_would_take_most_of_the_memory_when_dense_are_refused(monkeypatch):
    X, y = texts(200, 10_000)
    monkeypatch.setattr(centering, "FEW_DENSE_BYTES", 2**20)
    monkeypatch.setattr(arrays, "available_memory", lambda device=None: 2**23)
    with pytest.raises(ShallowsError, match=r"Dense points of 200 sparse rows take 0.016 GB.*TruncatedSVD"):
        feature_eigenpro_classifier(random_state=0, memory="8GB").fit(X, y)


def test_sparse_centres_give_what_dense_centres_give():
    X, y = texts(160, 1500)
    sparse, dense = (
        shallows.KernelRidgeClassifier(random_state=0, centers=centres).fit(X[40:], y[40:])
        for centres in (X[:40], X[:40].toarray())
    )
    assert np.array_equal(sparse.decision_function(X), dense.decision_function(X))
