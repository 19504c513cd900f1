"""Features from kernel values with landmarks: radial basis functions and Nyström's, against the kernels."""

import array_api_strict
import numpy as np
import pytest

from engine_example import naive_kernel, sample
from shallows import kernels
from shallows.features import NystroemMap, RBFNetworkMap

RADIAL = ("gaussian", "laplace", "cauchy")


@pytest.mark.parametrize("name", RADIAL)
def test_nystrom_is_exact_wherever_one_point_is_a_landmark(name):
    landmarks, x = sample(30), sample(25, seed=1)
    f = NystroemMap(kernels.make(name, 2.0), landmarks)
    z, zx = f.map(landmarks), f.map(x)
    # At a landmark Laplace's kernel has the root of the rounding of a squared distance.
    tolerance = 1e-6 if name == "laplace" else 1e-10
    assert np.abs(z @ z.T - naive_kernel(name, 2.0, landmarks, landmarks)).max() < tolerance
    assert np.abs(zx @ z.T - naive_kernel(name, 2.0, x, landmarks)).max() < 1e-7


def test_nystrom_leaves_out_what_is_rounding():
    # Doubled landmarks and a wide kernel: most eigenvalues are noise, and features made of them would explode.
    for dtype, tolerance in ((np.float64, 1e-7), (np.float32, 2e-3)):
        landmarks = np.vstack([sample(40, d=2, dtype=dtype)] * 2)
        f = NystroemMap(kernels.Gaussian(10.0), landmarks)
        x = sample(200, d=2, seed=1, dtype=dtype)
        z = f.map(x)
        assert f.n_features < 40
        assert np.abs(z).max() < 1.01
        assert np.abs(z @ z.T - naive_kernel("gaussian", 10.0, x, x)).max() < tolerance


@pytest.mark.parametrize(
    ("kernel", "d", "bandwidth", "offset", "least"),
    [
        # A floor of M ε times the largest eigenvalue, which was used once, left 11, 200, 30 and 100.
        (kernels.Gaussian, 1, 1.0, 0.0, 13),
        (kernels.Laplace, 1, 1.0, 0.0, 250),
        (kernels.Gaussian, 3, 3.0, 5.0, 40),
        (kernels.Gaussian, 20, 12.0, 0.0, 390),
    ],
)
def test_nystrom_in_single_precision_keeps_what_rounding_allows(kernel, d, bandwidth, offset, least):
    landmarks, x = (sample(n, d=d, seed=n) + offset for n in (400, 500))
    landmarks, x = landmarks.astype(np.float32), x.astype(np.float32)
    f = NystroemMap(kernel(bandwidth), landmarks)
    q, wide, wide_x = f.n_features, landmarks.astype(float), x.astype(float)
    values, vectors = np.linalg.eigh(naive_kernel(kernel.name, bandwidth, wide, wide))
    exact = naive_kernel(kernel.name, bandwidth, wide_x, wide) @ (vectors / np.sqrt(np.maximum(values, 1e-30)))[:, ::-1]
    z = f.map(x)
    exact[:, :q] *= np.sign((exact[:, :q] * z).sum(axis=0))
    errors = np.sqrt(((z - exact[:, :q]) ** 2).mean(axis=0) / (exact[:, :q] ** 2).mean(axis=0))
    # Vectors of nearly equal eigenvalues may be turned into each other: the middle of the last tenth is looked at.
    assert np.median(errors[-max(1, q // 10) :]) < 0.1
    approximation = exact[:, :q] @ exact[:, :q].T
    assert np.abs(z.astype(float) @ z.T - approximation).max() < 1e-2
    assert q >= least


def test_nystrom_of_few_components_keeps_the_largest():
    landmarks = sample(30)
    f = NystroemMap(kernels.Gaussian(2.0), landmarks, n_components=5)
    z = f.map(landmarks)
    values = np.linalg.eigvalsh(naive_kernel("gaussian", 2.0, landmarks, landmarks))[::-1]
    assert z.shape == (30, 5)
    assert (z**2).sum(axis=0) == pytest.approx(values[:5], rel=1e-10)


def test_maps_run_on_other_array_libraries():
    x, centers = sample(9), sample(4, seed=1)
    for xp in (np, array_api_strict):
        made = RBFNetworkMap(kernels.Cauchy(2.0), xp.asarray(centers)).map(xp.asarray(x))
        assert np.abs(np.asarray(made) - naive_kernel("cauchy", 2.0, x, centers)).max() < 1e-14
        z = np.asarray(NystroemMap(kernels.Laplace(2.0), xp.asarray(centers)).map(xp.asarray(x)))
        K, C = naive_kernel("laplace", 2.0, x, centers), naive_kernel("laplace", 2.0, centers, centers)
        assert np.abs(z @ z.T - K @ np.linalg.solve(C, K.T)).max() < 1e-12
