"""Feature maps against the kernels they stand for."""

import array_api_strict
import numpy as np
import pytest

from engine_example import naive_kernel, sample
from shallows import kernels
from shallows.errors import ShallowsError
from shallows.features import FourierMap, NystroemMap, RBFNetworkMap

RADIAL = ("gaussian", "laplace", "cauchy")
FREQUENCIES = [-0.5625431298900421, -1.2571839002121956, -1.7981354029090282, -0.5951739049492035]
PHASES = [0.1751119097734051, 2.611863872567815]
FORMS = [("pair", False), ("cosine", False), ("pair", True), ("cosine", True)]


def fourier(name="gaussian", bandwidth=2.0, d=3, F=64, **more):
    return FourierMap(kernels.make(name, bandwidth), d, F, **more)


def errors(name, form, orthogonal, F, n_seeds, x, bandwidth=2.0):
    """Root mean squared error of the kernel over pairs of points and over seeds."""
    off = ~np.eye(len(x), dtype=bool)
    K = naive_kernel(name, bandwidth, x, x)
    squares = []
    for seed in range(n_seeds):
        z = fourier(name, bandwidth, x.shape[1], F, seed=seed, form=form, orthogonal=orthogonal).map(x)
        squares.append(((z @ z.T - K)[off] ** 2).mean())
    return float(np.sqrt(np.mean(squares)))


# ------------------------------------------------------------------------------------------------ Fourier


@pytest.mark.parametrize(("form", "orthogonal"), FORMS)
@pytest.mark.parametrize("name", [*RADIAL, "laplace_product", "matern"])
def test_the_mean_over_blocks_is_the_kernel(name, form, orthogonal):
    x, z = sample(12), sample(9, seed=1)
    kernel = kernels.make(name, 2.0)
    f = fourier(name, F=30, form=form, orthogonal=orthogonal and kernel.of_distance)
    n_blocks = 400
    estimates = np.array([f.block(i, x) @ f.block(i, z).T / f.block_size for i in range(n_blocks)])
    deviation = estimates.std(axis=0) / np.sqrt(n_blocks)
    # 108 pairs: beyond 4.5 standard deviations once in 1,400 sets of seeds.
    assert (np.abs(estimates.mean(axis=0) - kernel(x, z)) < 4.5 * deviation + 1e-12).all()


@pytest.mark.parametrize(("form", "orthogonal"), FORMS)
def test_a_block_is_the_same_in_every_call_order_and_split(form, orthogonal):
    x = sample(40)
    f, again = (fourier(form=form, orthogonal=orthogonal, seed=4) for _ in range(2))
    forward = [f.frequencies(i, x) for i in range(5)]
    backward = [again.frequencies(i, x) for i in reversed(range(5))][::-1]
    assert all(np.array_equal(a, b) for a, b in zip(forward, backward, strict=True))
    whole = f.block(3, x)
    parts = np.vstack([again.block(3, x[rows]) for rows in (slice(0, 7), slice(7, 8), slice(8, 40))])
    assert np.abs(whole - parts).max() < 1e-13
    assert not np.array_equal(f.frequencies(0, x), f.frequencies(1, x))


def test_blocks_stay_what_they_were_when_this_was_written():
    # A model is its coefficients and its seed: a change here changes every saved one.
    f = FourierMap(kernels.Gaussian(1.0), 2, 2, seed=5, form="cosine")
    like = np.ones(1)
    assert f.frequencies(7, like).ravel() == pytest.approx(FREQUENCIES, rel=1e-13)
    assert f.phases(7, like) == pytest.approx(PHASES, rel=1e-13)


@pytest.mark.parametrize(("form", "orthogonal"), FORMS)
def test_other_array_libraries_make_the_same_block(form, orthogonal):
    x = sample(10)
    f = fourier("cauchy", form=form, orthogonal=orthogonal)
    strict = array_api_strict.asarray(x)
    assert np.abs(np.asarray(f.frequencies(2, strict)) - f.frequencies(2, x)).max() < 1e-12
    assert np.abs(np.asarray(f.block(2, strict)) - f.block(2, x)).max() < 1e-12
    assert np.abs(np.asarray(f.map(strict, 3)) - f.map(x, 3)).max() < 1e-12


@pytest.mark.parametrize("orthogonal", [False, True])
def test_float32_has_the_rounded_frequencies_of_float64(orthogonal):
    f = fourier(F=50, form="cosine", orthogonal=orthogonal)
    wide, narrow = np.ones(1), np.ones(1, dtype=np.float32)
    assert np.array_equal(f.frequencies(1, wide).astype(np.float32), f.frequencies(1, narrow))
    assert np.array_equal(f.phases(1, wide).astype(np.float32), f.phases(1, narrow))


@pytest.mark.parametrize("d", [1, 7])
def test_orthogonal_frequencies_are_at_right_angles_and_keep_the_law_of_their_lengths(d):
    f = fourier("laplace", d=d, F=3 * d + 2, orthogonal=True)
    W = f.frequencies(0, np.ones(1))
    for rows in (W[:d], W[d : 2 * d], W[3 * d : 4 * d]):
        G = rows @ rows.T
        assert np.abs(G - np.diag(np.diag(G))).max() < 1e-10 * np.diag(G).max()
    plain = fourier("laplace", d=d, F=3 * d + 2).frequencies(0, np.ones(1))
    assert np.allclose(np.linalg.norm(W, axis=1), np.linalg.norm(plain, axis=1), rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"form": "sine"}, "form must be"),
        ({"block_size": 0}, "block_size must be"),
        ({"n_inputs": 2.5}, "n_inputs must be"),
        ({"kernel": object()}, "no frequencies"),
        ({"kernel": kernels.Polynomial(degree=2)}, "'polynomial' has no frequencies"),
        ({"kernel": kernels.LaplaceProduct(1.0), "orthogonal": True}, "'laplace_product' is not one"),
    ],
)
def test_wrong_parameters_are_told(changes, message):
    with pytest.raises(ShallowsError, match=message):
        FourierMap(**{"kernel": kernels.Gaussian(1.0), "n_inputs": 3, "block_size": 4} | changes)


def test_points_of_another_width_are_refused():
    for f in (
        fourier(),
        NystroemMap(kernels.Gaussian(1.0), sample(4)),
        RBFNetworkMap(kernels.Gaussian(1.0), sample(4)),
    ):
        with pytest.raises(ShallowsError, match="3 inputs"):
            f.map(sample(5, d=4))


# ------------------------------------------------------------------------------------------------ by name
