"""Generated data: the same examples however they are asked for, their stated laws, and digits without an end."""

import dataclasses
import hashlib
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy import ndimage, stats

from shallows import streams
from shallows.errors import ShallowsError
from shallows_papers import datasets
from shallows_papers.datasets import catalogue, synthetic
from shallows_papers.datasets.sources import ArrayPart, Source
from shallows_papers.datasets.synthetic import make, source
from shallows_papers.datasets.synthetic.endless_digits import Deformation, deform
from synthetic_example import EMBEDDED, KINDS, drawn_digits, embedded_digits, molecules

# The molecules have separate tests: their geometries need RDKit.
assert set(synthetic.GENERATORS) == {*KINDS, "smiles_molecules"}


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


def test_an_example_depends_on_its_seed_and_not_on_what_was_asked_before(kind):
    data, again, other = (make(kind, seed=seed, **KINDS[kind]) for seed in (3, 3, 4))
    far, late, early = data.block(10**13, 10**13 + 2)[0], data.block(6000, 6064)[0], data.block(2, 5)[0]
    np.testing.assert_array_equal(again.block(2, 5)[0], early)
    np.testing.assert_array_equal(again.block(6000, 6064)[0], late)
    assert not np.array_equal(other.block(6000, 6064)[0], late)
    assert len(far) == 2 and np.isfinite(far).all()


def test_a_generator_says_the_shape_and_the_task_of_its_blocks(kind):
    data = make(kind, **KINDS[kind])
    x, y = data.block(0, 33)
    assert x.shape == (33, data.d)
    if data.task == "classification":
        assert y.shape == (33,) and y.dtype == np.int64 and y.min() >= 0 and y.max() < data.n_classes
    else:
        assert y.shape == ((33,) if data.task == "regression" else (33, 0)) and y.dtype == np.float64


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
    "planar_arm": [
        [1.4460655232543733, -1.4162173886644531, 2.6347681608046685],
        [4.1185887136607215, 3.7278524333452, -2.5748290163104235],
    ],
    "uniform_cube": [[0.9811733653911245, 0.606587071617431, 0.3245891916297319], [0.0, 0.0, 0.0]],
}
PIXELS = "8d9e175d62652d5b07a383e4f5a71f660b5b45303ca7ab2e9bfb642595fa43f5"


def pinned(kind):
    x, y = make(kind, seed=0, **KINDS[kind]).block(4096, 4099)
    return [x[:, 0].tolist(), (y if y.ndim == 1 else y[:, :0].sum(axis=1)).tolist()]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("endless_mnist", "virtual_molecules")])
def test_examples_stay_what_they_are(kind):
    assert kind in PINNED, f"a new generator: add {kind!r}: {pinned(kind)} to PINNED"
    np.testing.assert_allclose(pinned(kind), PINNED[kind], rtol=1e-9, atol=1e-12)


def test_deformed_pixels_stay_what_they_are():
    x, _ = make("endless_mnist", digits=drawn_digits()).block(0, 500)
    assert hashlib.sha256(x.tobytes()).hexdigest() == PIXELS


# Asking wrongly


@pytest.mark.parametrize(
    ("kind", "wrong", "words"),
    [
        ("gaussian1d", {}, "Did you mean 'gaussian_1d'"),
        ("gaussian_1d", {"bandwith": 1.0}, "Did you mean 'bandwidth'"),
        ("fourier_teacher", {}, "needs dimension"),
        ("gaussian_1d", {"scale": 0.0}, "above 0"),
        ("gaussian_1d", {"seed": -1}, "seed"),
        ("latent_views", {"weight": 1.5}, "between 0 and 1"),
        ("fourier_teacher", {"dimension": 2, "classes": 1}, "one class"),
        ("endless_mnist", {"digits": drawn_digits(), "deformation": {"rotation": 400}}, "rotation"),
        ("endless_mnist", {"digits": drawn_digits(), "deformation": {"rotate": 4}}, "Did you mean 'rotation'"),
        ("endless_mnist", {"digits": (np.zeros((3, 28, 28)), np.zeros(3))}, "uint8"),
        ("endless_mnist", {}, "needs digits"),
    ],
)
def test_a_generator_that_cannot_be_made_is_refused_in_words(kind, wrong, words):
    with pytest.raises(ShallowsError, match=words):
        make(kind, **wrong)


# As datasets of the catalogue


def entries():
    return {name: entry for name, entry in catalogue().items() if entry.state == "generated"}


BASES = {
    "mnist": (np.zeros((60, 784), np.uint8), np.arange(60) % 10),
    "mnist_demo": (np.zeros((60, 784), np.uint8), np.arange(60) % 10),
    "qm7": (np.tile(molecules(size=23)[0].reshape(5, -1), (2, 1)), np.arange(10.0)),
}


def opened(name, monkeypatch, **changes):
    from shallows_papers.datasets import sources

    entry = dataclasses.replace(entries()[name], **changes)
    base = BASES.get(entry.generator.get("made_from"))
    if base is not None:
        part = ArrayPart(*base)
        monkeypatch.setattr(sources, "open_source", lambda dataset, paths: Source(part, part))
    return entry, source.open_source(entry, {"anything": Path("x")} if base else {})


