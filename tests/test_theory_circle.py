"""What gradient descent reaches on the circle, and how eigenvalues decay, against closed forms."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from shallows_papers.papers.eigenpro import eigenvalue_decay, heat_kernel_circle
from shallows_papers.papers.eigenpro.heat_kernel_circle import iterations_needed

# The circle


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"iterations": 1}, 0.559),
        ({"iterations": 10**4}, 0.312),
        ({"iterations": 10**12}, 0.225),
        ({"frequencies": 100}, 0.064),
    ],
)
def test_the_step_is_left_with_the_known_error(asked, error):
    assert heat_kernel_circle.approximation(None, **asked).numbers["relative_error"] == pytest.approx(error, abs=5e-4)


def test_the_drawn_approximation_has_the_error_that_is_told():
    found = heat_kernel_circle.approximation(None, iterations=1000, n_angles=7200)
    difference = np.asarray(found.curve["approximation"]) - np.asarray(found.curve["step"])
    assert np.sqrt(np.mean(difference**2)) == pytest.approx(found.numbers["relative_error"], rel=1e-3)


@pytest.mark.parametrize("iterations", [1, 7, 100])
def test_gradient_descent_with_the_matrix_of_a_grid_is_the_closed_form(iterations):
    assert heat_kernel_circle.approximation(None, iterations=iterations).numbers["matrix_difference"] < 1e-12


def test_steps_for_an_accuracy_undo_the_error_after_steps():
    step = heat_kernel_circle.function("step")
    for log_steps in (math.log(100), math.log(1e6), 30.0):
        error = math.exp(step.log_residual(log_steps, 0.5))
        again = math.exp(step.log_residual(step.log_steps(error, 0.5), 0.5))
        assert again == pytest.approx(error, rel=1e-9)
    assert math.exp(step.log_residual(math.log(1e6), 0.5)) == pytest.approx(0.2588, abs=1e-4)


def test_coefficients_that_are_a_power_of_the_eigenvalues_are_reached_in_polynomially_many_steps():
    # Between accuracies many frequencies apart, so that their steps hardly show.
    found = iterations_needed(None, name="gaussian", rate=0.25, width=0.5, inverse_errors=[1e20, 1e120])
    assert found.curve["exponent"][-1] == pytest.approx(2.0, rel=0.02)


def test_the_lower_bound_of_the_steps_holds_where_the_printed_one_does_not():
    """A single sine: (1 − η λ)ᵗ = ε exactly, with λ = 0.3 λ₁ and η = 2/λ₁ all but."""
    width = -math.log(0.3)
    found = iterations_needed(None, name="sine", width=width, step_size=1.999, inverse_errors=[10, 100])
    exact = math.log(100) / -math.log(1 - 1.999 * 0.3)
    assert math.exp(found.curve["log_iterations"][1]) == pytest.approx(exact, rel=1e-6)
    assert found.curve["lower_bound_printed"][1] == pytest.approx(math.log(100) / 0.6 / exact, rel=1e-6)
    assert found.curve["lower_bound"][1] == pytest.approx((1 / 0.6 - 1) * math.log(100) / exact, rel=1e-6)


def test_what_lies_beyond_the_band_edge_is_hardly_fitted():
    found = heat_kernel_circle.computational_reach(None, width=1.0, most=6)
    for t, edge, fitted, beyond in zip(
        found.index, found.curve["edge"], found.curve["fitted_frequency"], found.curve["beyond"], strict=True
    ):
        assert edge == pytest.approx(math.sqrt(math.log(2 * t)))
        assert fitted <= edge
        first = math.floor(edge) + 1
        assert beyond == pytest.approx(1 / (3 * (1 - math.exp(-(first**2))) ** (2 * t)), rel=1e-6)
        assert beyond < 1
    assert max(found.curve["beyond_printed"]) > 1
    assert found.numbers == {"ridge_frequency": 6, "ridge_functions": 13}


def test_eigenfunctions_within_reach_are_lattice_points_in_a_ball():
    found = heat_kernel_circle.fitted_functions(None, dimension=2, most=64)
    square = np.arange(-8, 9) ** 2
    norms = square[:, None] + square[None, :]
    assert found.curve["n_functions"] == [float((norms <= place).sum()) for place in found.index]


# Eigenvalues


def test_a_geometric_spectrum_has_the_rate_of_its_theorem():
    i = np.arange(1, 60)
    assert eigenvalue_decay._growth(i.astype(float), 0.4 * i) == pytest.approx(1.0)
    assert eigenvalue_decay._growth(np.log(i), 3.0 * np.log(i)) == pytest.approx(1.0)


def test_smooth_kernels_decay_faster_than_any_power_and_others_do_not():
    x = np.random.default_rng(0).uniform(size=(600, 1)).astype(np.float32)
    line = SimpleNamespace(x_train=x, y_train=np.empty((600, 0)))
    smooth, rough = (eigenvalue_decay.eigenvalue_decay(line, name, 0.1) for name in ("gaussian", "laplace"))
    assert smooth.numbers["power_growth"] > 2 and smooth.numbers["rate_growth"] > 0.9
    assert rough.numbers["power_growth"] < 1.3 and rough.numbers["rate_growth"] < 0.5
    assert smooth.curve["eigenvalue"][0] == 1.0


def test_the_heat_kernel_has_the_eigenvalues_of_the_circle():
    angles = 2 * np.pi * (np.arange(200)[:, None] + 0.5) / 200
    found = eigenvalue_decay.eigenvalue_decay(SimpleNamespace(x_train=angles), "heat_circle")
    expected = np.exp(-0.5 * np.repeat(np.arange(1, 6), 2) ** 2)
    np.testing.assert_allclose(found.curve["eigenvalue"][1:11], expected, rtol=1e-6)
