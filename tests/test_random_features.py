"""Kernels that draw their own random features, and doubly stochastic gradients with them."""

import math
from dataclasses import dataclass

import array_api_strict
import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from doubly_stochastic_example import moons
from engine_example import sample
from forms import eigenpro_classifier
from pretended_gpu import pretended_gpu
from shallows import DoublyStochasticClassifier, kernels
from shallows.errors import ShallowsError
from shallows.features import FourierMap, block_sums
from shallows.features.base import FeatureStream
from shallows.features.random_features import RandomFeatures, stream_of
from shallows.gpu import cuda
from shallows.kernels import ArcCosine, Polynomial
from shallows.kernels.radial import RadialKernel
from shallows.solvers import DoublyStochastic

SERIES = [
    kernels.Polynomial(3, 1.0, 0.5),
    kernels.Polynomial(2, 0.0, 1.0),
    kernels.Polynomial(7, 2.0, 0.2),
    kernels.Linear(0.5),
    kernels.Exponential(2.0),
]
UNITS = [kernels.ArcCosine(order) for order in (0, 1, 2)]
of_series = pytest.mark.parametrize("kernel", SERIES, ids=repr)
of_every_law = pytest.mark.parametrize("kernel", [*SERIES, *UNITS], ids=repr)


def draw_features(kernel, d=3, F=40, mean_square=3.0, **options):
    return RandomFeatures(kernel, d, F, seed=2, mean_square=mean_square, **options)


# ------------------------------------------------------------------------------------------------- features


@of_every_law
@pytest.mark.parametrize("mean_square", [3.0, 0.7])
def test_the_mean_over_blocks_is_the_kernel_whatever_mean_square_is_given(kernel, mean_square):
    x, z = sample(8), sample(7, seed=1)
    x[0] = 0.0
    f, n_blocks = draw_features(kernel, mean_square=mean_square), 1500
    estimates = np.array([f.block(i, x) @ f.block(i, z).T / f.block_size for i in range(n_blocks)])
    deviation = estimates.std(axis=0) / math.sqrt(n_blocks)
    # 56 pairs: beyond 5 standard deviations once in 30,000 sets of seeds; tails are heavier than normal ones.
    assert (np.abs(estimates.mean(axis=0) - kernel(x, z)) < 5.0 * deviation + 1e-12).all()


@of_series
@pytest.mark.parametrize("t", [0.3, 3.0, 40.0])
def test_the_shares_are_the_terms_of_the_power_series(kernel, t):
    shares, value = kernel.shares(t), math.exp(kernel.log_value(t))
    n = np.arange(len(shares))
    for ratio in (0.0, 0.4, 1.0):
        expected = kernel(np.array([[t * ratio]]), np.ones((1, 1)))[0, 0]
        assert value * (shares * ratio**n).sum() == pytest.approx(expected, rel=1e-12)


@of_series
def test_a_block_has_each_degree_as_often_as_its_share_up_to_one(kernel):
    # A feature of degree N is a homogeneous polynomial of degree N.
    f, x = draw_features(kernel, F=200), np.ones((1, 3))
    for i in range(5):
        degrees = np.round(np.log2(np.abs(f.block(i, 2 * x) / f.block(i, x))))[0]
        shares = kernel.shares(3.0)
        counts = np.array([(degrees == n).sum() for n in range(len(shares))])
        assert (np.abs(counts - 200 * shares) < 1.0 + 1e-9).all()


def test_the_second_moment_of_products_of_signs_is_the_closed_form():
    # E (wᵀx)²(wᵀz)² = ‖x‖²‖z‖² + 2 (xᵀz)² − 2 Σ xᵢ²zᵢ² for a vector of signs, to the power of the degree.
    x, z, p = sample(4, 5), sample(4, 5, seed=1), 2
    f = draw_features(kernels.Polynomial(p, 0.0, 1.0), d=5, F=400_000, mean_square=1.0)
    products = f.block(0, x) * f.block(0, z)
    one = (x**2).sum(axis=1) * (z**2).sum(axis=1) + 2 * (x * z).sum(axis=1) ** 2 - 2 * (x**2 * z**2).sum(axis=1)
    deviation = (products**2).std(axis=1) / math.sqrt(products.shape[1])
    assert (np.abs((products**2).mean(axis=1) - one**p) < 5.0 * deviation).all()


