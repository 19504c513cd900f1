"""A kernel object has its own bandwidth and parameters: others are refused, not ignored."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import is_regressor

import shallows
from engine_example import sample
from shallows import kernels
from shallows.decomposition import DoublyStochasticKernelPCA
from shallows.errors import ShallowsError
from shallows.gaussian_process import FeatureGaussianProcessRegressor
from shallows.kernel_approximation import FourierFeatures


def fitted(model):
    X = sample(60, 3)
    y = X[:, 0] if is_regressor(model) else (X[:, 0] > 0).astype(int)
    return model.fit(X, y)


class InOtherUnits(kernels.Gaussian):
    """A Gaussian kernel of a distance of its own, 1,024 times the Euclidean one; it is not in `kernels.KERNELS`."""

    name = "in_other_units"

    @property
    def factor(self):
        return -0.5 / (self.bandwidth / 1024.0) ** 2

    def pair_distances(self, points):
        return 1024.0 * pdist(points)

    def frequencies(self, *given, **more):
        return 1024.0 * super().frequencies(*given, **more)


@pytest.mark.parametrize(
    "make",
    [
        lambda kernel: shallows.KernelRidgeRegressor(kernel, metric="auto", random_state=0),
        lambda kernel: shallows.KernelRidgeRegressor(kernel, bandwidth="median", random_state=0),
        lambda kernel: shallows.RegularizedRiskRegressor(kernel=kernel, random_state=0),
        lambda kernel: shallows.DoublyStochasticRegressor(kernel, random_state=0),
        lambda kernel: DoublyStochasticKernelPCA(1, kernel=kernel, random_state=0),
        lambda kernel: FeatureGaussianProcessRegressor(FourierFeatures(kernel, n_features=50), random_state=0),
    ],
    ids=["KernelRidge", "median", "RegularizedRisk", "DoublyStochastic", "KernelPCA", "GaussianProcess"],
)
def test_the_bandwidth_of_an_own_kernel_is_chosen_in_its_own_distance(make):
    X = sample(120, 3)
    named, own = (make(kernel).fit(X, np.sin(3 * X[:, 0]) + X[:, 1]) for kernel in (kernels.Gaussian(), InOtherUnits()))
    # 1,024 is a power of two, so only a search with a tolerance, for the Gaussian process, ends at other bits.
    assert own.report_["bandwidth"] == pytest.approx(1024.0 * named.report_["bandwidth"], rel=1e-6)
    method = "predict" if hasattr(named, "predict") else "transform"
    assert np.allclose(getattr(own, method)(X), getattr(named, method)(X), rtol=1e-5, atol=1e-6)


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
