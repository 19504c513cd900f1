"""Kernel PCA by doubly stochastic gradients, as users meet it."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning

from component_example import points, sine_squared
from flat import flat
from shallows.decomposition import (
    DoublyStochasticKernelCCA,
    DoublyStochasticKernelPCA,
    DoublyStochasticKernelSVD,
    FeatureKernelPCA,
    KernelSlicedInverseRegression,
)
from shallows.errors import DivergenceError, ShallowsError
from shallows.solvers import Oja
from shallows.training import Curve
from shallows_papers.baselines.randomised_cca import RandomisedCCA


def endless(size=200, seed=0, spoilt=None):
    """Batches without end; counts what was taken; one of them may hold a NaN."""
    for i in itertools.count():
        endless.taken = i + 1
        x = points(size, seed + i)
        if i == spoilt:
            x[3, 1] = np.nan
        yield x


def brief(**options):
    return flat(DoublyStochasticKernelPCA, bandwidth=2.0, random_state=0, n_iter=20, **options)


@pytest.mark.parametrize("method", ["subspace", "individual"])
@pytest.mark.parametrize("scaling", ["eigenvalues", None])
def test_the_components_are_those_of_scikit_learns_kernel_pca(method, scaling):
    x, new = points(500), points(300, seed=7)
    solver = Oja(method=method, scaling=scaling)
    model = DoublyStochasticKernelPCA(3, bandwidth=2.0, solver=solver, random_state=0).fit(x)
    exact = KernelPCA(3, kernel="rbf", gamma=1 / 8).fit(x)
    expected, found = exact.transform(new), model.transform(new)
    assert sine_squared(expected - expected.mean(axis=0), found - found.mean(axis=0)) < 3e-3
    assert np.abs(model.eigenvalues_ * len(x) / exact.eigenvalues_ - 1).max() < 0.05
    for ours, theirs in zip(found.T, expected.T, strict=True):
        assert abs(np.corrcoef(ours, theirs)[0, 1]) > 0.98
        assert np.std(ours) == pytest.approx(np.std(theirs), rel=0.05)


# ------------------------------------------------------------------------------------------------------ streams


@pytest.fixture
def a_short_beginning(monkeypatch):
    """So few rows are enough to continue by steps."""
    monkeypatch.setattr("shallows.fitting.stream_training.FIRST_ROWS", 600)


def test_a_stream_that_never_ends_gives_the_components_of_its_law(a_short_beginning):
    model = DoublyStochasticKernelPCA(2, bandwidth=2.0, random_state=0, solver=Oja(max_features=4096))
    model.partial_fit(endless(size=500), n_iter=60)
    assert endless.taken == 60
    exact = KernelPCA(2, kernel="rbf", gamma=1 / 8).fit(points(2000, seed=999)).transform(points(400, seed=998))
    found = model.transform(points(400, seed=998))
    assert sine_squared(exact - exact.mean(axis=0), found - found.mean(axis=0)) < 0.02
    assert 4000 < model.n_random_features_ <= 4096


def test_an_array_streams_in_slices_and_goes_on_where_it_was(a_short_beginning):
    x = points(1200)
    whole = brief(batch_size=300).partial_fit(x)
    parts = brief(batch_size=300)
    for rows in np.split(np.arange(1200), 4):
        parts.partial_fit(x[rows])
    assert whole.n_iter_ == parts.n_iter_ == 20 + 2
    assert np.array_equal(whole.transform(x), parts.transform(x))


def test_a_stream_that_ends_early_is_told_and_an_empty_one_refused():
    with pytest.warns(ConvergenceWarning, match="ended after 3 of the 10 batches"):
        brief().partial_fit(itertools.islice(endless(), 3), n_iter=10)
    with pytest.raises(ShallowsError, match="ended before its first batch"):
        brief().partial_fit(iter(()))


def test_observers_see_components_during_the_training():
    x = points(300)
    curve = Curve([1, 20], lambda s: {"shape": s.transform(x).shape[1], "n": s.n_random_features}, unit="iteration")
    brief(block_size=16).fit(x, observers=[curve])
    assert [row["shape"] for row in curve.rows] == [2, 2]
    assert curve.rows[0]["n"] < curve.rows[1]["n"]


# --------------------------------------------------------------------------------------- progress and checkpoints


# --------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value", "ignore:divide by zero")
def test_a_step_of_the_users_that_diverges_is_told_and_an_old_model_kept():
    model = brief().fit(points())
    before = model.transform(points())
    with pytest.raises(DivergenceError, match="step_size=1e\\+06"):
        model.set_params(solver__step_size=1e6, solver__scaling=None).fit(points())
    assert np.array_equal(model.transform(points()), before)


def largest_coefficients(model):
    """Of each component the coefficient that is largest in size, shape (k,)."""
    columns = model.coef_ if isinstance(model, RandomisedCCA) else model.dual_coef_
    columns = columns.reshape(-1, columns.shape[-1])
    return columns[np.abs(columns).argmax(axis=0), np.arange(columns.shape[1])]


SMALL, FEW = {"n_components": 3, "random_state": 0}, {"n_iter": 20, "max_features": 256}
SIGNED = {
    "kernel PCA": flat(DoublyStochasticKernelPCA, **FEW, **SMALL),
    "kernel PCA, individual": flat(DoublyStochasticKernelPCA, method="individual", **FEW, **SMALL),
    "kernel PCA on features": flat(FeatureKernelPCA, n_features=64, n_iter=20, **SMALL),
    "kernel PCA on landmarks": flat(FeatureKernelPCA, features="nystrom", n_features=64, n_iter=20, **SMALL),
    "kernel SVD": flat(DoublyStochasticKernelSVD, **FEW, **SMALL),
    "kernel CCA": flat(DoublyStochasticKernelCCA, **FEW, **SMALL),
    "sliced inverse regression": flat(KernelSlicedInverseRegression, **FEW, **SMALL),
    "CCA on features": RandomisedCCA(n_features=64, ridge=1e-3, **SMALL),
    "linear CCA": RandomisedCCA(features="linear", ridge=1e-3, **SMALL),
}


@pytest.mark.parametrize("name", SIGNED)
def test_the_largest_coefficient_of_a_component_is_positive_whatever_the_type_of_the_input(name):
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(300, 4)) * np.array([3.0, 2.0, 1.2, 0.7])
    first, second = (shared + 0.1 * rng.normal(size=(300, 4)) for _ in range(2))
    forms = [np.float64, np.float32, lambda x: np.asfortranarray(x.astype(">f8"))]
    fits = [clone(SIGNED[name]).fit(form(first), form(second)) for form in forms]
    for model in fits:
        assert (largest_coefficients(model) > 0).all()
    if name in ("kernel SVD", "kernel CCA", "CCA on features"):  # Both functions of a pair have one sign.
        left, right = fits[0].transform(first, second)
        assert ((left * right).mean(axis=0) > 0).all()
    values = [model.transform(first).astype(np.float64) for model in fits]
    for other in values[1:]:
        cosines = (values[0] * other).sum(axis=0) / np.linalg.norm(values[0], axis=0) / np.linalg.norm(other, axis=0)
        assert (cosines > 0.99).all()