@pytest.mark.parametrize("kernel", UNITS, ids=repr)
def test_the_moment_of_units_is_that_of_many_of_them(kernel):
    x = np.array([[0.6, 0.8, 0.0]])
    fourth = (draw_features(kernel, F=1_000_000).block(0, x) ** 4).mean()
    assert fourth / kernel.diagonal(x)[0] ** 2 == pytest.approx(kernel.relative_moment(1.0), rel=0.15)


@of_every_law
def test_a_block_is_the_same_in_every_order_split_precision_and_library(kernel):
    x, f = sample(20), draw_features(kernel)
    first = f.block(3, x)
    f.block(0, x)
    assert np.array_equal(draw_features(kernel, cache_bytes=0).block(3, x), first)
    assert np.abs(np.concatenate([f.block(3, x[:7]), f.block(3, x[7:])]) - first).max() < 1e-12
    made = f.block(3, x.astype(np.float32))
    assert made.dtype == np.float32
    # Units at their threshold may fall on either side in another precision.
    assert np.mean(np.abs(made - first) > 1e-4 * np.abs(first).max()) < 0.01
    strict = np.asarray(f.block(3, array_api_strict.asarray(x)))
    assert np.abs(strict - first).max() < 1e-12 * np.abs(first).max()
    A = sample(5 * 40, 2).reshape(5, 40, 2)
    expected = sum(f.block(1 + j, x) @ A[j] for j in range(5))
    assert np.abs(block_sums.evaluate(f, x, A, first=1, budget=2**10) - expected).max() < 1e-10


def test_the_door_gives_each_kernel_the_features_that_it_has():
    assert isinstance(stream_of(kernels.Gaussian(1.0), 3, 8, 0), FourierMap)
    made = stream_of(kernels.Exponential(1.0), 3, 8, 0)
    assert isinstance(made, RandomFeatures)
    assert isinstance(made, FeatureStream)
    with pytest.raises(ShallowsError, match="heat_circle"):
        stream_of(kernels.HeatCircle(), 1, 8, 0)
    with pytest.raises(ShallowsError, match="take 3 inputs"):
        made.block(0, np.ones((2, 4)))


# ----------------------------------------------------------------------------------------------- estimators

CUBIC = Polynomial(degree=3, offset=1.0, scale=0.3)


def cubic(n=800, seed=0):
    """A polynomial of degree 3 of three inputs about 2, which a polynomial kernel of degree 3 holds exactly."""
    x = sample(n, 3, seed) + 0.5
    return x, 2.0 + x[:, 0] * x[:, 1] * x[:, 2] - x[:, 0] ** 2 + x[:, 2]


def labelled():
    (X, y), (new, y_new) = cubic(), cubic(seed=1)
    return X, np.where(y > 2.0, 1, 0), new, np.where(y_new > 2.0, 1, 0)


@pytest.mark.parametrize(
    ("kernel", "reuse"),
    [
        (CUBIC, "fresh"),
        (kernels.ArcCosine(0), "fresh"),
        (kernels.ArcCosine(0), "checked_reuse"),
        (kernels.ArcCosine(1), "uniform_reuse"),
    ],
    ids=str,
)
def test_scores_of_the_square_loss_are_near_those_of_exact_kernel_ridge(kernel, reuse):
    X, y, new, y_new = labelled()
    model = DoublyStochasticClassifier(
        solver=DoublyStochastic(reuse=reuse), kernel=kernel, loss="square", random_state=0
    ).fit(X, y)
    nu, signs = model.report_["regularization"], 2.0 * y - 1.0
    alpha = np.linalg.solve(kernel(X, X) + len(X) * nu * np.eye(len(X)), signs - signs.mean())
    exact = signs.mean() + kernel(new, X) @ alpha
    # 0.06 to 0.12 of their spread, and 0.17 for the Gaussian kernel: a block is a regression on few features.
    assert np.sqrt(np.mean((model.decision_function(new) - exact) ** 2)) < 0.18 * exact.std()
    assert abs(model.score(new, y_new) - np.mean((exact > 0) == y_new)) < 0.02


