"""CCA on explicit features, against scikit-learn's and against its own definition."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cross_decomposition import CCA

from component_example import exact_correlations
from shallows.errors import ShallowsError
from shallows.estimators.components.randomised_cca import RIDGES, RandomisedCCA
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


def test_unknown_features_are_refused():
    with pytest.raises(ShallowsError, match="features must be one of 'fourier', 'nystroem', 'linear'"):
        RandomisedCCA(features="wavelets").fit(*linear_views())
