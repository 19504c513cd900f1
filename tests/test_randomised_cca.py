"""CCA on explicit features, against scikit-learn's and against its own definition."""

import numpy as np
import pytest
from sklearn.cross_decomposition import CCA

from component_example import exact_correlations
from shallows_papers.baselines.kernel_cca_search import KernelCCASearch
from shallows_papers.baselines.randomised_cca import RIDGES, RandomisedCCA, total_correlation
from test_two_view_estimators import two_views


def linear_views(n=400):
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(n, 2))
    return np.hstack([shared, rng.normal(size=(n, 2))]), shared @ [[1, 2], [0, 1]] + 0.5 * rng.normal(size=(n, 2))


def test_on_the_inputs_it_is_linear_cca():
    x, y = linear_views()
    model = RandomisedCCA(2, features="linear", ridge=0.0).fit(x, y)
    theirs = [
        np.corrcoef(u, v)[0, 1] for u, v in zip(*(one.T for one in CCA(2).fit(x, y).transform(x, y)), strict=True)
    ]
    assert np.abs(model.correlations_ - theirs).max() < 1e-4
    assert np.abs(model.correlations_ - exact_correlations(x - x.mean(0), y - y.mean(0), 2)).max() < 1e-8


@pytest.mark.parametrize("features", ["fourier", "nystroem"])
def test_on_features_it_finds_correlations_that_bend_and_chooses_its_ridge_on_examples_held_out(features):
    (x, y), new = two_views(1000), two_views(500, seed=6)
    model = RandomisedCCA(2, features=features, n_features=200).fit(x, y)
    u, v = model.transform(*new)
    assert np.diag(np.corrcoef(u.T, v.T)[:2, 2:]).min() > 0.9
    assert model.ridge_ in RIDGES[3:]  # A tenth of the trace would leave little of the correlations.
    assert np.array_equal(model.transform(new[0]), u)


def test_the_search_takes_the_ridge_that_is_best_on_examples_held_out():
    (x, y), new = two_views(600), two_views(400, seed=6)
    model = KernelCCASearch(2, ridges=(1e-3, 1e6), max_features=256, block_size=32, n_iter=20).fit(x, y)
    assert model.report_["ridge"] == 1e-3
    assert model.scores_[1e-3, 0.02] > model.scores_[1e6, 0.02]
    assert total_correlation(*model.transform(*new)) > 1.6
    same = model.best_estimator_
    assert np.array_equal(model.dual_coef_, same.dual_coef_)
    # The best is fitted on all examples, not on those four fifths.
    assert same.n_features_in_ == x.shape[1] and same.batch_size_ > 0


def test_directions_in_which_a_projection_does_not_vary_have_no_correlation():
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(40, 2)), rng.normal(size=(40, 3))
    expected = total_correlation(u, v)
    constant, zero = np.full((40, 1), 0.1), np.zeros((40, 1))
    for more in (u[:, :1], 3.0 * u @ [[1.0], [2.0]], constant, zero):
        assert total_correlation(np.hstack([u, more]), v) == pytest.approx(expected, rel=1e-9)
        assert total_correlation(v, np.hstack([more, u])) == pytest.approx(expected, rel=1e-9)
    assert total_correlation(zero, v) == 0.0
    assert total_correlation(np.full((41, 1), 0.1), np.full((41, 1), 0.3)) == 0.0
