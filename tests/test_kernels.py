"""Kernels against their formulas, laws and spectra, and the median rule for the bandwidth."""

import functools
import math
import pickle

import numpy as np
import pytest
import scipy.integrate
import scipy.special

from engine_example import EUCLIDEAN, naive_kernel, sample
from shallows import arrays, kernels
from shallows.errors import ShallowsError

EPS = float(np.finfo(float).eps)
EPS32 = float(np.finfo(np.float32).eps)


def matern(nu):
    def formula(x, z):
        r = np.sqrt(((x[:, None] - z[None]) ** 2).sum(axis=2))
        t = np.sqrt(2 * nu) * r / 1.5
        with np.errstate(invalid="ignore"):
            made = 2 ** (1 - nu) / scipy.special.gamma(nu) * t**nu * scipy.special.kv(nu, t)
        return np.where(r == 0, 1.0, made)

    return formula


def arc_cosine(order):
    def formula(x, z):
        a, b = np.linalg.norm(x, axis=1)[:, None], np.linalg.norm(z, axis=1)[None]
        theta = np.arccos(np.clip(x @ z.T / (a * b), -1, 1))
        J = {
            0: math.pi - theta,
            1: np.sin(theta) + (math.pi - theta) * np.cos(theta),
            2: 3 * np.sin(theta) * np.cos(theta) + (math.pi - theta) * (1 + 2 * np.cos(theta) ** 2),
        }[order]
        return (a * b) ** order * J / math.pi

    return formula


def by_differences(combine):
    return lambda x, z: combine(x[:, None] - z[None])


def rbf_function(X, Z, gamma=0.3):
    return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


CASES = {
    **{name: (kernels.make(name, 1.5), functools.partial(naive_kernel, name, 1.5)) for name in EUCLIDEAN},
    **{f"matern {nu}": (kernels.Matern(1.5, nu), matern(nu)) for nu in (0.3, 0.5, 1.5, 2.5, 7.3, 40.0)},
    "laplace product": (
        kernels.LaplaceProduct(1.5),
        by_differences(lambda delta: np.exp(-np.abs(delta).sum(axis=2) / 1.5)),
    ),
    "cauchy product": (
        kernels.CauchyProduct(1.5),
        by_differences(lambda delta: np.prod(1 / (1 + (delta / 1.5) ** 2), axis=2)),
    ),
    **{
        f"polynomial {p}": (kernels.Polynomial(p, 0.7, 0.3), lambda x, z, p=p: (0.3 * x @ z.T + 0.7) ** p)
        for p in (2, 3, 6)
    },
    "linear": (kernels.Linear(), lambda x, z: x @ z.T),
    "exponential": (kernels.Exponential(1.7), lambda x, z: np.exp(x @ z.T / 1.7**2)),
    **{f"arc-cosine {s}": (kernels.ArcCosine(s), arc_cosine(s)) for s in (0, 1, 2)},
    "a function": (kernels.make(rbf_function, gamma=0.2), lambda x, z: rbf_function(x, z, 0.2)),
}
each = pytest.mark.parametrize(("kernel", "formula"), CASES.values(), ids=CASES)
with_law = pytest.mark.parametrize(
    ("kernel", "formula"), [c for c in CASES.values() if c[0].has_frequencies], ids=lambda c: getattr(c, "name", "")
)


@each
def test_values_equal_the_formula_in_both_precisions(kernel, formula):
    x, z = sample(40, 5), sample(30, 5, seed=1)
    truth = formula(x, z)
    # ‖x‖² + ‖z‖² − 2xᵀz loses some units in the last place of ‖x‖² ≈ 20: 2e-13 and less of the largest value.
    assert np.abs(kernel(x, z) - truth).max() < 2e-13 * np.abs(truth).max()
    made = kernel(x.astype(np.float32), z.astype(np.float32))
    assert made.dtype == np.float32
    assert np.abs(made - truth).max() < 200 * EPS32 * np.abs(truth).max()


