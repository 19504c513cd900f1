"""Generated data: the same examples however they are asked for, and the truths that are told about them."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy import ndimage, stats

from datasets_example import needs_mirror
from shallows import datasets, streams
from shallows.datasets import catalogue, generated
from shallows.datasets.files import DatasetError
from shallows.datasets.formats import read_idx
from shallows.datasets.generated import LabelNoise, make
from shallows.datasets.generated.digits import Deformation, deform
from shallows.datasets.sources import ArrayPart, Source
from shallows.errors import ShallowsError, UnknownNameError
from shallows.report import contact_sheet

EMBEDDED = Path(__file__).parents[1] / "data/embedded/mnist_demo"


def drawn_digits(n=10):
    """Return images that need no file: a bar through the middle, another grey level for each label."""
    images = np.zeros((n, 28, 28), np.uint8)
    for i in range(n):
        images[i, 6:22, 12:16] = 25 * (i % 10) + 20
        images[i, 6:9, 12:20] = 255
    return images, np.arange(n) % 10


def molecules(n=5, size=6):
    rng = np.random.default_rng(0)
    matrices = rng.uniform(0.5, 9, (n, size, size))
    return matrices + matrices.transpose(0, 2, 1), np.arange(float(n))


KINDS = {
    "endless_mnist": {"digits": drawn_digits()},
    "gaussian_1d": {},
    "latent_views": {"n_views": 3},
    "heaviside_circle": {"noise": 0.1},
    "smooth_circle": {},
    "uniform_cube": {"dimension": 3},
    "dsg_regression": {"dimension": 3},
    "fourier_teacher": {"dimension": 7},
    "rbf_teacher": {"dimension": 3, "classes": 4},
    "virtual_molecules": {"molecules": molecules()},
}
# What stands beside the molecules' own tests: their geometries need RDKit.
assert set(generated.names()) == {*KINDS, "smiles_molecules"}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


# Examples by their numbers


def test_an_example_does_not_depend_on_how_the_blocks_are_split(kind):
    data = make(kind, seed=3, **KINDS[kind])
    bounds = [100, 101, 164, 900, 4095, 4100, 5000]
    x, y = data.block(100, 5000)
    parts = [data.block(start, stop) for start, stop in itertools.pairwise(bounds)]
    np.testing.assert_array_equal(np.concatenate([part for part, _ in parts]), x)
    np.testing.assert_array_equal(np.concatenate([part for _, part in parts]), y)


def test_an_example_does_not_depend_on_what_was_asked_before(kind):
    data = make(kind, seed=3, **KINDS[kind])
    late, early = data.block(6000, 6003), data.block(2, 5)
    again = make(kind, seed=3, **KINDS[kind])
    np.testing.assert_array_equal(again.block(2, 5)[0], early[0])
    np.testing.assert_array_equal(again.block(6000, 6003)[0], late[0])


def test_another_seed_gives_other_examples(kind):
    assert not np.array_equal(
        make(kind, seed=0, **KINDS[kind]).block(64, 128)[0], make(kind, seed=1, **KINDS[kind]).block(64, 128)[0]
    )


@pytest.mark.parametrize("n_rows", [50, 5000])
def test_blocks_give_every_example_once_and_no_more_than_asked_for(kind, n_rows):
    data = make(kind, **KINDS[kind])
    blocks = list(data.blocks(10, 9000, n_rows))
    assert max(len(x) for x, _ in blocks) <= n_rows
    np.testing.assert_array_equal(np.concatenate([x for x, _ in blocks]), data.block(10, 9000)[0])


def test_a_generator_says_the_shape_and_the_task_of_its_blocks(kind):
    data = make(kind, **KINDS[kind])
    x, y = data.block(0, 33)
    assert x.shape == (33, data.d)
    if data.task == "classification":
        assert y.shape == (33,) and y.dtype == np.int64 and y.min() >= 0 and y.max() < data.n_classes
    else:
        assert y.shape == ((33,) if data.task == "regression" else (33, 0)) and y.dtype == np.float64


def test_far_examples_are_reached_without_those_before(kind):
    x, _ = make(kind, **KINDS[kind]).block(10**13, 10**13 + 2)
    assert len(x) == 2 and np.isfinite(x).all()


# The numbers themselves: of examples 4,096 to 4,098 of seed 0, the first feature and the target. Normal numbers come
# through the logarithm and the cosine of the machine, hence the tolerance.
PINNED = {
    "dsg_regression": [
        [-2.8461210219261157, -0.1398071706035804, 4.671993651413864],
        [-0.22060838882274242, 0.23276185689959453, 0.04434584910078767],
    ],
    "fourier_teacher": [
        [0.9125591995674361, 0.4519535874055915, -1.8369010870034976],
        [1.6865131512286005, 0.11933166495961098, -2.2318101293203423],
    ],
    "gaussian_1d": [[0.2817562235369324, -0.9579693045010071, 0.9034180398407994], [0.0, 0.0, 0.0]],
    "heaviside_circle": [
        [0.550822686036831, 1.9274518437707608, 0.9376540401328339],
        [1.0226847864588502, 1.005515935569765, 0.9966302534598365],
    ],
    "latent_views": [[-0.12224516973015964, 3.7050570090071897, -0.15967596479373514], [0, 1, 0]],
    "rbf_teacher": [[1.021077483753628, 1.2557385321028252, 0.38008859245839943], [1, 2, 0]],
    "smooth_circle": [
        [3.620633682056538, 3.991993093312366, 3.085495731010249],
        [-0.3389518002552999, -0.6098041527514964, 0.03942967278314168],
    ],
    "uniform_cube": [[0.9811733653911245, 0.606587071617431, 0.3245891916297319], [0.0, 0.0, 0.0]],
}
PIXELS = "8d9e175d62652d5b07a383e4f5a71f660b5b45303ca7ab2e9bfb642595fa43f5"


def pinned(kind):
    x, y = make(kind, seed=0, **KINDS[kind]).block(4096, 4099)
    return [x[:, 0].tolist(), (y if y.ndim == 1 else y[:, :0].sum(axis=1)).tolist()]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("endless_mnist", "virtual_molecules")])
def test_examples_stay_what_they_are(kind):
    np.testing.assert_allclose(pinned(kind), PINNED[kind], rtol=1e-9, atol=1e-12)


def test_deformed_pixels_stay_what_they_are():
    x, _ = make("endless_mnist", digits=drawn_digits()).block(0, 500)
    assert hashlib.sha256(x.tobytes()).hexdigest() == PIXELS


def test_pixels_are_the_same_by_another_instruction_set():
    code = (
        "import hashlib; from test_datasets_generated import drawn_digits, make;"
        "x, y = make('endless_mnist', digits=drawn_digits()).block(0, 500);"
        "print(hashlib.sha256(x.tobytes()).hexdigest())"
    )
    # OpenBLAS for an old processor, and NumPy without its wide instructions (names it does not know are warned of).
    environment = os.environ | {
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F",
        "PYTHONPATH": str(Path(__file__).parent),
        "PYTHONWARNINGS": "ignore",
    }
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert found.stdout.split()[-1:] == [PIXELS], found.stderr


# Asking wrongly


def test_an_unknown_generator_is_told_with_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'gaussian_1d'"):
        make("gaussian1d")


def test_an_unknown_parameter_is_told():
    with pytest.raises(UnknownNameError, match="Did you mean 'bandwidth'"):
        make("gaussian_1d", bandwith=1.0)


def test_a_missing_parameter_is_told():
    with pytest.raises(ShallowsError, match="needs dimension"):
        make("rbf_teacher")


@pytest.mark.parametrize(
    ("kind", "wrong", "words"),
    [
        ("gaussian_1d", {"scale": 0.0}, "above 0"),
        ("gaussian_1d", {"seed": -1}, "seed"),
        ("gaussian_1d", {"seed": 1.5}, "seed"),
        ("latent_views", {"weight": 1.5}, "between 0 and 1"),
        ("latent_views", {"n_views": 0}, "n_views"),
        ("smooth_circle", {"decay": "linear"}, "decay"),
        ("heaviside_circle", {"width": -1.0}, "width"),
        ("fourier_teacher", {"dimension": 2, "classes": 1}, "one class"),
        ("fourier_teacher", {"dimension": 2.0}, "whole number"),
        ("dsg_regression", {"noise": float("nan")}, "noise"),
        ("endless_mnist", {"digits": drawn_digits(), "deformation": {"rotation": 400}}, "rotation"),
        ("endless_mnist", {"digits": drawn_digits(), "deformation": {"rotate": 4}}, "Did you mean 'rotation'"),
        ("endless_mnist", {"digits": (np.zeros((3, 28, 28)), np.zeros(3))}, "uint8"),
        ("endless_mnist", {"digits": "/nowhere"}, "Fetch the dataset 'mnist'"),
        ("endless_mnist", {}, "needs the digits"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_told(kind, wrong, words):
    with pytest.raises(ShallowsError, match=words):
        make(kind, **wrong)


@pytest.mark.parametrize("bounds", [(-1, 3), (5, 4), (0.0, 3)])
def test_a_block_that_does_not_exist_is_refused(bounds):
    with pytest.raises(ShallowsError, match="block"):
        make("gaussian_1d").block(*bounds)


def test_data_without_a_truth_say_so():
    with pytest.raises(ShallowsError, match="no truth"):
        make("endless_mnist", digits=drawn_digits()).truth(np.zeros((1, 784)))


# Normal numbers under a Gaussian kernel


@pytest.mark.parametrize(("scale", "bandwidth"), [(1.0, 0.5), (0.7, 1.9)])
def test_hermite_functions_solve_the_eigenproblem_of_the_kernel(scale, bandwidth):
    data = make("gaussian_1d", scale=scale, bandwidth=bandwidth)
    nodes, weights = hermegauss(180)
    z, weights = scale * nodes, weights / weights.sum()
    x = np.linspace(-3 * scale, 3 * scale, 41)
    applied = data.kernel(x, z) @ (weights[:, None] * data.eigenfunctions(z, 6))
    # Gauss quadrature of 180 nodes leaves rounding, relative to functions of size below 10 here.
    np.testing.assert_allclose(applied, data.eigenvalues(6) * data.eigenfunctions(x, 6), atol=1e-10)


def test_hermite_functions_are_orthonormal_under_the_law_of_the_points():
    data = make("gaussian_1d", scale=1.3, bandwidth=0.8)
    nodes, weights = hermegauss(180)
    e = data.eigenfunctions(1.3 * nodes, 12)
    np.testing.assert_allclose(e.T @ (weights[:, None] / weights.sum() * e), np.eye(12), atol=1e-10)


def test_eigenvalues_sum_to_the_kernel_at_zero():
    assert make("gaussian_1d", scale=2.0, bandwidth=0.3).eigenvalues(2000).sum() == pytest.approx(1, abs=1e-12)


def test_the_gram_matrix_of_the_points_has_these_eigenvalues():
    data = make("gaussian_1d", seed=1)
    x, _ = data.block(0, 1500)
    found = np.linalg.eigvalsh(data.kernel(x, x) / 1500)[::-1][:3]
    # Sampling error of an eigenvalue: lambda * sqrt(2 / n) or so; three times that.
    np.testing.assert_allclose(found, data.eigenvalues(3), rtol=0.11)


def test_the_points_are_normal_with_the_stated_scale():
    x, _ = make("gaussian_1d", scale=0.6).block(0, 20_000)
    assert stats.kstest(x[:, 0], stats.norm(scale=0.6).cdf).pvalue > 0.01


# Views of a hidden class


def test_every_view_follows_the_density_of_its_component():
    x, component = make("latent_views", seed=2).block(0, 20_000)
    laws = [stats.norm(-4, 2), stats.gamma(1.2, scale=3)]
    for label, law in enumerate(laws):
        for view in x[component == label].T:
            assert stats.kstest(view, law.cdf).pvalue > 0.01


def test_the_told_densities_are_those_of_the_laws():
    x = np.linspace(-12, 20, 301)
    expected = np.column_stack([stats.norm(-4, 2).pdf(x), stats.gamma(1.2, scale=3).pdf(x)])
    np.testing.assert_allclose(make("latent_views").densities(x), expected, rtol=1e-12, atol=1e-15)


def test_views_are_independent_given_the_component_and_dependent_without_it():
    x, component = make("latent_views").block(0, 20_000)
    for label in (0, 1):
        assert abs(np.corrcoef(x[component == label].T)[0, 1]) < 4 / math.sqrt(10_000)
    assert np.corrcoef(x.T)[0, 1] > 0.5


def test_the_told_probability_of_a_component_is_calibrated():
    data = make("latent_views", weight=0.3, mean=1.0)
    x, component = data.block(0, 40_000)
    told = data.truth(x)[:, 1]
    for low in np.arange(0, 1, 0.2):
        here = (told >= low) & (told < low + 0.2)
        assert abs(component[here].mean() - told[here].mean()) < 4 * 0.5 / math.sqrt(here.sum())


# The circle


def test_gradient_descent_leaves_of_the_step_what_the_sources_state():
    data = make("heaviside_circle", width=0.5)
    found = [data.residual(t) for t in (1, 1e2, 1e4, 1e6, 1e8, 1e12)]
    np.testing.assert_allclose(found, [0.559, 0.330, 0.312, 0.259, 0.259, 0.225], atol=5e-4)
    np.testing.assert_allclose([data.truncation_error(100), data.truncation_error(200)], [0.064, 0.045], atol=5e-4)


@pytest.mark.parametrize("step_size", [1.0, 1.9])
@pytest.mark.parametrize(
    ("kind", "parameters"),
    [("heaviside_circle", {}), ("smooth_circle", {"rate": 0.3}), ("smooth_circle", {"decay": "power", "rate": 2.0})],
)
def test_matrix_gradient_descent_on_a_grid_leaves_the_told_residual(kind, parameters, step_size):
    data = make(kind, width=0.4, **parameters)
    n = 1024
    # Off the jumps by half a step, so that the grid sums up to the aliasing of high frequencies, about 1 / n.
    x = 2 * math.pi * (np.arange(n) + 0.5) / n
    f, kernel, fitted = data.truth(x), data.kernel(x, x) / n, np.zeros(n)
    for t in range(1, 31):
        fitted -= step_size * kernel @ (fitted - f)
        if t in (1, 7, 30):
            left = math.sqrt(((fitted - f) ** 2).mean() / (f**2).mean())
            assert left == pytest.approx(data.residual(t, step_size), abs=2e-3)


def test_nothing_is_fitted_before_the_first_step():
    assert make("heaviside_circle").residual(0) == 1.0


def test_steps_that_are_too_large_diverge():
    data = make("smooth_circle", width=0.05)
    assert data.residual(50, 2.2) > data.residual(10, 2.2) > 1


def test_the_heat_kernel_has_sines_as_eigenfunctions():
    data = make("heaviside_circle", width=0.3)
    x = 2 * math.pi * np.arange(256) / 256
    for j in (0, 1, 4):
        wave = np.cos(j * x)
        np.testing.assert_allclose(data.kernel(x, x) @ wave / 256, data.eigenvalues(j) * wave, atol=1e-12)


@pytest.mark.parametrize("decay", ["exponential", "power"])
def test_a_smooth_function_has_norm_one_and_the_told_energies(decay):
    data = make("smooth_circle", decay=decay, rate=1.5, n_frequencies=20)
    x = 2 * math.pi * np.arange(512) / 512
    spectrum = np.abs(np.fft.rfft(data.truth(x)) / 512) ** 2 * 2
    np.testing.assert_allclose(data.energies(np.arange(30)), spectrum[:30], atol=1e-14)
    assert data.energies(np.arange(30)).sum() == pytest.approx(1)
    assert data.energy_above(4) == pytest.approx(spectrum[5:].sum())


def test_targets_on_the_circle_are_the_truth_and_the_asked_noise():
    data = make("heaviside_circle", noise=0.25)
    x, y = data.block(0, 20_000)
    assert x.min() >= 0 and x.max() < 2 * math.pi
    assert (y - data.truth(x)).std() == pytest.approx(0.25, rel=4 / math.sqrt(2 * 20_000))


# Regression and teachers


def test_the_wave_is_the_stated_function_in_the_stated_cube():
    data = make("dsg_regression", dimension=2)
    x, y = data.block(0, 20_000)
    assert x.min() >= -5 and x.max() < 5
    assert (y - data.truth(x)).std() == pytest.approx(0.1, rel=4 / math.sqrt(2 * 20_000))
    # r = 4: cos(2 pi) = 1; r = 1: cos(pi / 2) = 0.
    np.testing.assert_allclose(data.truth([[0, 4.0], [1.0, 0]]), [math.exp(-0.4 * math.pi), 0], atol=1e-15)


@pytest.mark.parametrize("kind", ["fourier_teacher", "rbf_teacher"])
@pytest.mark.parametrize("dimension", [1, 30])
def test_a_teacher_has_mean_0_and_variance_1(kind, dimension):
    data = make(kind, dimension=dimension, seed=5)
    x, y = data.block(0, 20_000)
    truth = data.truth(x)
    # Means over 20,000 points, at four standard deviations; the variance has a kurtosis of at most 10 here.
    assert abs(truth.mean()) < 4 / math.sqrt(20_000)
    assert abs(truth.var() - 1) < 4 * math.sqrt(10 / 20_000)
    assert (y - truth).std() == pytest.approx(0.1, rel=4 / math.sqrt(2 * 20_000))


def test_the_smooth_teacher_is_the_told_function_of_the_kernel():
    data = make("rbf_teacher", dimension=4, n_units=30, bandwidth=1.7)
    x, _ = data.block(0, 50)
    squared = ((x[:, None] - data.centres) ** 2).sum(axis=2)
    direct = np.exp(-squared / (2 * 1.7**2)) @ data.weights[:, 0]
    np.testing.assert_allclose(data.truth(x) - direct, (data.truth(x) - direct)[0], atol=1e-10)
    between = ((data.centres[:, None] - data.centres) ** 2).sum(axis=2)
    norm = data.weights[:, 0] @ np.exp(-between / (2 * 1.7**2)) @ data.weights[:, 0]
    np.testing.assert_allclose(data.squared_norm(), norm, rtol=1e-9)


def test_classes_of_a_teacher_are_those_of_the_largest_score_and_about_even():
    data = make("fourier_teacher", dimension=20, classes=5, noise=0.0)
    x, y = data.block(0, 10_000)
    np.testing.assert_array_equal(y, data.truth(x).argmax(axis=1))
    share = np.bincount(y) / 10_000
    assert share.min() > 0.12 and share.max() < 0.28


def test_one_teacher_can_teach_several_samples():
    first, second = (make("fourier_teacher", dimension=3, seed=seed, teacher_seed=9) for seed in (0, 1))
    x = first.block(0, 20)[0]
    np.testing.assert_array_equal(first.truth(x), second.truth(x))
    assert not np.array_equal(x, second.block(0, 20)[0])
    assert not np.allclose(first.truth(x), make("fourier_teacher", dimension=3, teacher_seed=8).truth(x))


# Label noise


def test_label_noise_changes_the_stated_share_of_labels_to_any_other_class():
    clean = make("fourier_teacher", dimension=2, classes=4)
    data = make("fourier_teacher", dimension=2, classes=4, label_noise=0.3)
    x, y = data.block(0, 20_000)
    np.testing.assert_array_equal(x, clean.block(0, 20_000)[0])
    right = data.clean(0, 20_000)
    np.testing.assert_array_equal(right, clean.block(0, 20_000)[1])
    assert abs((y != right).mean() - 0.3) < 4 * math.sqrt(0.21 / 20_000)
    shifts = np.bincount((y - right)[y != right] % 4, minlength=4)[1:]
    assert stats.chisquare(shifts).pvalue > 0.01


def test_label_noise_in_regression_has_the_stated_deviation():
    data = make("smooth_circle", label_noise=0.5)
    _, y = data.block(0, 20_000)
    assert (y - data.clean(0, 20_000)).std() == pytest.approx(0.5, rel=4 / math.sqrt(2 * 20_000))


def test_label_noise_does_not_depend_on_the_blocks():
    data = make("rbf_teacher", dimension=2, classes=3, label_noise=0.5)
    np.testing.assert_array_equal(
        np.concatenate([data.block(0, 4500)[1], data.block(4500, 9000)[1]]), data.block(0, 9000)[1]
    )
    blocks = [y for _, y in data.blocks(0, 9000, 1000)]
    np.testing.assert_array_equal(np.concatenate(blocks), data.block(0, 9000)[1])


@pytest.mark.parametrize(("kind", "amount"), [("latent_views", 0.6), ("gaussian_1d", 0.1), ("smooth_circle", -1.0)])
def test_label_noise_that_makes_no_sense_is_refused(kind, amount):
    with pytest.raises(ShallowsError, match=r"noise|no targets"):
        LabelNoise(make(kind), amount)


# Endless MNIST


@pytest.fixture(scope="module")
def digits():
    images = read_idx(EMBEDDED / "train-images-idx3-ubyte.gz")
    return images, read_idx(EMBEDDED / "train-labels-idx1-ubyte.gz")


def test_the_first_pass_is_the_digits_themselves_and_every_pass_keeps_the_labels():
    images, labels = drawn_digits(100)
    x, y = make("endless_mnist", digits=(images, labels)).block(0, 250)
    np.testing.assert_array_equal(x[:100], images.reshape(100, -1))
    np.testing.assert_array_equal(y, np.concatenate([labels, labels, labels[:50]]))
    assert (x[100:200] != x[:100]).any(axis=1).all()
    assert (x[200:250] != x[100:150]).any(axis=1).all()


def test_without_the_plain_pass_every_example_is_deformed():
    images, labels = drawn_digits(100)
    x, _ = make("endless_mnist", digits=(images, labels), plain_first=False).block(0, 100)
    assert (x != images.reshape(100, -1)).any(axis=1).all()


STILL = dict.fromkeys((field.name for field in dataclasses.fields(Deformation) if field.name != "smoothness"), 0.0)


def test_no_deformation_is_the_identity(digits):
    data = make("endless_mnist", digits=digits, deformation=STILL, plain_first=False)
    np.testing.assert_array_equal(data.block(0, 500)[0], digits[0][:500].reshape(500, -1))


def words(n, seed=0):
    return streams.integers(seed, "test", 0, n * 398).reshape(n, 398)


def test_resampling_is_bilinear(digits):
    # The places of a pure displacement field are taken from the images of two ramps, then SciPy resamples the digits.
    n = 20
    how = Deformation(**STILL | {"displacement": 1.5, "translation": 1.0})
    ramp = np.broadcast_to(np.arange(28, dtype=np.uint8) * 8, (n, 28, 28))
    x = deform(ramp, words(n), how) / 8
    y = deform(ramp.transpose(0, 2, 1), words(n), how) / 8
    inside = (slice(None), slice(6, 22), slice(6, 22))
    expected = np.stack(
        [
            ndimage.map_coordinates(image.astype(float), [b, a], order=1)
            for image, a, b in zip(digits[0][:n], x, y, strict=True)
        ]
    )
    found = deform(digits[0][:n], words(n), how)
    # The ramps tell a place to 1/16 pixel (their grey levels are rounded), and a stroke's edge rises 255 in about one.
    assert np.abs(found[inside] - expected[inside]).max() < 2 * 255 / 16
    assert np.abs(found[inside] - expected[inside]).mean() < 2


@pytest.mark.parametrize(
    ("key", "amount", "moment"),
    [
        ("translation", 3.0, "shift"),
        ("rotation", 20.0, "angle"),
        ("scaling", 0.2, "size"),
        ("stretch", 0.15, "aspect"),
        ("shear", 0.3, "slant"),
    ],
)
def test_an_affine_part_is_uniform_up_to_the_stated_amount(key, amount, moment):
    image = np.zeros((28, 28), np.uint8)
    image[4:24, 9:19] = 255
    images = np.broadcast_to(image, (2000, 28, 28))
    found = deform(images, words(2000), Deformation(**STILL | {key: amount})).astype(float)
    place = np.arange(28) - 13.5
    mass = found.sum(axis=(1, 2))
    mean_x, mean_y = (found.sum(axis=1) @ place) / mass, (found.sum(axis=2) @ place) / mass
    xx = (found.sum(axis=1) @ place**2) / mass - mean_x**2
    yy = (found.sum(axis=2) @ place**2) / mass - mean_y**2
    xy = np.einsum("nij,i,j->n", found, place, place) / mass - mean_x * mean_y
    aspect = np.sqrt(yy / xx * (10**2 - 1) / (20**2 - 1))
    values = {
        "shift": mean_x,
        "angle": np.degrees(np.arctan2(2 * xy, yy - xx) / 2),
        "aspect": (aspect - 1) / (aspect + 1),
        "slant": -xy / yy,
        "size": 1 / np.sqrt(mass / image.sum()) - 1,
    }[moment]
    # A 28-pixel raster blurs these moments by a few per cent of the amount.
    assert np.abs(values).max() == pytest.approx(amount, rel=0.08)
    assert abs(values.mean()) < 0.05 * amount
    assert values.std() == pytest.approx(amount / math.sqrt(3), rel=0.08)


def test_the_elastic_field_has_the_stated_size_and_is_smooth():
    how = Deformation(**STILL | {"displacement": 0.6})
    ramp = np.broadcast_to(np.arange(28, dtype=np.uint8) * 8, (600, 28, 28))
    moved = (deform(ramp, words(600), how)[:, 6:22, 6:22] / 8) - np.arange(6, 22)
    assert math.sqrt((moved**2).mean()) == pytest.approx(0.6, rel=0.06)
    # Of noise smoothed by a Gaussian of 4 pixels, neighbours at distance h correlate as exp(-h^2 / 64).
    flat = moved - moved.mean()
    for h in (2, 6):
        correlation = (flat[:, :, h:] * flat[:, :, :-h]).mean() / (flat**2).mean()
        assert correlation == pytest.approx(math.exp(-(h**2) / 64), abs=0.06)


def test_deformed_digits_keep_their_mass(digits):
    data = make("endless_mnist", digits=digits)
    x, _ = data.block(4000, 8000)
    assert x.mean() / digits[0].mean() == pytest.approx(1, abs=0.02)


def test_deformed_digits_are_still_recognised_by_plain_ones(digits):
    # Training digits alone: nothing here has seen a test digit. A person reads them all.
    data = make("endless_mnist", digits=digits)
    x, y = data.block(8000, 9000)
    plain = digits[0].reshape(4000, -1).astype(np.float32)
    distance = (plain**2).sum(axis=1) - 2 * x.astype(np.float32) @ plain.T
    assert (digits[1][distance.argmin(axis=1)] == y).mean() > 0.97


# As datasets of the catalogue


def entries():
    return {name: entry for name, entry in catalogue().items() if entry.state == "generated"}


BASES = {
    "mnist": (np.zeros((60, 784), np.uint8), np.arange(60) % 10),
    "mnist_demo": (np.zeros((60, 784), np.uint8), np.arange(60) % 10),
    "qm7": (np.tile(molecules(size=23)[0].reshape(5, -1), (2, 1)), np.arange(10.0)),
}


def opened(name, monkeypatch, **changes):
    from shallows.datasets import sources

    entry = dataclasses.replace(entries()[name], **changes)
    base = BASES.get(entry.generator.get("made_from"))
    if base is not None:
        part = ArrayPart(*base)
        monkeypatch.setattr(sources, "open_source", lambda dataset, paths: Source(part, part))
    return entry, generated.open_source(entry, {"anything": Path("x")} if base else {})


@pytest.mark.parametrize("name", [name for name in entries() if name != "cep_coulomb"])
def test_a_catalogue_entry_gives_the_rows_and_columns_it_states(name, monkeypatch):
    entry, source = opened(name, monkeypatch, n_train=300, n_test=20)
    blocks = list(source.train.blocks(128))
    x, y = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    assert x.shape == (300, entry.n_features)
    if entry.task == "classification":
        assert y.max() < entry.n_classes
    test = next(iter(source.test.blocks(1000)))
    assert test.x.shape[1] == entry.n_features
    if "made_from" not in entry.generator:
        assert len(test.x) == 20
        kind = make(entry.generator["name"], **{k: v for k, v in entry.generator.items() if k != "name"})
        assert kind.task == entry.task
        np.testing.assert_array_equal(test.x, kind.block(300, 320)[0])


def test_a_generated_dataset_that_is_made_of_another_wants_its_files():
    with pytest.raises(DatasetError, match="made from 'mnist'"):
        generated.open_source(entries()["mnist_endless"], {})


def test_a_generator_that_takes_no_data_cannot_be_made_of_some():
    entry = dataclasses.replace(entries()["gaussian_1d"], generator={"name": "gaussian_1d", "made_from": "mnist"})
    with pytest.raises(DatasetError, match="takes no data"):
        generated.open_source(entry, {"x": Path("x")})


def prepared(tmp_path, entry, steps=()):
    stamp = datasets.fetch(entry, tmp_path / "raw", embedded_root=EMBEDDED.parent)
    datasets.prepare(entry, stamp, tmp_path / "out", steps)
    return datasets.load(tmp_path / "out")


@pytest.mark.parametrize("name", ["gaussian_1d", "latent_views", "fourier_teacher_classes"])
def test_a_generated_dataset_is_prepared_in_the_ordinary_way(tmp_path, name):
    entry = dataclasses.replace(entries()[name], n_train=9000, n_test=500)
    data = prepared(tmp_path, entry)
    parameters = {key: value for key, value in entry.generator.items() if key != "name"}
    x, y = make(entry.generator["name"], **parameters).block(0, 9500)
    np.testing.assert_array_equal(data.x_train, x[:9000].astype(np.float32))
    np.testing.assert_array_equal(data.x_test, x[9000:].astype(np.float32))
    np.testing.assert_array_equal(data.y_train, y[:9000])
    np.testing.assert_array_equal(data.y_test, y[9000:])


def test_endless_digits_are_prepared_from_the_embedded_ones(tmp_path, digits):
    data = prepared(tmp_path, entries()["mnist_endless_demo"], [{"unit": {}}])
    assert [source["name"] for source in data.info["sources"]][:1] == ["train-images-idx3-ubyte.gz"]
    x, y = make("endless_mnist", digits=digits).block(0, 20_000)
    np.testing.assert_array_equal(np.rint(data.x_train[::7] * 255), x[::7])
    np.testing.assert_array_equal(data.y_train, y)
    plain = read_idx(EMBEDDED / "t10k-images-idx3-ubyte.gz").reshape(1000, -1)
    np.testing.assert_array_equal(np.rint(data.x_test * 255), plain)
    # Its base is verified where that one lies.
    stamp = json.loads((tmp_path / "raw/mnist_endless_demo/verified.json").read_text())
    path = tmp_path / "raw/mnist_endless_demo" / stamp["files"][0]["path"]
    assert path.resolve() == (EMBEDDED / "train-images-idx3-ubyte.gz").resolve()


@needs_mirror
@pytest.mark.filterwarnings("ignore::shallows.datasets.DatasetWarning")  # the copy at hand may not be the publisher's
def test_qm7_is_prepared_sorted_with_its_virtual_examples(tmp_path):
    data = prepared(tmp_path, entries()["qm7_virtual"])
    assert data.x_train.shape == (57320, 276) and data.x_test.shape == (1433, 276)
    np.testing.assert_array_equal(data.y_train[:5732], data.y_train[5732:11464])
    assert (data.x_train[:5732] != data.x_train[5732:11464]).any(axis=1).mean() > 0.9


# The contact sheet


def test_the_contact_sheet_is_drawn_the_same_again(tmp_path, digits):
    data = make("endless_mnist", digits=digits)
    drawn = []
    for turn in ("a", "b"):
        paths = [tmp_path / f"{turn}.svg", tmp_path / f"{turn}.png"]
        contact_sheet.of_digits(data, *paths, source="4,000 training digits of MNIST")
        drawn.append([path.read_bytes() for path in paths])
    assert drawn[0] == drawn[1]
    assert b"<svg" in drawn[0][0] and drawn[0][1].startswith(b"\x89PNG")


def test_the_contact_sheet_shows_a_hundred_deformed_digits_beside_their_plain_ones(digits, monkeypatch):
    shown = []
    monkeypatch.setattr(contact_sheet, "draw", lambda plain, deformed, *_, **__: shown.extend([plain, deformed]))
    contact_sheet.of_digits(make("endless_mnist", digits=digits), "a.svg", "a.png", source="")
    plain, deformed = shown
    assert len(plain) == 10 and [len(row) for row in deformed] == [10] * 10
    flat = digits[0].reshape(4000, -1)
    for label, image in enumerate(plain):
        first = int(np.flatnonzero((flat == image.ravel()).all(axis=1))[0])
        assert digits[1][first] == label
    assert len({image.tobytes() for row in deformed for image in row}) == 100
