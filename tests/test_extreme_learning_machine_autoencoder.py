"""The autoencoder of extreme learning machines: its closed form, layers upon each other, and refusals."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import Lasso

from engine_example import sample
from shallows.features.given_units import orthogonal_units
from shallows.kernel_approximation import ExtremeLearningMachineAutoencoder
from shallows.solvers.least_squares.normal_equations import solve_with_l1


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def by_hand(X, model):
    """β by the formula, for the scaled points z, and these."""
    Z = (X - X.mean(axis=0)) * np.sqrt(X.shape[1]) / model.bandwidth_
    units = orthogonal_units("sigmoid", X.shape[1], model.n_units, 1.0, model.random_state)
    H = sigmoid(Z @ units.weights.T + units.offsets)
    return np.linalg.solve(H.T @ H + model.alpha * np.eye(H.shape[1]), H.T @ Z), Z


@pytest.mark.parametrize("n_units", [2, 7, 200], ids=["fewer than inputs", "more", "more than rows"])
def test_the_features_are_those_of_the_formula(n_units):
    X = sample(90, 3) * [1.0, 5.0, 0.2] + 4.0
    model = ExtremeLearningMachineAutoencoder(n_units=n_units, alpha=0.05, random_state=3).fit(X)
    beta, Z = by_hand(X, model)
    found = model.transform(X)
    assert np.abs(found - sigmoid(Z @ beta.T)).max() < 1e-9  # of systems with condition numbers up to 10⁵
    assert np.abs(model.transform(scipy.sparse.csr_array(X)) - found).max() < 1e-12


def test_the_minimum_with_an_absolute_penalty_is_the_soft_threshold_where_units_do_not_overlap():
    diagonal, moments = np.array([4.0, 1.0, 0.5]), np.array([[3.0, -1.0], [0.2, 5.0], [-0.4, 0.1]])
    found = solve_with_l1(np.diag(diagonal), moments, 0.3, 1e-12)
    exact = np.sign(moments) * np.maximum(np.abs(moments) - 0.3, 0.0) / diagonal[:, None]
    assert np.abs(found - exact).max() < 1e-11
    assert not solve_with_l1(np.zeros((3, 3)), np.zeros((3, 2)), 0.3).any()


def test_the_third_step_with_an_absolute_penalty_is_that_of_fista():
    # Without a penalty each coordinate has the error q = 1 - g/L after a step. The third step, the first with an
    # extrapolation, begins at B2 + m (B2 - B1), where m = (t - 1) / t' and t = (1 + sqrt(5)) / 2.
    diagonal, moments = np.array([4.0, 1.0, 0.5]), np.array([[3.0], [5.0], [0.1]])
    q, t = 1.0 - diagonal[:, None] / 4.0, (1.0 + np.sqrt(5.0)) / 2.0
    m = (t - 1.0) / ((1.0 + np.sqrt(1.0 + 4.0 * t**2)) / 2.0)
    exact = moments / diagonal[:, None] * (1.0 - q * (q**2 + m * (q**2 - q)))
    assert np.abs(solve_with_l1(np.diag(diagonal), moments, 0.0, most_steps=3) - exact).max() < 1e-14


def test_the_weights_with_an_absolute_penalty_fulfil_the_conditions_of_the_minimum():
    X = sample(90, 3) * [1.0, 5.0, 0.2] + 4.0
    model = ExtremeLearningMachineAutoencoder(n_units=7, penalty="l1", alpha=2.5, random_state=3).fit(X)
    scale = model.bandwidth_ / np.sqrt(3)
    Z = (X - X.mean(axis=0)) / scale
    H = orthogonal_units("sigmoid", 3, 7, 1.0, 3).map(Z)
    beta = model.feature_map_.weights * scale
    slope, limit = H.T @ (Z - H @ beta), 1.0 / 0.4
    close = 1e-3 * np.abs(H.T @ Z).max()
    assert np.abs(slope - limit * np.sign(beta))[beta != 0].max() < close
    assert np.abs(slope[beta == 0]).max() < limit + close
    assert 0.3 < np.mean(beta == 0) < 1.0


def test_more_units_than_rows_come_near_the_minimum_with_an_absolute_penalty():
    X = sample(90, 3)
    H, T = orthogonal_units("sigmoid", 3, 200, 1.0, 3).map(X), X - X.mean(axis=0)

    def objective(B):
        return 0.5 * np.sum((H @ B - T) ** 2) + 2.5 * np.abs(B).sum()

    exact = Lasso(2.5 / 90, fit_intercept=False, precompute=H.T @ H, max_iter=10**5).fit(H, T).coef_.T
    found, nothing = solve_with_l1(H.T @ H, H.T @ T, 2.5), np.zeros((200, 3))
    assert objective(found) - objective(exact) < 0.05 * (objective(nothing) - objective(exact))


def test_the_random_weights_are_orthogonal_and_the_offsets_of_length_one():
    for n_units in (3, 8, 20):
        units = orthogonal_units("sigmoid", 8, n_units, 2.0, seed=5)
        W = 2.0 * units.weights
        products = W.T @ W if n_units >= 8 else W @ W.T
        assert np.abs(products - np.eye(min(8, n_units))).max() < 1e-14
        assert np.linalg.norm(units.offsets) == pytest.approx(1.0, abs=1e-14)
    assert not np.array_equal(units.weights, orthogonal_units("sigmoid", 8, 20, 2.0, seed=6).weights)
