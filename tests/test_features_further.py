"""Feature maps beyond Fourier features and landmarks, each against the kernel or the formula that it stands for."""

import math

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse

from engine_example import sample
from shallows import features, kernels
from shallows.errors import ShallowsError, UnknownNameError
from shallows.features import (
    FastfoodMap,
    HiddenUnitsMap,
    PolynomialMap,
    RandomBinningMap,
    SemiRandomMap,
    TensorSketchMap,
    hidden_units,
    landmarks,
)
from shallows.features.fastfood import hadamard_factors, hadamard_transform

GAUSSIAN = kernels.make("gaussian", 2.0)


def shares(binning, x):
    """The share of the grids in which points have one column, (m, m)."""
    columns = binning.columns(x)
    return (columns[:, None] == columns[None]).mean(axis=2)


# ------------------------------------------------------------------------------------------------- FastfoodMap


@pytest.mark.parametrize("d", [2, 8, 32])
def test_the_transform_is_a_hadamard_matrix_with_its_rows_in_another_order(d):
    H = hadamard_transform(np.eye(d), hadamard_factors(d, np.eye(1)))
    assert {tuple(row) for row in H.T} == {tuple(row) for row in scipy.linalg.hadamard(d)}


@pytest.mark.parametrize("form", ["pair", "cosine"])
@pytest.mark.parametrize(("d", "F"), [(1, 3), (3, 24), (5, 7), (8, 8)])
def test_fastfood_is_the_map_of_its_frequencies(form, d, F):
    x, f = sample(30, d), FastfoodMap(GAUSSIAN, d, F, seed=1, form=form)
    angles = x @ f.frequencies(3, x).T
    waves = (
        np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
        if form == "pair"
        else math.sqrt(2) * np.cos(angles + f.phases(3, x))
    )
    assert np.abs(f.block(3, x) - waves).max() < 1e-12


@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "cauchy", "matern"])
def test_the_mean_over_fastfood_is_the_kernel(kernel):
    x, kernel = sample(12, 5), kernels.make(kernel, 2.0)
    f = FastfoodMap(kernel, 5, 16)
    estimates = np.array([f.block(i, x) @ f.block(i, x).T / 16 for i in range(400)])
    # The distance of a point from itself rounds to about 1e-8.
    assert (np.abs(estimates.mean(axis=0) - kernel(x, x)) < 4.5 * estimates.std(axis=0) / 20 + 1e-7).all()


# ---------------------------------------------------------------------------------------- quasi Monte Carlo


# --------------------------------------------------------------------------------------------- binning


def test_shares_of_grids_tend_to_the_laplace_kernel_with_the_root_of_their_number():
    x, kernel = sample(25), kernels.make("laplace_product", 3.0)
    sizes, errors = [16, 64, 256], []
    for P in sizes:
        found = np.array([shares(RandomBinningMap(3.0, 3, P, 2**16, seed), x) for seed in range(10)])
        errors.append(math.sqrt(((found - kernel(x, x)) ** 2).mean()))
    assert -0.6 < np.polyfit(np.log(sizes), np.log(errors), 1)[0] < -0.4
    # 4,000 grids: a share has a deviation of at most 0.5/√4000; 300 pairs.
    Z = RandomBinningMap(3.0, 3, 4000, 2**10).map(x)
    assert np.abs((Z @ Z.T).toarray() - kernel(x, x)).max() < 4.5 * 0.5 / math.sqrt(4000) + 2e-3


# ----------------------------------------------------------------------------------- polynomial kernels


@pytest.mark.parametrize("degree", [1, 2, 4])
@pytest.mark.parametrize("offset", [0.0, 1.5])
def test_inner_products_of_monomials_are_the_polynomial_kernel(degree, offset):
    kernel = kernels.Polynomial(degree, offset, 0.5)
    x, f = sample(20, 4), PolynomialMap(kernel, 4)
    Z = f.map(x)
    assert Z.shape[1] == f.n_features == math.comb(degree + 4, degree)
    K = kernel(x, x)
    assert np.abs(Z @ Z.T - K).max() < 1e-12 * np.abs(K).max()


