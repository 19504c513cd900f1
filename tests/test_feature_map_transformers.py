"""Feature maps as transformers: the contract, the kernel that they approximate, and what makes them again."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from engine_example import naive_kernel, sample
from estimators_example import table
from feature_forms import feature_eigenpro_regressor
from forms import kernel_sgd_classifier, ridge
from shallows import KernelRidgeRegressor, Options, arrays, kernels
from shallows.errors import ShallowsError, UnknownNameError
from shallows.kernel_approximation import FourierFeatures, NystroemFeatures

MAPS = [
    FourierFeatures(n_features=64, random_state=0),
    FourierFeatures("laplace", n_features=7, form="cosine", random_state=0),
    FourierFeatures(n_features=64, orthogonal=True, random_state=0),
    NystroemFeatures(n_features=20, random_state=0),
    NystroemFeatures("polynomial", n_features=20, landmarks="kmeans", random_state=0),
]
each = pytest.mark.parametrize("transformer", MAPS, ids=lambda one: f"{type(one).__name__} {one.kernel}")


@parametrize_with_checks([FourierFeatures(), NystroemFeatures()])
def test_scikit_learns_contract_holds(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------------------ what they are


@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "cauchy"])
@pytest.mark.parametrize("form", ["pair", "cosine"])
def test_inner_products_of_fourier_features_tend_to_the_kernel(kernel, form):
    X = sample(60, 3) + 100.0  # far from the origin, which changes nothing
    made = FourierFeatures(kernel, bandwidth=1.5, n_features=20_000, form=form, random_state=0).fit_transform(X)
    # Every product is a mean of 10,000 or 20,000 terms of at most 1 or 2: deviation √(1/10,000), and 1,800 pairs.
    assert np.abs(made @ made.T - naive_kernel(kernel, 1.5, X, X)).max() < 5 * 0.01


def test_inner_products_of_nystroem_features_are_the_kernel_at_the_landmarks():
    X = sample(200, 3) - 50.0
    model = NystroemFeatures(bandwidth=1.5, n_features=40, random_state=0).fit(X)
    products = model.transform(X) @ model.transform(model.landmarks_).T
    # Directions below 40 ε of the largest are left out, so what is lost is about their root.
    assert np.abs(products - naive_kernel("gaussian", 1.5, X, model.landmarks_)).max() < 1e-6
    assert all((np.abs(X - z).max(axis=1) < 1e-12).any() for z in model.landmarks_)


@each
def test_the_bandwidth_is_the_median_rule_unless_one_is_given(transformer):
    X = sample(100, 3)
    named, left_out = (clone(transformer).set_params(bandwidth=given).fit(X) for given in ("median", "auto"))
    assert np.array_equal(named.transform(X), left_out.transform(X))
    expected = None if transformer.kernel == "polynomial" else kernels.median_bandwidth(X)
    assert left_out.bandwidth_ == (expected and pytest.approx(expected, rel=1e-12))
    with pytest.raises(ShallowsError, match="bandwidth must be a positive number"):
        clone(transformer).set_params(bandwidth="wide").fit(X)


def test_landmarks_of_k_means_are_no_training_points():
    X = sample(200, 3)
    means = NystroemFeatures(landmarks="kmeans", n_features=5, random_state=0).fit(X).landmarks_
    assert means.shape == (5, 3)
    assert not any((np.abs(X - z).max(axis=1) < 1e-6).any() for z in means)


@pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")
def test_a_seed_makes_the_map_that_it_makes_in_an_estimator():
    X, y, new = table(feature_eigenpro_regressor)
    options = {"bandwidth": 2.0, "n_features": 30, "random_state": 4}
    model = feature_eigenpro_regressor("fourier", max_epochs=1, **options).fit(X, y)
    features = FourierFeatures(**options).fit(X).transform(new)
    expected = (features @ model.coef_.T)[:, 0] * model._targets.scale + model.intercept_
    assert np.abs(model.predict(new) - expected).max() < 1e-12


def test_a_kernel_function_and_a_kernel_object_have_landmarks():
    X = sample(100, 3) + 3.0
    of_function = NystroemFeatures(cosine_similarity, n_features=15, random_state=0).fit_transform(X)
    assert np.abs(of_function @ of_function.T - cosine_similarity(X)).max() < 1e-6  # of rank 3
    named = NystroemFeatures("cauchy", bandwidth=1.2, n_features=15, random_state=0).fit_transform(X)
    as_object = NystroemFeatures(kernels.Cauchy(1.2), n_features=15, random_state=0).fit_transform(X)
    assert np.array_equal(named, as_object)


@pytest.mark.parametrize(("asked", "made"), [(10, 10), (11, 12), (2500, 2500)])
def test_cosines_and_sines_come_in_pairs(asked, made):
    X = sample(20, 3)
    assert FourierFeatures(n_features=asked, random_state=0).fit_transform(X).shape == (20, made)


# ----------------------------------------------------------------------------------- how they are used


@each
def test_the_same_seed_makes_the_same_features_and_another_makes_others(transformer):
    X = sample(100, 3)
    first = transformer.fit_transform(X)
    assert np.array_equal(clone(transformer).fit(X).transform(X), first)
    assert not np.array_equal(clone(transformer).set_params(random_state=1).fit_transform(X), first)


@each
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_points_have_the_features_of_dense_ones_in_their_precision(transformer, dtype):
    X = np.where(sample(100, 5) > 0, sample(100, 5), 0.0).astype(dtype)
    dense = clone(transformer).fit(X).transform(X)
    sparse = clone(transformer).fit(scipy.sparse.csr_array(X)).transform(scipy.sparse.csr_array(X))
    assert dense.dtype == sparse.dtype == dtype
    assert np.array_equal(dense, sparse)


@each
def test_columns_have_names_and_come_as_a_table(transformer):
    X = sample(30, 3)
    made = clone(transformer).set_output(transform="pandas").fit(X).transform(X)
    names = transformer.fit(X).get_feature_names_out()
    assert list(made.columns) == list(names)
    assert names[0] == f"{type(transformer).__name__.lower()}0"
    assert len(names) == transformer.transform(X).shape[1]


def test_ridge_regression_on_nystroem_features_of_all_points_is_kernel_ridge_regression():
    X, y, new = table(KernelRidgeRegressor)
    options = {"bandwidth": 1.0, "random_state": 0}
    y = y - y.mean()
    pipeline = make_pipeline(NystroemFeatures(n_features=len(X), **options), Ridge(0.1, fit_intercept=False))
    exact = ridge(KernelRidgeRegressor, alpha=0.1, **options).fit(X, y)
    assert np.abs(pipeline.fit(X, y).predict(new) - exact.predict(new)).max() < 1e-6


@pytest.mark.parametrize(
    "transformer", [FourierFeatures(n_features=300, random_state=0), NystroemFeatures(random_state=0)]
)
def test_a_grid_search_chooses_the_bandwidth_in_a_pipeline(transformer):
    X, y, _ = table(kernel_sgd_classifier, 300)
    name = type(transformer).__name__.lower()
    search = GridSearchCV(
        make_pipeline(transformer, RidgeClassifier()), {f"{name}__bandwidth": [1e-3, 1.0, 1e4]}, cv=3
    ).fit(X, y)
    assert search.best_params_ == {f"{name}__bandwidth": 1.0}
    assert search.best_score_ > 0.75  # a third by chance


def test_a_fitted_map_of_fourier_features_is_kept_without_its_frequencies():
    X = sample(100, 400)
    model = FourierFeatures(n_features=4000, random_state=0).fit(X)
    before = model.transform(X)
    kept = pickle.dumps(model)
    assert len(kept) < 400 * 8 + 400 + 5000  # mean and constant features; the frequencies would take 6.4 million
    assert np.array_equal(pickle.loads(kept).transform(X), before)


@each
def test_points_in_batches_have_the_same_features(transformer, monkeypatch):
    X = sample(200, 3)
    whole = transformer.fit(X).transform(X)
    monkeypatch.setattr("shallows.estimators.feature_maps.base.STRIP_BYTES", 64 * 8 * 7)
    # A product of fewer rows may round otherwise.
    assert np.abs(transformer.transform(X) - whole).max() < 1e-10


# ------------------------------------------------------------------------------------------- refusals


def test_impossible_parameters_are_refused_with_what_can():
    X = sample(30, 3)
    with pytest.raises(ShallowsError, match="or NystroemFeatures"):
        FourierFeatures("polynomial").fit(X)
    with pytest.raises(UnknownNameError, match="Known: pair"):
        FourierFeatures(form="cosine", orthogonal=True).fit(X)
    with pytest.raises(UnknownNameError, match=r"Known: kmeans, leverage, pivoted, randomly_pivoted, sample"):
        NystroemFeatures(landmarks="random").fit(X)
    with pytest.raises(ShallowsError, match="n_features must be a whole number of at least 1, got 0"):
        NystroemFeatures(n_features=0).fit(X)
    with pytest.raises(ShallowsError, match=r"dtype=.?float64"):
        FourierFeatures(options=Options(dtype="float32")).fit(X).transform(X * 1e300)


@each
def test_a_fit_that_failed_leaves_the_map_before_it(transformer):
    X = sample(30, 3)
    model = clone(transformer).fit(X)
    before = model.transform(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((30, 2), np.nan))
    assert np.array_equal(model.transform(X), before)


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
