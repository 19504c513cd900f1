"""Generated data: stated eigenvalues, densities, residuals and norms, compared with the examples."""

import math

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy import stats

from shallows_papers.datasets.synthetic import make

# Normal numbers under a Gaussian kernel


@pytest.mark.parametrize(("scale", "bandwidth"), [(1.0, 0.5), (0.7, 1.9)])
def test_hermite_functions_solve_the_eigenproblem_of_the_kernel(scale, bandwidth):
    data = make("gaussian_1d", scale=scale, bandwidth=bandwidth)
    nodes, weights = hermegauss(180)
    z, weights = scale * nodes, weights / weights.sum()
    x = np.linspace(-3 * scale, 3 * scale, 41)
    applied = data.kernel(x, z) @ (weights[:, None] * data.eigenfunctions(z, 6))
    # Gauss quadrature of 180 nodes leaves rounding, relative to functions of size below 10 here.
    np.testing.assert_allclose(applied, data.eigenvalues(6) * data.eigenfunctions(x, 6), atol=1e-10)


# Views of a hidden class


def test_every_view_follows_the_density_of_its_component():
    x, component = make("latent_views", seed=2).block(0, 20_000)
    laws = [stats.norm(-4, 2), stats.gamma(1.2, scale=3)]
    for label, law in enumerate(laws):
        for view in x[component == label].T:
            assert stats.kstest(view, law.cdf).pvalue > 0.01


def test_the_told_densities_are_those_of_the_laws():
    x = np.linspace(-12, 20, 301)
    expected = np.column_stack([stats.norm(-4, 2).pdf(x), stats.gamma(1.2, scale=3).pdf(x)])
    np.testing.assert_allclose(make("latent_views").densities(x), expected, rtol=1e-12, atol=1e-15)


def test_the_told_probability_of_a_component_is_calibrated():
    data = make("latent_views", weight=0.3, mean=1.0)
    x, component = data.block(0, 40_000)
    told = data.truth(x)[:, 1]
    for low in np.arange(0, 1, 0.2):
        here = (told >= low) & (told < low + 0.2)
        assert abs(component[here].mean() - told[here].mean()) < 4 * 0.5 / math.sqrt(here.sum())


# The circle


def test_gradient_descent_leaves_of_the_step_what_the_sources_state():
    data = make("heaviside_circle", width=0.5)
    found = [data.residual(t) for t in (1, 1e2, 1e4, 1e6, 1e8, 1e12)]
    np.testing.assert_allclose(found, [0.559, 0.330, 0.312, 0.259, 0.259, 0.225], atol=5e-4)
    np.testing.assert_allclose([data.truncation_error(100), data.truncation_error(200)], [0.064, 0.045], atol=5e-4)


@pytest.mark.parametrize("step_size", [1.0, 1.9])
def test_matrix_gradient_descent_on_a_grid_leaves_the_told_residual(step_size):
    data = make("heaviside_circle", width=0.4)
    n = 1024
    # Off the jumps by half a step, so that the grid sums up to the aliasing of high frequencies, about 1 / n.
    x = 2 * math.pi * (np.arange(n) + 0.5) / n
    f, kernel, fitted = data.truth(x), data.kernel(x, x) / n, np.zeros(n)
    for t in range(1, 31):
        fitted -= step_size * kernel @ (fitted - f)
        if t in (1, 7, 30):
            left = math.sqrt(((fitted - f) ** 2).mean() / (f**2).mean())
            assert left == pytest.approx(data.residual(t, step_size), abs=2e-3)


def test_the_heat_kernel_has_sines_as_eigenfunctions():
    data = make("heaviside_circle", width=0.3)
    x = 2 * math.pi * np.arange(256) / 256
    for j in (0, 1, 4):
        wave = np.cos(j * x)
        np.testing.assert_allclose(data.kernel(x, x) @ wave / 256, data.eigenvalues(j) * wave, atol=1e-12)


# Regression and teachers


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 30])
def test_a_teacher_has_mean_0_and_variance_1(dimension):
    data = make("fourier_teacher", dimension=dimension, seed=5)
    x, y = data.block(0, 20_000)
    truth = data.truth(x)
    # Means over 20,000 points, at four standard deviations; the variance has a kurtosis of at most 10 here.
    assert abs(truth.mean()) < 4 / math.sqrt(20_000)
    assert abs(truth.var() - 1) < 4 * math.sqrt(10 / 20_000)
    assert (y - truth).std() == pytest.approx(0.1, rel=4 / math.sqrt(2 * 20_000))
