"""Sparse random features: the conditions of the minimum, the published steps by hand, and refusals."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import Lasso

from engine_example import sample
from shallows import features, kernels
from shallows.errors import ShallowsError
from shallows.estimators.feature_maps.sparse_random_features import sparse_weights
from shallows.kernel_approximation import FourierFeatures, SparseRandomFeatures


def waves(n=400, outputs=1):
    X = sample(n, 2)
    y = np.column_stack([np.sin(3.0 * X[:, 0]), np.cos(2.0 * X[:, 1] + X[:, 0])])
    return X, y[:, 0] if outputs == 1 else y


def standard(y):
    T = y.reshape(len(y), -1)
    return (T - T.mean(axis=0)) / T.std(axis=0)


@pytest.mark.parametrize("outputs", [1, 2])
def test_the_weights_fulfil_the_conditions_of_the_minimum(outputs):
    X, y = waves(outputs=outputs)
    model = SparseRandomFeatures(bandwidth=1.0, block_size=50, n_iter=4, random_state=0).fit(X, y)
    Z, W = model.transform(X), model.coef_.T
    pull = Z.T @ (standard(y) - Z @ W) / len(X)
    norms = np.linalg.norm(W, axis=1)
    assert 5 < len(W) < 200 and (norms > 0).all()
    # Every kept weight pulls with the strength λ in its own direction; to the duality gap.
    assert np.abs(pull - 0.01 * W / norms[:, None]).max() < 0.1 * 0.01


def test_one_step_is_the_lasso_on_a_block():
    X, y = waves()
    model = SparseRandomFeatures(bandwidth=1.0, block_size=60, n_iter=1, random_state=3).fit(X, y)
    Z = FourierFeatures(bandwidth=1.0, n_features=60, form="cosine", random_state=3).fit_transform(X) * np.sqrt(60 / 2)
    lasso = Lasso(0.01, fit_intercept=False, tol=1e-8, max_iter=10**5).fit(Z, standard(y)[:, 0])
    found = np.flatnonzero(lasso.coef_)
    assert np.abs(model.transform(X) - Z[:, found]).max() < 1e-12
    assert np.abs(model.coef_[0] - lasso.coef_[found]).max() < 1e-2 * np.abs(lasso.coef_).max()


def test_further_steps_are_those_of_the_paper():
    X, y = waves()
    model = SparseRandomFeatures(bandwidth=1.0, block_size=30, n_iter=3, random_state=1).fit(X, y)
    stream = features.FourierMap(kernels.Gaussian(1.0), 2, 30, 1, form="cosine")
    kept, losses = np.empty((len(X), 0)), []
    for step in range(3):
        kept = np.concatenate([kept, stream.block(step, X - X.mean(axis=0)) / np.sqrt(2)], axis=1)
        lasso = Lasso(0.01, fit_intercept=False, tol=1e-8, max_iter=10**5).fit(kept, standard(y)[:, 0])
        left = standard(y)[:, 0] - kept @ lasso.coef_
        losses.append(0.5 * np.mean(left**2) + 0.01 * np.abs(lasso.coef_).sum())
        kept = kept[:, lasso.coef_ != 0]
    assert losses[2] < losses[1] < losses[0]
    left = standard(y)[:, 0] - model.transform(X) @ model.coef_[0]
    loss = 0.5 * np.mean(left**2) + 0.01 * np.abs(model.coef_).sum()
    assert loss == pytest.approx(losses[2], rel=2e-3)  # steps before the last end early


def test_the_minimum_of_orthogonal_features_is_the_soft_threshold():
    M = np.array([[3.0, 4.0], [0.3, 0.0], [0.0, -2.0]])
    found = sparse_weights(np.eye(3), M, 1.0, np.zeros((3, 2)), 1000)
    assert np.abs(found - [[2.4, 3.2], [0.0, 0.0], [0.0, -1.0]]).max() < 1e-9


def test_labels_are_signs_and_sparse_rows_dense_ones():
    X, y = waves()
    X = np.where(X > 0, X, 0.0)
    options = {"bandwidth": 1.0, "n_iter": 2, "random_state": 0}
    found = SparseRandomFeatures(**options).fit(X, y > 0).transform(X)
    words = SparseRandomFeatures(**options).fit(X, np.where(y > 0, "yes", "no")).transform(X)
    numbers = SparseRandomFeatures(**options).fit(X, np.where(y > 0, 1.0, -1.0)).transform(X)
    rows = scipy.sparse.csr_array(X)
    of_sparse = SparseRandomFeatures(**options).fit(rows, y > 0).transform(rows)
    assert found.shape == words.shape == numbers.shape == of_sparse.shape
    assert max(np.abs(found - other).max() for other in (words, numbers, of_sparse)) < 1e-12


def test_impossible_parameters_are_refused_with_what_can():
    X, y = waves(60)
    refusals = [
        ({"regularization": 0.0}, "regularization must be a positive number, got 0.0"),
        ({"regularization": 10.0}, "No feature is worth regularization=10.0"),
        ({"block_size": 10**9}, "Steps with block_size=1,000,000,000"),
        ({"kernel": "polynomial"}, "has no"),
    ]
    for options, message in refusals:
        with pytest.raises(ShallowsError, match=message):
            SparseRandomFeatures(**options).fit(X, y)
    with pytest.raises(ValueError, match="requires y to be passed"):
        SparseRandomFeatures().fit(X, None)
    with pytest.raises(ValueError, match="no class label"):
        SparseRandomFeatures().fit(X, np.where(y > 0, np.nan, y))