@pytest.mark.parametrize("kernel", [CUBIC, "exponential", ArcCosine(order=1)], ids=str)
def test_a_fit_with_the_arrays_of_a_gpu_is_that_on_the_cpu(kernel, monkeypatch):
    X, y, new, _ = labelled()
    model = DoublyStochasticClassifier(kernel=kernel, random_state=0, solver=DoublyStochastic(n_iter=10))
    model.set_params(options__device="cpu", options__dtype="float64")
    expected = model.fit(X, y).decision_function(new)
    with pretended_gpu(monkeypatch), cuda.off():
        model.set_params(options__device="gpu").fit(X, y)
        assert model.report_["device"].startswith("gpu")
        assert np.abs(model.decision_function(new) - expected).max() < 1e-8 * np.abs(expected).max()


# ---------------------------------------------------------------------------------------------- wrong input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "heat_circle"}, r"'heat_circle' draws no random features.*'arc_cosine'.*\. KernelSGD.*'nystrom'"),
        ({"kernel": rbf_kernel}, "'rbf_kernel' draws no random features"),
        (
            {"kernel": "polynomial", "solver__reuse": "checked_reuse"},
            "'polynomial' have none. Take reuse='fresh' or Uniform",
        ),
        ({"kernel": "arc_cosine", "solver__form": "cosine"}, "form='cosine' is for kernels of the difference"),
        ({"kernel": "arc_cosine", "solver__orthogonal": True}, "orthogonal=True is for kernels of the difference"),
        ({"kernel": Polynomial(degree=40, offset=0.0)}, r"is 1\.22e\+19 times k\(x, x\)²"),
        ({"kernel": Polynomial(degree=1000, scale=9.0)}, "overflows on the training points"),
        ({"kernel": "exponential", "bandwidth": 0.01}, "overflows on the training points"),
        ({"kernel": "exponential", "bandwidth": 0.01, "regularization": 0.1}, "largest value of the kernel"),
    ],
)
def test_impossible_parameters_are_refused(options, message):
    with pytest.raises(ShallowsError, match=message):
        DoublyStochasticClassifier().set_params(**options).fit(*moons())


class OnlyFeatures(kernels.Kernel):
    def random_features(self, seed, counter, n, x, mean_square, kept):
        return x[:, :1] * np.ones(n, dtype=x.dtype)


class ValuesToo(OnlyFeatures):
    name = "mine"

    def fill(self, left, others, out):
        out[...] = np.outer(left[:, 0], others[:, 0])
        return out

    def diagonal(self, x):
        return x[:, 0] ** 2


@dataclass(frozen=True)
class OnlyFactor(RadialKernel):
    factor = 1.0


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (OnlyFeatures(), r"OnlyFeatures must also define name, diagonal, fill\..*\(shallows\.kernels\.Kernel\)"),
        (ValuesToo(), "ValuesToo must also define relative_moment"),
        (OnlyFactor(1.0), r"OnlyFactor must also define name, apply_in_place\..*kernels\.radial\.RadialKernel\)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_users_kernel_class_that_lacks_methods_is_refused_with_their_names(kernel, message):
    with pytest.raises(ShallowsError, match=message):
        DoublyStochasticClassifier(kernel=kernel).fit(*moons())


def test_other_estimators_refuse_it_too_and_take_a_kernel_without_random_features():
    with pytest.raises(ShallowsError, match="OnlyFeatures must also define"):
        eigenpro_classifier(kernel=OnlyFeatures()).fit(*moons(100))
    assert eigenpro_classifier(kernel=ValuesToo()).fit(*moons(100)).predict(moons(5)[0]).shape == (5,)
