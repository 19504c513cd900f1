"""The kernel two-sample test, against the formula, all divisions of small samples, and its level."""

import itertools

import numpy as np
import pytest
import scipy.sparse
import scipy.stats

from engine_example import sample
from shallows.errors import ShallowsError
from shallows.estimators import two_samples
from shallows.kernel_approximation import FourierFeatures
from shallows.kernels import Gaussian
from shallows.statistics import two_sample_test

X, Y = sample(60, 3), sample(50, 4)[:, 1:] + 0.4
SMALL = {"n_features": 100, "n_draws": 200}


@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "matern"])
def test_the_statistic_is_the_formula_of_the_kernel_of_the_features(kernel):
    found = two_sample_test(X, Y, kernel, bandwidth=1.5, random_state=3)
    features = FourierFeatures(kernel, bandwidth=1.5, random_state=3).fit(np.vstack([X, Y]))
    x, y = features.transform(X), features.transform(Y)
    literal = (x @ x.T).mean() + (y @ y.T).mean() - 2.0 * (x @ y.T).mean()
    assert found.statistic == pytest.approx(literal, rel=1e-10)
    assert found.n_rows == (60, 50) and found.bandwidth == 1.5 and found.null == "permutations"


def test_the_null_distribution_is_that_of_all_divisions_of_the_rows():
    x, y = X[:4], Y[:3]
    found = two_sample_test(x, y, bandwidth=1.0, n_draws=20_000, random_state=0)
    both = np.vstack([x, y])
    Z = FourierFeatures(bandwidth=1.0, random_state=0).fit(both).transform(both)
    every = []
    for chosen in itertools.combinations(range(7), 4):
        others = [i for i in range(7) if i not in chosen]
        every.append(np.sum((Z[list(chosen)].mean(axis=0) - Z[others].mean(axis=0)) ** 2))
    drawn, counts = np.unique(found.null_distribution.round(9), return_counts=True)
    assert np.allclose(drawn, np.unique(np.round(every, 9)), atol=1e-8)
    # 35 divisions, each in a 35th of the draws: six standard errors of 20,000 draws.
    assert np.abs(counts / 20_000 - 1 / 35).max() < 6 * np.sqrt(1 / 35 / 20_000)
    assert found.pvalue == pytest.approx(np.mean(np.array(every) >= found.statistic - 1e-12), abs=0.02)


def test_a_stream_of_batches_gives_what_the_arrays_give():
    # The kernel is given, since a stream shows only its first batches to the rule of the bandwidth.
    options = {"bandwidth": 1.5, "random_state": 0, **SMALL}
    whole = two_sample_test(X, Y, **options)
    parts = two_sample_test(iter(np.array_split(X, 7)), (Y[i : i + 9] for i in range(0, 50, 9)), **options)
    assert parts.statistic == pytest.approx(whole.statistic, rel=1e-9)
    sparse = two_sample_test(scipy.sparse.csr_array(X), Y.tolist(), **options)
    assert sparse.statistic == pytest.approx(whole.statistic, rel=1e-9)


@pytest.mark.parametrize("rows", [17, 64, 65, 300, 1000])
def test_sums_of_blocks_are_those_of_consecutive_rows_however_they_come(monkeypatch, rows):
    monkeypatch.setattr(two_samples, "MOST_BLOCKS", 64)
    Z = sample(rows, 5)
    sums = two_samples.BlockSums(5)
    for part in np.array_split(Z, [3, 4, 11, 60, 200, 201]):
        if len(part):
            sums.add(part)
    assert sums.rows == rows and sums.size == 2 ** max(0, int(np.ceil(np.log2(rows / 64))))
    expected = np.array([Z[i : i + sums.size].sum(axis=0) for i in range(0, rows, sums.size)])
    assert np.allclose(sums.blocks(whole=False)[0], expected, atol=1e-12)
    assert np.array_equal(sums.blocks(whole=True)[0], sums.blocks(whole=False)[0][: rows // sums.size])
    assert sums.blocks(whole=False)[1].sum() == rows


@pytest.mark.parametrize(("n", "m", "null"), [(30, 20, "permutations"), (150, 130, "permutations"), (400, 60, "signs")])
def test_the_level_is_kept_by_rows_by_blocks_and_by_signs(monkeypatch, n, m, null):
    monkeypatch.setattr(two_samples, "MOST_BLOCKS", 64)
    monkeypatch.setattr(two_samples, "LEAST_BLOCKS", 16)
    found = []
    for seed in range(150):
        both = np.random.default_rng(seed).normal(size=(n + m, 2))
        first = iter([both[:n]]) if null == "signs" else both[:n]
        found.append(two_sample_test(first, both[n:], n_features=20, n_draws=59, random_state=seed))
    assert {one.null for one in found} == {null}
    # Of 150 tests at 5 %, three standard errors are 5.3 %.
    assert np.mean([one.pvalue <= 0.05 for one in found]) < 0.104
    assert scipy.stats.kstest([one.pvalue for one in found], "uniform").pvalue > 1e-3


@pytest.mark.parametrize(
    ("given", "options", "error", "says"),
    [
        ((X[:1], Y), {}, ShallowsError, "two rows of each sample; X has 1"),
        ((iter([]), Y), {}, ShallowsError, "two rows of each sample; X is an empty stream"),
        ((X, Y[:, :2]), {}, ShallowsError, "X has 3 columns, and Y has 2"),
        ((X, iter([Y, Y[:, :2]])), {}, ShallowsError, "A batch of Y has 2 columns, not 3"),
        ((X, np.where(Y > 1, np.nan, Y)), {}, ValueError, "Y contains NaN"),
        ((iter([X, np.full((9, 3), np.inf)]), Y), {}, ValueError, "X contains"),
        ((X, 3), {}, ShallowsError, "Y must be an array or an iterable of batches, got int"),
        ((X, Y), {"kernel": "polynomial"}, ShallowsError, "no random Fourier features"),
        ((X, Y), {"n_draws": 0}, ShallowsError, "n_draws must be a whole number of at least 1, got 0"),
        ((X, Y), {"options": "cpu"}, ShallowsError, "options must be shallows.Options"),
        ((X, Y), {"kernel": Gaussian(2.0), "bandwidth": 1.0}, ShallowsError, "has its own bandwidth"),
    ],
)
def test_what_cannot_be_tested_is_refused(given, options, error, says):
    with pytest.raises(error, match=says):
        two_sample_test(*given, **options)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"device": "cpu"}, r"belongs to the options: options=shallows.Options\(device='cpu'\)"),
        ({"kernel_params": {"nu": 1.5}}, r"use kernel .*kernel=Matern\(nu=2.5\)"),
        ({"gamma": 1.0}, "use bandwidth"),
    ],
)
def test_an_argument_of_another_name_is_refused_with_its_place(given, says):
    with pytest.raises(TypeError, match=says):
        two_sample_test(X, Y, **given)
