"""Feature maps as transformers: the contract, the kernel that they approximate, and what makes them again."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from engine_example import naive_kernel, sample
from shallows import Options, arrays, kernels
from shallows.estimators.feature_maps.specification import TRANSFORMERS
from shallows.kernel_approximation import (
    Fastfood,
    FourierFeatures,
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
    FourierFeatures(n_features=64, random_state=0),
    FourierFeatures("laplace", n_features=7, form="cosine", random_state=0),
    FourierFeatures(n_features=64, orthogonal=True, random_state=0),
    NystroemFeatures(n_features=20, random_state=0),
    NystroemFeatures("polynomial", n_features=20, landmarks="kmeans", random_state=0),
    NystroemFeatures(n_features=15, landmarks="leverage", random_state=0),
    NystroemFeatures(n_features=15, landmarks="randomly_pivoted", random_state=0),
    Fastfood(n_features=64, random_state=0),
    QuasiMonteCarloFeatures(n_features=64, form="cosine", random_state=0),
    RandomBinning(n_grids=30, random_state=0),
    TensorSketch(n_features=50, random_state=0),
    PolynomialFeatures(),
    RBFNetwork("laplace", n_features=15, landmarks="kmeans", random_state=0),
    HiddenUnits("multiquadric", n_units=(20, 30), random_state=0),
    SemiRandomFeatures(n_units=40, random_state=0),
]
# A further transformer is tested with its defaults, without an entry above.
MAPS += [
    made(random_state=0) for made in TRANSFORMERS.values() if isinstance(made, type) and made not in map(type, MAPS)
]
each = pytest.mark.parametrize("transformer", MAPS, ids=lambda one: type(one).__name__)


# The others derive from the same base; the features of binning are sparse.
@parametrize_with_checks([FourierFeatures(), NystroemFeatures(), RandomBinning(n_grids=30, random_state=0)])
def test_scikit_learns_contract_holds(estimator, check):
    check(estimator)


def dense(Z):
    return Z.toarray() if scipy.sparse.issparse(Z) else Z


# ------------------------------------------------------------------------------------------ what they are


@pytest.mark.parametrize(
    "transformer",
    [
        FourierFeatures("cauchy", form="cosine"),
        Fastfood("laplace"),
        QuasiMonteCarloFeatures("gaussian"),
        RandomBinning(n_grids=4000),
    ],
    ids=lambda one: type(one).__name__,
)
def test_inner_products_tend_to_the_kernel(transformer):
    X = sample(60, 3) + 100.0  # a large offset changes nothing
    model = clone(transformer).set_params(bandwidth=1.5, random_state=0)
    if "n_features" in model.get_params():
        model.set_params(n_features=20_000)
    Z = model.fit_transform(X)
    kernel = kernels.LaplaceProduct(1.5) if isinstance(model, RandomBinning) else kernels.make(model.kernel, 1.5)
    # Every product is a mean of 4,000 to 20,000 terms of at most 1 or 2, which may depend on each other.
    assert np.abs(dense(Z @ Z.T) - kernel(X, X)).max() < 0.06


def test_sparse_rows_of_many_inputs_have_few_monomials():
    X = scipy.sparse.random_array((50, 5000), density=1e-3, rng=np.random.default_rng(0), format="csr")
    Z = PolynomialFeatures(degree=2, offset=0.5).fit_transform(X)
    assert Z.shape == (50, 12_507_501)
    # Of a row with r values that are not zero there are binomial(r + 2, 2).
    counts = np.diff(X.indptr)
    assert Z.nnz == ((counts + 2) * (counts + 1) // 2).sum()


def test_inner_products_of_nystroem_features_are_the_kernel_at_the_landmarks():
    X = sample(200, 3) - 50.0
    model = NystroemFeatures(bandwidth=1.5, n_features=40, random_state=0).fit(X)
    products = model.transform(X) @ model.transform(model.landmarks_).T
    # Directions below 40 ε of the largest are left out, so what is lost is about their root.
    assert np.abs(products - naive_kernel("gaussian", 1.5, X, model.landmarks_)).max() < 1e-6
    assert all((np.abs(X - z).max(axis=1) < 1e-12).any() for z in model.landmarks_)


# ----------------------------------------------------------------------------------- how they are used


@each
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_points_have_the_features_of_dense_ones_in_their_precision(transformer, dtype):
    X = np.where(sample(100, 5) > 0, sample(100, 5), 0.0).astype(dtype)
    of_dense, rows = dense(clone(transformer).fit(X).transform(X)), scipy.sparse.csr_array(X)
    of_sparse = dense(clone(transformer).fit(rows).transform(rows))
    assert of_dense.dtype == of_sparse.dtype == dtype
    assert np.abs(of_dense - of_sparse).max() < 1e-5 * np.abs(of_dense).max()


# ------------------------------------------------------------------------------------------- refusals


@pytest.mark.gpu
@each
def test_a_gpu_makes_the_features_of_the_cpu(transformer):
    if not arrays.gpu_is_available():
        pytest.skip("no GPU")
    X = sample(100, 3)
    options = (Options(device="cpu"), Options(device="gpu"))
    here, there = (clone(transformer).set_params(options=one).fit(X).transform(X) for one in options)
    assert isinstance(there, np.ndarray)
    # Eigenvectors may differ by their signs; the products of the features do not.
    assert np.abs(here @ here.T - there @ there.T).max() < 1e-6