@each
def test_the_matrix_of_a_set_with_itself_is_symmetric_positive_and_has_the_exact_diagonal(kernel, formula):
    x = sample(80)
    K = kernels.matrix(kernel, kernels.augmented(x))
    assert np.abs(K - K.T).max() < 1e-13 * np.abs(K).max()
    assert np.linalg.eigvalsh((K + K.T) / 2).min() > -80 * EPS * np.linalg.eigvalsh(K).max()
    assert kernel.diagonal(x) == pytest.approx(np.diagonal(formula(x, x)), rel=1e-7)
    # Angles near zero lose half of their digits in the cosine, which the exact diagonal does not.
    assert np.array_equal(np.diagonal(K), kernel.diagonal(x))


@with_law
def test_frequencies_have_the_kernel_as_their_characteristic_function_and_follow_their_counter(kernel, formula):
    n, d = 100_000, 3
    shifts = sample(8, d) * np.linspace(0.2, 3.0, 8)[:, None]
    draws = kernel.frequencies(0, "test", 0, n, d)
    assert draws.shape == (n, d)
    # A cosine's standard deviation is below 1; four standard deviations of the mean.
    assert np.abs(np.cos(draws @ shifts.T).mean(axis=0) - formula(shifts, np.zeros((1, d)))[:, 0]).max() < 4 / n**0.5
    first, again, other = (kernel.frequencies(0, "test", c, 50, 3, dtype=np.float32) for c in (0, 0, 1))
    assert first.dtype == np.float32
    assert np.isfinite(first).all()
    assert np.array_equal(first, again)
    assert not np.any(first == other)


@pytest.mark.parametrize("kernel", [kernels.Polynomial(), kernels.ArcCosine(), kernels.HeatCircle()])
def test_a_kernel_without_frequencies_says_so(kernel):
    assert not kernel.has_frequencies
    with pytest.raises(ShallowsError, match="no frequencies"):
        kernel.frequencies(0, "test", 0, 5, 3)


