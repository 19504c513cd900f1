"""Kernel values from compiled loops, compared with the formulas in float64."""

import numpy as np
import pytest

from shallows import kernels
from shallows.gram import Gram
from shallows.kernels import compiled, compiled_loops

FORMULAS = {
    "gaussian": lambda s: np.exp(np.minimum(s, 0.0)),
    "laplace": lambda s: np.exp(-np.sqrt(np.maximum(s, 0.0))),
    "cauchy": lambda s: 1.0 / (1.0 + np.maximum(s, 0.0)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_loop_gives_the_formula_to_two_units_in_the_last_place(name):
    magnitudes = np.logspace(-12, np.log10(80.0 if name == "gaussian" else 6400.0), 20_000)
    sign = -1.0 if name == "gaussian" else 1.0
    scaled = (sign * np.concatenate([[-1e-6, 0.0], magnitudes])).astype(np.float32)[None, :]
    found = scaled.copy()
    getattr(compiled_loops, name)(found, found.shape[1])
    exact = FORMULAS[name](scaled.astype(np.float64))
    # The root is rounded before its exponential is taken, as in NumPy's pass: half a unit of the distance.
    of_root = np.sqrt(np.abs(scaled)) / 2 if name == "laplace" else 0.0
    assert (np.abs(found / exact - 1.0) < (2 + of_root) * 2.0**-23).all()
    assert found.max() == 1.0


@pytest.mark.parametrize("name", FORMULAS)
def test_far_points_have_the_value_zero_and_nan_stays(name):
    scaled = np.array([[1e3, 1e30, np.inf, np.nan]], dtype=np.float32) * (-1 if name == "gaussian" else 1)
    getattr(compiled_loops, name)(scaled, 4)
    with np.errstate(invalid="ignore"):
        assert scaled[0, 1:3] == pytest.approx([0.0, 0.0], abs=2e-30)
    assert np.isnan(scaled[0, 3])


@pytest.mark.parametrize("name", FORMULAS)
def test_part_of_a_larger_block_is_filled_and_what_lies_beside_it_is_not_touched(name):
    x = kernels.augmented(np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32))
    plain = kernels.make(name, 2.0)
    whole = np.full((40, 64), 7.0, dtype=np.float32)
    made = compiled.CompiledKernel(plain)
    made.fill(made.left_factor(x[:30]), x[11:], whole[2:32, 5:44])
    expected = kernels.values(plain, x[:30], x[11:])
    assert np.abs(whole[2:32, 5:44] - expected).max() < 1e-6
    whole[2:32, 5:44] = 7.0
    assert (whole == 7.0).all()


def test_only_large_matrices_in_float32_use_the_loops():
    x = kernels.augmented(np.zeros((3, 2), dtype=np.float32))
    plain, many = kernels.make("laplace", 2.0), compiled.MANY_VALUES
    assert isinstance(compiled.compiled_kernel(plain, x, many), compiled.CompiledKernel)
    assert compiled.compiled_kernel(plain, x, many - 1) is plain
    assert compiled.compiled_kernel(plain, x.astype(np.float64), many) is plain
    matern = kernels.make("matern", 2.0)
    assert compiled.compiled_kernel(matern, x, many) is matern


@pytest.mark.parametrize("budget", [2**30, 0])
def test_a_matrix_with_compiled_loops_multiplies_as_the_formula_does(monkeypatch, budget):
    monkeypatch.setattr(compiled, "MANY_VALUES", 1)
    draws = np.random.default_rng(0)
    x, a = draws.normal(size=(230, 5)), draws.normal(size=(230, 3))
    points = kernels.augmented(x.astype(np.float32))
    K = Gram(kernels.make("laplace", 2.0), points, budget=budget, tile=64)
    exact = np.exp(-np.linalg.norm(x[:, None] - x[None], axis=2) / 2.0)
    assert np.abs(K.dot(a.astype(np.float32)) - exact @ a).max() < 2e-5 * np.abs(exact @ a).max()
    rows, _ = K.rows_dot(slice(40, 150), a.astype(np.float32))
    assert np.abs(rows - exact[40:150] @ a).max() < 2e-5 * np.abs(exact @ a).max()
    assert isinstance(K._compiled, compiled.CompiledKernel)
    assert K.kernel == kernels.make("laplace", 2.0)