@pytest.mark.parametrize("name", [name for name in entries() if name != "cep_coulomb"])
def test_a_catalogue_entry_gives_the_rows_and_columns_it_states(name, monkeypatch):
    entry, rows = opened(name, monkeypatch, n_train=300, n_test=20)
    blocks = list(rows.train.blocks(128))
    x, y = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    assert x.shape == (300, entry.n_features)
    if entry.task == "classification":
        assert y.max() < entry.n_classes
    test = next(iter(rows.test.blocks(1000)))
    assert test.x.shape[1] == entry.n_features
    if "made_from" not in entry.generator:
        assert len(test.x) == 20
        kind = make(entry.generator["name"], **{k: v for k, v in entry.generator.items() if k != "name"})
        assert kind.task == entry.task
        np.testing.assert_array_equal(test.x, kind.block(300, 320)[0])


def prepared(tmp_path, entry, steps=()):
    stamp = datasets.fetch(entry, tmp_path / "raw", embedded_root=EMBEDDED.parent)
    datasets.prepare(entry, stamp, tmp_path / "out", steps)
    return datasets.load(tmp_path / "out")


# Generated data: stated eigenvalues, densities, residuals and norms, compared with the examples.

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
def test_matrix_gradient_descent_on_a_grid_leaves_the_told_residual(step_size):
    data = make("heaviside_circle", width=0.4)
    n = 1024
    # Off the jumps by half a step, so that the grid sums up to the aliasing of high frequencies, about 1 / n.
    x = 2 * math.pi * (np.arange(n) + 0.5) / n
    f, kernel, fitted = data.truth(x), data.kernel(x, x) / n, np.zeros(n)
    for t in range(1, 31):
        fitted -= step_size * kernel @ (fitted - f)
        if t in (1, 7, 30):
            left = math.sqrt(((fitted - f) ** 2).mean() / (f**2).mean())
            assert left == pytest.approx(data.residual(t, step_size), abs=2e-3)


def test_the_heat_kernel_has_sines_as_eigenfunctions():
    data = make("heaviside_circle", width=0.3)
    x = 2 * math.pi * np.arange(256) / 256
    for j in (0, 1, 4):
        wave = np.cos(j * x)
        np.testing.assert_allclose(data.kernel(x, x) @ wave / 256, data.eigenvalues(j) * wave, atol=1e-12)


# Regression and teachers


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 30])
def test_a_teacher_has_mean_0_and_variance_1(dimension):
    data = make("fourier_teacher", dimension=dimension, seed=5)
    x, y = data.block(0, 20_000)
    truth = data.truth(x)
    # Means over 20,000 points, at four standard deviations; the variance has a kurtosis of at most 10 here.
    assert abs(truth.mean()) < 4 / math.sqrt(20_000)
    assert abs(truth.var() - 1) < 4 * math.sqrt(10 / 20_000)
    assert (y - truth).std() == pytest.approx(0.1, rel=4 / math.sqrt(2 * 20_000))


# Endless MNIST: which digits come plain, and that the deformations are what their parameters say.


@pytest.fixture
def digits():
    return embedded_digits()


def test_the_first_pass_is_the_digits_themselves_and_every_pass_keeps_the_labels():
    images, labels = drawn_digits(100)
    x, y = make("endless_mnist", digits=(images, labels)).block(0, 250)
    np.testing.assert_array_equal(x[:100], images.reshape(100, -1))
    np.testing.assert_array_equal(y, np.concatenate([labels, labels, labels[:50]]))
    assert (x[100:200] != x[:100]).any(axis=1).all()
    assert (x[200:250] != x[100:150]).any(axis=1).all()


STILL = dict.fromkeys((field.name for field in dataclasses.fields(Deformation) if field.name != "smoothness"), 0.0)


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
    # The ramps give a place to 1/16 pixel (their gray levels are rounded), and a stroke's edge rises 255 in about one.
    assert np.abs(found[inside] - expected[inside]).max() < 2 * 255 / 16
    assert np.abs(found[inside] - expected[inside]).mean() < 2


def test_the_elastic_field_has_the_stated_size_and_is_smooth():
    how = Deformation(**STILL | {"displacement": 0.6})
    ramp = np.broadcast_to(np.arange(28, dtype=np.uint8) * 8, (600, 28, 28))
    moved = (deform(ramp, words(600), how)[:, 6:22, 6:22] / 8) - np.arange(6, 22)
    assert math.sqrt((moved**2).mean()) == pytest.approx(0.6, rel=0.06)
    # Of noise smoothed by a Gaussian of 4 pixels, neighbors at distance h correlate as exp(-h^2 / 64).
    flat = moved - moved.mean()
    for h in (2, 6):
        correlation = (flat[:, :, h:] * flat[:, :, :-h]).mean() / (flat**2).mean()
        assert correlation == pytest.approx(math.exp(-(h**2) / 64), abs=0.06)
