"""A kernel object has its own bandwidth and parameters: others are refused, not ignored."""

from __future__ import annotations

import pytest
from sklearn.base import is_regressor

import shallows
from engine_example import sample
from shallows import kernels
from shallows.errors import ShallowsError


def fitted(model):
    X = sample(60, 3)
    y = X[:, 0] if is_regressor(model) else (X[:, 0] > 0).astype(int)
    return model.fit(X, y)


class OwnKernel(kernels.Gaussian):
    """A kernel that is not in `shallows.kernels.KERNELS`."""

    name = "own"


def test_the_bandwidth_of_an_own_kernel_is_chosen_like_that_of_a_named_one():
    X = sample(60, 3)
    models = [
        shallows.KernelRidgeRegressor(kernel, random_state=0).fit(X, X[:, 0]) for kernel in (OwnKernel(), "gaussian")
    ]
    assert models[0].bandwidth_ == models[1].bandwidth_
    assert (models[0].predict(X) == models[1].predict(X)).all()


def test_paths_of_the_linear_kernel_and_of_scikit_learns_names():
    linear = kernels.Linear(scale=2.0)
    assert eval(repr(linear), {"Linear": kernels.Linear}) == linear
    model = shallows.KernelRidgeRegressor(linear).set_params(kernel__offset=3.0)
    assert model.kernel == kernels.Linear(offset=3.0, scale=2.0) and model.kernel.degree == 1
    assert sorted(path for path in model.get_params() if path.startswith("kernel__")) == [
        "kernel__offset",
        "kernel__scale",
    ]
    for name, path, value, found in [
        ("linear", "scale", 2.0, kernels.Linear(scale=2.0)),
        ("poly", "degree", 2, kernels.Polynomial(degree=2)),
        ("rbf", "bandwidth", 2.0, kernels.Gaussian(2.0)),
        ("laplacian", "bandwidth", 2.0, kernels.LaplaceProduct(2.0)),
    ]:
        assert shallows.KernelRidgeRegressor(name).set_params(**{f"kernel__{path}": value}).kernel == found


def test_a_class_of_kernels_that_is_not_positive_semidefinite_is_refused():
    class Negative(kernels.Kernel):
        name = "negative"

        def fill(self, left, others, out):
            out[...] = -(left[:, :-2] @ others[:, :-2].T)
            return out

        def diagonal(self, x):
            return (x * x).sum(axis=1)

    for model in (shallows.KernelRidgeRegressor(Negative()), shallows.KernelSVMClassifier(Negative())):
        with pytest.raises(ShallowsError, match="kernel 'negative' is not positive semi-definite"):
            fitted(model)
