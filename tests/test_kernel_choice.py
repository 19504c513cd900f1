"""The kernel that leave-one-out errors choose with kernel="auto"."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from shallows import KernelRidgeClassifier, KernelRidgeRegressor, kernels
from shallows.errors import ShallowsError
from shallows.fitting import kernel_choice
from shallows.spectrum.leave_one_out import RidgePath, leave_out_by_factor


def rows(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (n, 3))


def test_a_smooth_function_keeps_the_gaussian_kernel():
    X = rows(800)
    model = KernelRidgeRegressor(kernel="auto", random_state=0).fit(X, np.sin(2 * X.sum(axis=1)))
    assert model.report_["kernel"] == "gaussian"


@pytest.mark.parametrize("options", [{}, {"centers": 300}])
def test_steps_along_the_axes_choose_the_product_kernel_and_have_a_smaller_error(options):
    X, X_test = rows(800), rows(1000, seed=1)
    steps = lambda x: np.sign(x[:, 0]) + np.sign(x[:, 1] - 0.3) + np.abs(x[:, 2])  # noqa: E731
    model = KernelRidgeRegressor(kernel="auto", random_state=0, **options).fit(X, steps(X))
    gaussian = KernelRidgeRegressor(random_state=0, **options).fit(X, steps(X))
    assert model.report_["kernel"] == "laplace_product"
    assert 1 - model.score(X_test, steps(X_test)) < 0.8 * (1 - gaussian.score(X_test, steps(X_test)))
    learned = KernelRidgeRegressor(kernel="auto", metric="auto", random_state=0, **options).fit(X[:400], steps(X[:400]))
    assert learned._model.kernel.of_distance  # A metric needs the distance.


def test_noise_and_sparse_rows_keep_the_gaussian_kernel():
    X = rows(300)
    y = np.random.default_rng(1).integers(0, 2, 300)
    assert KernelRidgeClassifier(kernel="auto", random_state=0).fit(X, y).report_["kernel"] == "gaussian"
    sparse = scipy.sparse.csr_matrix(X)
    assert KernelRidgeClassifier(kernel="auto", random_state=0).fit(sparse, y).report_["kernel"] == "gaussian"


def test_a_given_bandwidth_is_refused():
    with pytest.raises(ShallowsError, match=r"bandwidth=2\.0 was given"):
        KernelRidgeRegressor(kernel="auto", bandwidth=2.0).fit(rows(60), np.arange(60.0))


@pytest.mark.parametrize("exponent", [0.7, 1.0, 1.4, 2.0])
def test_the_exponential_power_kernel_is_its_formula_and_the_mean_of_its_frequencies(exponent):
    x = rows(6)
    kernel = kernels.ExponentialPower(1.3, exponent)
    distances = np.linalg.norm(x[:, None] - x, axis=2)
    expected = np.exp(-((distances / 1.3) ** exponent))
    np.testing.assert_allclose(kernel(x, x), expected, atol=1e-5)  # Rounding of distances, to the power of 0.7
    angles = (x[:, None] - x) @ kernel.frequencies(0, "test", 0, 100_000, 3).T
    np.testing.assert_allclose(np.cos(angles).mean(axis=-1), expected, atol=0.016)  # Five standard errors


def test_an_exponent_above_two_is_refused():
    with pytest.raises(ShallowsError, match=r"exponent=2\.5 is above 2"):
        kernels.ExponentialPower(1.0, 2.5)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_factor_leaves_out_one_row_like_an_eigensystem(weighted):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
    weights = rng.uniform(0.5, 2.0, 60) if weighted else None
    matrix = kernels.Gaussian(1.0)(X, X)
    expected = RidgePath(matrix, y, weights).squares(0.1)
    np.testing.assert_allclose(leave_out_by_factor(matrix, y, weights, 0.1), expected, rtol=1e-9)


def test_the_best_other_kernel_is_compared_on_more_rows_unless_it_is_hopeless(monkeypatch):
    X = rows(1000)
    y = np.sign(X[:, 0]) + np.sign(X[:, 1] - 0.3) + np.abs(X[:, 2])
    model, choose = KernelRidgeRegressor(kernel="auto", centers=50, random_state=0), kernel_choice.choose_in

    def prefer_gaussian(metric, kernel, *rest):
        found = choose(metric, kernel, *rest)
        return replace(found, error={"gaussian": 0.1, "laplace_product": 0.11}.get(kernel.name, 0.2))

    monkeypatch.setattr(kernel_choice, "choose_in", prefer_gaussian)
    assert model.fit(X, y).report_["kernel"] == "laplace_product"
    monkeypatch.setattr(kernel_choice, "HOPELESS", 1.05)
    assert model.fit(X, y).report_["kernel"] == "gaussian"
