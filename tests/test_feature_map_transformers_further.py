"""The further feature maps as transformers: the contract, what they stand for, sparse rows and refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import shallows
from engine_example import naive_kernel, sample
from shallows import kernels
from shallows.errors import ShallowsError, UnknownNameError
from shallows.kernel_approximation import (
    Fastfood,
    HiddenUnits,
    NystroemFeatures,
    PolynomialFeatures,
    QuasiMonteCarloFeatures,
    RandomBinning,
    RBFNetwork,
    SemiRandomFeatures,
    TensorSketch,
)

MAPS = [
    Fastfood(n_features=64, random_state=0),
    QuasiMonteCarloFeatures(n_features=64, form="cosine", random_state=0),
    RandomBinning(n_grids=30, random_state=0),
    TensorSketch(n_features=50, random_state=0),
    PolynomialFeatures(),
    RBFNetwork(n_features=15, random_state=0),
    RBFNetwork("laplace", n_features=15, landmarks="kmeans", random_state=0),
    HiddenUnits("multiquadric", n_units=(20, 30), random_state=0),
    SemiRandomFeatures(n_units=40, random_state=0),
    NystroemFeatures(n_features=15, landmarks="leverage", random_state=0),
    NystroemFeatures(n_features=15, landmarks="randomly_pivoted", random_state=0),
]
each = pytest.mark.parametrize("transformer", MAPS, ids=lambda one: type(one).__name__)


# The others derive from the same base; the features of this one are sparse.
@parametrize_with_checks([RandomBinning(n_grids=30, random_state=0)])
def test_scikit_learns_contract_holds(estimator, check):
    check(estimator)


def dense(Z):
    return Z.toarray() if scipy.sparse.issparse(Z) else Z


@each
def test_the_same_seed_makes_the_same_features(transformer):
    X = sample(100, 3)
    first = dense(clone(transformer).fit_transform(X))
    assert np.array_equal(dense(clone(transformer).fit(X).transform(X)), first)
    if not isinstance(transformer, PolynomialFeatures):
        assert not np.array_equal(dense(clone(transformer).set_params(random_state=1).fit_transform(X)), first)


@each
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_points_have_the_features_of_dense_ones_in_their_precision(transformer, dtype):
    X = np.where(sample(100, 5) > 0, sample(100, 5), 0.0).astype(dtype)
    of_dense = dense(clone(transformer).fit(X).transform(X))
    rows = scipy.sparse.csr_array(X)
    of_sparse = dense(clone(transformer).fit(rows).transform(rows))
    assert of_dense.dtype == of_sparse.dtype == dtype
    assert np.abs(of_dense - of_sparse).max() < 1e-5 * np.abs(of_dense).max()


@each
def test_each_stands_before_a_linear_model(transformer):
    X = sample(300, 2)
    y = X[:, 0] * X[:, 1] > 0
    solver = "sparse_cg" if isinstance(transformer, RandomBinning) else "auto"
    model = make_pipeline(clone(transformer), RidgeClassifier(0.01, solver=solver)).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.8  # a half by chance, which no linear model of the inputs beats


@pytest.mark.parametrize(
    ("transformer", "kernel"),
    [
        (Fastfood(bandwidth=1.5, n_features=20_000, random_state=0), "gaussian"),
        (Fastfood("laplace", bandwidth=1.5, n_features=20_000, random_state=0), "laplace"),
        (QuasiMonteCarloFeatures(bandwidth=1.5, n_features=20_000, random_state=0), "gaussian"),
    ],
)
def test_inner_products_tend_to_the_kernel(transformer, kernel):
    X = sample(60, 3) + 100.0  # far from the origin, which changes nothing
    made = transformer.fit_transform(X)
    # A mean of 10,000 terms of at most 1, with the larger variance of blocks that depend on each other.
    assert np.abs(made @ made.T - naive_kernel(kernel, 1.5, X, X)).max() < 6 * 0.01


def test_inner_products_of_binning_tend_to_the_laplacian_kernel():
    X = sample(60, 3) + 100.0
    Z = RandomBinning(bandwidth=1.5, n_grids=4000, random_state=0).fit_transform(X)
    assert scipy.sparse.issparse(Z)
    # A deviation of at most 0.5/√4000, and 1/4096 of cells that share a column.
    assert np.abs((Z @ Z.T).toarray() - kernels.LaplaceProduct(1.5)(X, X)).max() < 4.5 * 0.5 / np.sqrt(4000) + 1e-3


def test_sparse_rows_of_many_inputs_have_few_monomials():
    X = scipy.sparse.random_array((50, 5000), density=1e-3, rng=np.random.default_rng(0), format="csr")
    model = PolynomialFeatures(degree=2, offset=0.5).fit(X)
    Z = model.transform(X)
    assert Z.shape == (50, 12_507_501)
    # Of a row with r values that are not zero there are binomial(r + 2, 2).
    counts = np.diff(X.indptr)
    assert Z.nnz == ((counts + 2) * (counts + 1) // 2).sum()
    K = ((X @ X.T).toarray() + 0.5) ** 2
    assert np.abs((Z @ Z.T).toarray() - K).max() < 1e-12 * K.max()


def test_centres_are_training_points_or_means():
    X = sample(200, 3) + 7.0
    for centres in ("sample", "kmeans"):
        model = RBFNetwork(bandwidth=1.0, n_features=5, landmarks=centres, random_state=0).fit(X)
        points = model.feature_map_.centers + X.mean(axis=0)
        assert np.abs(model.transform(X) - naive_kernel("gaussian", 1.0, X, points)).max() < 1e-6
        near = (np.abs(X[:, None] - points[None]).max(axis=2) < 1e-9).any(axis=0)
        assert near.all() if centres == "sample" else not near.any()


def test_impossible_parameters_are_refused_with_what_can():
    X = sample(30, 3)
    refusals = [
        (Fastfood("laplace_product"), "of ‖x − z‖₂ alone"),
        (Fastfood(form="tan"), "Known: cosine, pair"),
        (QuasiMonteCarloFeatures("polynomial"), "spectral draws"),
        (RandomBinning(n_bins=100), "power of two"),
        (RandomBinning(n_grids=0), "n_grids must be a whole number of at least 1, got 0"),
        (TensorSketch(degree=0), "degree must be a whole number"),
        (RBFNetwork(landmarks="random"), "Known: kmeans, sample"),
        (HiddenUnits("relu"), "Known: cosine, gaussian, hard_limit"),
        (HiddenUnits(n_units=(20, 0)), "n_units must be a whole number of at least 1, or several"),
        (SemiRandomFeatures(order=3), "order must be 0, 1 or 2"),
    ]
    for model, message in refusals:
        with pytest.raises((ShallowsError, UnknownNameError), match=message):
            model.fit(X)
    with pytest.raises(ShallowsError, match="too many to be written out"):
        PolynomialFeatures(degree=3, scale=1e-3).fit(sample(30, 3000))


def test_all_are_names_of_the_package():
    for transformer in MAPS:
        assert getattr(shallows.estimators, type(transformer).__name__) is type(transformer)