@pytest.mark.parametrize("nu", [0.2, 2.0, 100.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_sum_of_gaussians_is_the_bessel_function_at_every_distance(nu, dtype):
    r = np.concatenate([np.zeros(1), np.logspace(-8, 2, 400)])
    kernel, x = kernels.Matern(1.0, nu), np.sqrt(2 * nu) * r
    with np.errstate(all="ignore"):
        log = (1 - nu) * np.log(2) - scipy.special.gammaln(nu) + nu * np.log(x) + np.log(scipy.special.kve(nu, x)) - x
    # Near zero the Bessel function of a large ν overflows.
    known = np.isfinite(log)
    assert known.sum() > 100
    truth = np.exp(log)
    scaled = (x**2).astype(dtype)[None].copy()
    made = kernel.apply_in_place(scaled)[0]
    assert 0 <= 1 - made[0] < 20 * np.finfo(dtype).eps
    assert np.abs(made - truth)[known].max() < (1e-12 if dtype == np.float64 else 20 * EPS32)


# ------------------------------------------------------------------------- precision, and the median rule


def test_the_median_rule_is_the_median_of_all_pairs_where_the_sample_holds_all_points():
    x = sample(41)
    r = np.sqrt(((x[:, None] - x[None]) ** 2).sum(axis=2))[np.triu_indices(41, k=1)]
    assert kernels.median_bandwidth(x) == pytest.approx(np.median(r), rel=1e-12)
    # Repetitions do not change it.
    assert kernels.median_bandwidth(np.repeat(x, 3, axis=0)) == pytest.approx(np.median(r), rel=1e-12)
    with pytest.raises(ShallowsError, match="coincide"):
        kernels.median_bandwidth(np.ones((10, 2)))


# -------------------------------------------------------------------------------------- heat on the circle

TIMES = [0.01, 0.5, 0.999, 1.001, 3.0]


@pytest.mark.parametrize("time", TIMES)
def test_the_heat_kernel_is_its_fourier_series(time):
    x, z, kernel = sample(30, 1) * 3, sample(20, 1, seed=1) * 3, kernels.HeatCircle(time)
    j = np.arange(1, 80)
    series = np.exp(-(j**2) * time) * np.cos(j * (x[:, :, None] - z[None, :, 0, None]))
    truth = (1 + 2 * series.sum(axis=2)) / (2 * math.pi)
    # The series itself is off by some units in the last place of its largest partial sum.
    assert np.abs(kernel(x, z) - truth).max() < 1e-13 * max(1, truth.max())
    assert np.abs(kernel(x, z + 2 * math.pi) - kernel(x, z)).max() < 1e-12 * kernel.diagonal(x)[0]
    assert kernels.from_description(kernels.describe(kernel)) == kernel
    with pytest.raises(ShallowsError, match="one feature, an angle"):
        kernel(np.zeros((3, 2)), np.zeros((3, 2)))


# ------------------------------------------------------------------------------------------------- the door


@each
def test_a_kernel_is_its_name_and_parameters_and_can_be_written_down_unless_it_is_a_function(kernel, formula):
    if isinstance(kernel, kernels.FunctionKernel):
        with pytest.raises(ShallowsError, match="cannot be written to a file"):
            kernels.describe(kernel)
    else:
        assert kernels.make(kernel.name, kernel.bandwidth, **kernel.parameters) == kernel
        assert kernels.from_description(kernels.describe(kernel)) == kernel
        assert pickle.loads(pickle.dumps(kernel)) == kernel
        assert len({kernel, kernels.make(kernel), kernels.Gaussian(7.0)}) == 2


@pytest.mark.parametrize(
    ("name", "bandwidth", "parameters", "says"),
    [
        ("gaussian", 1.0, {"nu": 1.5}, "no parameter 'nu'"),
        ("matern", 1.0, {"mu": 1.5}, "its parameters are nu"),
        ("matern", 1.0, {"nu": 0.0}, "nu must be a positive number"),
        ("matern", "wide", {}, "bandwidth must be a positive number"),
        ("polynomial", 1.0, {}, "has no bandwidth; its parameters are degree, offset, scale"),
        ("polynomial", None, {"degree": 1.5}, "degree must be a whole number"),
        ("polynomial", None, {"offset": -1.0}, "offset must be a number of at least 0"),
        ("polynomial", None, {"scale": 0.0}, "scale must be a positive number"),
        ("arc_cosine", None, {"order": 3}, "order must be 0, 1 or 2"),
        ("heat_circle", None, {"time": -1.0}, "time must be a positive number"),
        (kernels.Gaussian, 1.0, {}, r"is a class\. Give an object, such as kernel=Gaussian\(\)"),
        *((name, bandwidth, {}, "bandwidth must be") for name, bandwidth in [("gaussian", 0), ("cauchy", np.inf)]),
        ("gausian", 1.0, {}, r"'gausian'.*'gaussian'"),
    ],
)
def test_a_parameter_that_is_wrong_is_named(name, bandwidth, parameters, says):
    with pytest.raises(ShallowsError, match=says):
        kernels.make(name, bandwidth, **parameters)


def test_a_function_that_gives_no_matrix_is_told_what_was_expected():
    def dot(a, b):
        return float(a[0] @ b[0])

    with pytest.raises(ShallowsError, match=r"'dot' returned float for 4 and 3 points.*shape \(4, 3\)"):
        kernels.make(dot)(sample(4), sample(3))
    with pytest.raises(ShallowsError, match=r"returned the shape \(3, 4\)"):
        kernels.make(lambda x, z: z @ x.T)(sample(4), sample(3))


@each
def test_values_are_the_same_on_another_array_library(kernel, formula):
    xp = pytest.importorskip("array_api_strict")
    if isinstance(kernel, kernels.FunctionKernel):
        kernel = kernels.make(lambda x, z: x @ z.T)
    x, z = sample(20), sample(15, seed=1)
    theirs = kernel(xp.asarray(x), xp.asarray(z))
    assert np.abs(arrays.to_numpy(theirs) - kernel(x, z)).max() < 1e-13 * np.abs(kernel(x, z)).max()
    theirs = kernels.matrix(kernel, kernels.augmented(xp.asarray(x)))
    assert np.abs(arrays.to_numpy(theirs) - kernels.matrix(kernel, kernels.augmented(x))).max() < 1e-12
