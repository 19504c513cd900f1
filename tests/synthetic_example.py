"""What the tests of generated data share: digits and molecules that need no file, and every generator by its name."""

import functools
from pathlib import Path

import numpy as np

from shallows_papers.datasets.formats.idx import read_idx

EMBEDDED = Path(__file__).parents[1] / "data/embedded/mnist_demo"


@functools.cache
def embedded_digits():
    """Return the 4,000 training digits that the project carries, and their labels."""
    images = read_idx(EMBEDDED / "train-images-idx3-ubyte.gz")
    return images, read_idx(EMBEDDED / "train-labels-idx1-ubyte.gz")


def drawn_digits(n=10):
    """Return images that need no file: a bar through the middle, another gray level for each label."""
    images = np.zeros((n, 28, 28), np.uint8)
    for i in range(n):
        images[i, 6:22, 12:16] = 25 * (i % 10) + 20
        images[i, 6:9, 12:20] = 255
    return images, np.arange(n) % 10


def molecules(n=5, size=6):
    """Return symmetric matrices of no meaning, and an energy of each."""
    rng = np.random.default_rng(0)
    matrices = rng.uniform(0.5, 9, (n, size, size))
    return matrices + matrices.transpose(0, 2, 1), np.arange(float(n))


KINDS = {
    "endless_mnist": {"digits": drawn_digits()},
    "gaussian_1d": {},
    "latent_views": {"n_views": 3},
    "heaviside_circle": {"noise": 0.1},
    "uniform_cube": {"dimension": 3},
    "dsg_regression": {"dimension": 3},
    "fourier_teacher": {"dimension": 7},
    "planar_arm": {},
    "virtual_molecules": {"molecules": molecules()},
}
"""Every generator but the molecules of RDKit, with what it must be given."""
