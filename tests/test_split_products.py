"""Products of split operands, with TF32 imitated on the CPU, against float64."""

from __future__ import annotations

import numpy as np
import pytest

import cuda_on_cpu
from counted_arrays import NAMESPACE, counted
from engine_example import sample
from forms import eigenpro_regressor
from imitated_tf32 import tf32
from pretended_gpu import pretended_gpu
from shallows import KernelRidgeRegressor, arrays, kernels
from shallows.errors import ShallowsError
from shallows.gpu import cuda
from shallows.gram import split_products
from shallows.solvers import EigenPro

PRECISION = NAMESPACE._core._routines_linalg


def points(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Points like centered pixels: most features small, some large, and of a norm of about ten."""
    scales = np.random.default_rng(7).uniform(0.0, 0.8, size=d)
    return (sample(n, d, seed) * scales).astype(np.float32)


def error(found, a, b) -> float:
    """The largest error of a product as a share of its largest value."""
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    return np.abs(found - exact).max() / np.abs(exact).max()


def test_the_halves_add_up_to_the_bit_and_the_higher_one_is_a_number_of_tf32():
    x = (np.random.default_rng(0).normal(size=5000) * 10.0 ** np.arange(-20, 20).repeat(125)).astype(np.float32)
    high, low = split_products.halves(x)
    assert np.array_equal(high + low, x)
    assert np.array_equal(tf32(high), high)
    assert np.all(np.abs(low) <= np.abs(x) * 2.0**-11)


@pytest.mark.parametrize("cuts", [False, True], ids=["rounds", "cuts"])
@pytest.mark.parametrize("d", [40, 784])
def test_a_split_product_errs_by_less_than_two_hundred_thousandths(d, cuts):
    a, b = points(300, d), points(200, d, 1)
    left, right = (tf32(part, cuts=cuts) for part in (split_products.left_operand(a), split_products.right_operand(b)))
    assert error(left @ right.T, a, b) < split_products.BOUND
    # What TF32 alone makes of it is over the bound, so the bound distinguishes the two.
    assert error(tf32(a, cuts=cuts) @ tf32(b, cuts=cuts).T, a, b) > 2 * split_products.BOUND


@pytest.mark.parametrize("name", ["gaussian", "laplace", "cauchy"])
def test_kernel_values_from_split_products_are_near_those_of_float64(name, monkeypatch):
    x, z = points(300, 784), points(200, 784, 1)
    kernel = kernels.make(name, 10.0)
    exact = kernel(x.astype(np.float64), z.astype(np.float64))
    with pretended_gpu(monkeypatch), cuda.off():
        there, others = (kernels.augmented(counted(part)) for part in (x, z))
        split = split_products.split_kernel(kernel, there)
        assert isinstance(split, split_products.SplitKernel)
        found = arrays.to_numpy(kernels.values(split, there, others))
        with split_products.tf32_products(there):
            rough = arrays.to_numpy(kernels.values(kernel, there, others))
        assert PRECISION.now == PRECISION.COMPUTE_TYPE_DEFAULT
    assert np.abs(found - exact).max() < 1e-5
    assert np.abs(rough - exact).max() > 10 * np.abs(found - exact).max()


def test_products_that_err_by_more_are_not_used(monkeypatch):
    monkeypatch.setattr(split_products, "halves", lambda x: (x, 0.0 * x))
    with pretended_gpu(monkeypatch), cuda.off():
        there = kernels.augmented(counted(points(300, 784)))
        kernel = kernels.Gaussian(10.0)
        with pytest.warns(RuntimeWarning, match="precision='split' is not available here.*off by"):
            assert split_products.split_kernel(kernel, there) is kernel


@pytest.mark.skipif(cuda_on_cpu.COMPILER is None, reason="there is no g++")
def test_a_fit_with_split_products_is_that_in_float32(monkeypatch, tmp_path):
    X = points(1600, 60)
    y = np.sin(X[:, 0]) + X[:, 1]
    options = {"bandwidth": 6.0, "random_state": 0, "max_epochs": 2, "tol": 0, "device": "gpu"}
    with pretended_gpu(monkeypatch, tmp_path):
        full, split = (eigenpro_regressor(precision=word, **options).fit(X, y) for word in ("full", "split"))
        assert split.predict(X[:50]) == pytest.approx(full.predict(X[:50]), abs=1e-2)
    assert split.report_["precision_of_blocks"] == "split"
    assert "precision_of_blocks" not in full.report_
    assert full.report_["products"] == "float32"


def test_on_a_cpu_the_word_changes_nothing_and_others_are_refused():
    X, y = sample(200, 3), sample(200, 1)[:, 0]
    full, split = (
        KernelRidgeRegressor(solver=EigenPro(precision=word), random_state=0).fit(X, y) for word in ("full", "split")
    )
    assert np.array_equal(full.dual_coef_, split.dual_coef_)
    with pytest.raises(ShallowsError, match="precision must be one of 'full', 'split', got 'double'"):
        KernelRidgeRegressor(solver=EigenPro(precision="double")).fit(X, y)
