"""Random numbers as functions of (seed, purpose, counter)."""

import itertools

import array_api_strict
import numpy as np
import pytest
import scipy.stats

from shallows import streams

ZEROS, ONES = (0, 0), (2**64 - 1, 2**64 - 1)


def test_the_plain_array_form_gives_the_published_words_of_philox_4x64_10():
    # First lines of the known answers that come with Random123 (Salmon et al. 2011): counter and key of zeros.
    known = [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]
    assert streams._philox(np, ZEROS, 0, 4).tolist() == known


@pytest.mark.parametrize("key", [ZEROS, ONES, (0x9E3779B97F4A7C15, 3)])
@pytest.mark.parametrize("counter", [0, 1, 2**63, 2**64 + 5, 2**128 - 1])
def test_the_plain_array_form_equals_numpys_generator(key, counter):
    # NumPy steps the counter, whose lowest word counts the blocks of a draw, before its first block.
    words = [(2**64 - 1), *(((counter << 64) - 1) >> shift & 2**64 - 1 for shift in (64, 128, 192))]
    theirs = np.random.Philox(counter=np.array(words, dtype=np.uint64), key=np.array(key, dtype=np.uint64))
    assert np.array_equal(streams._philox(np, key, counter, 13), theirs.random_raw(13))


@pytest.mark.parametrize("counter", [0, 7, 2**64 + 5])
@pytest.mark.parametrize("n", [1, 4, 13, 0])
def test_integers_are_the_same_on_every_library(counter, n):
    elsewhere = streams.integers(3, "x", counter, n, like=array_api_strict.ones(1))
    assert np.array_equal(streams.integers(3, "x", counter, n), np.asarray(elsewhere))


def test_integers_stay_what_they_were_when_this_was_written():
    # A change here changes every published run.
    assert streams.integers(0, "batches", 0, 2).tolist() == [6266515786441030809, 5531785010976795800]
    assert streams.permutation(1, "order", 2, 8).tolist() == [7, 5, 0, 1, 3, 4, 2, 6]
    assert streams.uniform(2, "x", 0, (2,)).tolist() == [0.9429386885354081, 0.757899815619021]
    assert streams.normal(2, "x", 0, (2,)) == pytest.approx([-1.869655835691092, 1.4938691213988902], rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_normal_numbers_are_the_radius_and_the_angle_of_one_integer(dtype):
    n = 2 * streams.STRIP + 6
    raw = streams.integers(3, "x", 1, n // 2)
    u, v = (raw >> np.uint64(32)) / 2.0**32, (raw & np.uint64(2**32 - 1)) / 2.0**32
    radius, angle = np.sqrt(-2 * np.log1p(-u)), 2 * np.pi * v
    expected = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()
    # An angle in float32 has 24 bits of its circle; so has the probability to be outside of the radius.
    tolerance = 1e-12 if dtype is np.float64 else 2e-5
    drawn = streams.normal(3, "x", 1, (n,), dtype=dtype)
    assert np.abs(drawn - expected)[np.repeat(u, 2) < 0.999].max() < tolerance


def test_signs_are_the_bits_of_the_integers_and_the_same_on_every_library():
    made = streams.signs(1, "x", 3, (50, 9))
    words = streams.integers(1, "x", 3, 8)
    bits = [int(word) >> place & 1 for word in words for place in range(64)]
    assert np.array_equal(made.reshape(-1), 2.0 * np.array(bits[:450]) - 1.0)
    strict = streams.signs(1, "x", 3, (50, 9), like=array_api_strict.empty(0))
    assert np.array_equal(np.asarray(strict), made)
    assert abs(streams.signs(1, "x", 4, (10_000,)).mean()) < 0.04


def test_streams_of_other_seeds_purposes_and_counters_share_no_number_and_no_correlation():
    n = 20_000
    keys = list(itertools.product((0, 1, -1), ("x", "y", "x|0"), (0, 1)))
    assert len({int(word) for key in keys for word in streams.integers(*key, n)}) == n * len(keys)
    correlations = np.corrcoef([streams.uniform(*key, (n,)) for key in keys]) - np.eye(len(keys))
    # 153 pairs of standard deviation 1/√n: beyond 4.5 of them by chance once in a thousand seeds.
    assert np.abs(correlations).max() < 4.5 / np.sqrt(n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniform_numbers_are_uniform_and_stay_below_one(dtype):
    u = streams.uniform(0, "x", 0, (40_000,), dtype=dtype)
    assert u.dtype == dtype
    assert u.min() >= 0
    assert u.max() < 1
    assert scipy.stats.kstest(u, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normal_numbers_have_the_law_of_normal_numbers(dtype):
    n = 40_000
    z = streams.normal(0, "x", 0, (n,), dtype=dtype).astype(np.float64)
    assert scipy.stats.kstest(z, "norm").pvalue > 1e-3
    # Standard deviations of the k-th moment: sqrt((E z^2k − (E z^k)²)/n), four of them.
    for power, mean, deviation in ((1, 0, 1), (2, 1, 2**0.5), (3, 0, 15**0.5), (4, 3, 96**0.5)):
        assert abs((z**power).mean() - mean) < 4 * deviation / n**0.5


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_a_permutation_holds_every_number_once(n):
    order = streams.permutation(0, "x", 0, n)
    assert order.dtype == np.int64
    assert np.array_equal(np.sort(order), np.arange(n))
