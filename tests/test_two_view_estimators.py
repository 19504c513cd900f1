"""Kernel SVD, kernel CCA and kernel sliced inverse regression, as users meet them."""

import itertools

import numpy as np
import pytest
from sklearn.cross_decomposition import CCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from component_example import sine_squared
from flat import flat
from shallows.decomposition import DoublyStochasticKernelCCA, DoublyStochasticKernelSVD, KernelSlicedInverseRegression
from shallows.errors import ShallowsError
from shallows.solvers.components.kernel_cca import TwoViewCCAStepper
from shallows.training import Curve

PAIRS = [DoublyStochasticKernelSVD, DoublyStochasticKernelCCA]
ALL = [*PAIRS, KernelSlicedInverseRegression]


def two_views(n=400, seed=5):
    """Views whose common part is bent in one of them, so that no linear function shows it."""
    rng = np.random.default_rng(seed)
    shared = rng.uniform(-1, 1, size=(n, 2))
    x = np.concatenate([shared + 0.05 * rng.normal(size=(n, 2)), 0.3 * rng.normal(size=(n, 1))], axis=1)
    y = np.column_stack([shared[:, 0] ** 2, np.cos(3 * shared[:, 1])]) + 0.05 * rng.normal(size=(n, 2))
    return x, y


def brief(Estimator, **options):
    return flat(Estimator, **{"n_components": 2, "n_iter": 20, "max_features": 512, "random_state": 0} | options)


def test_kernel_svd_gives_the_singular_functions_of_the_exact_one():
    x, y = two_views(500)
    options = {"block_size": 512, "max_features": 8192, "n_iter": 80, "center": True}
    model = brief(DoublyStochasticKernelSVD, bandwidth=1.0, second_bandwidth=0.7, **options).fit(x, y)
    J = np.eye(500) - 1 / 500
    K, L = (J @ np.exp(-((z[:, None] - z[None]) ** 2).sum(axis=2) / (2 * s**2)) @ J for z, s in ((x, 1.0), (y, 0.7)))
    values, vectors = np.linalg.eig(K @ L / 500**2)
    order = np.argsort(-values.real)[:2]
    assert np.abs(model.singular_values_ / np.sqrt(values.real[order]) - 1).max() < 0.05
    u, v = model.transform(x, y)
    # At the points A A* f = σ² f says K L f = n² σ² f.
    assert sine_squared(vectors.real[:, order], u) < 0.02
    assert np.mean(u * v, axis=0) == pytest.approx(model.singular_values_, rel=0.05)


def test_kernel_cca_finds_correlations_that_linear_cca_does_not():
    (x, y), (new_x, new_y) = two_views(1000), two_views(500, seed=6)
    model = brief(DoublyStochasticKernelCCA, n_iter=40, ridge=1e-4).fit(x, y)
    u, v = model.transform(new_x, new_y)
    found = np.diag(np.corrcoef(u.T, v.T)[:2, 2:])
    assert found.min() > 0.9
    linear = CCA(2).fit(x, y)
    assert np.corrcoef(*[one[:, 0] for one in linear.transform(new_x, new_y)])[0, 1] < 0.5
    assert np.abs(model.correlations_ - found).max() < 0.1
    assert (np.diff(model.correlations_) <= 0).all()
    # Canonical variables of the training part have unit variance and are not correlated with each other.
    u, v = model.transform(x, y)
    for one in (u, v):
        assert np.abs(np.cov(one.T) - np.eye(2)).max() < 0.01
    assert np.array_equal(model.transform(x), u)


def test_the_printed_rule_is_algorithm_4_without_a_guard(Estimator=DoublyStochasticKernelCCA):
    # That the steps of this solver are those of the algorithm is shown in test_two_view_solvers.
    x, y = two_views(500)
    options = {"method": "printed", "ridge": 0.0, "step_size": 3.0, "decrease": 0.001, "n_iter": 4, "block_size": 8}
    model = brief(Estimator, **options, max_features=16).fit(x, y)
    assert model._stream.model.plan.stepper == TwoViewCCAStepper(
        3.0, 0.001, 0.0, newton=False, guarded=False, max_blocks=2, seed=0
    )
    with pytest.raises(ShallowsError, match="method must be one of 'newton', 'gradient', 'printed', got 'plain'"):
        brief(Estimator, method="plain").fit(x, y)


def test_sliced_inverse_regression_keeps_what_matters_for_the_targets():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(900, 5))
    target = np.sin(3 * x[:, 0]) + x[:, 1] ** 2
    y = np.column_stack([target, 100 * np.exp(target)]) + 0.01 * rng.normal(size=(900, 2))
    reducer = brief(KernelSlicedInverseRegression, n_iter=40, max_features=1024, ridge=1e-5)
    model = make_pipeline(reducer, LinearRegression()).fit(x[:600], y[:600])
    assert model.score(x[600:], y[600:]) > 0.88
    assert LinearRegression().fit(x[:600], y[:600]).score(x[600:], y[600:]) < 0.6


# ------------------------------------------------------------------------------------------------------ streams


def endless(seed=0, spoilt=None, labels=False):
    for i in itertools.count():
        x, y = two_views(200, seed + i)
        if i == spoilt:
            y[3, 1] = np.nan
        yield x, (y[:, 0] > 0.3).astype(int) if labels else y


@pytest.fixture(autouse=True)
def a_short_beginning(monkeypatch):
    """Two batches are enough to go on by steps."""
    monkeypatch.setattr("shallows.fitting.stream_training.FIRST_ROWS", 400)


@pytest.mark.parametrize("Estimator", ALL)
def test_a_stream_of_pairs_begins_as_a_fit_and_goes_on_batch_by_batch(Estimator):
    first = [np.concatenate(parts) for parts in zip(*itertools.islice(endless(), 2), strict=True)]
    model, fitted = brief(Estimator), brief(Estimator, batch_size=200).fit(*first)
    model.set_params(solver__batch_size=200).partial_fit(endless(), n_iter=2)
    assert np.array_equal(model.transform(first[0]), fitted.transform(first[0]))
    model.partial_fit(endless(seed=2), n_iter=3)
    assert model.n_iter_ == fitted.n_iter_ + 3
    whole = brief(Estimator, batch_size=200).partial_fit(endless(), n_iter=5)
    assert np.array_equal(model.transform(first[0]), whole.transform(first[0]))


@pytest.mark.parametrize("Estimator", ALL[::2])
def test_observers_see_the_functions_in_the_middle_of_the_training(Estimator):
    x, y = two_views()
    curve = Curve([1, 5], lambda s: {"columns": s.transform(x).shape[1]}, unit="iteration")
    brief(Estimator, n_iter=5).fit(x, y, observers=[curve])
    assert [row["columns"] for row in curve.rows] == [2, 2]


# --------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("Estimator", PAIRS)
def test_views_that_do_not_fit_are_refused(Estimator):
    x, y = two_views()
    with pytest.raises(NotFittedError):
        brief(Estimator).transform(x)
    model = brief(Estimator, n_iter=2).fit(x, y)
    for views, message in (
        ((x[:, :2],), r"X has 2 features, but .* is expecting 3"),
        ((x, y[:, :1]), "second view has 1 columns, and the model was begun with 2"),
        ((x, y[:10]), "400 and 10 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            model.transform(*views)
    with pytest.raises(ValueError, match="requires y to be passed"):
        brief(Estimator).fit(x, None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        brief(Estimator).fit(x, y[:-1])
    with pytest.raises(ValueError, match="X has 400 rows and y has 399"):
        brief(Estimator).partial_fit(x, y[:-1])
