"""Feature maps: as a parameter of an estimator, and as transformers."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from engine_example import naive_kernel, sample
from shallows import FeatureRidgeRegressor, Options, arrays, features, kernels
from shallows.errors import ShallowsError, UnknownNameError
from shallows.estimators.feature_maps.specification import (
    TRANSFORMERS,
    MapRequest,
    check,
    map_request,
    transformer_of,
)
from shallows.kernel_approximation import (
    ExtremeLearningMachineAutoencoder,
    Fastfood,
    FourierFeatures,
    HiddenUnits,
    NystroemFeatures,
    PolynomialFeatures,
    QuasiMonteCarloFeatures,
    RandomBinning,
    RBFNetwork,
    SemiRandomFeatures,
    SparseRandomFeatures,
    TensorSketch,
)
from shallows.kernels import Gaussian, Laplace, Matern

X = np.random.default_rng(0).normal(size=(80, 3))


def test_every_map_has_a_transformer_of_the_same_name():
    assert {*features.FEATURE_MAPS} == {*TRANSFORMERS, "linear"}, (
        "Each name in FEATURE_MAPS (shallows/features/__init__.py) has a transformer of the same name in TRANSFORMERS "
        "(shallows/estimators/feature_maps/specification.py), see docs/extending.md."
    )
    for name in TRANSFORMERS:
        assert TRANSFORMERS[name]()._map_name == name
        assert map_request(name, "Machine") == map_request(TRANSFORMERS[name](), "Machine")


@pytest.mark.parametrize(
    "transformer",
    [
        FourierFeatures("laplace", n_features=30, bandwidth=1.5, form="cosine"),
        FourierFeatures(Matern(nu=2.5), n_features=30, bandwidth=1.5, orthogonal=True),
        Fastfood(n_features=30, bandwidth=1.5, form="cosine"),
        RandomBinning(bandwidth=2.0, n_grids=3, n_bins=8),
        HiddenUnits("tanh", n_units=12, bandwidth=1.5),
        SemiRandomFeatures(n_units=5, order=1, bandwidth=1.5),
        TensorSketch(degree=3, scale=0.5, n_features=16),
        PolynomialFeatures(degree=3, offset=0.5),
    ],
    ids=lambda transformer: type(transformer).__name__,
)
def test_the_map_of_a_request_is_that_of_the_transformer(transformer):
    x = X - X.mean(axis=0)
    request = map_request(transformer, "Machine")
    given = request.kernel, x, request.n_features or 1000, 7, 2**28
    blocks = features.in_blocks(request.features, *given, parameters=request.parameters)
    made, expected = blocks.map(x), transformer_of(transformer, 7).fit(x).feature_map_.map(x)
    assert made.shape == expected.shape and abs(made - expected).max() == 0.0


def test_a_transformer_of_an_estimator_is_a_copy_with_its_seed_and_options():
    given = FourierFeatures(n_features=20)
    made = transformer_of(given, 5, Options(dtype="float32"))
    assert made is not given and made.random_state == 5 and given.random_state is None
    assert made.fit(X).transform(X).dtype == np.float32
    assert transformer_of("orthogonal").orthogonal and transformer_of("nystrom_kmeans").landmarks == "kmeans"
    assert transformer_of("polynomial", 5).fit(X).transform(X).shape == (80, 10)


def test_kernel_and_bandwidth_of_an_estimator_are_for_named_maps():
    request = map_request("nystrom", "Machine", kernel=Matern(nu=0.5), bandwidth=3.0)
    assert request == MapRequest("nystrom", Matern(3.0, 0.5), False, near_kernel=True)
    assert map_request(None, "Machine", kernel="laplace") == MapRequest(None, Laplace(), True)
    with pytest.raises(ShallowsError, match=r"bandwidth=3.0 of Machine would be ignored. Give only one"):
        map_request(NystroemFeatures(bandwidth=2.0), "Machine", bandwidth=3.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("furier", "Did you mean 'fourier'"),
        (FourierFeatures, r"is a class. Give an object: FourierFeatures\(\)"),
        (7, r"map\(x\) and a number n_features; got int"),
        (FourierFeatures(form="triple"), "triple"),
        (FourierFeatures(bandwidth=-1.0), "bandwidth must be a positive number, 'auto' or 'median', got -1.0"),
        (SparseRandomFeatures(), "Machine cannot train on SparseRandomFeatures.*pipeline"),
        (ExtremeLearningMachineAutoencoder(), "Machine cannot train on ExtremeLearningMachineAutoencoder"),
    ],
)
def test_what_is_no_feature_map_is_refused(given, message):
    with pytest.raises((ShallowsError, UnknownNameError), match=message):
        map_request(given, "Machine")


def test_maps_of_the_user_are_for_estimators_that_train_on_maps():
    own = features.LinearMap(3)
    assert map_request(own, "Machine") == MapRequest(own, Gaussian(), True)
    for given in (own, "linear"):
        check(given, "Machine", own_maps=True)
        with pytest.raises(ShallowsError, match=r"feature map|must be a name"):
            check(given, "Machine")


def test_a_request_says_which_maps_grow_and_which_are_near_their_kernel():
    of_landmarks = {name for name in TRANSFORMERS if name.startswith("nystrom")}
    requests = {name: map_request(name, "Machine") for name in TRANSFORMERS}
    fourier = {"fourier", "fourier_cosine", "orthogonal"}
    assert {name for name, one in requests.items() if one.near_kernel} == fourier | of_landmarks
    assert {name for name, one in requests.items() if one.grows} == fourier | {"quasi_monte_carlo"}


@pytest.mark.parametrize(("name", "n"), [("quasi_monte_carlo", 1040), ("fourier", 1040), ("fastfood", 1000)])
def test_more_rows_get_more_features_of_a_map_that_grows(name, n):
    x = np.random.default_rng(1).normal(size=(2704, 2))
    model = (
        FeatureRidgeRegressor(name, alpha=1.0, n_components=None, random_state=0)
        .set_params(features__bandwidth=1.0)
        .fit(x, x[:, 0])
    )
    assert model.report_["n_features"] == n  # 20 times the root of the rows


def test_eigenvalues_of_kernel_values_as_features_are_followed_farther_down():
    made = features.make("rbf", Gaussian(1.5), X, 60)
    same = SimpleNamespace(n_features=made.n_features, map=made.map)
    ranks = [
        FeatureRidgeRegressor(one, solver="feature_eigenpro", random_state=0).fit(X, np.sin(X[:, 0])).report_["rank"]
        for one in (made, same)
    ]
    assert ranks[0] > ranks[1]


# Feature maps as transformers: the kernel that they approximate, and what makes them again.

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
