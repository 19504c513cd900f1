"""Endless MNIST: which digits come plain, and that the deformations are what their parameters say."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import ndimage

from shallows import streams
from shallows_papers.datasets.synthetic import make
from shallows_papers.datasets.synthetic.endless_digits import Deformation, deform
from synthetic_example import drawn_digits, embedded_digits


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
