"""A kernel object has its own bandwidth and parameters: others are refused, not ignored."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone, is_regressor

import shallows
from engine_example import sample
from shallows import kernels
from shallows.errors import ShallowsError

WITH_KERNEL = [
    estimator
    for name in shallows.estimators.__all__
    if name.endswith(("Classifier", "Regressor", "Detector"))
    and "kernel" in (estimator := getattr(shallows.estimators, name))().get_params()
]


def fitted(model):
    X = sample(60, 3)
    y = X[:, 0] if is_regressor(model) else (X[:, 0] > 0).astype(int)
    return model.fit(X, y)


@pytest.mark.parametrize("Estimator", WITH_KERNEL)
def test_a_bandwidth_beside_a_kernel_object_is_refused(Estimator):
    says = r"own bandwidth.*bandwidth=2\.0 with kernel=Gaussian.*Leave bandwidth out.*kernel='gaussian'"
    with pytest.raises(ShallowsError, match=says):
        fitted(Estimator(kernel=kernels.Gaussian(5.0), bandwidth=2.0))


@pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("Estimator", WITH_KERNEL)
def test_a_kernel_object_alone_is_used_as_it_is(Estimator):
    model = fitted(clone(Estimator(random_state=0)).set_params(kernel=kernels.Gaussian(5.0)))
    assert model.bandwidth_ == 5.0
    assert np.isfinite(model.predict(sample(5, 3, seed=1)).astype(float)).all()


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


def test_the_refusal_names_no_kernel_that_has_no_name():
    def product(X, Z):
        return X @ Z.T

    for kernel in (kernels.make(product), kernels.Polynomial(2, 1.0, 0.3)):
        with pytest.raises(ShallowsError, match=r"Leave bandwidth out\.$"):
            kernels.make(kernel, 2.0)


def test_make_and_choose_refuse_what_a_kernel_object_would_ignore():
    points = kernels.augmented(sample(10, 3))
    for bandwidth, parameters in ((2.0, {}), (None, {"nu": 2.5})):
        with pytest.raises(ShallowsError, match="has its own"):
            kernels.make(kernels.Matern(5.0, 1.5), bandwidth, **parameters)
    assert kernels.choose(kernels.Matern(5.0, 1.5), points) == kernels.Matern(5.0, 1.5)


@pytest.mark.parametrize("kernel", ["heat_circle", kernels.HeatCircle(0.5)], ids=["name", "object"])
def test_a_kernel_of_one_feature_is_not_chosen_for_points_of_two(kernel):
    with pytest.raises(ShallowsError, match="takes one feature, an angle in radians, got 2"):
        kernels.choose(kernels.make(kernel), kernels.augmented(np.zeros((3, 2))))
