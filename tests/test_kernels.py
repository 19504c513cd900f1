"""Kernels against their formulas (SPEC 2)."""

from __future__ import annotations

import numpy as np
import pytest

from engine_example import EUCLIDEAN, naive_kernel, sample
from shallows import arrays, kernels
from shallows.errors import ShallowsError, UnknownNameError
from shallows.models.centering import Centering

NAMES = EUCLIDEAN
EPS32 = float(np.finfo(np.float32).eps)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bandwidth", [0.3, 2.0])
def test_values_equal_the_formula(name, bandwidth):
    x, z = sample(40, 5), sample(30, 5, seed=1)
    # ‖x‖² + ‖z‖² − 2xᵀz loses some units in the last place of ‖x‖² ≈ 20, a tenth of σ² here: 1e-13 and less of k.
    assert np.abs(kernels.make(name, bandwidth)(x, z) - naive_kernel(name, bandwidth, x, z)).max() < 1e-13


@pytest.mark.parametrize("name", NAMES)
def test_the_matrix_of_a_set_with_itself_is_symmetric_and_positive_definite(name):
    x = sample(80)
    K = kernels.make(name, 1.5)(x, x)
    np.fill_diagonal(K, 1.0)
    assert np.abs(K - K.T).max() < 1e-14
    # Eigenvalues are exact to about n units in the last place of the largest, at most n.
    assert np.linalg.eigvalsh(K).min() > -80 * 80 * np.finfo(float).eps


@pytest.mark.parametrize("name", NAMES)
def test_a_point_has_the_value_one_with_itself(name):
    x, kernel = sample(20), kernels.make(name, 1.5)
    assert np.array_equal(kernel.diagonal(x), np.ones(20))
    # Laplace sees the square root of what rounding left of the squared distance.
    assert np.abs(np.diagonal(kernel(x, x)) - 1).max() < 2 * np.sqrt(20 * np.finfo(float).eps)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_stay_within_zero_and_one_where_rounding_makes_distances_negative(name, dtype):
    x = 100 + sample(50, 4, dtype=dtype)
    K = kernels.make(name, 1.0)(x, x)
    assert K.dtype == dtype
    assert K.min() >= 0
    assert K.max() <= 1


@pytest.mark.parametrize("name", NAMES)
def test_a_common_shift_changes_nothing(name):
    x, z, kernel = sample(30), sample(20, seed=1), kernels.make(name, 1.5)
    # Values near 10 have squared norms near 300, whose last place is 6e-14.
    assert np.abs(kernel(x + 10, z + 10) - kernel(x, z)).max() < 1e-12


def test_both_parametrisations_of_the_gaussian_kernel_agree():
    x, gamma = sample(30), 0.7
    gaussian = kernels.Gaussian(1 / np.sqrt(2 * gamma))
    assert gaussian.factor == pytest.approx(-gamma, rel=1e-15)
    squares = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    assert np.abs(gaussian(x, x) - np.exp(-gamma * squares)).max() < 1e-14


@pytest.mark.parametrize("name", ["laplace", "cauchy"])
def test_the_euclidean_forms_are_not_the_product_forms(name):
    x, z = np.zeros((1, 2)), np.array([[3.0, 4.0]])
    euclidean = {"laplace": np.exp(-5.0), "cauchy": 1 / 26}[name]
    assert kernels.make(name, 1.0)(x, z)[0, 0] == pytest.approx(euclidean, rel=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_frequencies_have_the_kernel_as_their_characteristic_function(name):
    n, d, bandwidth = 100_000, 3, 1.5
    shifts = sample(8, d) * np.linspace(0.2, 3.0, 8)[:, None]
    draws = kernels.make(name, bandwidth).frequencies(0, "test", 0, n, d)
    assert draws.shape == (n, d)
    # A cosine's standard deviation is below 1; four standard deviations of the mean.
    truth = naive_kernel(name, bandwidth, shifts, np.zeros((1, d)))[:, 0]
    assert np.abs(np.cos(draws @ shifts.T).mean(axis=0) - truth).max() < 4 / np.sqrt(n)


@pytest.mark.parametrize("name", NAMES)
def test_frequencies_are_a_function_of_their_counter_and_in_the_asked_precision(name):
    kernel = kernels.make(name, 1.5)
    first, again, other = (kernel.frequencies(0, "test", c, 5, 3, dtype=np.float32) for c in (0, 0, 1))
    assert first.dtype == np.float32
    assert np.array_equal(first, again)
    assert not np.any(first == other)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("given", [np.float32, np.float64])
def test_float32_values_of_centred_data_are_right_however_far_the_data_lie(name, given):
    d = 20
    x = (sample(300, d) + 100).astype(given)
    points = Centering.of(x).training_points(x, np.arange(300), arrays.Device(), np.float32)
    K = kernels.values(kernels.make(name, np.sqrt(2 * d)), points, points)
    off = ~np.eye(300, dtype=bool)
    # The squared distance, at least 2 here, is off by some units in the last place of ‖x‖² + ‖z‖² < 128.
    assert np.abs(K - naive_kernel(name, np.sqrt(2 * d), x, x))[off].max() < 32 * EPS32


def test_without_centring_float32_would_not_do():
    # What the test above would not see, were it not for the shift of 100.
    x = (sample(300, 20) + 100).astype(np.float32)
    assert np.abs(kernels.Gaussian(6.0)(x, x) - naive_kernel("gaussian", 6.0, x, x)).max() > 100 * 32 * EPS32


def test_the_median_rule_is_the_median_of_all_pairs_where_the_sample_holds_all_points():
    x = sample(41)
    r = np.sqrt(((x[:, None] - x[None]) ** 2).sum(axis=2))[np.triu_indices(41, k=1)]
    assert kernels.median_bandwidth(x) == pytest.approx(np.median(r), rel=1e-12)


def test_the_median_rule_does_not_see_repetitions():
    x = sample(40)
    assert kernels.median_bandwidth(np.repeat(x, 3, axis=0)) == pytest.approx(kernels.median_bandwidth(x), rel=1e-12)


def test_the_median_rule_of_a_subsample_is_near_that_of_all_points_and_a_function_of_the_seed():
    x = sample(3000)
    whole = kernels.median_bandwidth(x, n_points=3000)
    part = kernels.median_bandwidth(x, seed=1, n_points=500)
    assert part == kernels.median_bandwidth(x, seed=1, n_points=500) != kernels.median_bandwidth(x, 2, n_points=500)
    assert part == pytest.approx(whole, rel=0.05)


def test_the_median_rule_refuses_points_that_coincide():
    with pytest.raises(ShallowsError, match="coincide"):
        kernels.median_bandwidth(np.ones((10, 2)))


@pytest.mark.parametrize("bandwidth", [0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("name", NAMES)
def test_a_bandwidth_that_is_not_positive_is_refused(name, bandwidth):
    with pytest.raises(ShallowsError, match="bandwidth must be a positive number"):
        kernels.make(name, bandwidth)


def test_an_unknown_kernel_is_told_the_nearest_one():
    with pytest.raises(UnknownNameError, match=r"'gausian'.*'gaussian'"):
        kernels.make("gausian", 1.0)


def test_a_kernel_object_is_handed_through():
    kernel = kernels.Cauchy(2.0)
    assert kernels.make(kernel) is kernel


def test_kernels_of_the_same_kind_and_bandwidth_are_equal_and_no_others():
    assert kernels.Gaussian(2.0) == kernels.Gaussian(2.0) != kernels.Gaussian(3.0)
    assert kernels.Gaussian(2.0) != kernels.Laplace(2.0)
