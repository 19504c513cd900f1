"""The path of gradient descent in closed form against the iteration itself."""

from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest

from shallows import kernels
from shallows.errors import ShallowsError
from shallows_papers.papers.eigenpro.gradient_descent_path import (
    gradient_descent,
    gradient_descent_path,
    nearest_neighbour_limit,
)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 3))
    return kernels.Gaussian(1.5)(x, x), rng.standard_normal((40, 2))


@pytest.mark.parametrize("relative_step", [0.3, 1.0, 1.9])
def test_the_closed_form_is_the_iteration(problem, relative_step):
    matrix, targets = problem
    path = gradient_descent_path(matrix, targets, relative_step=relative_step)
    alpha = np.zeros_like(targets)
    for t in range(1, 60):
        alpha = alpha - path.step_size * (matrix @ alpha - targets)
        if t in (1, 2, 17, 59):
            # Sixty steps of rounding in float64 on values of order one.
            np.testing.assert_allclose(path.coefficients(t), alpha, atol=1e-12)
            np.testing.assert_allclose(path.fitted(t), matrix @ alpha, atol=1e-12)


def test_a_step_that_diverges_is_refused(problem):
    with pytest.raises(ShallowsError, match="relative_step"):
        gradient_descent_path(*problem, relative_step=2.0)
    with pytest.raises(ShallowsError, match="plain_step"):
        gradient_descent_path(*problem, plain_step=1e3)


def test_a_plain_step_is_that_of_the_mean_gradient(problem):
    matrix, targets = problem
    path = gradient_descent_path(matrix, targets, plain_step=0.7)
    np.testing.assert_allclose(path.coefficients(1), 0.7 / len(matrix) * targets, rtol=1e-12)


def test_the_path_runs_on_any_array_library(problem):
    matrix, targets = problem
    ours = gradient_descent_path(matrix, targets).coefficients(100)
    strict = gradient_descent_path(array_api_strict.asarray(matrix), array_api_strict.asarray(targets))
    np.testing.assert_allclose(np.asarray(strict.coefficients(100)), ours, atol=1e-12)


def test_the_losses_are_those_of_the_iteration():
    rng = np.random.default_rng(1)
    x, labels = rng.standard_normal((60, 4)), rng.integers(0, 3, 60)
    data = SimpleNamespace(x_train=x[:45], y_train=labels[:45], x_test=x[45:], y_test=labels[45:])
    found = gradient_descent(data, "laplace", 2.0, iterations=[1, 7])
    kernel = kernels.Laplace(2.0)
    matrix, cross = kernel(data.x_train, data.x_train), kernel(data.x_test, data.x_train)
    codes = np.where(data.y_train[:, None] == np.arange(3), 1.0, -1.0)
    new_codes = np.where(data.y_test[:, None] == np.arange(3), 1.0, -1.0)
    alpha = np.zeros_like(codes)
    for _ in range(7):
        alpha -= (matrix @ alpha - codes) / np.linalg.eigvalsh(matrix)[-1]
    # Distances of centered and of plain points differ by rounding, which the square root of Laplace's kernel enlarges.
    assert found.curve["train_l2"][1] == pytest.approx(np.mean((matrix @ alpha - codes) ** 2), rel=1e-6)
    assert found.curve["test_l2"][1] == pytest.approx(np.mean((cross @ alpha - new_codes) ** 2), rel=1e-6)
    assert found.curve["test_error"][1] == pytest.approx(100 * np.mean((cross @ alpha).argmax(1) != data.y_test))
    assert found.curve["coefficient_norm"][1] == pytest.approx(np.linalg.norm(alpha), rel=1e-6)


def test_a_decomposition_that_does_not_fit_is_refused_before_it_starts():
    data = SimpleNamespace(x_train=np.zeros((2000, 1)), y_train=np.zeros(2000), x_test=np.zeros((1, 1)), y_test=[0.0])
    with pytest.raises(ShallowsError, match="budget"):
        gradient_descent(data, memory="100MB")


@pytest.fixture
def labelled():
    rng = np.random.default_rng(4)
    x, labels = rng.standard_normal((120, 3)), rng.integers(0, 3, 120)
    return SimpleNamespace(x_train=x[:80], y_train=labels[:80], x_test=x[80:], y_test=labels[80:])


def nearest(data):
    distances = ((data.x_test[:, None, :] - data.x_train[None, :, :]) ** 2).sum(axis=2)
    return data.y_train[distances.argmin(axis=1)]


def test_interpolation_beside_the_nearest_neighbour_is_that_of_the_solved_system(labelled):
    found = nearest_neighbour_limit(labelled, "gaussian", 0.8, iterations=[1, 50])
    kernel = kernels.Gaussian(0.8)
    codes = np.where(labelled.y_train[:, None] == np.arange(3), 1.0, -1.0)
    matrix = kernel(labelled.x_train, labelled.x_train)
    labels = (kernel(labelled.x_test, labelled.x_train) @ np.linalg.solve(matrix, codes)).argmax(axis=1)
    assert found.numbers["interpolation_error"] == pytest.approx(100.0 * np.mean(labels != labelled.y_test))
    assert found.numbers["agreement"] == pytest.approx(100.0 * np.mean(labels == nearest(labelled)))
    values = np.linalg.eigvalsh(matrix)
    assert found.numbers["eigenvalue_share"] == pytest.approx(values[0] / values[-1], rel=1e-6)
    descent = gradient_descent(labelled, "gaussian", 0.8, iterations=[1, 50])
    for metric in ("train_l2", "test_error"):
        np.testing.assert_allclose(found.curve[metric], descent.curve[metric], rtol=1e-9)


def test_the_nearest_neighbour_s_limit_is_for_classes(labelled):
    labelled.y_train = labelled.y_train.astype(float)
    with pytest.raises(ShallowsError, match="classes"):
        nearest_neighbour_limit(labelled, "gaussian", 1.0)