def test_maps_refuse_what_they_cannot_write_out():
    for make, message in (
        (lambda: PolynomialMap(kernels.Polynomial(10, 1.0), 10_000), r"binomial\(10010, 10\)"),
        (lambda: PolynomialMap(GAUSSIAN, 3), "needs the kernel 'polynomial', got 'gaussian'"),
        (
            lambda: features.make("binning", GAUSSIAN, sample(5), 100),
            "needs the kernel 'laplace_product', .* 'gaussian'",
        ),
        (lambda: RandomBinningMap(1.0, 3, 5, 100), "power of two"),
        (lambda: RandomBinningMap(1.0, 3, 2**12, 2**20), "more than 2³¹"),
        (lambda: FastfoodMap(kernels.make("laplace_product", 1.0), 3, 8), "of ‖x − z‖₂ alone"),
        (lambda: HiddenUnitsMap("sigmiod", 3, 5, 1.0), "sigmoid"),
        (lambda: SemiRandomMap(3, 5, 3), "order must be 0, 1 or 2"),
    ):
        with pytest.raises((ShallowsError, UnknownNameError), match=message):
            make()


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_mean_over_tensor_sketches_is_the_polynomial_kernel(degree):
    kernel = kernels.Polynomial(degree, 1.5, 0.5)
    x = sample(10, 4) / 2
    K = kernel(x, x)
    made = np.array([Z @ Z.T for Z in (TensorSketchMap(kernel, 4, 64, seed).map(x) for seed in range(600))])
    assert (np.abs(made.mean(axis=0) - K) < 4.5 * made.std(axis=0) / math.sqrt(600) + 1e-12).all()


# ------------------------------------------------------------------------------------- leverage scores


def test_leverage_scores_with_all_points_as_the_pilot_are_exact():
    x = sample(40)
    K = GAUSSIAN(x, x)
    found = landmarks.ridge_leverage_scores(GAUSSIAN, x, x, total=10.0)
    assert found.sum() == pytest.approx(10.0, rel=1e-6)
    # The ridge at which the exact scores have that sum.
    ridge = scipy.optimize.brentq(lambda ridge: np.trace(K @ np.linalg.inv(K + ridge * np.eye(40))) - 10, 1e-6, 10)
    assert np.abs(found - np.diag(K @ np.linalg.inv(K + ridge * np.eye(40)))).max() < 1e-6


# ---------------------------------------------------------------------------------------- hidden units


def reference(activation, a, b, x):
    """The six units as the formulas have them, one point and one unit at a time."""
    z, r2 = float(a @ x + b), float(((x - a) ** 2).sum())
    return {
        "sigmoid": lambda: 1 / (1 + math.exp(-z)),
        "tanh": lambda: (1 - math.exp(-2 * z)) / (1 + math.exp(-2 * z)),
        "gaussian": lambda: math.exp(-b * r2),
        "multiquadric": lambda: math.sqrt(r2 + b * b),
        "hard_limit": lambda: float(z >= 0),
        "cosine": lambda: math.cos(z),
    }[activation]()


@pytest.mark.parametrize("activation", hidden_units.ACTIVATIONS)
def test_hidden_units_are_those_of_their_formulas(activation):
    x = sample(8) + 1.0
    f = HiddenUnitsMap(activation, 3, 5, 1.5, x.mean(axis=0), x.std(axis=0), seed=3)
    a, b = f.weights(x)
    expected = [[reference(activation, a[j], b[j], row) for j in range(5)] for row in x]
    assert np.abs(f.map(x) - expected).max() < 1e-12
    assert np.isfinite(f.map(1e6 * x)).all()


def test_stacked_layers_are_layers_of_scaled_outputs():
    x = sample(50)
    deep = hidden_units.stacked("tanh", x, [7, 4], 1.5, seed=2)
    first, second = deep.layers
    outputs = first.map(x)
    scaled = (outputs - outputs.mean(axis=0)) / outputs.std(axis=0)
    assert np.abs(deep.map(x) - second.map(scaled)).max() < 1e-12
    assert (deep.n_inputs, deep.n_features) == (3, 4)
    # The layers are drawn apart.
    assert not np.array_equal(first.weights(x)[1][:4], second.weights(x)[1])


# ------------------------------------------------------------------------------------------ semi-random


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_linear_model_on_semi_random_features_is_the_model_of_the_formula(order):
    # f(x) = (σ_s(xᵀR) ⊙ xᵀW₁) W₂ for x with a constant 1, with any W₁ and W₂.
    x, n, rng = sample(20), 6, np.random.default_rng(0)
    f = SemiRandomMap(3, n, order, bandwidth=2.0, seed=4)
    inputs = np.concatenate([x / 2.0, np.ones((20, 1))], axis=1)
    W1, W2 = rng.normal(size=(4, n)), rng.normal(size=n)
    expected = (f.switches(x) * (inputs @ W1)) @ W2
    w = (W1 * W2).T.reshape(-1) * math.sqrt(n)
    assert np.abs(f.map(x) @ w - expected).max() < 1e-12


# ---------------------------------------------------------------------------------------------- all maps
